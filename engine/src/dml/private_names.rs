//! Names in a statement's own query that no statement can say.

/// The table to be changed, with row ids.
pub const TARGET: &str = "target";
/// The rows of an INSERT … ON CONFLICT.
pub const INSERTED: &str = "inserted";

/// Begins the names of columns that people do not see.
pub const PREFIX: &str = "__quiver_";

/// Begins those of a row to be inserted.
pub const NEW_PREFIX: &str = "__quiver_new_";
/// Of rows that have a source in a MERGE.
pub const SOURCE_MARK: &str = "__quiver_source";
/// Which clause acts on a row.
pub const CLAUSE: &str = "__quiver_clause";
/// What becomes of a row: the code of an `Action`.
pub const ACTION: &str = "__quiver_action";
