//! Plans as logical plans of DataFusion.
//!
//! First `check/` walks the plan and refuses what is not there, not known or out of range, with its place. Then the consumer makes
//! the logical plan. It is one of DataFusion's own kind, `SubstraitConsumer`, and uses of the library what is right: what the library
//! drops, confuses or dies of is done here instead, and each file says what that was.
//!
//! - `check/` what a plan must be before anything is made of it
//! - `consume.rs` the consumer: which file makes what
//! - `rels/` relations, `exprs/` expressions, `functions/` calls
//! - `root.rs` names of the result, `relabel.rs` those within its columns
//! - `column_names.rs` names within the plan, `name_generator.rs` those that nothing else has, `lengths.rs` lengths of texts
//! - `parameters.rs` parameters that are open

mod check;
mod column_names;
mod consume;
mod exprs;
mod functions;
mod lengths;
mod name_generator;
mod parameters;
mod relabel;
mod rels;
mod root;

use std::panic::AssertUnwindSafe;

use datafusion::common::DataFusionError;
use datafusion::logical_expr::LogicalPlan;
use engine::PlanContext;
use futures::FutureExt;

use crate::error::PlanError;
use crate::proto::Plan;

pub use crate::walk::tables;
use consume::{Consumer, into_plan_error};
pub use parameters::{Parameter, parameters};

/// The plan as a logical plan over the tables that the context knows.
///
/// # Errors
///
/// What is wrong with the plan, and where. A fault of a library that would end the process is one of them.
pub async fn logical_plan(plan: &Plan, context: &PlanContext) -> Result<LogicalPlan, PlanError> {
    let made = AssertUnwindSafe(consume(plan, context)).catch_unwind().await;
    made.unwrap_or_else(|panic| Err(PlanError::Panicked { what: panic_message(panic.as_ref()) }))
}

async fn consume(plan: &Plan, context: &PlanContext) -> Result<LogicalPlan, PlanError> {
    let places = check::check(plan, context.state())?;
    let consumer = Consumer::new(plan, context, places)?;
    root::root(&consumer, plan).await.map_err(|error| into_plan_error(error, "relations[0].root"))
}

fn panic_message(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| text.to_string()).or_else(|| panic.downcast_ref::<String>().cloned());
    text.unwrap_or_else(|| "a fault without words".to_string())
}

/// DataFusion's functions carry errors of ours.
impl From<PlanError> for DataFusionError {
    fn from(error: PlanError) -> DataFusionError {
        DataFusionError::External(Box::new(error))
    }
}
