//! Set operations. The library nests a union for each input, and drops rows for ALL of EXCEPT and INTERSECT without counting copies.

use std::sync::Arc;

use datafusion::common::{Column, NullEquality, Result as DfResult};
use datafusion::logical_expr::{JoinType, LogicalPlan, LogicalPlanBuilder, Union};
use datafusion_substrait::logical_plan::consumer::SubstraitConsumer;

use super::copies;
use super::project::renamed;
use crate::consumer::check::{Operation, set_op};
use crate::consumer::column_names::column;
use crate::consumer::consume::Consumer;
use crate::error::PlanError;
use crate::proto::SetRel;

pub async fn set(consumer: &Consumer<'_>, rel: &SetRel) -> DfResult<LogicalPlan> {
    let op = set_op(rel, &"a set operation")?;
    let mut inputs = Vec::with_capacity(rel.inputs.len());
    for input in &rel.inputs {
        inputs.push(consumer.consume_rel(input).await?);
    }
    if inputs.len() < 2 {
        return Err(PlanError::invalid("a set operation with fewer than two inputs", "a relation").into());
    }
    match op {
        Operation::UnionAll => return union(consumer, inputs),
        Operation::UnionDistinct => return LogicalPlanBuilder::from(union(consumer, inputs)?).distinct()?.build(),
        _ => {}
    }
    let others = inputs.split_off(1);
    let primary = inputs.into_iter().next().ok_or_else(|| PlanError::missing("the first input", "a set operation"))?;
    match op {
        Operation::Minus => semi_or_anti_join(distinct(primary)?, union(consumer, others)?, JoinType::LeftAnti, consumer),
        Operation::IntersectAny => semi_or_anti_join(distinct(primary)?, union(consumer, others)?, JoinType::LeftSemi, consumer),
        Operation::IntersectEach => {
            others.into_iter().try_fold(distinct(primary)?, |rows, other| semi_or_anti_join(rows, other, JoinType::LeftSemi, consumer))
        }
        Operation::MinusAll => copies::minus(consumer, primary, union(consumer, others)?),
        Operation::IntersectAll => copies::intersect(consumer, primary, others),
        Operation::UnionAll | Operation::UnionDistinct => union(consumer, vec![primary]),
    }
}

/// The rows of all inputs under the names of one.
fn union(consumer: &Consumer<'_>, mut inputs: Vec<LogicalPlan>) -> DfResult<LogicalPlan> {
    if inputs.len() == 1 {
        return inputs.pop().ok_or_else(|| PlanError::missing("the input", "a union").into());
    }
    let width = inputs.first().map_or(0, |input| input.schema().fields().len());
    let names: Vec<String> = (0..width).map(|_| consumer.fresh.column()).collect();
    let named = inputs.into_iter().map(|input| {
        let columns = names.iter().enumerate().map(|(index, name)| Ok(column(input.schema(), index)?.alias(name)));
        let columns = columns.collect::<DfResult<Vec<_>>>()?;
        LogicalPlanBuilder::from(input).project(columns)?.build().map(Arc::new)
    });
    Ok(LogicalPlan::Union(Union::try_new_with_loose_types(named.collect::<DfResult<Vec<_>>>()?)?))
}

fn distinct(plan: LogicalPlan) -> DfResult<LogicalPlan> {
    LogicalPlanBuilder::from(plan).distinct()?.build()
}

/// The rows that are, or are not, among others. NULL equals NULL here.
pub fn semi_or_anti_join(rows: LogicalPlan, others: LogicalPlan, join_type: JoinType, consumer: &Consumer<'_>) -> DfResult<LogicalPlan> {
    if rows.schema().fields().is_empty() {
        return Err(PlanError::unsupported("a set operation of rows without columns", "a set operation").into());
    }
    // Both sides may be made of the same rows, so they need different names.
    let rows = renamed(consumer, rows)?;
    let others = renamed(consumer, others)?;
    let columns = |plan: &LogicalPlan| -> Vec<Column> { plan.schema().columns() };
    let keys = (columns(&rows), columns(&others));
    LogicalPlanBuilder::from(rows).join_detailed(others, join_type, keys, None, NullEquality::NullEqualsNull)?.build()
}
