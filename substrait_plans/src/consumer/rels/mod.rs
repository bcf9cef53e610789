//! Translates relations to nodes of a logical plan. Filters are translated by the library.
//!
//! - `read.rs` reads: `table.rs` a table whose columns are found by name, `fit.rs` compares types, `required.rs` columns that the plan
//!   declares as NOT NULL, `values.rs` rows in the plan
//! - `project.rs` projections and what a relation emits
//! - `join.rs` joins, `set.rs` set operations, `copies.rs` those that count copies
//! - `aggregate.rs` aggregations, `window.rs` windows
//! - `order.rs` sorts, limits and exchanges
//! - `table_function.rs` calls of users' functions in FROM

mod aggregate;
mod copies;
mod fit;
mod join;
mod order;
mod project;
mod read;
mod required;
mod set;
mod table;
mod table_function;
mod values;
mod window;

use datafusion::common::Result as DfResult;
use datafusion::logical_expr::LogicalPlan;
use datafusion_substrait::logical_plan::consumer::SubstraitConsumer;

pub use aggregate::aggregate;
pub use join::{cross, join};
pub use order::{exchange, fetch, sort};
pub use project::project;
pub use read::read;
pub use set::set;
pub use window::window;

use super::check::common;
use super::consume::Consumer;
use crate::error::PlanError;
use crate::proto::Rel;
use crate::proto::rel::RelType;
use crate::walk::kind_of_rel;

/// A relation, with the columns that it emits.
pub async fn rel(consumer: &Consumer<'_>, rel: &Rel) -> DfResult<LogicalPlan> {
    let kind = rel.rel_type.as_ref().ok_or_else(|| PlanError::missing("the kind", "a relation"))?;
    let plan = match kind {
        RelType::Read(rel) => consumer.consume_read(rel).await,
        RelType::Filter(rel) => consumer.consume_filter(rel).await,
        RelType::Fetch(rel) => consumer.consume_fetch(rel).await,
        RelType::Aggregate(rel) => consumer.consume_aggregate(rel).await,
        RelType::Sort(rel) => consumer.consume_sort(rel).await,
        RelType::Join(rel) => consumer.consume_join(rel).await,
        // Columns that it does not emit are not computed.
        RelType::Project(rel) => return consumer.consume_project(rel).await,
        RelType::Set(rel) => consumer.consume_set(rel).await,
        RelType::Cross(rel) => consumer.consume_cross(rel).await,
        RelType::Window(rel) => consumer.consume_consistent_partition_window(rel).await,
        RelType::Exchange(rel) => consumer.consume_exchange(rel).await,
        RelType::ExtensionMulti(rel) => table_function::call(consumer, rel).await,
        other => Err(PlanError::unsupported(format!("the relation \"{}\"", kind_of_rel(other)), "a relation").into()),
    };
    project::emit(consumer, common(kind), plan?)
}

/// Translates an input that must exist.
pub async fn input(consumer: &Consumer<'_>, rel: Option<&Rel>) -> DfResult<LogicalPlan> {
    let rel = rel.ok_or_else(|| PlanError::missing("the input", "a relation"))?;
    consumer.consume_rel(rel).await
}
