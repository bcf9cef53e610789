//! Projections, and the columns that a relation emits. The library computes all columns first and then selects some; it names each by its
//! whole text, and uses indices of the plan unchecked.

use std::collections::HashSet;

use datafusion::common::{DFSchemaRef, Result as DfResult};
use datafusion::logical_expr::{Expr, LogicalPlan};

use super::input;
use super::window::with_windows;
use crate::consumer::column_names::{Columns, column};
use crate::consumer::consume::Consumer;
use crate::consumer::exprs::expressions;
use crate::error::PlanError;
use crate::proto::rel_common::EmitKind;
use crate::proto::{ProjectRel, RelCommon};

pub async fn project(consumer: &Consumer<'_>, rel: &ProjectRel) -> DfResult<LogicalPlan> {
    let input = input(consumer, rel.input.as_deref()).await?;
    let exprs = expressions(consumer, &rel.expressions, input.schema()).await?;
    let width = input.schema().fields().len();
    let emitted = match mapping(rel.common.as_ref())? {
        Some(mapping) => mapping,
        None if consumer.quirks.project_drops_input => (width..width + exprs.len()).collect(),
        None => (0..width + exprs.len()).collect(),
    };
    let mut indices = HashSet::new();
    let is_made =
        |index: usize| exprs.get(index.wrapping_sub(width)).is_some_and(|expr| !matches!(expr, Expr::Column(_) | Expr::Literal(..)));
    if emitted.iter().any(|index| !indices.insert(*index) && is_made(*index)) {
        // A call of random() has one value, however often it is emitted. And copies of a long expression could be far larger than the
        // plan.
        let all = (0..width + exprs.len()).collect::<Vec<_>>();
        let plan = projection(consumer, input, exprs, &all, width)?;
        return pick(consumer, plan, &emitted);
    }
    projection(consumer, input, exprs, &emitted, width)
}

/// The columns of `input` and the expressions, reduced to those that are emitted.
fn projection(consumer: &Consumer<'_>, input: LogicalPlan, exprs: Vec<Expr>, emitted: &[usize], width: usize) -> DfResult<LogicalPlan> {
    let schema = DFSchemaRef::clone(input.schema());
    let mut columns = Columns::new(consumer);
    let mut outputs = Vec::with_capacity(emitted.len());
    for index in emitted {
        outputs.push(match index.checked_sub(width) {
            None => column(&schema, *index)?,
            Some(index) => exprs.get(index).cloned().ok_or_else(|| out_of_range(index + width))?,
        });
    }
    let (input, outputs) = with_windows(consumer, input, outputs)?;
    outputs.into_iter().for_each(|expr| columns.push(expr));
    columns.over(input)
}

/// The columns that a relation emits.
pub fn emit(consumer: &Consumer<'_>, common: Option<&RelCommon>, plan: LogicalPlan) -> DfResult<LogicalPlan> {
    let width = plan.schema().fields().len();
    match mapping(common)? {
        Some(mapping) if mapping.len() != width || mapping.iter().enumerate().any(|(place, index)| place != *index) => {
            pick(consumer, plan, &mapping)
        }
        _ => Ok(plan),
    }
}

pub fn pick(consumer: &Consumer<'_>, plan: LogicalPlan, indices: &[usize]) -> DfResult<LogicalPlan> {
    let mut columns = Columns::new(consumer);
    for index in indices {
        columns.push(column(plan.schema(), *index)?);
    }
    columns.over(plan)
}

fn mapping(common: Option<&RelCommon>) -> Result<Option<Vec<usize>>, PlanError> {
    let Some(EmitKind::Emit(emit)) = common.and_then(|common| common.emit_kind.as_ref()) else { return Ok(None) };
    let indices = emit.output_mapping.iter().map(|index| usize::try_from(*index).map_err(|_| out_of_range(usize::MAX)));
    indices.collect::<Result<_, _>>().map(Some)
}

fn out_of_range(index: usize) -> PlanError {
    PlanError::invalid(format!("an emit of field {index}, which is not there"), "a relation")
}

/// The same columns under unique names.
pub fn renamed(consumer: &Consumer<'_>, plan: LogicalPlan) -> DfResult<LogicalPlan> {
    let mut columns = Columns::new(consumer);
    for index in 0..plan.schema().fields().len() {
        columns.anew(column(plan.schema(), index)?);
    }
    columns.over(plan)
}
