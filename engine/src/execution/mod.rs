//! One statement: how it is planned, and how its plan runs.
//!
//! - `statement_context` — the statement, what it works with, and what it gives
//! - `plan` — the steps from its text to its operators; those of statements that change rows are in `dml`
//! - `result_schema` — which columns of its result may be NULL

mod plan;
mod result_schema;
mod statement_context;

pub(crate) use statement_context::StatementContext;
