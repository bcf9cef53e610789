//! Who a session works for, and what that one may do.
//!
//! Names mean something to a statement only through the session's catalog, and for a user that has a snapshot in which
//! is nothing that the user has no privilege on (`permit.rs`). What is done with a name is held against the privilege
//! it needs where it is done: rows are read by `StoreTable::scan` alone, and every statement passes `kinds.rs`, which
//! refuses all kinds that are not known to look themselves.

mod identity;
mod kinds;
mod password;
mod permit;
mod principals;
mod random;
mod reads;
mod rights;
mod used;

pub use identity::Identity;
pub(crate) use identity::SessionAccess;
pub(crate) use kinds::check_kind;
pub(crate) use password::{fits, hashed};
pub(crate) use permit::{Permit, seen};
pub(crate) use principals::{PUBLIC, all_roles, check_admins_left, no_principal, principal};
pub(crate) use random::{random_epoch, random_key};
pub(crate) use reads::Reads;
