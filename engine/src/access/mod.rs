//! Who a session works for, and what that one may do.
//!
//! Names mean something to a statement only through the session's catalog, and for a user that has a snapshot in which
//! is nothing that the user has no privilege on (`authorization.rs`). What is done with a name is held against the privilege
//! it needs where it is done: rows are read by `StoreTable::scan` alone, and every statement passes `statement_kinds.rs`, which
//! refuses all kinds that are not known to look themselves.

mod authorization;
mod effective_privileges;
mod identity;
mod password;
mod principals;
mod random;
mod read_recheck;
mod statement_kinds;
mod used_privileges;

pub(crate) use authorization::{Authorization, seen};
pub use identity::Identity;
pub(crate) use identity::SessionAccess;
pub(crate) use password::{fits, hashed};
pub(crate) use principals::{PUBLIC, all_roles, check_admins_left, no_principal, principal};
pub(crate) use random::{random_epoch, random_key};
pub(crate) use read_recheck::ReadRecheck;
pub(crate) use statement_kinds::check_statement_kind;
