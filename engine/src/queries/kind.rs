//! The kinds of statements.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StatementKind {
    Query,
    /// Yields one row: the number of rows written.
    Write,
    Ddl,
    Set,
    /// BEGIN, COMMIT, ROLLBACK and the statements about savepoints.
    Transaction,
}

impl StatementKind {
    pub fn name(self) -> &'static str {
        match self {
            StatementKind::Query => "query",
            StatementKind::Write => "write",
            StatementKind::Ddl => "ddl",
            StatementKind::Set => "set",
            StatementKind::Transaction => "transaction",
        }
    }
}
