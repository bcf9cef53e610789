//! The principals of sessions and their privileges.
//!
//! A statement resolves names only through the session's catalog, whose snapshot for a user has no object without a privilege for that
//! user (`authorization.rs`). The privilege for an operation is checked where the operation is done: rows are read only by
//! `StoreTable::scan`, and every statement passes `statement_kinds.rs`, which refuses all kinds that are not known to check privileges
//! themselves.

mod audit_table;
mod authorization;
mod effective_privileges;
mod identity;
mod password;
mod principals;
mod random;
mod read_recheck;
mod statement_kinds;
mod used_privileges;

pub use audit_table::{AUDIT_TABLE, check_not_audit};
pub use authorization::{Authorization, visible_snapshot};
pub use identity::{DEFINER_MISSES, Identity, SessionAccess, definer_access};
pub use password::{fits, hashed};
pub use principals::{PUBLIC, all_roles, check_admins_left, no_principal, principal};
pub use random::{random_epoch, random_key};
pub use read_recheck::ReadRecheck;
pub use statement_kinds::check_statement_kind;
