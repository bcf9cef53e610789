//! `IN` with its NULL, said with `IN` and `EXISTS` that are true or not.

use std::sync::Arc;

use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::common::{Column, DFSchema, Result, ScalarValue};
use datafusion::logical_expr::expr::{Exists, InSubquery};
use datafusion::logical_expr::logical_plan::{Filter, Subquery};
use datafusion::logical_expr::utils::{conjunction, split_conjunction_owned};
use datafusion::logical_expr::{BinaryExpr, Case, Expr, ExprSchemable, LogicalPlan, LogicalPlanBuilder, Operator, lit};

use super::is_subquery;

/// A condition in which false and NULL are the same.
pub fn condition(predicate: Expr, schema: &DFSchema) -> Result<Expr> {
    let terms = split_conjunction_owned(predicate).into_iter().map(|term| {
        let inner = if let Expr::Not(inner) = &term { inner } else { &term };
        // Of these DataFusion makes joins that know NULL, by the key that a constant is not.
        let is_of_constant = matches!(inner, Expr::InSubquery(part) if !part.expr.any_column_refs());
        if is_subquery(inner) && !is_of_constant { Ok(term) } else { true_or_not(term, schema) }
    });
    let terms = terms.collect::<Result<Vec<_>>>()?;
    Ok(conjunction(terms).unwrap_or_else(|| lit(true)))
}

fn true_or_not(expr: Expr, schema: &DFSchema) -> Result<Expr> {
    Ok(match expr {
        Expr::BinaryExpr(BinaryExpr { left, op: op @ (Operator::And | Operator::Or), right }) => {
            let (left, right) = (true_or_not(*left, schema)?, true_or_not(*right, schema)?);
            Expr::BinaryExpr(BinaryExpr { left: Box::new(left), op, right: Box::new(right) })
        }
        Expr::IsTrue(inner) => Expr::IsTrue(Box::new(true_or_not(*inner, schema)?)),
        Expr::InSubquery(InSubquery { negated: false, .. }) => expr,
        expr => value(expr, schema)?,
    })
}

/// A value in which NULL is NULL.
pub fn value(expr: Expr, schema: &DFSchema) -> Result<Expr> {
    expr.transform_up(|part| match part {
        Expr::InSubquery(part) => with_null(part, schema),
        part => Ok(Transformed::no(part)),
    })
    .data()
}

fn with_null(part: InSubquery, schema: &DFSchema) -> Result<Transformed<Expr>> {
    let values = Arc::clone(part.subquery.subquery.schema());
    let has_null = values.fields().first().is_none_or(|field| field.is_nullable());
    // What is not known may be NULL.
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
    // One row is enough, and a join that looks at all would look at them for each row.
    let plan = if of.outer_ref_columns.is_empty() { LogicalPlanBuilder::from(plan).limit(0, Some(1))?.build()? } else { plan };
    Ok(Expr::Exists(Exists { subquery: of.with_plan(Arc::new(plan)), negated: false }))
}
