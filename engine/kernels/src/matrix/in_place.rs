//! Results that are stored: they are made in place in the table that is being built.
//!
//! The table takes the operator's result as it is, so the operator must be the last one of the statement, under at most a choice of its
//! columns. Other results are written as any rows are.

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

/// A table that is being built, in which a kernel makes its rows. The statement holds it, and operators do not: so what was
/// written is dropped with the statement.
pub trait InPlaceTable: fmt::Debug + Send + Sync {
    /// Whether rows of this schema can be made in place.
    fn takes(&self, rows: &Schema) -> bool;

    /// Writes rows that become a separate segment; `make` writes their wide column. It blocks. An error discards all rows. A caller that
    /// fails before this call must pass its error on, because otherwise the table would count as complete.
    fn write(&self, rows: OtherColumns, make: &mut dyn FnMut(Elements<'_>) -> Result<(), EngineError>) -> Result<(), EngineError>;
}

/// The plan that makes the rows of `plan` in `table`, and yields their number. `None`: the rows must be written in the usual way.
pub fn filled_in_place(table: &Arc<dyn InPlaceTable>, plan: &Arc<dyn ExecutionPlan>) -> Option<Arc<dyn ExecutionPlan>> {
    let (kernel, columns) = chosen(plan)?;
    let blocks = columns.iter().filter(|column| **column == Column::Block).count();
    let is_wide = rows_of_segment(kernel.block_bytes()).is_some();
    (blocks == 1 && is_wide && table.takes(&plan.schema())).then(|| Arc::new(kernel.in_place(columns, Arc::downgrade(table))) as _)
}

/// The kernel that makes the rows of `plan`, and the columns of it that they have.
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

/// A result that is made in the table in which it is stored.
pub struct InPlaceRun<T: Element> {
    pub run: Run<T>,
    /// The blocks of the result, for the other columns.
    pub due: Each<PendingBlock>,
    pub placing: InPlaceTarget,
}

/// The table in which it is made, and the metrics.
pub struct InPlaceTarget {
    pub place: Weak<dyn InPlaceTable>,
    pub report: Arc<ReportCollector>,
}

impl<T: Element> InPlaceRun<T> {
    /// Makes a segment and returns the number of its rows. `None` at the end.
    pub fn next(&mut self, stop: &StopFlag) -> Result<Option<RecordBatch>> {
        let Some(place) = self.placing.place.upgrade() else { return Err(EngineError::Cancelled.into_datafusion()) };
        let rows = self.run.next_in_place(&mut self.due, place.as_ref(), stop)?;
        ReportCollector::add(&self.placing.report.placed_bytes, rows * self.run.block_bytes());
        Ok(if rows == 0 { None } else { Some(count_batch(rows as u64)?) })
    }
}
