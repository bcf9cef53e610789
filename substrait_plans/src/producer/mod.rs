//! Logical plans of the engine as Substrait plans.
//!
//! A whitelist: what is not named in this folder is refused with the reason, before anything is encoded. So is what Substrait,
//! or those who read it, would silently change. What has no standard form and can be read by a node of ours goes under URNs of
//! ours, which others refuse: `docs/substrait.md` has both lists.
//!
//! - `writer.rs` — a plan while it is written; `registry.rs` the functions it names.
//! - `rel/` — relations: `read.rs` tables and rows, `join.rs`, `aggregate.rs` with `groupings.rs`, `shape.rs` all others.
//! - `expr/` — expressions: `boolean.rs`, `operator.rs`, `text.rs`, `call.rs` functions, `time.rs`, `choice.rs` CASE and casts,
//!   `window.rs`, `aggregate.rs`, `subquery.rs`.
//! - `functions/` — what functions are called: `kinds.rs` types in names, `standard.rs` the standard's, `own.rs` those of ours.

mod expr;
mod functions;
mod registry;
mod rel;
mod writer;

use datafusion::execution::SessionState;
use datafusion::logical_expr::LogicalPlan;

use crate::proto::Plan;

use crate::refusal::Refusal;

use writer::Writer;

/// The plan of a query, as the engine has analysed and optimised it. Of `state` only names are used: of the default catalog and
/// schema, for tables that the plan names by less, and of functions that stand where tables do.
///
/// # Errors
///
/// What the query has that a plan cannot say; then nothing of it should run elsewhere.
pub fn produce(plan: &LogicalPlan, state: &SessionState) -> Result<Plan, Refusal> {
    Writer::new(state).plan(plan)
}
