//! An open store and the threads of its queries.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use engine::{Engine, EngineOptions, WORKER_STACK_BYTES, check_address_space};
use flight_client::{Credentials, remote_tables};
use pyo3::prelude::*;
use tokio::runtime::{Builder, Handle, Runtime};

use crate::errors;
use crate::process::ProcessBound;
use crate::session::EngineSession;

/// How long to wait for threads: a cancelled query may be in the middle of a batch, and its thread ends after it.
const PATIENCE: Duration = Duration::from_secs(2);

/// A store that is open in this process. Its sessions are connections to it.
#[pyclass(frozen, module = "quiver._quiver")]
pub struct Database {
    open: ProcessBound<Mutex<Option<Open>>>,
}

struct Open {
    // Dropped before the engine, because tasks on the threads hold the store.
    threads: Threads,
    engine: Engine,
}

/// If the database was not closed, the threads end by themselves, without a wait.
struct Threads(Option<Runtime>);

impl Drop for Threads {
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}

#[pymethods]
impl Database {
    /// Opens the store at `path`, or a temporary one without a path.
    #[new]
    #[expect(clippy::too_many_arguments, reason = "each is a keyword in Python")]
    #[pyo3(signature = (path, *, read_only, memory_limit_bytes, query_memory_limit_bytes, spill_dir, threads, python))]
    fn open(
        py: Python<'_>,
        path: Option<PathBuf>,
        read_only: bool,
        memory_limit_bytes: Option<u64>,
        query_memory_limit_bytes: Option<u64>,
        spill_dir: Option<PathBuf>,
        threads: Option<usize>,
        python: Option<PathBuf>,
    ) -> PyResult<Database> {
        let options = EngineOptions {
            read_only,
            memory_limit_bytes,
            query_memory_limit_bytes,
            spill_dir,
            threads,
            python,
            // Who runs this process may import anything anyway.
            python_imports: "*".into(),
            remote_tables: Some(remote_tables(Credentials::of_environment())),
            ..EngineOptions::default()
        };
        let threads = threads.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from)).max(1);
        check_address_space(threads).map_err(|error| errors::of_engine(&error))?;
        let mut builder = Builder::new_multi_thread();
        builder.enable_all().thread_stack_size(WORKER_STACK_BYTES).thread_name("quiver").worker_threads(threads);
        let runtime = builder.build().map_err(|error| errors::internal(&format!("the threads of queries cannot be started: {error}")))?;
        let engine = py.detach(|| match &path {
            Some(path) => Engine::open(path, options),
            None => Engine::open_temporary(options),
        });
        let engine = engine.map_err(|error| errors::of_engine(&error))?;
        let open = Open { threads: Threads(Some(runtime)), engine };
        Ok(Database { open: ProcessBound::new(Mutex::new(Some(open))) })
    }

    /// A connection of its own, with its own transaction and settings.
    fn session(&self) -> PyResult<EngineSession> {
        let (engine, runtime) = self.parts()?;
        let session = engine.session().map_err(|error| errors::of_engine(&error))?;
        Ok(EngineSession::new(session, runtime))
    }

    /// Whether another process writes to the store: then this stays at the version that was the last one when it was opened.
    fn is_leased(&self) -> PyResult<bool> {
        Ok(self.parts()?.0.store().is_leased())
    }

    /// Ends running statements and closes the store. Its sessions must be closed before.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        let open = self.open.get()?.lock().unwrap_or_else(PoisonError::into_inner).take();
        py.detach(|| {
            if let Some(mut open) = open
                && let Some(runtime) = open.threads.0.take()
            {
                runtime.shutdown_timeout(PATIENCE);
            }
        });
        Ok(())
    }
}

impl Database {
    fn parts(&self) -> PyResult<(Engine, Handle)> {
        let open = self.open.get()?.lock().unwrap_or_else(PoisonError::into_inner);
        match open.as_ref() {
            Some(Open { threads: Threads(Some(runtime)), engine }) => Ok((engine.clone(), runtime.handle().clone())),
            _ => Err(errors::closed()),
        }
    }
}
