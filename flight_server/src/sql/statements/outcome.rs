//! The outcome of starting a statement.

use engine::{QueryOutput, QueryReport, StatementKind};

/// A statement that has started.
pub enum Started {
    /// A planned query. It does not run before it is read.
    Query(QueryOutput),
    /// Any other statement, which has run to its end.
    Done(Done),
}

/// A statement that has run, without rows.
pub struct Done {
    pub kind: StatementKind,
    pub rows: i64,
    pub report: QueryReport,
    /// Whether a transaction is open afterwards.
    pub is_in_transaction: bool,
}
