//! Calls of users' functions in FROM.

use datafusion::common::Result as DfResult;
use datafusion::logical_expr::{LogicalPlan, LogicalPlanBuilder};
use datafusion_substrait::logical_plan::consumer::SubstraitConsumer;
use engine::UserTable;

use super::project::renamed;
use crate::consumer::column_names::column;
use crate::consumer::consume::Consumer;
use crate::error::PlanError;
use crate::proto::ExtensionMultiRel;
use crate::user_functions::TableFunctionCall;

/// The function sees the names of the columns, which relations do not have. `check/` has compared the inputs with what the function takes.
pub async fn call(consumer: &Consumer<'_>, rel: &ExtensionMultiRel) -> DfResult<LogicalPlan> {
    let call = TableFunctionCall::of_rel(rel).ok_or_else(|| PlanError::missing("\"detail\"", "a relation"))?;
    let function = consumer.finder().table_function(call.function_reference, &"a call")?.form;
    let (values, tables) = rel.inputs.split_at(rel.inputs.len().saturating_sub(call.tables.len()));
    let mut inputs = vec![match values.first() {
        Some(values) => consumer.consume_rel(values).await?,
        None => LogicalPlanBuilder::empty(true).build()?,
    }];
    for (table, names) in tables.iter().zip(&call.tables) {
        let plan = consumer.consume_rel(table).await?;
        let columns = names.names.iter().enumerate().map(|(at, name)| Ok(column(plan.schema(), at)?.alias(name)));
        let columns = columns.collect::<DfResult<Vec<_>>>()?;
        inputs.push(LogicalPlanBuilder::from(plan).project(columns)?.build()?);
    }
    renamed(consumer, UserTable::plan(&function, inputs)?)
}
