//! Results that are stored: made where they lie in the table that is being built.
//!
//! The table takes what the operator has, so the operator must be what the statement ends with, under no more than a choice of its
//! columns. What does not fit is written as any other rows are.

use std::sync::{Arc, Weak};

use arrow::array::RecordBatch;
use datafusion::common::Result;
use datafusion::physical_expr::expressions::Column as ColumnExpr;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::projection::ProjectionExec;
use parking_lot::Mutex;
use pmem_store::segment::rows_of_segment;

use super::element::Element;
use super::exec::MatrixExec;
use super::run::{Column, Run};
use super::work::{Due, Each};
use crate::error::EngineError;
use crate::kernels::threads::Stop;
use crate::output::count_batch;
use crate::report::ReportCollector;
use crate::write::RowWriter;

/// A table that is being built. Whoever waits for it holds it, and operators do not: what was written goes with who waits.
pub(crate) struct Place(Mutex<Option<RowWriter>>);

impl Place {
    pub fn new(writer: RowWriter) -> Arc<Place> {
        Arc::new(Place(Mutex::new(Some(writer))))
    }

    /// The writer, with all rows that were made. An error if some could not be.
    pub fn take(&self) -> Result<RowWriter, EngineError> {
        self.0.lock().take().ok_or_else(|| EngineError::internal("the rows of a table were not all made"))
    }

    /// The plan that makes the rows of `plan` here, and yields how many there were. None: they are to be written.
    pub fn filled_by(self: &Arc<Place>, plan: &Arc<dyn ExecutionPlan>) -> Option<Arc<dyn ExecutionPlan>> {
        let (kernel, columns) = chosen(plan)?;
        let blocks = columns.iter().filter(|column| **column == Column::Block).count();
        let is_wide = rows_of_segment(kernel.block_bytes()).is_some();
        let fits = self.0.lock().as_ref().is_some_and(|writer| writer.takes_in_place(&plan.schema()));
        (blocks == 1 && is_wide && fits).then(|| Arc::new(kernel.in_place(columns, Arc::downgrade(self))) as _)
    }

    /// An error takes the writer along, and with it all rows.
    fn write<R>(&self, work: impl FnOnce(&mut RowWriter) -> Result<R>) -> Result<R> {
        let mut writer = self.take()?;
        let done = work(&mut writer)?;
        *self.0.lock() = Some(writer);
        Ok(done)
    }
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
pub struct PlacedRun<T: Element> {
    pub run: Run<T>,
    /// The blocks of the result, for the columns beside them.
    pub due: Each<Due>,
    pub placing: Placing,
}

/// Where it is made, and whom that is reported to.
pub struct Placing {
    pub place: Weak<Place>,
    pub report: Arc<ReportCollector>,
}

impl<T: Element> PlacedRun<T> {
    /// Makes a segment; how many rows it has. None at the end.
    pub fn next(&mut self, stop: &Stop) -> Result<Option<RecordBatch>> {
        let Some(place) = self.placing.place.upgrade() else { return Err(EngineError::Cancelled.into_datafusion()) };
        let rows = place.write(|writer| self.run.next_in_place(&mut self.due, writer, stop))?;
        ReportCollector::add(&self.placing.report.placed_bytes, rows * self.run.block_bytes());
        Ok(if rows == 0 { None } else { Some(count_batch(rows as u64)?) })
    }
}
