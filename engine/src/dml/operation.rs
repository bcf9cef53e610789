//! What a statement does with the rows of its table, and the columns of its input.

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Operation {
    Delete,
    Update,
    Merge,
    /// INSERT … ON CONFLICT
    Insert,
    Truncate,
}

impl Operation {
    pub fn name(self) -> &'static str {
        match self {
            Operation::Delete => "DELETE",
            Operation::Update => "UPDATE",
            Operation::Merge => "MERGE",
            Operation::Insert => "INSERT",
            Operation::Truncate => "TRUNCATE",
        }
    }
}

/// The form of the input rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ChangeInput {
    /// No input: all rows of the table are deleted.
    All,
    /// Row ids to delete.
    Deleted,
    /// The row id, which may be NULL; the action; the columns of the new row.
    Changed,
}

/// The number of columns before those of the new row in `ChangeInput::Changed`.
pub const NEW_ROW_START: usize = 2;

/// The codes of actions in their column.
pub const CODE_WRITE: i8 = 2;
pub const CODE_TWICE: i8 = 3;
