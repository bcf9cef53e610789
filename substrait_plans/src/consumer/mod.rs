//! Translates plans to logical plans of DataFusion.
//!
//! First `check/` walks the plan and refuses what is missing, unknown or out of range, with its position. Then the consumer makes the
//! logical plan. It implements DataFusion's trait `SubstraitConsumer` and uses those parts of the library that are right. What the library
//! drops, confuses or aborts on is implemented here, and each file says what that was.
//!
//! - `check/` checks that a plan is valid
//! - `consume.rs` the consumer, which dispatches to the other files
//! - `rels/` relations, `exprs/` expressions, `functions/` calls
//! - `root.rs` names of the result, `relabel.rs` those inside of its columns
//! - `column_names.rs` names within the plan, `name_generator.rs` unique names, `lengths.rs` lengths of texts
//! - `parameters.rs` parameters without a value

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

use crate::declared::Declared;
use crate::error::PlanError;
use crate::proto::Plan;

pub use crate::walk::tables;
use consume::{Consumer, into_plan_error};
use functions::find_user_functions;
pub use parameters::{Parameter, parameters};

/// Translates the plan to a logical plan over the tables of the context.
///
/// # Errors
///
/// What is wrong with the plan, and where. Panics of a library are caught and returned as an error, too.
pub async fn logical_plan(plan: &Plan, context: &PlanContext) -> Result<LogicalPlan, PlanError> {
    let result = AssertUnwindSafe(consume(plan, context)).catch_unwind().await;
    result.unwrap_or_else(|panic| Err(PlanError::Panicked { what: panic_message(panic.as_ref()) }))
}

async fn consume(plan: &Plan, context: &PlanContext) -> Result<LogicalPlan, PlanError> {
    let declared = Declared::of(plan);
    let user_functions = find_user_functions(plan, &declared, context).await?;
    let places = check::check(plan, &declared, context.state(), &user_functions)?;
    let consumer = Consumer::new(plan, declared, context, places, user_functions)?;
    root::root(&consumer, plan).await.map_err(|error| into_plan_error(error, "relations[0].root"))
}

fn panic_message(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| text.to_string()).or_else(|| panic.downcast_ref::<String>().cloned());
    text.unwrap_or_else(|| "a fault without words".to_string())
}

/// Carries our errors through DataFusion's functions.
impl From<PlanError> for DataFusionError {
    fn from(error: PlanError) -> DataFusionError {
        DataFusionError::External(Box::new(error))
    }
}
