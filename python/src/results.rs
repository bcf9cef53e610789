//! The rows of a statement, for Python to read.

use std::sync::Arc;

use engine::{EngineError, QueryOutput};
use futures::StreamExt;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::errors;
use crate::process::ProcessBound;
use crate::reader::Reader;
use crate::refusal::Refusal;
use crate::rows::Rows;
use crate::slot::Slot;
use crate::waiting::{wait, wait_and};

#[pyclass(frozen, module = "quiver._quiver")]
pub struct Results {
    slot: ProcessBound<Arc<Slot>>,
}

#[pymethods]
impl Results {
    /// All rows that were not read yet. `look` is called repeatedly with the rows scanned and the total number of rows.
    fn read_all(&self, py: Python<'_>, look: Option<&Bound<'_, PyAny>>) -> PyResult<Rows> {
        let slot = Arc::clone(self.slot.get()?);
        let Some(output) = lent(&slot)? else { return Ok(Rows::of(Arc::clone(&slot.schema), Vec::new())) };
        let reading = Arc::clone(&slot);
        let batches = wait_and(py, &slot.runtime, async move { reading.collect(output).await }, || match look {
            Some(look) => {
                let report = slot.noted();
                look.call1((report.rows_scanned, report.rows_total)).map(|_| ())
            }
            None => Ok(()),
        });
        let batches = unwrap_wait(&slot, batches)?;
        Ok(Rows::of(Arc::clone(&slot.schema), batches))
    }

    /// The next record batch as rows; None at the end.
    fn next_batch(&self, py: Python<'_>) -> PyResult<Option<Rows>> {
        let slot = Arc::clone(self.slot.get()?);
        let Some(mut output) = lent(&slot)? else { return Ok(None) };
        let reading = Arc::clone(&slot);
        let batch = wait(py, &slot.runtime, async move {
            let next = output.next().await;
            reading.return_with(output, next)
        });
        let batch = unwrap_wait(&slot, batch)?;
        Ok(batch.map(|batch| Rows::of(Arc::clone(&slot.schema), vec![batch])))
    }

    /// An error if rows were lost: the error that ended the result, or one about `close`.
    fn check(&self) -> PyResult<()> {
        let slot = self.slot.get()?;
        slot.stopped().map_or(Ok(()), |refusal| Err(errors::refused(&refusal, &slot.sql)))
    }

    /// The rows that were not read yet, as a lazy stream.
    fn stream(&self) -> PyResult<Rows> {
        let slot = Arc::clone(self.slot.get()?);
        Ok(Rows::lazily(Box::new(Reader::of(slot))))
    }

    /// The schema, as a stream without rows.
    fn schema(&self) -> PyResult<Rows> {
        Ok(Rows::of(Arc::clone(&self.slot.get()?.schema), Vec::new()))
    }

    /// `query`, `write`, `ddl`, `set` or `transaction`.
    #[getter]
    fn kind(&self) -> PyResult<&'static str> {
        Ok(self.slot.get()?.kind.name())
    }

    #[getter]
    fn rows_changed(&self) -> PyResult<Option<u64>> {
        Ok(self.slot.get()?.rows_changed)
    }

    /// The report of the statement, with the names of docs/flight-sql.md.
    fn report<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let report = self.slot.get()?.report();
        let words = PyDict::new(py);
        for (name, count) in [
            ("bytes_touched", report.bytes_touched),
            ("node_bytes_touched", report.node_bytes_touched),
            ("bytes_returned", report.bytes_returned),
            ("rows_returned", report.rows_returned),
            ("rows_scanned", report.rows_scanned),
            ("rows_total", report.rows_total),
            ("segments_total", report.segments_total),
            ("segments_pruned", report.segments_pruned),
            ("zones_total", report.zones_total),
            ("zones_pruned", report.zones_pruned),
            ("precopied_bytes", report.precopied_bytes),
            ("reread_bytes", report.reread_bytes),
            ("placed_bytes", report.placed_bytes),
            ("staleness_ms", report.staleness_ms),
            ("spilled_bytes", report.spilled_bytes),
            ("peak_memory_bytes", report.peak_memory_bytes),
        ] {
            words.set_item(name, count)?;
        }
        words.set_item("planning_ms", report.planning_ms)?;
        words.set_item("elapsed_ms", report.elapsed_ms)?;
        Ok(words)
    }

    /// Cancels the statement if it still runs.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        let slot = self.slot.get()?;
        py.detach(|| slot.stop(Refusal::ResultClosed));
        Ok(())
    }
}

impl Results {
    pub fn new(slot: Arc<Slot>) -> Results {
        Results { slot: ProcessBound::new(slot) }
    }
}

fn lent(slot: &Slot) -> PyResult<Option<Box<QueryOutput>>> {
    slot.lend().map_err(|refusal| errors::refused(&refusal, &slot.sql))
}

/// The result of waiting for rows. If the wait was interrupted, rows may have arrived and are lost.
fn unwrap_wait<T>(slot: &Slot, waited: PyResult<Result<T, Arc<EngineError>>>) -> PyResult<T> {
    let done = waited.inspect_err(|_| slot.stop(Refusal::Interrupted))?;
    done.map_err(|error| errors::of_statement(&error, &slot.sql))
}
