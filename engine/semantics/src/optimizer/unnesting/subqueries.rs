//! Finds the subqueries that have to be unnested, and puts their answers in their place.

use std::sync::Arc;

use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode, TreeNodeRecursion};
use datafusion::common::{Column, DFSchema, JoinType, NullEquality, Result, internal_err};
use datafusion::logical_expr::expr::{Exists, InSubquery, SetQuantifier};
use datafusion::logical_expr::logical_plan::{Distinct, Filter, Join, Projection, Subquery};
use datafusion::logical_expr::utils::{merge_schema, split_conjunction};
use datafusion::logical_expr::{Expr, LogicalPlan, LogicalPlanBuilder, Operator, binary_expr, not};

use super::answers::{Answered, BoundRows, any, exists, value};
use super::bindings::Bindings;
use super::outer_references::{lateral_of, map_subquery, outer_columns, subquery_of};
use crate::functions::map_under_names;
use crate::optimizer::correlated_checks::{check_lateral, check_predicate, check_scalar, keeps_first_row};
use crate::optimizer::lateral_unnest::of_left_rows;
use crate::optimizer::single_rows::{has_plain_rows, only_row};

/// The plan without subqueries that DataFusion cannot make joins of. Runs before the types of operands are made equal.
pub fn unnested_subqueries(plan: LogicalPlan) -> Result<LogicalPlan> {
    let mut looks_outside = false;
    plan.apply_with_subqueries(|node| {
        looks_outside |= node.contains_outer_reference();
        Ok(if looks_outside { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    })?;
    if looks_outside { Unnesting::default().of_plan(plan) } else { Ok(plan) }
}

#[derive(Default)]
struct Unnesting {
    /// Of the subqueries so far.
    count: usize,
}

impl Unnesting {
    fn of_plan(&mut self, plan: LogicalPlan) -> Result<LogicalPlan> {
        let before = self.count;
        let plan = plan.map_children(|input| self.of_plan(input).map(Transformed::yes))?.data;
        // Subqueries of subqueries first.
        let plan = map_subqueries(plan, &mut |subquery, is_about_rows| {
            let inner = if is_about_rows { without_first_rows(&subquery.subquery) } else { &subquery.subquery };
            let inner = self.of_plan(inner.as_ref().clone())?;
            Ok(subquery.with_plan(Arc::new(inner)))
        })?;
        // What was NOT NULL may be the NULL of a subquery without rows.
        let plan = if self.count > before { plan.recompute_schema()? } else { plan };
        match plan {
            LogicalPlan::Join(join) => self.of_join(join),
            LogicalPlan::Subquery(_) => Ok(plan),
            plan if plan.inputs().len() == 1 => self.of_exprs(plan),
            plan => Ok(plan),
        }
    }

    /// The answers become columns of the input.
    fn of_exprs(&mut self, plan: LogicalPlan) -> Result<LogicalPlan> {
        let outside = merge_schema(&plan.inputs());
        let mut found = false;
        for expr in plan.expressions() {
            found |= expr.exists(|part| is_unnestable(part, &outside))?;
        }
        if !found {
            return Ok(plan);
        }
        let columns = plan.schema().columns();
        // The bindings are those of the rows without answers: with them the plan would double for each subquery.
        let input = plan.inputs()[0].clone();
        let mut rows = input.clone();
        let plan = map_under_names(plan, |expr| {
            expr.transform_up(|part| {
                if !is_unnestable(&part, &outside)? {
                    return Ok(Transformed::no(part));
                }
                let Answered { rows: answered, answer } = self.answered(rows.clone(), &input, part)?;
                rows = answered;
                Ok(Transformed::yes(answer))
            })
        })?
        .data;
        let exprs = plan.expressions();
        let plan = plan.with_new_exprs(exprs, vec![rows])?.recompute_schema()?;
        if plan.schema().columns() == columns {
            return Ok(plan);
        }
        LogicalPlanBuilder::from(plan).project(columns.into_iter().map(Expr::Column))?.build()
    }

    /// `expr` is a subquery that has to be unnested, with bindings in the columns of `input`; its answers are joined to `rows`.
    fn answered(&mut self, rows: LogicalPlan, input: &LogicalPlan, expr: Expr) -> Result<Answered> {
        self.count += 1;
        let number = self.count;
        match expr {
            Expr::ScalarSubquery(subquery) => {
                let plan = &subquery.subquery;
                let found = self.found(plan, input, number)?;
                value(rows, plan, found, number, only_row())
            }
            Expr::Exists(Exists { subquery, negated }) => {
                let found = self.found(&subquery.subquery, input, number)?;
                Ok(exists(rows, found, number)?.negated_if(negated))
            }
            Expr::InSubquery(InSubquery { expr, subquery, negated }) => {
                let compared = compared(&subquery, &expr, Operator::Eq, false, rows.schema())?;
                let found = self.found(&compared, input, number)?;
                Ok(any(rows, &compared, found, number)?.negated_if(negated))
            }
            Expr::SetComparison(comparison) => {
                let is_all = comparison.quantifier == SetQuantifier::All;
                let compared = compared(&comparison.subquery, &comparison.expr, comparison.op, is_all, rows.schema())?;
                let found = self.found(&compared, input, number)?;
                Ok(any(rows, &compared, found, number)?.negated_if(is_all))
            }
            other => internal_err!("{other} is no subquery"),
        }
    }

    /// The rows of the subquery for each binding. Its own subqueries, which may look at the same rows outside, look at the bindings now.
    fn found(&mut self, plan: &LogicalPlan, rows: &LogicalPlan, number: usize) -> Result<BoundRows> {
        let Some(bindings) = Bindings::of(plan, rows, number)? else { return internal_err!("a subquery looks at no row outside") };
        let rows = self.of_plan(bindings.with_rows(plan)?)?;
        Ok(BoundRows { rows, bindings })
    }

    fn of_join(&mut self, join: Join) -> Result<LogicalPlan> {
        if let Some(lateral) = lateral_of(&join.right)
            && matches!(join.join_type, JoinType::Inner | JoinType::Left)
            && !is_joined_by_datafusion(&join.right, lateral)?
            && of_left_rows(&join)?.is_none()
        {
            self.count += 1;
            // Without the marker, the rest is a plan like others.
            let right = Arc::unwrap_or_clone(Arc::clone(&join.right)).transform_down(|node| match node {
                LogicalPlan::Subquery(subquery) => Ok(Transformed::new(subquery.subquery.as_ref().clone(), true, TreeNodeRecursion::Stop)),
                node => Ok(Transformed::no(node)),
            });
            let right = right.data()?;
            if let Some(bindings) = Bindings::of(&right, first_with_columns(&join.left, &right)?, self.count)? {
                let columns: Vec<Expr> = join.schema.columns().into_iter().map(Expr::Column).collect();
                let keys = (bindings.outer().to_vec(), bindings.columns());
                let on = join.on.into_iter().map(|(left, right)| left.eq(right));
                let condition = on.chain(join.filter).reduce(Expr::and);
                let rows = LogicalPlanBuilder::from(Arc::unwrap_or_clone(join.left));
                let right = self.of_plan(bindings.with_rows(&right)?)?;
                return rows.join_detailed(right, join.join_type, keys, condition, NullEquality::NullEqualsNull)?.project(columns)?.build();
            }
        }
        let Some(filter) = join.filter.clone() else { return Ok(LogicalPlan::Join(join)) };
        let outside = join.schema.as_ref().clone();
        if !filter.exists(|part| is_unnestable(part, &outside))? || join.join_type != JoinType::Inner {
            return Ok(LogicalPlan::Join(join));
        }
        let joined = LogicalPlan::Join(Join::try_new(
            join.left,
            join.right,
            join.on,
            None,
            join.join_type,
            join.join_constraint,
            join.null_equality,
            join.null_aware,
        )?);
        self.of_exprs(LogicalPlan::Filter(Filter::try_new(filter, Arc::new(joined))?))
    }
}

impl Answered {
    fn negated_if(self, is_negated: bool) -> Answered {
        let Answered { rows, answer } = self;
        Answered { rows, answer: if is_negated { not(answer) } else { answer } }
    }
}

/// The rows below other LATERALs that have all columns at which the plan looks. More rows than those of the join do no harm.
fn first_with_columns<'a>(left: &'a LogicalPlan, right: &LogicalPlan) -> Result<&'a LogicalPlan> {
    let outer: Vec<Column> = outer_columns(right)?.into_iter().filter(|column| left.schema().has_column(column)).collect();
    let mut rows = left;
    loop {
        let below = match rows {
            LogicalPlan::Projection(projection) if projection.expr.iter().all(|expr| matches!(expr, Expr::Column(_))) => &projection.input,
            LogicalPlan::Join(join) if matches!(join.join_type, JoinType::Inner | JoinType::Left) => &join.left,
            _ => return Ok(rows),
        };
        if !outer.iter().all(|column| below.schema().has_column(column)) {
            return Ok(rows);
        }
        rows = below;
    }
}

/// The rows of a subquery as the comparison of each with the expression outside.
fn compared(subquery: &Subquery, expr: &Expr, op: Operator, negated: bool, outside: &DFSchema) -> Result<LogicalPlan> {
    let outer = expr.clone().transform_up(|part| match part {
        Expr::Column(column) => {
            let field = Arc::clone(outside.qualified_field_from_column(&column)?.1);
            Ok(Transformed::yes(Expr::OuterReferenceColumn(field, column)))
        }
        part => Ok(Transformed::no(part)),
    });
    let column = subquery.subquery.schema().columns().into_iter().next();
    let column = column.map(Expr::Column).unwrap_or_else(|| expr.clone());
    let comparison = binary_expr(outer.data()?, op, column);
    let comparison = if negated { not(comparison) } else { comparison };
    let plan = Projection::try_new(vec![comparison.alias("__compared")], Arc::clone(&subquery.subquery))?;
    Ok(LogicalPlan::Projection(plan))
}

/// Whether an expression is a subquery that has to be unnested. `outside` has the columns of the rows around it.
fn is_unnestable(expr: &Expr, outside: &DFSchema) -> Result<bool> {
    let Some(Subquery { subquery: plan, .. }) = subquery_of(expr) else { return Ok(false) };
    let is_checked = match expr {
        Expr::ScalarSubquery(_) => check_scalar(plan),
        Expr::Exists(_) => check_predicate(plan, true),
        _ => check_predicate(plan, false),
    };
    let outer = outer_columns(plan)?;
    // What looks further outside is unnested there.
    if !outer.iter().any(|column| outside.has_column(column)) {
        return Ok(false);
    }
    let is_near = outer.iter().all(|column| outside.has_column(column));
    let needs_equalities = matches!(expr, Expr::ScalarSubquery(_));
    if needs_equalities && !is_value(plan)? {
        return Ok(true);
    }
    Ok(is_checked.is_err() || !is_near || !looks_in_conditions(plan, needs_equalities)?)
}

/// Whether DataFusion can move what looks outside above the rest: conditions of WHERE, perhaps only equalities, and on no side of a join which is
/// filled with NULLs.
fn looks_in_conditions(plan: &LogicalPlan, needs_equalities: bool) -> Result<bool> {
    let schema = merge_schema(&plan.inputs());
    if let LogicalPlan::Filter(filter) = plan {
        for term in split_conjunction(&filter.predicate) {
            if looks_further(term, &schema)? || term.contains_outer() && needs_equalities && !is_equality(term) {
                return Ok(false);
            }
        }
        return looks_in_conditions(&filter.input, needs_equalities);
    }
    let mut looks = false;
    plan.apply_expressions(|expr| {
        looks |= expr.contains_outer() || looks_further(expr, &schema)?;
        Ok(TreeNodeRecursion::Continue)
    })?;
    use JoinType::{Inner, Left, Right};
    let inputs = plan.inputs();
    for (number, input) in inputs.into_iter().enumerate() {
        let is_movable = match plan {
            LogicalPlan::Join(join) => match join.join_type {
                Inner => true,
                Left => number == 0,
                Right => number == 1,
                // INTERSECT and EXCEPT among them.
                _ => false,
            },
            LogicalPlan::Union(_) | LogicalPlan::Limit(_) | LogicalPlan::Window(_) | LogicalPlan::SubqueryAlias(_) => false,
            LogicalPlan::Distinct(Distinct::On(_)) => false,
            _ => true,
        };
        looks |= match is_movable {
            true => !looks_in_conditions(input, needs_equalities || matches!(plan, LogicalPlan::Aggregate(_)))?,
            false => !outer_columns(input)?.is_empty(),
        };
    }
    Ok(!looks)
}

/// Whether a subquery in the expression looks further outside than at the rows of this schema.
fn looks_further(expr: &Expr, schema: &DFSchema) -> Result<bool> {
    expr.exists(|part| {
        Ok(match subquery_of(part) {
            Some(subquery) => outer_columns(&subquery.subquery)?.iter().any(|column| !schema.has_column(column)),
            None => false,
        })
    })
}

/// `x = o.k`
fn is_equality(term: &Expr) -> bool {
    match term {
        Expr::BinaryExpr(binary) if binary.op == Operator::Eq => {
            let mixes = |side: &Expr| side.contains_outer() && side.any_column_refs();
            term.any_column_refs() && !mixes(&binary.left) && !mixes(&binary.right)
        }
        _ => false,
    }
}

/// For EXISTS: there is a row if there is a first one.
fn without_first_rows(plan: &Arc<LogicalPlan>) -> &Arc<LogicalPlan> {
    match plan.as_ref() {
        LogicalPlan::Limit(limit) if keeps_first_row(limit) => without_first_rows(&limit.input),
        LogicalPlan::Sort(sort) if sort.fetch.is_none() => without_first_rows(&sort.input),
        LogicalPlan::Projection(Projection { input, .. }) if matches!(input.as_ref(), LogicalPlan::Sort(_) | LogicalPlan::Limit(_)) => {
            let rows = without_first_rows(input);
            if Arc::ptr_eq(rows, input) { plan } else { rows }
        }
        _ => plan,
    }
}

/// Whether a scalar subquery has a form that other rules make a join of: an aggregate, or rows of which each counts.
fn is_value(plan: &LogicalPlan) -> Result<bool> {
    match plan {
        LogicalPlan::Projection(Projection { input, .. }) if is_value(input)? => Ok(true),
        LogicalPlan::Filter(Filter { input, .. }) if matches!(input.as_ref(), LogicalPlan::Aggregate(_)) => is_value(input),
        LogicalPlan::Aggregate(aggregate) => Ok(aggregate.group_expr.is_empty()),
        plan => has_plain_rows(plan),
    }
}

fn is_joined_by_datafusion(right: &LogicalPlan, lateral: &Subquery) -> Result<bool> {
    let mut is_aggregate = false;
    lateral.subquery.apply(|node| {
        is_aggregate |= matches!(node, LogicalPlan::Aggregate(_) | LogicalPlan::Unnest(_) | LogicalPlan::Distinct(_));
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok(check_lateral(right).is_ok() && looks_in_conditions(&lateral.subquery, is_aggregate)?)
}

/// `f` is also told whether it matters only if the subquery has rows.
fn map_subqueries(plan: LogicalPlan, f: &mut impl FnMut(Subquery, bool) -> Result<Subquery>) -> Result<LogicalPlan> {
    if let LogicalPlan::Subquery(subquery) = plan {
        return Ok(LogicalPlan::Subquery(subquery));
    }
    let mapped = map_under_names(plan, |expr| {
        expr.transform_up(|part| {
            let is_about_rows = matches!(part, Expr::Exists(_));
            map_subquery(part, &mut |subquery| f(subquery, is_about_rows))
        })
    });
    mapped.data()
}
