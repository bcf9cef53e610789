//! Prepared statements: SQL or a plan under a handle, with the parameters that were bound to it last.

mod open;
mod update;

pub use open::{BoundRows, Prepared, PreparedStatements};
pub use update::update;
