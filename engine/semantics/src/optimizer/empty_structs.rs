//! Refuses groups of structs without fields, such as `{}` of JSON: DataFusion panics on them (`row_backed.rs` of
//! datafusion-physical-plan).

use arrow::datatypes::DataType;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{DFSchema, Result};
use datafusion::logical_expr::{Distinct, Expr, ExprSchemable, LogicalPlan};

use crate::functions::nested_types::fields_of;
use common::error::EngineError;

/// Runs once the types are known.
pub fn empty_structs(plan: LogicalPlan) -> Result<LogicalPlan> {
    plan.apply_with_subqueries(|plan| {
        match plan {
            LogicalPlan::Aggregate(aggregate) => {
                check_exprs(&aggregate.group_expr, aggregate.input.schema())?;
                check_arguments(&aggregate.aggr_expr, aggregate.input.schema())?;
            }
            LogicalPlan::Distinct(Distinct::All(input)) => check_columns(input.schema())?,
            LogicalPlan::Distinct(Distinct::On(distinct)) => check_exprs(&distinct.on_expr, distinct.input.schema())?,
            LogicalPlan::RecursiveQuery(query) if query.is_distinct => check_columns(&query.schema)?,
            _ => {}
        }
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok(plan)
}

fn check_columns(schema: &DFSchema) -> Result<()> {
    schema.fields().iter().try_for_each(|field| check(field.data_type()))
}

fn check_exprs(exprs: &[Expr], schema: &DFSchema) -> Result<()> {
    // If an expression has no type, the planner reports that.
    exprs.iter().filter_map(|expr| expr.get_type(schema).ok()).try_for_each(|data_type| check(&data_type))
}

fn check_arguments(aggregates: &[Expr], schema: &DFSchema) -> Result<()> {
    aggregates.iter().try_for_each(|aggregate| match aggregate.clone().unalias() {
        Expr::AggregateFunction(call) if call.params.distinct => check_exprs(&call.params.args, schema),
        _ => Ok(()),
    })
}

fn check(data_type: &DataType) -> Result<()> {
    if !has_empty_struct(data_type) {
        return Ok(());
    }
    let hint = Some("leave that column out: it has no values but {} and NULL");
    Err(EngineError::unsupported("a struct without fields as a key of GROUP BY, DISTINCT or UNION", hint).into_datafusion())
}

fn has_empty_struct(data_type: &DataType) -> bool {
    match data_type {
        DataType::Struct(fields) if fields.is_empty() => true,
        data_type => data_type.is_nested() && fields_of(data_type).iter().any(|field| has_empty_struct(field.data_type())),
    }
}
