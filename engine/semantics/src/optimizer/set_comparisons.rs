//! `x > ALL (SELECT …)` and its like, wherever they stand.
//!
//! DataFusion makes a CASE of two subqueries of each, and the expression around it has another name then: an aggregate or a window of
//! one is a column that the query no longer finds, as in `SELECT sum(CASE WHEN a < ANY (SELECT b FROM u) THEN 1 END) FROM t`
//! (rewrite_set_comparison.rs maps the expressions of a node without a `NamePreserver`).

use datafusion::common::Result;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::utils::merge_schema;
use datafusion::logical_expr::{Expr, LogicalPlan};
use datafusion::optimizer::rewrite_set_comparison::RewriteSetComparison;
use datafusion::optimizer::{OptimizerConfig, OptimizerRule};

use super::in_subqueries::of_single_rows;
use super::nested_order;
use super::rule::{Rule, around};

/// Ours, if the rule is DataFusion's for them.
pub fn in_place_of_comparisons(rule: Rule) -> Rule {
    around(rule, &[&RewriteSetComparison::new()], under_their_names)
}

fn under_their_names(theirs: &dyn OptimizerRule, plan: LogicalPlan, config: &dyn OptimizerConfig) -> Result<Transformed<LogicalPlan>> {
    plan.transform_up_with_subqueries(|node| {
        if !has_comparison(&node)? {
            return Ok(Transformed::no(node));
        }
        let preserver = NamePreserver::new(&node);
        let mut names = Vec::new();
        for expr in node.expressions() {
            if let Expr::GroupingSet(_) = &expr {
                // It has no name: its keys are columns.
                expr.apply_children(|key| {
                    names.push(preserver.save(key));
                    Ok(TreeNodeRecursion::Continue)
                })?;
            } else {
                names.push(preserver.save(&expr));
            }
        }
        names.reverse();
        // Of an aggregate without groups it is a comparison with its value. All below has none any more.
        let schema = merge_schema(&node.inputs());
        let node = node.map_expressions(|expr| {
            let made = of_single_rows(expr)?.transform_up(|part| Ok(nested_order::comparison(part, &schema)))?;
            Ok(Transformed::yes(made.data))
        })?;
        let node = nested_order::in_filters(theirs.rewrite(node.data, config)?.data)?;
        let mut restored = |expr: Expr| -> Result<Transformed<Expr>> {
            Ok(match names.pop() {
                Some(name) => Transformed::yes(name.restore(expr)),
                None => Transformed::no(expr),
            })
        };
        let named = node.data.map_expressions(|expr| match expr {
            Expr::GroupingSet(_) => expr.map_children(&mut restored),
            _ => restored(expr),
        })?;
        Ok(Transformed::yes(named.data.recompute_schema()?))
    })
}

fn has_comparison(node: &LogicalPlan) -> Result<bool> {
    let mut found = false;
    node.apply_expressions(|expr| {
        found = expr.exists(|part| Ok(matches!(part, Expr::SetComparison(_))))?;
        Ok(if found { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    })?;
    Ok(found)
}
