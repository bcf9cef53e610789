//! The order of an aggregate, where it decides anything, and each key of it once.
//!
//! Of most aggregates it decides no more than the last digits, and is left out here. DataFusion keeps beside each part of a result what it
//! is ordered by, and such an aggregate does not expect that: `SELECT a, avg(b ORDER BY b) FROM t GROUP BY a` panics, and `min(b ORDER BY b)`
//! is an error (state_fields of datafusion-expr).
//!
//! A key that comes twice counts once. DataFusion's `first_value` sorts by one of the two, misses the other and panics:
//! `SELECT DISTINCT ON (a) b FROM t ORDER BY a, a` (first_last.rs of datafusion-functions-aggregate). The second never decides anything.

use datafusion::common::Result;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::{AggregateUDF, Distinct, Expr, LogicalPlan, SortExpr};

/// Aggregates whose result is another one in another order, beside those WITHIN GROUP.
const IN_ORDER: [&str; 6] = ["array_agg", "string_agg", "first_value", "last_value", "nth_value", "any_value"];

pub fn order_once(plan: LogicalPlan) -> Result<LogicalPlan> {
    plan.transform_up_with_subqueries(|plan| match plan {
        LogicalPlan::Distinct(Distinct::On(mut on)) if on.sort_expr.as_deref().is_some_and(is_twice) => {
            on.sort_expr = on.sort_expr.map(once);
            Ok(Transformed::yes(LogicalPlan::Distinct(Distinct::On(on))))
        }
        plan @ LogicalPlan::Aggregate(_) => {
            let names = NamePreserver::new(&plan);
            plan.map_expressions(|expr| {
                let name = names.save(&expr);
                Ok(expr.transform_up(in_aggregate)?.update_data(|expr| name.restore(expr)))
            })
        }
        plan => Ok(Transformed::no(plan)),
    })
    .data()
}

fn in_aggregate(expr: Expr) -> Result<Transformed<Expr>> {
    Ok(match expr {
        Expr::AggregateFunction(mut function) if !function.params.order_by.is_empty() && !is_in_order(&function.func) => {
            function.params.order_by = Vec::new();
            Transformed::yes(Expr::AggregateFunction(function))
        }
        Expr::AggregateFunction(mut function) if is_twice(&function.params.order_by) => {
            function.params.order_by = once(function.params.order_by);
            Transformed::yes(Expr::AggregateFunction(function))
        }
        expr => Transformed::no(expr),
    })
}

fn is_in_order(function: &AggregateUDF) -> bool {
    IN_ORDER.contains(&function.name()) || function.supports_within_group_clause()
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
