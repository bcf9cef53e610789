//! `x > ALL (SELECT …)` and the like, in any position.
//!
//! DataFusion rewrites each to a CASE of two subqueries, and the expression around it changes its name: the query no longer finds an
//! aggregate or window column with one inside, as in `SELECT sum(CASE WHEN a < ANY (SELECT b FROM u) THEN 1 END) FROM t`
//! (rewrite_set_comparison.rs maps the expressions of a node without a `NamePreserver`).
//!
//! The left operand of ALL, ANY or IN also moves into the subquery on the right, or into a join. A correlated subquery has no meaning
//! there, so it becomes a column of the rows below.

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

/// Our rule, if this is DataFusion's for set comparisons.
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
                // A grouping set has no name: its keys are columns.
                expr.apply_children(|key| {
                    names.push(preserver.save(key));
                    Ok(TreeNodeRecursion::Continue)
                })?;
            } else {
                names.push(preserver.save(&expr));
            }
        }
        names.reverse();
        // With an aggregate without groups it becomes a comparison with its value. The nodes below have been rewritten already.
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

/// The node above a projection that computes the correlated left operands.
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

/// Whether it contains a correlated subquery.
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
