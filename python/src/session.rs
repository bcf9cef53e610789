//! One connection to an open store.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use arrow::array::RecordBatch;
use engine::import::{IfExists, IfMissing, IngestTarget};
use engine::{AttributeValue, Binding, EngineError, QueryOutput, Session, StatementKind, StoredBytes, TagRange};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyBool;
use tokio::runtime::Handle;

use crate::errors;
use crate::files::Files;
use crate::mapped_bytes::MappedBytes;
use crate::process::ProcessBound;
use crate::refusal::Refusal;
use crate::results::Results;
use crate::rows;
use crate::slot::{Slot, Started};
use crate::waiting::wait;

/// The id of an array, and the cells of chunks; None for a chunk that was never written.
type Chunks = (u64, Vec<Option<MappedBytes>>);

/// Splits a script at its semicolons into statements.
#[pyfunction]
pub fn split_statements(sql: &str) -> Vec<String> {
    Session::split_statements(sql).into_iter().map(|statement| statement.text.to_string()).collect()
}

/// Its statements are planned and started one after the other, whichever threads send them.
#[pyclass(frozen, module = "quiver._quiver", name = "Session")]
pub struct EngineSession {
    shared: ProcessBound<SharedSession>,
}

struct SharedSession {
    session: Mutex<Option<Arc<SessionLocks>>>,
    runtime: Handle,
    /// The results that are being read, so that closing the session ends them.
    results: Mutex<Vec<Weak<Slot>>>,
}

struct SessionLocks {
    session: Session,
    turn: tokio::sync::Mutex<()>,
}

#[pymethods]
impl EngineSession {
    /// Starts a statement. A statement other than a query has run when this returns. `parameters` has one row.
    fn execute(&self, py: Python<'_>, sql: String, parameters: Option<&Bound<'_, PyAny>>) -> PyResult<Results> {
        let parameters = parameters.map(rows::only_batch).transpose()?;
        let turns = self.turns()?;
        let text = sql.clone();
        let started = wait(py, &self.shared.get()?.runtime, async move { turns.start(&text, parameters).await })?;
        self.results(started.map_err(|error| errors::of_statement(&error, &sql))?, sql)
    }

    /// The same for a serialized `substrait.Plan`.
    fn run_substrait(&self, py: Python<'_>, plan: &[u8]) -> PyResult<Results> {
        let (turns, plan) = (self.turns()?, plan.to_vec());
        let started = wait(py, &self.shared.get()?.runtime, async move { turns.start_plan(&plan).await })?;
        self.results(started.map_err(|error| errors::of_engine(&error))?, String::new())
    }

    /// Runs a statement that changes rows once for each row of `parameters`: all of them or none.
    fn execute_rows(&self, py: Python<'_>, sql: String, parameters: &Bound<'_, PyAny>) -> PyResult<u64> {
        let parameters = rows::only_batch(parameters)?;
        let (turns, text) = (self.turns()?, sql.clone());
        let changed = wait(py, &self.shared.get()?.runtime, async move {
            let _turn = turns.turn.lock().await;
            turns.session.execute_rows(&text, &parameters).await
        })?;
        changed.map_err(|error| errors::of_statement(&error, &sql))
    }

    /// Adds rows to a table in one commit; `data` has `__arrow_c_stream__`. Returns the number of rows.
    #[pyo3(signature = (data, schema, table, *, create, append, replace))]
    #[allow(clippy::too_many_arguments)]
    fn ingest(
        &self,
        py: Python<'_>,
        data: &Bound<'_, PyAny>,
        schema: Option<String>,
        table: String,
        create: bool,
        append: bool,
        replace: bool,
    ) -> PyResult<u64> {
        let if_missing = if create { IfMissing::Create } else { IfMissing::Fail };
        let if_exists = match (append, replace) {
            (_, true) => IfExists::Replace,
            (true, false) => IfExists::Append,
            (false, false) => IfExists::Fail,
        };
        let target = IngestTarget { schema, table, if_missing, if_exists };
        let (schema, batches) = rows::incoming(data)?;
        let turns = self.turns()?;
        let written = wait(py, &self.shared.get()?.runtime, async move {
            let _turn = turns.turn.lock().await;
            turns.session.ingest(target, schema, batches).await
        })?;
        written.map_err(|error| errors::of_engine(&error))
    }

    /// Imports files into a table. Returns the number of rows, and the number of skipped ones with the reasons.
    fn import_files(&self, py: Python<'_>, files: Files) -> PyResult<(u64, u64, Vec<String>)> {
        let import = files.checked()?;
        let turns = self.turns()?;
        let imported = wait(py, &self.shared.get()?.runtime, async move {
            let _turn = turns.turn.lock().await;
            import.run(&turns.session).await
        })?;
        imported.map_err(|error| errors::of_engine(&error))
    }

    /// The ids of the objects whose tags are in these ranges: tag, least and greatest value, of which None is no bound.
    fn find_ids(&self, conditions: Vec<(String, Option<Bound<'_, PyAny>>, Option<Bound<'_, PyAny>>)>) -> PyResult<Vec<u64>> {
        let ranges = conditions.into_iter().map(|(tag, low, high)| {
            let [low, high] = [low, high].map(|value| value.map(|value| tag_value(&value)).transpose());
            Ok(TagRange { tag, low: low?, high: high? })
        });
        let ranges = ranges.collect::<PyResult<Vec<TagRange>>>()?;
        // A search takes microseconds, so it keeps the interpreter's lock.
        self.turns()?.session.find_object_ids(ranges).map_err(|error| errors::of_engine(&error))
    }

    /// The bytes of the blobs of a schema with these names, of those there are; None if one of them would have to be fetched from an object
    /// store.
    fn read_blobs(&self, py: Python<'_>, schema: &str, names: Vec<String>) -> PyResult<Option<Vec<(String, MappedBytes)>>> {
        let turns = self.turns()?;
        let names = names.iter().map(String::as_str).collect();
        // The first reader of bytes verifies them, which may take a while.
        let (_, found) = py.detach(|| turns.session.read_blobs(schema, &names)).map_err(|error| errors::of_engine(&error))?;
        Ok(found.into_iter().map(|(name, content)| Some((name, MappedBytes::new(content.bytes?)))).collect())
    }

    /// Chunks of an array; None if one of them would have to be fetched from an object store.
    fn read_chunks(&self, py: Python<'_>, schema: &str, name: &str, numbers: Vec<Vec<i64>>) -> PyResult<Option<Chunks>> {
        let turns = self.turns()?;
        let found = py.detach(|| turns.session.read_chunks(schema, name, &numbers)).map_err(|error| errors::of_engine(&error))?;
        let is_far = |cells: &StoredBytes| cells.bytes.is_none();
        if found.cells.iter().flatten().any(is_far) {
            return Ok(None);
        }
        let cells = found.cells.into_iter().map(|cells| cells.and_then(|cells| cells.bytes).map(MappedBytes::new));
        Ok(Some((found.object_id, cells.collect())))
    }

    #[getter]
    fn in_transaction(&self) -> PyResult<bool> {
        Ok(self.turns()?.session.is_in_transaction())
    }

    /// Ends the results that are being read and rolls back an open transaction.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        let shared = self.shared.get()?;
        let session = shared.session.lock().unwrap_or_else(PoisonError::into_inner).take();
        let results = std::mem::take(&mut *shared.results.lock().unwrap_or_else(PoisonError::into_inner));
        py.detach(|| {
            results.iter().filter_map(Weak::upgrade).for_each(|slot| slot.stop(Refusal::ConnectionClosed));
            drop(session);
        });
        Ok(())
    }
}

impl EngineSession {
    pub fn new(session: Session, runtime: Handle) -> EngineSession {
        let turns = Arc::new(SessionLocks { session, turn: tokio::sync::Mutex::default() });
        let shared = SharedSession { session: Mutex::new(Some(turns)), runtime, results: Mutex::default() };
        EngineSession { shared: ProcessBound::new(shared) }
    }

    fn results(&self, started: Started, sql: String) -> PyResult<Results> {
        let shared = self.shared.get()?;
        let slot = Arc::new(Slot::new(started, shared.runtime.clone(), sql));
        let mut results = shared.results.lock().unwrap_or_else(PoisonError::into_inner);
        results.retain(|weak| weak.strong_count() > 0);
        results.push(Arc::downgrade(&slot));
        Ok(Results::new(slot))
    }

    fn turns(&self) -> PyResult<Arc<SessionLocks>> {
        let session = self.shared.get()?.session.lock().unwrap_or_else(PoisonError::into_inner);
        session.clone().ok_or_else(errors::closed)
    }
}

impl SessionLocks {
    async fn start(&self, sql: &str, parameters: Option<RecordBatch>) -> Result<Started, EngineError> {
        let _turn = self.turn.lock().await;
        let output = match parameters {
            Some(row) => self.session.execute_with(sql, &row, 0).await?,
            None => self.session.execute(sql).await?,
        };
        match output.kind() {
            StatementKind::Query => Ok(Started::Query(output)),
            kind => done(kind, output).await,
        }
    }

    /// A plan only reads.
    async fn start_plan(&self, plan: &[u8]) -> Result<Started, EngineError> {
        let _turn = self.turn.lock().await;
        Ok(Started::Query(substrait_plans::run(&self.session, plan, &Binding::default()).await?))
    }
}

fn tag_value(value: &Bound<'_, PyAny>) -> PyResult<AttributeValue> {
    if let Ok(value) = value.cast::<PyBool>() {
        return Ok(AttributeValue::Boolean(value.is_true()));
    }
    if let Ok(value) = value.extract::<i64>() {
        return Ok(AttributeValue::Integer(value));
    }
    if let Ok(value) = value.extract::<f64>() {
        return Ok(AttributeValue::Double(value));
    }
    match value.extract::<String>() {
        Ok(text) => Ok(AttributeValue::Text(text)),
        Err(_) => Err(PyTypeError::new_err("the value of a tag is compared with a number, a text or a boolean")),
    }
}

/// Runs a statement other than a query to its end.
async fn done(kind: StatementKind, output: QueryOutput) -> Result<Started, EngineError> {
    let (batches, report) = output.collect().await?;
    let rows_changed = (kind == StatementKind::Write).then(|| batches.iter().map(rows::written).sum());
    Ok(Started::Done { kind, rows_changed, report })
}
