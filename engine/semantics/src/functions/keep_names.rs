//! Expressions of a plan that change and keep the names of their columns.

use datafusion::common::Result;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::{Expr, LogicalPlan};

/// The plan with each of its expressions as `change` makes it, under the name it had.
pub fn map_under_names(plan: LogicalPlan, mut change: impl FnMut(Expr) -> Result<Transformed<Expr>>) -> Result<Transformed<LogicalPlan>> {
    let names = NamePreserver::new(&plan);
    let mut under_its_name = |expr: Expr| {
        let name = names.save(&expr);
        let made = change(expr)?;
        Ok(if made.transformed { made.update_data(|expr| name.restore(expr)) } else { made })
    };
    plan.map_expressions(|expr| match expr {
        // Columns are made of the parts: a set that is given a name is none any more.
        Expr::GroupingSet(_) => expr.map_children(&mut under_its_name),
        _ => under_its_name(expr),
    })
}
