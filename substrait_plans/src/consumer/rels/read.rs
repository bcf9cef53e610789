//! Reads: tables by name, and rows in the plan. A plan cannot read files or other resources of the server.

use datafusion::common::Result as DfResult;
use datafusion::logical_expr::{LogicalPlan, LogicalPlanBuilder};
use datafusion_substrait::logical_plan::consumer::SubstraitConsumer;

use super::{table, values};
use crate::consumer::check::mask;
use crate::consumer::column_names::Columns;
use crate::consumer::consume::Consumer;
use crate::error::PlanError;
use crate::proto::ReadRel;
use crate::proto::read_rel::ReadType;

const PLACE: &str = "a read";

/// The filter sees the whole schema, and the projection follows it. A best-effort filter is left out: it may pass any rows, so the plan
/// works without it.
pub async fn read(consumer: &Consumer<'_>, rel: &ReadRel) -> DfResult<LogicalPlan> {
    let schema = rel.base_schema.as_ref().ok_or_else(|| PlanError::missing("\"base_schema\"", PLACE))?;
    let plan = match &rel.read_type {
        Some(ReadType::NamedTable(named)) => table::scan(consumer, named, schema).await?,
        Some(ReadType::VirtualTable(rows)) => values::values(consumer, rows, schema).await?,
        Some(_) => return Err(PlanError::unsupported("reading anything but named tables and rows in the plan", PLACE).into()),
        None => return Err(PlanError::missing("the table", PLACE).into()),
    };
    let plan = match rel.filter.as_deref() {
        Some(filter) => {
            let condition = consumer.consume_expression(filter, plan.schema()).await?;
            LogicalPlanBuilder::from(plan).filter(condition)?.build()?
        }
        None => plan,
    };
    match mask(rel.projection.as_ref(), plan.schema().fields().len(), &PLACE)? {
        None => Ok(plan),
        Some(indices) => {
            let mut columns = Columns::new(consumer);
            for index in indices {
                columns.pass(plan.schema(), index)?;
            }
            columns.over(plan)
        }
    }
}
