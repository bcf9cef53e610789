//! Columns of a subquery that are compared with the outer row, if another column of the subquery has the same name.
//!
//! DataFusion moves such a comparison out of the subquery and qualifies its columns with the alias of the subquery. If two columns share a
//! name, it takes the first. `EXISTS (SELECT * FROM x JOIN y ON x.id = y.id WHERE y.b = o.k)` compared `x.b` (decorrelate.rs, and
//! `build_join` of decorrelate_predicate_subquery.rs and scalar_subquery_to_join.rs). So the condition uses a copy of the column with a
//! unique name.
//!
//! Below an aggregate DataFusion moves only `x = o.k` of a column `x`, by which it groups. So `abs(x) = o.k` also becomes a comparison of
//! a column, and so does `x = o.k` of intervals, which compares their lengths.

use std::collections::HashSet;
use std::sync::Arc;

use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::common::{Column, DFSchema, JoinType, Result};
use datafusion::logical_expr::logical_plan::{Filter, Projection};
use datafusion::logical_expr::utils::{conjunction, split_conjunction, split_conjunction_owned};
use datafusion::logical_expr::{BinaryExpr, Expr, LogicalPlan, Operator};

use super::correlated_checks::is_correlated;
use crate::functions::intervals::compared_by_length;

pub fn correlated_columns(plan: LogicalPlan) -> Result<LogicalPlan> {
    let mut copies = 0;
    plan.transform_up_with_subqueries(|part| match part {
        LogicalPlan::Subquery(subquery) if is_correlated(&subquery) => {
            let mut columns: HashSet<Column> = subquery.subquery.schema().columns().into_iter().collect();
            add_compared(&subquery.subquery, &mut columns);
            let plan = with_copies(subquery.subquery.as_ref().clone(), &columns, false, &mut copies)?;
            Ok(plan.update_data(|plan| LogicalPlan::Subquery(subquery.with_plan(Arc::new(plan)))))
        }
        part => Ok(Transformed::no(part)),
    })
    .data()
}

/// Conditions stay inside of a UNION, and of the other side of a semi or anti join.
fn lets_conditions_out(plan: &LogicalPlan) -> bool {
    match plan {
        LogicalPlan::Join(join) => matches!(join.join_type, JoinType::Inner | JoinType::Left | JoinType::Right),
        LogicalPlan::Union(_) => false,
        _ => true,
    }
}

/// The columns of conditions that are moved out of the subquery.
fn add_compared(plan: &LogicalPlan, columns: &mut HashSet<Column>) {
    if let LogicalPlan::Filter(filter) = plan {
        let terms = split_conjunction(&filter.predicate).into_iter().filter(|term| term.contains_outer());
        columns.extend(terms.flat_map(Expr::column_refs).cloned());
    }
    if lets_conditions_out(plan) {
        plan.inputs().into_iter().for_each(|input| add_compared(input, columns));
    }
}

fn with_copies(plan: LogicalPlan, columns: &HashSet<Column>, is_grouped: bool, copies: &mut usize) -> Result<Transformed<LogicalPlan>> {
    if !lets_conditions_out(&plan) {
        return Ok(Transformed::no(plan));
    }
    let is_grouped = is_grouped || matches!(plan, LogicalPlan::Aggregate(_));
    plan.map_children(|input| with_copies(input, columns, is_grouped, copies))?.transform_parent(|plan| match plan {
        LogicalPlan::Filter(filter) => filter_of_copies(filter, columns, is_grouped, copies),
        plan => Ok(Transformed::no(plan)),
    })
}

fn filter_of_copies(filter: Filter, columns: &HashSet<Column>, is_grouped: bool, copies: &mut usize) -> Result<Transformed<LogicalPlan>> {
    // The name of `CAST(x.id AS VARCHAR)` is `x.id`.
    let is_namesake = |other: &Column, column: &Column| other.name == column.name || other.name == column.flat_name();
    let is_ambiguous = |column: &Column| columns.iter().any(|other| other.relation != column.relation && is_namesake(other, column));
    let mut copied: Vec<(Expr, Column)> = Vec::new();
    let mut copy_of = |expr: Expr| {
        if let Some((_, copy)) = copied.iter().find(|(original, _)| *original == expr) {
            return Expr::Column(copy.clone());
        }
        *copies += 1;
        let name = if let Expr::Column(column) = &expr { column.name.as_str() } else { "" };
        let copy = Column::new_unqualified(format!("__compared_{copies}_{name}"));
        copied.push((expr, copy.clone()));
        Expr::Column(copy)
    };
    let terms = split_conjunction_owned(filter.predicate.clone()).into_iter().map(|term| {
        if !term.contains_outer() {
            return Ok(term);
        }
        let term = if is_grouped { of_column(by_length(term, filter.input.schema())?, &mut copy_of) } else { term };
        let about_copies = term.transform_up(|part| match part {
            Expr::Column(column) if is_ambiguous(&column) => Ok(Transformed::yes(copy_of(Expr::Column(column)))),
            part => Ok(Transformed::no(part)),
        });
        about_copies.data()
    });
    let terms = terms.collect::<Result<Vec<_>>>()?;
    let Some(predicate) = conjunction(terms).filter(|_| !copied.is_empty()) else {
        return Ok(Transformed::no(LogicalPlan::Filter(filter)));
    };
    let columns: Vec<Expr> = filter.input.schema().columns().into_iter().map(Expr::Column).collect();
    let copied = copied.into_iter().map(|(expr, copy)| expr.alias(copy.name));
    let input = Projection::try_new(columns.iter().cloned().chain(copied).collect(), filter.input)?;
    let filtered = Filter::try_new(predicate, Arc::new(LogicalPlan::Projection(input)))?;
    Ok(Transformed::yes(LogicalPlan::Projection(Projection::try_new(columns, Arc::new(LogicalPlan::Filter(filtered)))?)))
}

/// Intervals are equal if their lengths are, so the groups must not be of the intervals themselves.
fn by_length(mut term: Expr, schema: &DFSchema) -> Result<Expr> {
    compared_by_length(&mut term, schema)?;
    Ok(term)
}

/// `x = o.k` for `f(x) = o.k`, where `f(x)` is computed below.
fn of_column(term: Expr, copy_of: &mut impl FnMut(Expr) -> Expr) -> Expr {
    let Expr::BinaryExpr(BinaryExpr { left, op: Operator::Eq, right }) = term else { return term };
    let (left, right) = match (is_computed(&left), is_computed(&right)) {
        (true, false) if !right.any_column_refs() => (copy_of(*left), *right),
        (false, true) if !left.any_column_refs() => (*left, copy_of(*right)),
        _ => (*left, *right),
    };
    left.eq(right)
}

/// Whether it has columns of the subquery alone.
fn is_computed(side: &Expr) -> bool {
    let is_column = match side {
        Expr::Cast(cast) => matches!(cast.expr.as_ref(), Expr::Column(_)),
        side => matches!(side, Expr::Column(_)),
    };
    side.any_column_refs() && !side.contains_outer() && !is_column
}
