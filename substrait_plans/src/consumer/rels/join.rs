//! Joins. The library finds the columns of both sides by name, although names may repeat, and does not support a filter after a join.

use datafusion::common::{Column, NullEquality, Result as DfResult};
use datafusion::logical_expr::utils::split_conjunction_owned;
use datafusion::logical_expr::{Expr, JoinType, LogicalPlan, LogicalPlanBuilder, lit};
use datafusion::scalar::ScalarValue;
use datafusion_substrait::logical_plan::consumer::SubstraitConsumer;

use super::input;
use crate::consumer::check::join_type;
use crate::consumer::column_names::{Columns, column};
use crate::consumer::consume::Consumer;
use crate::proto::{CrossRel, JoinRel};

/// The condition sees the columns of both sides, whichever the join emits. A filter after the join sees the emitted columns.
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

/// The condition is a filter of the join: DataFusion turns its equalities into keys, and the engine those with `IS NOT DISTINCT FROM`.
fn joined(left: LogicalPlan, right: LogicalPlan, join_type: JoinType, condition: Expr) -> DfResult<LogicalPlan> {
    let is_true = |term: &Expr| matches!(term, Expr::Literal(ScalarValue::Boolean(Some(true)), _));
    let mut terms = split_conjunction_owned(condition);
    terms.retain(|term| !is_true(term));
    if terms.is_empty() && join_type == JoinType::Inner {
        return LogicalPlanBuilder::from(left).cross_join(right)?.build();
    }
    let no_keys = (Vec::<Column>::new(), Vec::<Column>::new());
    let filter = terms.into_iter().reduce(Expr::and).unwrap_or_else(|| lit(true));
    LogicalPlanBuilder::from(left).join_detailed(right, join_type, no_keys, Some(filter), NullEquality::NullEqualsNothing)?.build()
}

/// DataFusion names every mark "mark", so it gets a unique name.
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
