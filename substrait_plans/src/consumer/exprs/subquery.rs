//! Subqueries. The library copies the plan of each, and treats a missing one as an empty one.

use std::sync::Arc;

use datafusion::common::{DFSchema, Result as DfResult, Spans};
use datafusion::logical_expr::expr::{Exists, InSubquery, SetComparison, SetQuantifier};
use datafusion::logical_expr::{Expr, Operator, Subquery};
use datafusion_substrait::logical_plan::consumer::SubstraitConsumer;

use crate::consumer::column_names::{Columns, column};
use crate::consumer::consume::Consumer;
use crate::error::PlanError;
use crate::proto::expression::Subquery as Written;
use crate::proto::expression::subquery::set_comparison::{ComparisonOp, ReductionOp};
use crate::proto::expression::subquery::set_predicate::PredicateOp;
use crate::proto::expression::subquery::{SetComparison as Comparison, SubqueryType};
use crate::proto::{Expression, Rel};

const PLACE: &str = "a subquery";

pub async fn subquery(consumer: &Consumer<'_>, of: &Written, schema: &DFSchema) -> DfResult<Expr> {
    match &of.subquery_type {
        Some(SubqueryType::Scalar(scalar)) => Ok(Expr::ScalarSubquery(query(consumer, scalar.input.as_deref(), schema).await?)),
        Some(SubqueryType::InPredicate(predicate)) => {
            let [needle] = predicate.needles.as_slice() else {
                return Err(PlanError::unsupported("IN of several values in a subquery", PLACE).into());
            };
            is_in(consumer, needle, predicate.haystack.as_deref(), schema, false).await
        }
        Some(SubqueryType::SetPredicate(predicate)) => match PredicateOp::try_from(predicate.predicate_op) {
            Ok(PredicateOp::Exists) => Ok(Expr::Exists(Exists::new(query(consumer, predicate.tuples.as_deref(), schema).await?, false))),
            Ok(PredicateOp::Unique) => Err(PlanError::unsupported("UNIQUE of a subquery", PLACE).into()),
            _ => Err(PlanError::missing("what is asked of the subquery", PLACE).into()),
        },
        Some(SubqueryType::SetComparison(comparison)) => compared(consumer, comparison, schema).await,
        None => Err(PlanError::missing("the kind", PLACE).into()),
    }
}

/// Translates a subquery, for which the columns of `schema` are those of the outer query.
async fn query(consumer: &Consumer<'_>, rel: Option<&Rel>, schema: &DFSchema) -> DfResult<Subquery> {
    let rel = rel.ok_or_else(|| PlanError::missing("the query", PLACE))?;
    consumer.push_outer_schema(Arc::new(schema.clone()));
    let result = consumer.consume_rel(rel).await;
    consumer.pop_outer_schema();
    let plan = result?;
    Ok(Subquery { outer_ref_columns: plan.all_out_ref_exprs(), subquery: Arc::new(plan), spans: Spans::new() })
}

async fn is_in(consumer: &Consumer<'_>, needle: &Expression, rel: Option<&Rel>, schema: &DFSchema, negated: bool) -> DfResult<Expr> {
    let needle = consumer.consume_expression(needle, schema).await?;
    let subquery = query(consumer, rel, schema).await?;
    Ok(Expr::InSubquery(InSubquery::new(Box::new(needle), subquery, negated)))
}

/// `= ANY` becomes IN and `<> ALL` becomes NOT IN, because these become joins.
async fn compared(consumer: &Consumer<'_>, of: &Comparison, schema: &DFSchema) -> DfResult<Expr> {
    let left = of.left.as_deref().ok_or_else(|| PlanError::missing("the value", PLACE))?;
    let quantifier = match ReductionOp::try_from(of.reduction_op) {
        Ok(ReductionOp::Any) => SetQuantifier::Any,
        Ok(ReductionOp::All) => SetQuantifier::All,
        _ => return Err(PlanError::missing("whether ANY or ALL is meant", PLACE).into()),
    };
    let operator = match ComparisonOp::try_from(of.comparison_op) {
        Ok(ComparisonOp::Eq) => Operator::Eq,
        Ok(ComparisonOp::Ne) => Operator::NotEq,
        Ok(ComparisonOp::Lt) => Operator::Lt,
        Ok(ComparisonOp::Gt) => Operator::Gt,
        Ok(ComparisonOp::Le) => Operator::LtEq,
        Ok(ComparisonOp::Ge) => Operator::GtEq,
        _ => return Err(PlanError::missing("the comparison", PLACE).into()),
    };
    match (operator, quantifier) {
        (Operator::Eq, SetQuantifier::Any) => return is_in(consumer, left, of.right.as_deref(), schema, false).await,
        (Operator::NotEq, SetQuantifier::All) => return is_in(consumer, left, of.right.as_deref(), schema, true).await,
        _ => {}
    }
    let left = consumer.consume_expression(left, schema).await?;
    let mut subquery = query(consumer, of.right.as_deref(), schema).await?;
    // DataFusion's rewrite would find the outer column if it had the same name as this one.
    let plan = Arc::unwrap_or_clone(subquery.subquery);
    let mut columns = Columns::new(consumer);
    columns.anew(column(plan.schema(), 0)?);
    subquery.subquery = Arc::new(columns.over(plan)?);
    Ok(Expr::SetComparison(SetComparison::new(Box::new(left), subquery, operator, quantifier)))
}
