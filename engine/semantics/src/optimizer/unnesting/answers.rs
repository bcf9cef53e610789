//! The answers of a subquery for all bindings, joined to the rows outside.

use datafusion::common::{Column, JoinType, NullEquality, Result, ScalarValue, internal_err};
use datafusion::functions::core::named_struct;
use datafusion::functions_aggregate::expr_fn::{bool_or, count, first_value};
use datafusion::logical_expr::{Expr, LogicalPlan, LogicalPlanBuilder, ScalarUDF, lit, when};

use super::bindings::Bindings;

/// Rows with a column for the answer, and the expression that it is.
pub struct Answered {
    pub rows: LogicalPlan,
    pub answer: Expr,
}

/// The rows of a subquery for each binding.
pub struct BoundRows {
    pub rows: LogicalPlan,
    pub bindings: Bindings,
}

/// The only value of the subquery, NULL if it has no row. `only_row` checks that there are not several.
pub fn value(rows: LogicalPlan, plan: &LogicalPlan, found: BoundRows, number: usize, only_row: &ScalarUDF) -> Result<Answered> {
    let BoundRows { rows: found, bindings } = found;
    let Some(value) = plan.schema().columns().into_iter().next() else { return internal_err!("a subquery without columns") };
    let is_single = has_one_row(plan);
    let [answer, count_name] = ["value", "rows"].map(|name| format!("__{name}_{number}"));
    let keys: Vec<Expr> = bindings.columns().into_iter().map(Expr::Column).collect();
    if is_single {
        let found =
            LogicalPlanBuilder::from(found).project(keys.into_iter().chain([Expr::Column(value).alias(answer.clone())]))?.build()?;
        let rows = joined(rows, found, &bindings)?;
        return Ok(Answered { rows, answer: Expr::Column(Column::new_unqualified(answer)) });
    }
    let functions = [first_value(Expr::Column(value), Vec::new()).alias(answer.clone()), count(lit(1_i64)).alias(count_name.clone())];
    let found = LogicalPlanBuilder::from(found).aggregate(keys, functions)?.build()?;
    let rows = joined(rows, found, &bindings)?;
    let [value, count] = [answer, count_name].map(|name| Expr::Column(Column::new_unqualified(name)));
    let both = named_struct().call(vec![lit("value"), value, lit("rows"), count]);
    let outer = bindings.outer().first().map(|column| Expr::Column(column.clone()));
    Ok(Answered { rows, answer: only_row.call(std::iter::once(both).chain(outer).collect()) })
}

/// Whether the subquery has a row.
pub fn exists(rows: LogicalPlan, found: BoundRows, number: usize) -> Result<Answered> {
    let BoundRows { rows: found, bindings } = found;
    let found = LogicalPlanBuilder::from(found).project(bindings.columns().into_iter().map(Expr::Column))?.distinct()?;
    let name = format!("__exists_{number}");
    let marked = bindings.columns().into_iter().map(Expr::Column).chain([lit(true).alias(name.clone())]);
    let rows = joined(rows, found.project(marked)?.build()?, &bindings)?;
    Ok(Answered { rows, answer: Expr::Column(Column::new_unqualified(name)).is_not_null() })
}

/// Whether the comparison is true of some row of `compared`, which has it as its only column; NULL if it is NULL of some and true of none.
pub fn any(rows: LogicalPlan, compared: &LogicalPlan, found: BoundRows, number: usize) -> Result<Answered> {
    let BoundRows { rows: found, bindings } = found;
    let Some(comparison) = compared.schema().columns().into_iter().next() else { return internal_err!("a comparison without a column") };
    let [any, known, all] = ["any", "known", "all"].map(|name| format!("__{name}_{number}"));
    let keys: Vec<Expr> = bindings.columns().into_iter().map(Expr::Column).collect();
    let comparison = Expr::Column(comparison);
    let functions =
        [bool_or(comparison.clone()).alias(any.clone()), count(comparison).alias(known.clone()), count(lit(1_i64)).alias(all.clone())];
    let found = LogicalPlanBuilder::from(found).aggregate(keys, functions)?.build()?;
    let rows = joined(rows, found, &bindings)?;
    let [any, known, all] = [any, known, all].map(|name| Expr::Column(Column::new_unqualified(name)));
    let null = lit(ScalarValue::Boolean(None));
    Ok(Answered { rows, answer: when(any, lit(true)).when(known.lt(all), null).otherwise(lit(false))? })
}

/// Rows with those of another plan that have the same bindings; there is at most one for each.
fn joined(rows: LogicalPlan, found: LogicalPlan, bindings: &Bindings) -> Result<LogicalPlan> {
    let keys = (bindings.outer().to_vec(), bindings.columns());
    LogicalPlanBuilder::from(rows).join_detailed(found, JoinType::Left, keys, None, NullEquality::NullEqualsNull)?.build()
}

/// Whether it has at most one row for each binding.
fn has_one_row(plan: &LogicalPlan) -> bool {
    match plan {
        LogicalPlan::Projection(projection) => has_one_row(&projection.input),
        LogicalPlan::SubqueryAlias(alias) => has_one_row(&alias.input),
        LogicalPlan::Filter(filter) => has_one_row(&filter.input),
        LogicalPlan::Sort(sort) => has_one_row(&sort.input),
        LogicalPlan::Aggregate(aggregate) => aggregate.group_expr.is_empty(),
        plan => plan.max_rows().is_some_and(|rows| rows <= 1),
    }
}
