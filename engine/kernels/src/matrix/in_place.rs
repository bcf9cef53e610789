//! Results that are stored: made where they lie in the table that is being built.
//!
//! The table takes what the operator has, so the operator must be what the statement ends with, under no more than a choice of its
//! columns. What does not fit is written as any other rows are.

use std::fmt;
use std::sync::{Arc, Weak};

use arrow::array::RecordBatch;
use arrow::datatypes::Schema;
use datafusion::common::Result;
use datafusion::physical_expr::expressions::Column as ColumnExpr;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::projection::ProjectionExec;
use pmem_store::segment::{Elements, OtherColumns, rows_of_segment};

use super::element::Element;
use super::exec::MatrixExec;
use super::run::{Column, Run};
use super::work::{Each, PendingBlock};
use crate::threads::StopFlag;
use common::count::count_batch;
use common::error::EngineError;
use common::report::ReportCollector;

/// A table that is being built, in which a kernel makes its rows. Whoever waits for it holds it, and operators do not: what was
/// written goes with who waits.
pub trait InPlaceTable: fmt::Debug + Send + Sync {
    /// Whether rows of this schema can be made in place.
    fn takes(&self, rows: &Schema) -> bool;

    /// Rows that are a segment of their own; `make` writes their wide column. Blocks meanwhile. An error takes all rows along; who has
    /// one before this call must pass it on, since the table would be taken for whole.
    fn write(&self, rows: OtherColumns, make: &mut dyn FnMut(Elements<'_>) -> Result<(), EngineError>) -> Result<(), EngineError>;
}

/// The plan that makes the rows of `plan` in `table`, and yields how many there were. None: they are to be written.
pub fn filled_in_place(table: &Arc<dyn InPlaceTable>, plan: &Arc<dyn ExecutionPlan>) -> Option<Arc<dyn ExecutionPlan>> {
    let (kernel, columns) = chosen(plan)?;
    let blocks = columns.iter().filter(|column| **column == Column::Block).count();
    let is_wide = rows_of_segment(kernel.block_bytes()).is_some();
    (blocks == 1 && is_wide && table.takes(&plan.schema())).then(|| Arc::new(kernel.in_place(columns, Arc::downgrade(table))) as _)
}

/// The kernel that makes the rows of `plan`, and which of its columns they have.
pub fn chosen(plan: &Arc<dyn ExecutionPlan>) -> Option<(&MatrixExec, Vec<Column>)> {
    if let Some(kernel) = plan.downcast_ref::<MatrixExec>() {
        return Some((kernel, kernel.columns().to_vec()));
    }
    let projection = plan.downcast_ref::<ProjectionExec>()?;
    let (kernel, columns) = chosen(projection.input())?;
    let place = |expr: &ColumnExpr| columns.get(expr.index()).copied();
    let chosen = projection.expr().iter().map(|projected| projected.expr.downcast_ref::<ColumnExpr>().and_then(place));
    Some((kernel, chosen.collect::<Option<_>>()?))
}

/// A result that is made in the table that it is stored in.
pub struct InPlaceRun<T: Element> {
    pub run: Run<T>,
    /// The blocks of the result, for the columns beside them.
    pub due: Each<PendingBlock>,
    pub placing: InPlaceTarget,
}

/// Where it is made, and whom that is reported to.
pub struct InPlaceTarget {
    pub place: Weak<dyn InPlaceTable>,
    pub report: Arc<ReportCollector>,
}

impl<T: Element> InPlaceRun<T> {
    /// Makes a segment; how many rows it has. None at the end.
    pub fn next(&mut self, stop: &StopFlag) -> Result<Option<RecordBatch>> {
        let Some(place) = self.placing.place.upgrade() else { return Err(EngineError::Cancelled.into_datafusion()) };
        let rows = self.run.next_in_place(&mut self.due, place.as_ref(), stop)?;
        ReportCollector::add(&self.placing.report.placed_bytes, rows * self.run.block_bytes());
        Ok(if rows == 0 { None } else { Some(count_batch(rows as u64)?) })
    }
}
