//! The extension `quiver._quiver` of the Python package: the engine in the process of Python.
//!
//! It hands over statements and Arrow data, and decides nothing. What users see is Python: `quiver/`.
//!
//! - [`database`] — an open store and its threads; [`session`] one connection to it
//! - [`results`] — the rows of a statement while they are read; [`slot`] by whom, [`reader`] by another library
//! - [`rows`] — record batches through Arrow's C interface, in both directions
//! - [`pushdown`] — a table of a server for the package `datafusion`
//! - [`waiting`] — waiting so that Ctrl-C is seen; [`process`] what a forked process must not touch
//! - [`errors`] — errors of the engine as exceptions of Python; [`refusal`] — why there are no rows, before that

mod database;
mod errors;
mod files;
mod process;
mod pushdown;
mod reader;
mod refusal;
mod results;
mod rows;
mod session;
mod slot;
mod waiting;

use pyo3::pymodule;

/// As the binary's: query operators allocate and free many buffers on many threads.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// The engine of Quiver, for the modules beside this one: use `quiver.open`.
#[pymodule(name = "_quiver")]
mod extension {
    use pyo3::prelude::*;

    #[pymodule_export]
    use crate::database::Database;
    #[pymodule_export]
    use crate::pushdown::RemoteTable;
    #[pymodule_export]
    use crate::results::Results;
    #[pymodule_export]
    use crate::rows::Rows;
    #[pymodule_export]
    use crate::session::EngineSession;
    #[pymodule_export]
    use crate::session::split_statements;

    /// The hook for panics is the one of this library alone: others in the process have theirs.
    #[pymodule_init]
    fn init(_module: &Bound<'_, PyModule>) -> PyResult<()> {
        engine::import::silence_guarded_panics();
        Ok(())
    }
}
