//! One statement: how it is planned, and how its plan runs.
//!
//! - `statement_context` — the statement, its resources, and its result
//! - `plan` — the steps from text to operators; `dml` has those of statements that change rows
//! - `result_schema` — which columns of its result may be NULL

mod plan;
mod result_schema;
mod statement_context;

pub(crate) use statement_context::StatementContext;
