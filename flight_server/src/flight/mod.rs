//! Flight without SQL: tables by path, and a few actions.

mod actions;
mod lease;
mod listing;
mod parts;
mod table;
mod value_lease;

pub use actions::{ACTIONS, act, leased_table};
pub use lease::Leases;
pub use listing::list;
pub use parts::lease_of;
pub use table::{info, read, schema_of};
