//! Joins. The library takes the columns of both sides by their names, of which some may be the same, and has no filter after a join.

use datafusion::common::{Column, DFSchema, NullEquality, Result as DfResult};
use datafusion::logical_expr::utils::split_conjunction_owned;
use datafusion::logical_expr::{BinaryExpr, Expr, JoinType, LogicalPlan, LogicalPlanBuilder, Operator, lit};
use datafusion::scalar::ScalarValue;
use datafusion_substrait::logical_plan::consumer::SubstraitConsumer;

use super::input;
use crate::consumer::check::join_type;
use crate::consumer::consume::Consumer;
use crate::consumer::named::{Columns, column};
use crate::proto::{CrossRel, JoinRel};

/// The condition sees the columns of both sides, whichever of them the join gives. A filter after the join sees what it gives.
pub async fn join(consumer: &Consumer<'_>, rel: &JoinRel) -> DfResult<LogicalPlan> {
    let left = input(consumer, rel.left.as_deref()).await?;
    let right = input(consumer, rel.right.as_deref()).await?;
    let join_type = join_type(rel.r#type, consumer.quirks, &"a join")?.join_type;
    let condition = match rel.expression.as_deref() {
        Some(condition) => {
            let both = left.schema().join(right.schema())?;
            consumer.consume_expression(condition, &both).await?
        }
        None => lit(true),
    };
    let joined = joined(left, right, join_type, condition)?;
    let joined = match join_type {
        JoinType::LeftMark | JoinType::RightMark => with_own_mark(consumer, joined)?,
        _ => joined,
    };
    match rel.post_join_filter.as_deref() {
        Some(filter) => {
            let condition = consumer.consume_expression(filter, joined.schema()).await?;
            LogicalPlanBuilder::from(joined).filter(condition)?.build()
        }
        None => Ok(joined),
    }
}

pub async fn cross(consumer: &Consumer<'_>, rel: &CrossRel) -> DfResult<LogicalPlan> {
    let left = input(consumer, rel.left.as_deref()).await?;
    let right = input(consumer, rel.right.as_deref()).await?;
    LogicalPlanBuilder::from(left).cross_join(right)?.build()
}

/// DataFusion makes keys of equalities by itself, and none of `IS NOT DISTINCT FROM`: that is done here, but only where no equality stands
/// beside it, since a join has one rule for NULLs in all its keys. Where one does, it stays a filter of the join.
fn joined(left: LogicalPlan, right: LogicalPlan, join_type: JoinType, condition: Expr) -> DfResult<LogicalPlan> {
    let is_true = |term: &Expr| matches!(term, Expr::Literal(ScalarValue::Boolean(Some(true)), _));
    let mut terms = split_conjunction_owned(condition);
    terms.retain(|term| !is_true(term));
    if terms.is_empty() && join_type == JoinType::Inner {
        return LogicalPlanBuilder::from(left).cross_join(right)?.build();
    }
    let has_equality = terms.iter().any(|term| matches!(term, Expr::BinaryExpr(BinaryExpr { op: Operator::Eq, .. })));
    let mut keys = (Vec::new(), Vec::new());
    let mut rest = Vec::new();
    for term in terms {
        match key(&term, left.schema(), right.schema()).filter(|_| !has_equality) {
            Some((of_left, of_right)) => {
                keys.0.push(of_left);
                keys.1.push(of_right);
            }
            None => rest.push(term),
        }
    }
    let nulls = if keys.0.is_empty() { NullEquality::NullEqualsNothing } else { NullEquality::NullEqualsNull };
    let filter = rest.into_iter().reduce(Expr::and);
    let filter = if filter.is_none() && keys.0.is_empty() { Some(lit(true)) } else { filter };
    LogicalPlanBuilder::from(left).join_detailed(right, join_type, keys, filter, nulls)?.build()
}

/// The columns of both sides that are to be the same or both NULL.
fn key(term: &Expr, left: &DFSchema, right: &DFSchema) -> Option<(Column, Column)> {
    let Expr::BinaryExpr(BinaryExpr { left: first, op: Operator::IsNotDistinctFrom, right: second }) = term else { return None };
    let (Expr::Column(first), Expr::Column(second)) = (first.as_ref(), second.as_ref()) else { return None };
    if left.has_column(first) && right.has_column(second) {
        Some((first.clone(), second.clone()))
    } else if left.has_column(second) && right.has_column(first) {
        Some((second.clone(), first.clone()))
    } else {
        None
    }
}

/// Every mark is called "mark".
fn with_own_mark(consumer: &Consumer<'_>, joined: LogicalPlan) -> DfResult<LogicalPlan> {
    let mut columns = Columns::new(consumer);
    let last = joined.schema().fields().len().saturating_sub(1);
    for index in 0..last {
        columns.pass(joined.schema(), index)?;
    }
    let mark = column(joined.schema(), last)?;
    columns.anew(mark);
    columns.over(joined)
}
