//! What a statement does with the rows of its table, and the columns in which they come.

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

/// What the rows of the input are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ChangeInput {
    /// There are none: all rows of the table go.
    All,
    /// Ids of rows to be deleted.
    Deleted,
    /// Id, which may be NULL; action; the columns of the new row.
    Changed,
}

/// Before the columns of the new row in `ChangeInput::Changed`.
pub const NEW_ROW_START: usize = 2;

/// Actions, as the column for them has them.
pub const CODE_WRITE: i8 = 2;
pub const CODE_TWICE: i8 = 3;
