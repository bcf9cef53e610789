//! Groups, distinct rows, joins and sorted rows of intervals: intervals of equal length belong together, and a group shows one of them.

use std::sync::Arc;

use datafusion::common::tree_node::Transformed;
use datafusion::common::{DFSchema, JoinConstraint, Result};
use datafusion::functions_nested::expr_fn::array_distinct;
use datafusion::logical_expr::expr::AggregateFunction;
use datafusion::logical_expr::logical_plan::Distinct;
use datafusion::logical_expr::utils::grouping_set_to_exprlist;
use datafusion::logical_expr::{Aggregate, Expr, ExprSchemable, GroupingSet, LogicalPlan, Projection, when};

use super::compared::sorted_by_length;
use super::has_intervals;
use super::length::length;
use super::lists::of_intervals;
use crate::functions::bounded::with_bounded;
use crate::functions::extreme::own_min;
use common::error::EngineError;

/// Rewrites one node.
pub fn in_groups_of_length(plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    let has_some = |schema: &DFSchema| schema.fields().iter().any(|field| has_intervals(field.data_type()));
    match plan {
        LogicalPlan::Aggregate(aggregate) if has_some(&aggregate.schema) => grouped(aggregate),
        LogicalPlan::Distinct(Distinct::All(input)) if has_some(input.schema()) => {
            let columns = input.schema().iter().map(Expr::from).collect();
            grouped(Aggregate::try_new(input, columns, Vec::new())?)
        }
        LogicalPlan::Distinct(Distinct::On(mut distinct)) => {
            let schema = Arc::clone(distinct.input.schema());
            let is = |expr: &Expr| expr.get_type(schema.as_ref()).is_ok_and(|data_type| has_intervals(&data_type));
            let mut changed = false;
            for key in distinct.on_expr.iter_mut().filter(|key| is(key)) {
                *key = length(std::mem::take(key));
                changed = true;
            }
            changed |= distinct.sort_expr.as_mut().is_some_and(|keys| sorted_by_length(keys, is));
            Ok(Transformed::new_transformed(LogicalPlan::Distinct(Distinct::On(distinct)), changed))
        }
        LogicalPlan::RecursiveQuery(query) if query.is_distinct && has_some(query.static_term.schema()) => {
            let hint = "intervals of one length are equal; write UNION ALL, and SELECT DISTINCT of the whole";
            Err(EngineError::unsupported("UNION in WITH RECURSIVE of intervals", Some(hint)).into_datafusion())
        }
        LogicalPlan::Join(mut join) => {
            let is = |key: &Expr, side: &LogicalPlan| key.get_type(side.schema()).is_ok_and(|data_type| has_intervals(&data_type));
            let mut changed = false;
            for (left, right) in &mut join.on {
                if is(left, &join.left) && is(right, &join.right) {
                    (*left, *right) = (length(std::mem::take(left)), length(std::mem::take(right)));
                    changed = true;
                }
            }
            // The keys of USING are columns.
            if changed {
                join.join_constraint = JoinConstraint::On;
            }
            Ok(Transformed::new_transformed(LogicalPlan::Join(join), changed))
        }
        LogicalPlan::Sort(mut sort) => {
            let schema = Arc::clone(sort.input.schema());
            let is = |expr: &Expr| expr.get_type(schema.as_ref()).is_ok_and(|data_type| has_intervals(&data_type));
            let changed = sorted_by_length(&mut sort.expr, is);
            Ok(Transformed::new_transformed(LogicalPlan::Sort(sort), changed))
        }
        other => Ok(Transformed::no(other)),
    }
}

/// Groups by lengths. The least interval of each group is kept next to its length and represents the group above. Lists of distinct
/// intervals are made of lists of all intervals.
fn grouped(aggregate: Aggregate) -> Result<Transformed<LogicalPlan>> {
    let keys: Vec<Expr> = grouping_set_to_exprlist(&aggregate.group_expr)?.into_iter().cloned().collect();
    let fields = aggregate.schema.fields();
    let places: Vec<usize> = (0..keys.len()).filter(|place| has_intervals(fields[*place].data_type())).collect();
    let first_call = fields.len() - aggregate.aggr_expr.len();
    let mut aggr_expr = aggregate.aggr_expr.clone();
    let mut lists = Vec::new();
    for (call, place) in aggr_expr.iter_mut().zip(first_call..).filter(|(_, place)| has_intervals(fields[*place].data_type())) {
        if let Some(list) = list_of_all(call) {
            *call = list.alias(format!("__interval_list_{place}"));
            lists.push(place);
        }
    }
    if places.is_empty() && lists.is_empty() {
        return Ok(Transformed::no(LogicalPlan::Aggregate(aggregate)));
    }
    let by_length = |key: Expr| if places.iter().any(|place| keys[*place] == key) { length(key) } else { key };
    let all = |keys: Vec<Expr>| keys.into_iter().map(by_length).collect::<Vec<_>>();
    let group_expr = all(aggregate.group_expr).into_iter().map(|key| match key {
        Expr::GroupingSet(GroupingSet::Rollup(keys)) => Expr::GroupingSet(GroupingSet::Rollup(all(keys))),
        Expr::GroupingSet(GroupingSet::Cube(keys)) => Expr::GroupingSet(GroupingSet::Cube(all(keys))),
        Expr::GroupingSet(GroupingSet::GroupingSets(sets)) => {
            Expr::GroupingSet(GroupingSet::GroupingSets(sets.into_iter().map(all).collect()))
        }
        key => key,
    });
    let group_expr = group_expr.collect();
    for place in &places {
        let shown = AggregateFunction::new_udf(own_min(), vec![keys[*place].clone()], false, None, Vec::new(), None);
        aggr_expr.push(Expr::AggregateFunction(shown).alias(format!("__interval_{place}")));
    }
    let width = aggregate.schema.fields().len();
    let made = LogicalPlan::Aggregate(Aggregate::try_new(aggregate.input, group_expr, aggr_expr)?);
    let columns: Vec<Expr> = made.schema().iter().map(Expr::from).collect();
    let shown = aggregate.schema.iter().enumerate().map(|(index, (qualifier, field))| -> Result<Expr> {
        let column = columns[index].clone();
        if lists.contains(&index) {
            let distinct = with_bounded(array_distinct(column)).data;
            let distinct = of_intervals(&distinct, made.schema()).unwrap_or(distinct);
            return Ok(distinct.alias_qualified(qualifier.cloned(), field.name()));
        }
        let Some(nth) = places.iter().position(|place| *place == index) else {
            return Ok(column.alias_qualified(qualifier.cloned(), field.name()));
        };
        // It is NULL for a grouping set without the key.
        let shown = when(column.is_not_null(), columns[width + nth].clone()).end()?;
        Ok(shown.alias_qualified(qualifier.cloned(), field.name()))
    });
    let shown = shown.collect::<Result<Vec<_>>>()?;
    Ok(Transformed::yes(LogicalPlan::Projection(Projection::try_new(shown, Arc::new(made))?)))
}

/// The call without DISTINCT, if it is an `array_agg(DISTINCT …)`.
fn list_of_all(call: &Expr) -> Option<Expr> {
    match call {
        Expr::Alias(named) => list_of_all(&named.expr),
        Expr::AggregateFunction(call) if call.params.distinct && call.func.name() == "array_agg" => {
            let mut call = call.clone();
            call.params.distinct = false;
            Some(Expr::AggregateFunction(call))
        }
        _ => None,
    }
}
