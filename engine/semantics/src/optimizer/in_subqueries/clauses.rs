//! Subqueries in clauses where DataFusion does not make joins of them.

use std::sync::Arc;

use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{Column, DFSchema, Result, plan_err};
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::logical_plan::{Filter, Join, Projection};
use datafusion::logical_expr::utils::{conjunction, split_conjunction_owned};
use datafusion::logical_expr::{Expr, JoinType, LogicalPlan};

use super::{exact, has_subquery, is_subquery};

/// A SELECT list. DataFusion rewrites only conditions, so the expressions are combined into one condition, and the result is split again.
pub fn in_projection(
    projection: Projection,
    joined: impl FnOnce(LogicalPlan) -> Result<Transformed<LogicalPlan>>,
) -> Result<Transformed<LogicalPlan>> {
    let Projection { expr, input, .. } = &projection;
    let asked = expr.iter().filter(|expr| has_subquery(expr));
    let asked = asked.map(|expr| Ok(exact::value(unaliased(expr).clone(), input.schema())?.is_not_null()));
    let Some(predicate) = conjunction(asked.collect::<Result<Vec<_>>>()?) else {
        return Ok(Transformed::no(LogicalPlan::Projection(projection)));
    };
    let plan = joined(LogicalPlan::Filter(Filter::try_new(predicate, Arc::clone(input))?))?.data;
    let filter = match plan {
        LogicalPlan::Projection(outer) => Arc::unwrap_or_clone(outer.input),
        plan => plan,
    };
    let LogicalPlan::Filter(Filter { predicate, input: joined, .. }) = filter else {
        return Ok(Transformed::no(LogicalPlan::Projection(projection)));
    };
    if has_subquery(&predicate) {
        return Ok(Transformed::no(LogicalPlan::Projection(projection)));
    }
    let mut answers = split_conjunction_owned(predicate).into_iter().map(|term| match term {
        Expr::IsNotNull(answer) => *answer,
        term => term,
    });
    let names = NamePreserver::new_for_projection();
    let exprs = expr.iter().map(|expr| match has_subquery(expr) {
        true => answers.next().map(|answer| names.save(expr).restore(answer)),
        false => Some(expr.clone()),
    });
    match exprs.collect::<Option<Vec<_>>>() {
        Some(exprs) => Ok(Transformed::yes(LogicalPlan::Projection(Projection::try_new(exprs, joined)?))),
        None => Ok(Transformed::no(LogicalPlan::Projection(projection))),
    }
}

fn unaliased(expr: &Expr) -> &Expr {
    if let Expr::Alias(alias) = expr { unaliased(&alias.expr) } else { expr }
}

/// For an operator with one input: the subqueries become columns of that input.
pub fn below(plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    if !plan.expressions().iter().any(|expr| expr.exists(|part| Ok(needs_join(part))).unwrap_or(true)) {
        return Ok(Transformed::no(plan));
    }
    let schema = Arc::clone(plan.schema());
    let input = Arc::new(plan.inputs()[0].clone());
    // A key may be in several grouping sets.
    let (mut found, mut computed): (Vec<(Expr, String)>, Vec<Expr>) = (Vec::new(), Vec::new());
    let names = NamePreserver::new(&plan);
    let mut above = |expr: Expr| -> Result<Transformed<Expr>> {
        let name = names.save(&expr);
        let above = expr.transform_down(|part| {
            if !needs_join(&part) {
                return Ok(Transformed::no(part));
            }
            let known = found.iter().find(|(known, _)| *known == part).map(|(_, column)| column.clone());
            let column = match known {
                Some(column) => column,
                None => {
                    let column = free_name(input.schema(), found.len());
                    computed.push(exact::value(part.clone(), input.schema())?.alias(&column));
                    found.push((part, column.clone()));
                    column
                }
            };
            Ok(Transformed::new(Expr::Column(Column::new_unqualified(column)), true, TreeNodeRecursion::Jump))
        })?;
        Ok(if above.transformed { above.update_data(|expr| name.restore(expr)) } else { above })
    };
    let plan = plan.map_expressions(|expr| match expr {
        // A grouping set has no name: its keys are columns.
        Expr::GroupingSet(_) => expr.map_children(&mut above),
        _ => above(expr),
    })?;
    let known = input.schema().columns().into_iter().map(Expr::Column);
    let input = Projection::try_new(known.chain(computed).collect(), Arc::clone(&input))?;
    let exprs = plan.data.expressions();
    let plan = plan.data.with_new_exprs(exprs, vec![LogicalPlan::Projection(input)])?;
    if plan.schema().fields().len() == schema.fields().len() {
        return Ok(Transformed::yes(plan));
    }
    // An operator that passes on its input's columns must show the same columns as before.
    let columns = schema.columns().into_iter().map(Expr::Column).collect();
    Ok(Transformed::yes(LogicalPlan::Projection(Projection::try_new(columns, Arc::new(plan))?)))
}

/// Also a correlated scalar subquery.
fn needs_join(expr: &Expr) -> bool {
    is_subquery(expr) || matches!(expr, Expr::ScalarSubquery(subquery) if !subquery.outer_ref_columns.is_empty())
}

fn free_name(schema: &DFSchema, number: usize) -> String {
    let names = (number..).map(|number| format!("__subquery_{number}"));
    names.into_iter().find(|name| !schema.has_column_with_unqualified_name(name)).unwrap_or_default()
}

/// ON. Above an inner join the condition means the same. Below an outer join, so does a condition on only the side that is filled with
/// NULLs.
pub fn in_join(mut join: Join) -> Result<Transformed<LogicalPlan>> {
    let terms = join.filter.take().map(split_conjunction_owned).unwrap_or_default();
    let (asked, others): (Vec<Expr>, Vec<Expr>) = terms.into_iter().partition(has_subquery);
    join.filter = conjunction(others);
    let Some(predicate) = conjunction(asked) else { return Ok(Transformed::no(LogicalPlan::Join(join))) };
    let filtered = |input: Arc<LogicalPlan>| Filter::try_new(predicate.clone(), input).map(LogicalPlan::Filter);
    match join.join_type {
        JoinType::Inner => return Ok(Transformed::yes(filtered(Arc::new(LogicalPlan::Join(join)))?)),
        JoinType::Left if is_about(&predicate, join.right.schema()) => join.right = Arc::new(filtered(join.right)?),
        JoinType::Right if is_about(&predicate, join.left.schema()) => join.left = Arc::new(filtered(join.left)?),
        _ => {
            return plan_err!(
                "a subquery in ON of an outer join may be about the columns of the side alone that is filled with NULLs; \
                 join with a query that has the condition in its WHERE"
            );
        }
    }
    Ok(Transformed::yes(LogicalPlan::Join(join)))
}

/// Whether the condition and its subqueries use only these columns of the join.
fn is_about(predicate: &Expr, schema: &DFSchema) -> bool {
    let is_here = |column: &Column| schema.has_column(column);
    let has_others = predicate.exists(|part| {
        let subquery = match part {
            Expr::InSubquery(part) => &part.subquery,
            Expr::Exists(part) => &part.subquery,
            Expr::ScalarSubquery(subquery) => subquery,
            Expr::Column(column) => return Ok(!is_here(column)),
            _ => return Ok(false),
        };
        Ok(subquery.outer_ref_columns.iter().any(|outer| match outer {
            Expr::OuterReferenceColumn(_, column) => !is_here(column),
            _ => true,
        }))
    });
    !has_others.unwrap_or(true)
}
