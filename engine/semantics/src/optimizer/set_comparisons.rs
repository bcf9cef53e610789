//! `x > ALL (SELECT …)` and its like, wherever they stand.
//!
//! DataFusion makes a CASE of two subqueries of each, and the expression around it has another name then: an aggregate or a window of
//! one is a column that the query no longer finds, as in `SELECT sum(CASE WHEN a < ANY (SELECT b FROM u) THEN 1 END) FROM t`
//! (rewrite_set_comparison.rs maps the expressions of a node without a `NamePreserver`).

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::{Expr, LogicalPlan};
use datafusion::optimizer::rewrite_set_comparison::RewriteSetComparison;
use datafusion::optimizer::{OptimizerConfig, OptimizerRule};

use super::in_subqueries::of_single_rows;

/// Ours, if the rule is DataFusion's for them.
pub fn in_place_of_comparisons(rule: Arc<dyn OptimizerRule + Send + Sync>) -> Arc<dyn OptimizerRule + Send + Sync> {
    let theirs = RewriteSetComparison::new();
    if rule.name() == theirs.name() { Arc::new(SetComparisons(theirs)) } else { rule }
}

#[derive(Debug)]
struct SetComparisons(RewriteSetComparison);

impl OptimizerRule for SetComparisons {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn supports_rewrite(&self) -> bool {
        true
    }

    fn rewrite(&self, plan: LogicalPlan, config: &dyn OptimizerConfig) -> Result<Transformed<LogicalPlan>> {
        plan.transform_up_with_subqueries(|node| {
            if !has_comparison(&node)? {
                return Ok(Transformed::no(node));
            }
            let preserver = NamePreserver::new(&node);
            let mut names: Vec<_> = node.expressions().iter().map(|expr| preserver.save(expr)).rev().collect();
            // Of an aggregate without groups it is a comparison with its value. All below has none any more.
            let node = node.map_expressions(|expr| of_single_rows(expr).map(Transformed::yes))?.data;
            let node = self.0.rewrite(node, config)?;
            let named = node.data.map_expressions(|expr| {
                Ok(match names.pop() {
                    Some(name) => Transformed::yes(name.restore(expr)),
                    None => Transformed::no(expr),
                })
            })?;
            Ok(Transformed::yes(named.data.recompute_schema()?))
        })
    }
}

fn has_comparison(node: &LogicalPlan) -> Result<bool> {
    let mut found = false;
    node.apply_expressions(|expr| {
        found = expr.exists(|part| Ok(matches!(part, Expr::SetComparison(_))))?;
        Ok(if found { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    })?;
    Ok(found)
}
