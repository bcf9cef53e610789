//! Expresses `IN` with its NULL by `IN` and `EXISTS` that are true or false.

use std::sync::Arc;

use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::common::{Column, DFSchema, ExprSchema, Result, ScalarValue, plan_datafusion_err};
use datafusion::logical_expr::expr::{Exists, InSubquery};
use datafusion::logical_expr::logical_plan::{Filter, Projection, Subquery};
use datafusion::logical_expr::utils::{conjunction, disjunction, split_conjunction_owned};
use datafusion::logical_expr::{BinaryExpr, Case, Expr, ExprSchemable, LogicalPlan, LogicalPlanBuilder, Operator, lit};

use super::is_subquery;
use super::single_rows::of_single_rows;
use crate::optimizer::correlated_checks::is_correlated;

const COLUMN: &str = "__in_value";
const INNER_COLUMN: &str = "__in_query_value";

/// A condition, for which false and NULL are the same.
pub fn condition(predicate: Expr, schema: &DFSchema) -> Result<Expr> {
    let terms = split_conjunction_owned(of_single_rows(predicate)?).into_iter().map(|term| match term {
        Expr::InSubquery(part) if part.negated && is_correlated(&part.subquery) => none_equal(part, schema),
        Expr::Not(inner) => match *inner {
            Expr::InSubquery(part) if !part.negated && is_correlated(&part.subquery) => none_equal(part, schema),
            inner => joined_or_exact(!inner, schema),
        },
        term => joined_or_exact(term, schema),
    });
    let terms = terms.collect::<Result<Vec<_>>>()?;
    Ok(conjunction(terms).unwrap_or_else(|| lit(true)))
}

/// DataFusion makes joins of these that handle NULL by the key; a constant is not a key.
fn joined_or_exact(term: Expr, schema: &DFSchema) -> Result<Expr> {
    let inner = if let Expr::Not(inner) = &term { inner } else { &term };
    let is_of_constant = matches!(inner, Expr::InSubquery(part) if !part.expr.any_column_refs());
    if is_subquery(inner) && !is_of_constant { Ok(term) } else { true_or_not(term, schema) }
}

/// `x NOT IN (SELECT y …)` of a correlated subquery: none of its rows for this outer row is equal or may be equal. DataFusion's join for
/// `NOT IN` considers the NULLs of all rows of the subquery.
fn none_equal(part: InSubquery, schema: &DFSchema) -> Result<Expr> {
    let InSubquery { expr, subquery, .. } = with_named_column(part)?;
    let is_null = expr.nullable(schema).unwrap_or(true);
    let Subquery { subquery: plan, mut outer_ref_columns, spans } = subquery;
    let outside = expr.transform_up(|part| match part {
        Expr::Column(column) => {
            let outer = Expr::OuterReferenceColumn(Arc::clone(schema.field_from_column(&column)?), column);
            outer_ref_columns.push(outer.clone());
            Ok(Transformed::yes(outer))
        }
        part => Ok(Transformed::no(part)),
    });
    let (outside, value) = (outside.data()?, Expr::Column(Column::from(plan.schema().qualified_field(0))));
    let may_be_equal =
        [(true, outside.clone().eq(value.clone())), (plan.schema().field(0).is_nullable(), value.is_null()), (is_null, outside.is_null())];
    let may_be_equal = disjunction(may_be_equal.into_iter().filter_map(|(applies, term)| applies.then_some(term)));
    let rows = LogicalPlan::Filter(Filter::try_new(may_be_equal.unwrap_or_else(|| lit(true)), plan)?);
    Ok(Expr::Exists(Exists { subquery: Subquery { subquery: Arc::new(rows), outer_ref_columns, spans }, negated: true }))
}

fn true_or_not(expr: Expr, schema: &DFSchema) -> Result<Expr> {
    Ok(match expr {
        Expr::BinaryExpr(BinaryExpr { left, op: op @ (Operator::And | Operator::Or), right }) => {
            let (left, right) = (true_or_not(*left, schema)?, true_or_not(*right, schema)?);
            Expr::BinaryExpr(BinaryExpr { left: Box::new(left), op, right: Box::new(right) })
        }
        Expr::IsTrue(inner) => Expr::IsTrue(Box::new(true_or_not(*inner, schema)?)),
        Expr::InSubquery(part @ InSubquery { negated: false, .. }) => Expr::InSubquery(with_named_column(part)?),
        expr => value(expr, schema)?,
    })
}

/// A value, for which NULL and false differ.
pub fn value(expr: Expr, schema: &DFSchema) -> Result<Expr> {
    of_single_rows(expr)?
        .transform_up(|part| match part {
            Expr::InSubquery(part) => with_null(with_named_column(part)?, schema),
            part => Ok(Transformed::no(part)),
        })
        .data()
}

/// DataFusion's join for an `IN` within an expression confuses a column without a table that is in both the outer query and the subquery.
/// It also refuses a cast, which has the name of its column, next to that column: `a IN (SELECT max(b) FROM u) OR c`. So both columns get
/// unique names.
fn with_named_column(mut part: InSubquery) -> Result<InSubquery> {
    let plan = part.subquery.subquery.as_ref();
    let [column] = <[Column; 1]>::try_from(plan.schema().columns()).map_err(|_| plan_datafusion_err!("IN is of a query of one column"))?;
    let (value, input) = match plan {
        LogicalPlan::Projection(Projection { expr, input, .. }) if expr.len() == 1 => (expr[0].clone().unalias(), input.as_ref().clone()),
        plan => (Expr::Column(column.clone()), plan.clone()),
    };
    let is_of_table = matches!(&value, Expr::Column(column) if column.relation.is_some());
    if is_of_table || column.name == COLUMN {
        return Ok(part);
    }
    let inner = LogicalPlanBuilder::from(input).project([value.alias(INNER_COLUMN)])?;
    let outer = inner.project([Expr::Column(Column::new_unqualified(INNER_COLUMN)).alias(COLUMN)])?.build()?;
    part.subquery = part.subquery.with_plan(Arc::new(outer));
    Ok(part)
}

fn with_null(part: InSubquery, schema: &DFSchema) -> Result<Transformed<Expr>> {
    let values = Arc::clone(part.subquery.subquery.schema());
    let has_null = values.fields().first().is_none_or(|field| field.is_nullable());
    // An expression with unknown nullability may be NULL.
    let is_null = part.expr.nullable(schema).unwrap_or(true);
    if !has_null && !is_null {
        return Ok(Transformed::no(Expr::InSubquery(part)));
    }
    let InSubquery { expr, subquery, negated } = part;
    let mut cases = Vec::new();
    if has_null && !values.fields().is_empty() {
        let column = Expr::Column(Column::from(values.qualified_field(0)));
        let nulls = LogicalPlan::Filter(Filter::try_new(column.is_null(), Arc::clone(&subquery.subquery))?);
        cases.push(exists(nulls, &subquery)?);
    }
    if is_null {
        cases.push(expr.as_ref().clone().is_null().and(exists(subquery.subquery.as_ref().clone(), &subquery)?));
    }
    let null = || Box::new(lit(ScalarValue::Boolean(None)));
    let found = Expr::InSubquery(InSubquery { expr, subquery, negated: false });
    let found = (Box::new(found), Box::new(lit(!negated)));
    let when_then_expr = std::iter::once(found).chain(cases.into_iter().map(|case| (Box::new(case), null()))).collect();
    Ok(Transformed::yes(Expr::Case(Case { expr: None, when_then_expr, else_expr: Some(Box::new(lit(negated))) })))
}

fn exists(plan: LogicalPlan, of: &Subquery) -> Result<Expr> {
    // One row is enough, and a join that reads any would read all of them for each row.
    let plan = if of.outer_ref_columns.is_empty() { LogicalPlanBuilder::from(plan).limit(0, Some(1))?.build()? } else { plan };
    Ok(Expr::Exists(Exists { subquery: of.with_plan(Arc::new(plan)), negated: false }))
}
