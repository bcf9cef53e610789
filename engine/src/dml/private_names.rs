//! Names in a statement's own query that no user can write.

/// The table to be changed, with row ids.
pub const TARGET: &str = "target";
/// The rows of an INSERT … ON CONFLICT.
pub const INSERTED: &str = "inserted";

/// The prefix of hidden columns.
pub const PREFIX: &str = "__quiver_";

/// The prefix of the columns of a row to be inserted.
pub const NEW_PREFIX: &str = "__quiver_new_";
/// Marks rows that have a source in a MERGE.
pub const SOURCE_MARK: &str = "__quiver_source";
/// The number of the clause that acts on a row.
pub const CLAUSE: &str = "__quiver_clause";
/// The code of the row's `Action`.
pub const ACTION: &str = "__quiver_action";
