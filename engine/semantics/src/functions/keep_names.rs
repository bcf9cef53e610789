//! Rewrites expressions of a plan under the names of their columns.

use datafusion::common::Result;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::{Expr, LogicalPlan};

/// Applies `change` to each expression of the plan and keeps its name.
pub fn map_under_names(plan: LogicalPlan, mut change: impl FnMut(Expr) -> Result<Transformed<Expr>>) -> Result<Transformed<LogicalPlan>> {
    let names = NamePreserver::new(&plan);
    let mut under_its_name = |expr: Expr| {
        let name = names.save(&expr);
        let made = change(expr)?;
        Ok(if made.transformed { made.update_data(|expr| name.restore(expr)) } else { made })
    };
    plan.map_expressions(|expr| match expr {
        // The columns are made of the parts. A grouping set with an alias would no longer be a grouping set.
        Expr::GroupingSet(_) => expr.map_children(&mut under_its_name),
        _ => under_its_name(expr),
    })
}
