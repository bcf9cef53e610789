//! `IN` with its NULL, said with `IN` and `EXISTS` that are true or not.

use std::sync::Arc;

use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::common::{Column, DFSchema, Result, ScalarValue, plan_datafusion_err};
use datafusion::logical_expr::expr::{Exists, InSubquery};
use datafusion::logical_expr::logical_plan::{Filter, Projection, Subquery, SubqueryAlias};
use datafusion::logical_expr::utils::{conjunction, split_conjunction_owned};
use datafusion::logical_expr::{BinaryExpr, Case, Expr, ExprSchemable, LogicalPlan, LogicalPlanBuilder, Operator, lit};

use super::is_subquery;

const COLUMN: &str = "__in_value";
const INNER_COLUMN: &str = "__in_query_value";

/// A condition in which false and NULL are the same.
pub fn condition(predicate: Expr, schema: &DFSchema) -> Result<Expr> {
    let terms = split_conjunction_owned(of_single_rows(predicate)?).into_iter().map(|term| {
        let (is_not, inner) = if let Expr::Not(inner) = &term { (true, inner.as_ref()) } else { (false, &term) };
        let is_joined = match inner {
            // DataFusion's join for `NOT IN` knows NULL by the key, which a constant is not. It looks at the keys of all rows of
            // the subquery, also of those that belong to other rows outside.
            Expr::InSubquery(part) => part.expr.any_column_refs() && !((is_not || part.negated) && is_correlated(&part.subquery)),
            inner => is_subquery(inner),
        };
        if is_joined { Ok(term) } else { true_or_not(term, schema) }
    });
    let terms = terms.collect::<Result<Vec<_>>>()?;
    Ok(conjunction(terms).unwrap_or_else(|| lit(true)))
}

/// An aggregate without groups has one row, also where it is of no rows. DataFusion's join has none then: `0 IN (SELECT count(*) FROM u
/// WHERE u.a = t.a)` was false where no `a` is the same. So that is a comparison, which knows of it.
fn of_single_rows(expr: Expr) -> Result<Expr> {
    expr.transform_up(|part| match part {
        Expr::InSubquery(part) if is_correlated(&part.subquery) && has_one_row(&part.subquery.subquery) => {
            let value = Expr::ScalarSubquery(part.subquery);
            Ok(Transformed::yes(if part.negated { (*part.expr).not_eq(value) } else { (*part.expr).eq(value) }))
        }
        Expr::Exists(part) if is_correlated(&part.subquery) && has_one_row(&part.subquery.subquery) => Ok(Transformed::yes(lit(!part.negated))),
        part => Ok(Transformed::no(part)),
    })
    .data()
}

fn has_one_row(plan: &LogicalPlan) -> bool {
    match plan {
        LogicalPlan::Projection(Projection { input, .. }) | LogicalPlan::SubqueryAlias(SubqueryAlias { input, .. }) => has_one_row(input),
        LogicalPlan::Aggregate(aggregate) => aggregate.group_expr.is_empty(),
        _ => false,
    }
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

/// A value in which NULL is NULL.
pub fn value(expr: Expr, schema: &DFSchema) -> Result<Expr> {
    of_single_rows(expr)?.transform_up(|part| match part {
        Expr::InSubquery(part) => with_null(with_named_column(part)?, schema),
        part => Ok(Transformed::no(part)),
    })
    .data()
}

/// DataFusion's join for an `IN` within an expression takes a column of no table twice, as of the subquery's query and of the subquery,
/// and a cast that is called as its column beside that column: `a IN (SELECT max(b) FROM u) OR c`. So both have names that nothing
/// else has.
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
    // What is not known may be NULL.
    let is_null = part.expr.nullable(schema).unwrap_or(true);
    if !has_null && !is_null && !is_correlated(&part.subquery) {
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

fn is_correlated(subquery: &Subquery) -> bool {
    !subquery.outer_ref_columns.is_empty()
}

fn exists(plan: LogicalPlan, of: &Subquery) -> Result<Expr> {
    // One row is enough, and a join that looks at all would look at them for each row.
    let plan = if of.outer_ref_columns.is_empty() { LogicalPlanBuilder::from(plan).limit(0, Some(1))?.build()? } else { plan };
    Ok(Expr::Exists(Exists { subquery: of.with_plan(Arc::new(plan)), negated: false }))
}
