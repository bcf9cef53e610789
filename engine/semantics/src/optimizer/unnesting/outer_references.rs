//! What a plan and its subqueries look at outside of them.

use std::collections::BTreeSet;

use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{Column, Result};
use datafusion::logical_expr::logical_plan::Subquery;
use datafusion::logical_expr::utils::merge_schema;
use datafusion::logical_expr::{Expr, LogicalPlan};

/// The columns outside of it at which a plan looks, also from within its own subqueries. A subquery looks at the nearest rows that have a column.
pub fn outer_columns(plan: &LogicalPlan) -> Result<BTreeSet<Column>> {
    let mut columns = BTreeSet::new();
    for input in plan.inputs() {
        columns.extend(outer_columns(input)?);
    }
    // The right side of a LATERAL looks at the left one.
    if let LogicalPlan::Join(join) = plan
        && lateral_of(&join.right).is_some()
    {
        let of_left = outer_columns(&join.left)?;
        columns.retain(|column| of_left.contains(column) || !join.left.schema().has_column(column));
    }
    let schema = merge_schema(&plan.inputs());
    plan.apply_expressions(|expr| {
        expr.apply(|part| {
            if let Expr::OuterReferenceColumn(_, column) = part {
                columns.insert(column.clone());
            }
            if let Some(subquery) = subquery_of(part) {
                columns.extend(outer_columns(&subquery.subquery)?.into_iter().filter(|column| !schema.has_column(column)));
            }
            Ok(TreeNodeRecursion::Continue)
        })
    })?;
    Ok(columns)
}

/// The subquery of a LATERAL that looks at the other side of its join.
pub fn lateral_of(right: &LogicalPlan) -> Option<&Subquery> {
    match right {
        LogicalPlan::SubqueryAlias(alias) => lateral_of(&alias.input),
        LogicalPlan::Subquery(subquery) if !subquery.outer_ref_columns.is_empty() => Some(subquery),
        _ => None,
    }
}

pub fn subquery_of(expr: &Expr) -> Option<&Subquery> {
    match expr {
        Expr::ScalarSubquery(subquery) => Some(subquery),
        Expr::Exists(exists) => Some(&exists.subquery),
        Expr::InSubquery(test) => Some(&test.subquery),
        Expr::SetComparison(test) => Some(&test.subquery),
        _ => None,
    }
}

/// The expression with another subquery in it.
pub fn map_subquery(expr: Expr, f: &mut impl FnMut(Subquery) -> Result<Subquery>) -> Result<Transformed<Expr>> {
    Ok(match expr {
        Expr::ScalarSubquery(subquery) => Transformed::yes(Expr::ScalarSubquery(f(subquery)?)),
        Expr::Exists(mut exists) => {
            exists.subquery = f(exists.subquery)?;
            Transformed::yes(Expr::Exists(exists))
        }
        Expr::InSubquery(mut test) => {
            test.subquery = f(test.subquery)?;
            Transformed::yes(Expr::InSubquery(test))
        }
        Expr::SetComparison(mut test) => {
            test.subquery = f(test.subquery)?;
            Transformed::yes(Expr::SetComparison(test))
        }
        expr => Transformed::no(expr),
    })
}

pub fn has_column(expr: &Expr, columns: &[Column]) -> bool {
    expr.exists(|part| Ok(matches!(part, Expr::OuterReferenceColumn(_, column) if columns.contains(column)))).unwrap_or(true)
}
