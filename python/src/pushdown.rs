//! A table of a server for the Python package `datafusion`.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use engine::EngineError;
use flight_client::{Credentials, FlightNodes, Tls};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use substrait_plans::pushdown::{self, Network, Pushdown, TableLocation, foreign_table};
use tokio::runtime::{Builder, Runtime};

use crate::errors;
use crate::process::ProcessBound;
use crate::rows::Rows;
use crate::waiting::wait;

/// A session of `datafusion` may read the table as long as the process lives, even when this module's objects are
/// gone: so these threads never end. They wait for the network, and compute little.
const THREADS: usize = 2;

/// The runtime of the process with this id: after a fork there are no threads.
static RUNNING: Mutex<Option<(u32, &'static Runtime)>> = Mutex::new(None);

fn runtime() -> PyResult<&'static Runtime> {
    let mut running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
    let process = std::process::id();
    if let Some((of, runtime)) = *running
        && of == process
    {
        return Ok(runtime);
    }
    let runtime = Builder::new_multi_thread().worker_threads(THREADS).thread_name("quiver-nodes").enable_all().build();
    let runtime = runtime.map_err(|error| errors::internal(&format!("the threads for nodes cannot be started: {error}")))?;
    let runtime: &'static Runtime = Box::leak(Box::new(runtime));
    *running = Some((process, runtime));
    Ok(runtime)
}

/// Has `__datafusion_table_provider__`; `quiver.pushdown.table` makes one.
#[pyclass(frozen, module = "quiver._quiver")]
pub struct RemoteTable {
    table: ProcessBound<pushdown::RemoteTable>,
}

#[pymethods]
impl RemoteTable {
    /// Asks the node for the schema of the table.
    #[new]
    #[pyo3(signature = (location, *, user, password, token, tls_ca, client_cert, client_key, level))]
    #[allow(clippy::too_many_arguments)]
    fn open(
        py: Python<'_>,
        location: String,
        user: Option<String>,
        password: Option<String>,
        token: Option<String>,
        tls_ca: Option<PathBuf>,
        client_cert: Option<PathBuf>,
        client_key: Option<PathBuf>,
        level: &str,
    ) -> PyResult<RemoteTable> {
        let level: Pushdown = level.parse().map_err(|error| errors::of_engine(&error))?;
        let tls = Tls { ca: tls_ca, identity: client_cert.zip(client_key) };
        let nodes = FlightNodes::new(Credentials { user, password, password_file: None, token, tls });
        let opened = wait(py, runtime()?.handle(), async move {
            let TableLocation { node, namespace, name } = nodes.place(&location)?;
            pushdown::RemoteTable::open(node, namespace, name, level).await
        })?;
        let table = opened.map_err(|error| errors::of_engine(&EngineError::from(error)))?;
        Ok(RemoteTable { table: ProcessBound::new(table) })
    }

    /// The functions of the session are not needed: filters only use those that every session has.
    fn __datafusion_table_provider__<'py>(&self, py: Python<'py>, session: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyCapsule>> {
        let _ = session;
        let table = foreign_table(self.table.get()?.clone(), runtime()?.handle().clone());
        PyCapsule::new_with_value(py, table, c"datafusion_table_provider")
    }

    /// The schema of the table, as a stream without rows.
    fn schema(&self) -> PyResult<Rows> {
        Ok(Rows::of(self.table.get()?.table_schema().clone(), Vec::new()))
    }
}
