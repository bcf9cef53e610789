//! What a statement has given when its first step is done.

use engine::{QueryOutput, QueryReport, StatementKind};

/// A statement that has begun.
pub enum Started {
    /// Planned; nothing of it runs before it is read.
    Query(QueryOutput),
    /// Anything else has run to its end.
    Done(Done),
}

/// What has run gives no rows.
pub struct Done {
    pub kind: StatementKind,
    pub rows: i64,
    pub report: QueryReport,
    /// Afterwards.
    pub is_in_transaction: bool,
}
