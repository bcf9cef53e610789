//! A key that comes twice in the order of an aggregate counts once.
//!
//! DataFusion's `first_value` sorts by one of the two, misses the other and panics: `SELECT DISTINCT ON (a) b FROM t ORDER BY a, a`
//! (first_last.rs of datafusion-functions-aggregate). The second never decides anything.

use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::{Distinct, Expr, LogicalPlan, SortExpr};
use datafusion::optimizer::AnalyzerRule;

#[derive(Debug, Default)]
pub struct OrderOnce;

impl AnalyzerRule for OrderOnce {
    fn analyze(&self, plan: LogicalPlan, _options: &ConfigOptions) -> Result<LogicalPlan> {
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

    fn name(&self) -> &str {
        "order_once"
    }
}

fn in_aggregate(expr: Expr) -> Result<Transformed<Expr>> {
    Ok(match expr {
        Expr::AggregateFunction(mut function) if is_twice(&function.params.order_by) => {
            function.params.order_by = once(function.params.order_by);
            Transformed::yes(Expr::AggregateFunction(function))
        }
        expr => Transformed::no(expr),
    })
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
