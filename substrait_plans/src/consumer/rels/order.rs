//! Sorts, limits, and exchanges, which do not change rows.

use std::sync::Arc;

use arrow::datatypes::DataType;
use datafusion::common::{DFSchema, Result as DfResult};
use datafusion::logical_expr::{Expr, LogicalPlan, LogicalPlanBuilder, Sort, lit};
use datafusion::scalar::ScalarValue;
use datafusion_substrait::logical_plan::consumer::SubstraitConsumer;

use super::input;
use crate::consumer::consume::Consumer;
use crate::consumer::exprs::sorts;
use crate::error::PlanError;
use crate::proto::exchange_rel::ExchangeKind;
use crate::proto::fetch_rel::{CountMode, OffsetMode};
use crate::proto::{ExchangeRel, FetchRel, SortRel};

const PLACE: &str = "a fetch";

pub async fn sort(consumer: &Consumer<'_>, rel: &SortRel) -> DfResult<LogicalPlan> {
    let input = input(consumer, rel.input.as_deref()).await?;
    let expr = sorts(consumer, &rel.sorts, input.schema()).await?;
    if expr.is_empty() {
        return Ok(input);
    }
    Ok(LogicalPlan::Sort(Sort { expr, input: Arc::new(input), fetch: None }))
}

/// NULL means no offset and no limit.
#[expect(deprecated, reason = "the fields of plans before 0.60")]
pub async fn fetch(consumer: &Consumer<'_>, rel: &FetchRel) -> DfResult<LogicalPlan> {
    let input = input(consumer, rel.input.as_deref()).await?;
    let none = DFSchema::empty();
    let skip = match &rel.offset_mode {
        Some(OffsetMode::Offset(offset)) => Some(lit(*offset)),
        Some(OffsetMode::OffsetExpr(expression)) => Some(consumer.consume_expression(expression, &none).await?),
        None => None,
    };
    let count = match &rel.count_mode {
        Some(CountMode::Count(-1)) | None => None,
        Some(CountMode::Count(count)) => Some(lit(*count)),
        Some(CountMode::CountExpr(expression)) => Some(consumer.consume_expression(expression, &none).await?),
    };
    let (skip, count) = (rows(skip)?, rows(count)?);
    match (&skip, &count) {
        (None, None) => Ok(input),
        _ => LogicalPlanBuilder::from(input).limit_by_expr(skip, count)?.build(),
    }
}

/// Checks a constant number of rows; other expressions are checked once they are constant.
fn rows(expr: Option<Expr>) -> Result<Option<Expr>, PlanError> {
    let Some(Expr::Literal(value, _)) = &expr else { return Ok(expr) };
    let wrong = || PlanError::invalid(format!("{value} as a number of rows"), PLACE);
    match value.cast_to(&DataType::Int64).map_err(|_| wrong())? {
        ScalarValue::Int64(None) => Ok(None),
        ScalarValue::Int64(Some(number @ 0..)) => Ok(Some(lit(number))),
        _ => Err(wrong()),
    }
}

/// An exchange has no effect on a query of one node, except for kinds that copy rows to several targets.
pub async fn exchange(consumer: &Consumer<'_>, rel: &ExchangeRel) -> DfResult<LogicalPlan> {
    match &rel.exchange_kind {
        Some(ExchangeKind::ScatterByFields(_) | ExchangeKind::RoundRobin(_)) if rel.targets.is_empty() => {
            input(consumer, rel.input.as_deref()).await
        }
        _ => Err(PlanError::unsupported("an exchange with targets of its own", "an exchange").into()),
    }
}
