//! `x > ALL (SELECT …)` and its like, wherever they stand.
//!
//! DataFusion makes a CASE of two subqueries of each, and the expression around it has another name then: an aggregate or a window of
//! one is a column that the query no longer finds, as in `SELECT sum(CASE WHEN a < ANY (SELECT b FROM u) THEN 1 END) FROM t`
//! (rewrite_set_comparison.rs maps the expressions of a node without a `NamePreserver`).
//!
//! And what stands on the left of ALL, ANY or IN comes to stand in the subquery on the right, or in a join. A subquery that looks outside
//! has no meaning there, so it becomes a column of the rows below.

use std::sync::Arc;

use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{Column, Result};
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::logical_plan::Projection;
use datafusion::logical_expr::utils::merge_schema;
use datafusion::logical_expr::{Expr, LogicalPlan};
use datafusion::optimizer::rewrite_set_comparison::RewriteSetComparison;
use datafusion::optimizer::{OptimizerConfig, OptimizerRule};

use super::correlated_checks::is_correlated;
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
        let columns = node.schema().columns();
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
        let node = nested_order::in_filters(theirs.rewrite(with_left_columns(node.data)?, config)?.data)?;
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
        let named = named.data.recompute_schema()?;
        if named.schema().fields().len() == columns.len() {
            return Ok(Transformed::yes(named));
        }
        let columns = columns.into_iter().map(Expr::Column).collect();
        Ok(Transformed::yes(LogicalPlan::Projection(Projection::try_new(columns, Arc::new(named))?)))
    })
}

/// The node above a projection that has what stands on the left, where that looks outside.
fn with_left_columns(node: LogicalPlan) -> Result<LogicalPlan> {
    let input = match node.inputs().as_slice() {
        [input] => Some((*input).clone()),
        _ => None,
    };
    let Some(input) = input else { return Ok(node) };
    let mut columns: Vec<Expr> = input.schema().columns().into_iter().map(Expr::Column).collect();
    let node = node.map_expressions(|expr| {
        expr.transform_up(|mut part| {
            let left = match &mut part {
                Expr::SetComparison(comparison) if looks_outside(&comparison.expr) => comparison.expr.as_mut(),
                Expr::InSubquery(comparison) if looks_outside(&comparison.expr) => comparison.expr.as_mut(),
                _ => return Ok(Transformed::no(part)),
            };
            let name = format!("__left_{}", columns.len());
            let value = std::mem::replace(left, Expr::Column(Column::new_unqualified(&name)));
            columns.push(value.alias(name));
            Ok(Transformed::yes(part))
        })
    })?;
    if !node.transformed {
        return Ok(node.data);
    }
    let input = LogicalPlan::Projection(Projection::try_new(columns, Arc::new(input))?);
    node.data.with_new_exprs(node.data.expressions(), vec![input])
}

/// Whether it has a subquery that does.
fn looks_outside(expr: &Expr) -> bool {
    let found = expr.exists(|part| {
        Ok(match part {
            Expr::ScalarSubquery(subquery) => is_correlated(subquery),
            Expr::Exists(exists) => is_correlated(&exists.subquery),
            Expr::InSubquery(comparison) => is_correlated(&comparison.subquery),
            Expr::SetComparison(comparison) => is_correlated(&comparison.subquery),
            _ => false,
        })
    });
    // The walk itself cannot fail.
    found.unwrap_or(true)
}

fn has_comparison(node: &LogicalPlan) -> Result<bool> {
    let mut found = false;
    node.apply_expressions(|expr| {
        found = expr.exists(|part| {
            Ok(match part {
                Expr::SetComparison(_) => true,
                Expr::InSubquery(comparison) => looks_outside(&comparison.expr),
                _ => false,
            })
        })?;
        Ok(if found { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    })?;
    Ok(found)
}
