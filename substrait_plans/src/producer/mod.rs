//! Logical plans of the engine as Substrait plans.
//!
//! It is a whitelist: everything that this folder does not name is refused with the reason, before anything is encoded. Also refused is
//! what Substrait or its readers would silently change. What has no standard form but can be read by our nodes uses our own URNs, which
//! others refuse: `docs/substrait.md` has both lists.
//!
//! - `writer.rs` — a plan while it is written; `registry.rs` the functions it uses.
//! - `rel/` — relations: `read.rs` tables and rows, `join.rs`, `aggregate.rs` with `groupings.rs`, `shape.rs` all others.
//! - `expr/` — expressions: `boolean.rs`, `operator.rs`, `text.rs`, `call.rs` functions, `time.rs`, `choice.rs` CASE and casts,
//!   `window.rs`, `aggregate.rs`, `subquery.rs`.
//! - `functions/` — names of functions: `kinds.rs` types in signatures, `standard.rs` the standard's, `own.rs` those of our extension, `user.rs` those of
//!   users.

mod expr;
mod functions;
mod registry;
mod rel;
mod writer;

use std::sync::Arc;

use datafusion::execution::SessionState;
use datafusion::logical_expr::LogicalPlan;
use engine::PortableFunction;

use crate::proto::Plan;

use crate::refusal::Refusal;

use writer::Writer;

/// Writes the plan of a query that the engine has analyzed and optimized. Only names of `state` are used: those of the default catalog and
/// schema, for tables with shorter names, and those of table functions.
///
/// # Errors
///
/// What the query has that a plan cannot express; then no part of it should run elsewhere.
pub fn produce(plan: &LogicalPlan, state: &SessionState) -> Result<Plan, Refusal> {
    Writer::new(state).plan(plan).map(|(plan, _)| plan)
}

/// The same for a node of ours that takes functions of users in these languages, with those that the plan names.
pub fn produce_for_node(
    plan: &LogicalPlan,
    state: &SessionState,
    languages: Arc<[String]>,
) -> Result<(Plan, Vec<Arc<PortableFunction>>), Refusal> {
    let mut writer = Writer::new(state);
    writer.languages = Some(languages);
    writer.plan(plan)
}
