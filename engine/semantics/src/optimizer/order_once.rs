//! Drops the order of an aggregate if it does not affect the result, and repeated keys.
//!
//! For most aggregates it affects at most the last digits, and is dropped here. DataFusion stores the ordering values with each partial
//! result, and such an aggregate does not expect that: `SELECT a, avg(b ORDER BY b) FROM t GROUP BY a` panics, and `min(b ORDER BY b)` is
//! an error (state_fields of datafusion-expr).
//!
//! A repeated key counts once. DataFusion's `first_value` sorts by one of the two, misses the other and panics:
//! `SELECT DISTINCT ON (a) b FROM t ORDER BY a, a` (first_last.rs of datafusion-functions-aggregate). The second key never has an effect.
//!
//! An uncorrelated subquery decides nothing either, as in `row_number() OVER (ORDER BY (SELECT 1))`. DataFusion sorts by it, which fails
//! for rows without columns, and names the ordering values after a number that the subquery gets later. So a key that contains one, as
//! in `array_agg(a ORDER BY a + (SELECT 1))`, becomes a column of the aggregate's input.

use std::sync::Arc;

use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::common::{Column, DFSchema, Result, ScalarValue};
use datafusion::logical_expr::{
    Aggregate, AggregateUDF, Distinct, EmptyRelation, Expr, ExprSchemable, LogicalPlan, Projection, SortExpr, Values, lit,
};

use crate::functions::map_under_names;
use common::user_functions::UserAggregate;

/// Aggregates whose result depends on the order, apart from those with WITHIN GROUP.
const IN_ORDER: [&str; 6] = ["array_agg", "string_agg", "first_value", "last_value", "nth_value", "any_value"];

pub fn order_once(plan: LogicalPlan) -> Result<LogicalPlan> {
    plan.transform_up_with_subqueries(|plan| match plan {
        LogicalPlan::Distinct(Distinct::On(mut on)) if on.sort_expr.as_deref().is_some_and(is_twice) => {
            on.sort_expr = on.sort_expr.map(once);
            Ok(Transformed::yes(LogicalPlan::Distinct(Distinct::On(on))))
        }
        plan @ (LogicalPlan::Aggregate(_) | LogicalPlan::Window(_)) => map_under_names(plan, |expr| expr.transform_up(in_function))?
            .transform_data(|plan| match plan {
                LogicalPlan::Aggregate(aggregate) => with_keys_below(aggregate),
                plan => Ok(Transformed::no(plan)),
            }),
        plan => Ok(Transformed::no(plan)),
    })
    .data()
}

fn in_function(expr: Expr) -> Result<Transformed<Expr>> {
    Ok(match expr {
        // Its result may depend on the order, and it gets its rows as they come.
        Expr::AggregateFunction(function)
            if !function.params.order_by.is_empty() && function.func.inner().downcast_ref::<UserAggregate>().is_some() =>
        {
            return Err(UserAggregate::refused("ORDER BY", function.func.name()).into_datafusion());
        }
        Expr::AggregateFunction(mut function) if !function.params.order_by.is_empty() && !is_in_order(&function.func) => {
            function.params.order_by = Vec::new();
            Transformed::yes(Expr::AggregateFunction(function))
        }
        // The key of WITHIN GROUP is the argument.
        Expr::AggregateFunction(mut function)
            if !function.func.supports_within_group_clause() && function.params.order_by.iter().any(is_one_value) =>
        {
            function.params.order_by.retain(|key| !is_one_value(key));
            function.params.order_by = once(function.params.order_by);
            Transformed::yes(Expr::AggregateFunction(function))
        }
        // A frame in RANGE needs a key, of the type that its bounds have.
        Expr::WindowFunction(mut function) if function.params.order_by.iter().any(is_one_value) => {
            for key in function.params.order_by.iter_mut().filter(|key| is_one_value(key)) {
                key.expr = lit(ScalarValue::try_new_null(&key.expr.get_type(&DFSchema::empty())?)?);
            }
            Transformed::yes(Expr::WindowFunction(function))
        }
        Expr::AggregateFunction(mut function) if is_twice(&function.params.order_by) => {
            function.params.order_by = once(function.params.order_by);
            Transformed::yes(Expr::AggregateFunction(function))
        }
        expr => Transformed::no(expr),
    })
}

/// The aggregate with the keys that contain uncorrelated subqueries as columns of its input.
fn with_keys_below(aggregate: Aggregate) -> Result<Transformed<LogicalPlan>> {
    let input = Arc::clone(&aggregate.input);
    let mut below: Vec<Expr> = Vec::new();
    let mut with_columns = |expr: Expr| match expr {
        // The key of WITHIN GROUP is the argument, and so is that of DISTINCT.
        Expr::AggregateFunction(function) if function.func.supports_within_group_clause() || function.params.distinct => {
            Ok(Transformed::no(Expr::AggregateFunction(function)))
        }
        Expr::AggregateFunction(mut function) if function.params.order_by.iter().any(has_constant) => {
            for key in function.params.order_by.iter_mut().filter(|key| has_constant(key)) {
                let column = Column::new_unqualified(format!("__order_key_{}", below.len()));
                let expr = std::mem::replace(&mut key.expr, Expr::Column(column.clone()));
                below.push(expr.alias(column.name));
            }
            Ok(Transformed::yes(Expr::AggregateFunction(function)))
        }
        expr => Ok(Transformed::no(expr)),
    };
    let plan = map_under_names(LogicalPlan::Aggregate(aggregate), |expr| expr.transform_up(&mut with_columns))?;
    match plan.data {
        LogicalPlan::Aggregate(aggregate) if plan.transformed => {
            let columns = input.schema().columns().into_iter().map(Expr::Column);
            let input = LogicalPlan::Projection(Projection::try_new(columns.chain(below).collect(), input)?);
            let Aggregate { group_expr, aggr_expr, .. } = aggregate;
            Ok(Transformed::yes(LogicalPlan::Aggregate(Aggregate::try_new(Arc::new(input), group_expr, aggr_expr)?)))
        }
        plan => Ok(Transformed::no(plan)),
    }
}

fn is_in_order(function: &AggregateUDF) -> bool {
    IN_ORDER.contains(&function.name()) || function.supports_within_group_clause()
}

/// A correlated subquery becomes a join.
fn has_constant(key: &SortExpr) -> bool {
    let is_constant = |part: &Expr| matches!(part, Expr::ScalarSubquery(subquery) if subquery.outer_ref_columns.is_empty());
    // The walk itself cannot fail.
    key.expr.exists(|part| Ok(is_constant(part))).unwrap_or(true)
}

fn is_one_value(key: &SortExpr) -> bool {
    matches!(&key.expr, Expr::ScalarSubquery(subquery)
        if subquery.outer_ref_columns.is_empty() && max_rows(&subquery.subquery).is_some_and(|rows| rows <= 1))
}

/// DataFusion counts no row for a SELECT without FROM, and so none for a UNION of two of them.
fn max_rows(plan: &LogicalPlan) -> Option<usize> {
    let plan = plan.clone().transform_up(|part| match part {
        LogicalPlan::EmptyRelation(EmptyRelation { produce_one_row: true, schema }) => {
            Ok(Transformed::yes(LogicalPlan::Values(Values { schema, values: vec![Vec::new()] })))
        }
        part => Ok(Transformed::no(part)),
    });
    plan.ok()?.data.max_rows()
}

fn is_twice(keys: &[SortExpr]) -> bool {
    keys.iter().enumerate().any(|(at, key)| keys[..at].iter().any(|before| before.expr == key.expr))
}

fn once(keys: Vec<SortExpr>) -> Vec<SortExpr> {
    let mut found: Vec<SortExpr> = Vec::with_capacity(keys.len());
    for key in keys {
        if found.iter().all(|before| before.expr != key.expr) {
            found.push(key);
        }
    }
    found
}
