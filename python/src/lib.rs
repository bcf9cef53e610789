//! The extension `quiver._quiver` of the Python package: the engine in the process of Python.
//!
//! It only passes statements and Arrow data. The user interface is in Python: `quiver/`.
//!
//! - [`database`] — an open store and its threads; [`session`] one connection to it
//! - [`results`] — the rows of a statement while they are read; [`slot`] allows one reader at a time, [`reader`] is for other libraries
//! - [`mapped_bytes`] — bytes of blobs and chunks in place
//! - [`rows`] — record batches through Arrow's C interface, in both directions
//! - [`pushdown`] — a table of a server for the package `datafusion`
//! - [`waiting`] — waiting that Ctrl-C can interrupt; [`process`] protects values that a forked process must not touch
//! - [`errors`] — errors of the engine as Python exceptions; [`refusal`] — why there are no rows, without Python's lock

mod database;
mod errors;
mod files;
mod mapped_bytes;
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

/// The same allocator as in the binary, because query operators allocate and free many buffers on many threads.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// The engine of Quiver, for the modules of the package: use `quiver.open`.
#[pymodule(name = "_quiver")]
mod extension {
    use pyo3::prelude::*;

    #[pymodule_export]
    use crate::database::Database;
    #[pymodule_export]
    use crate::mapped_bytes::MappedBytes;
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

    /// The panic hook of this library only: other libraries of the process have their own.
    #[pymodule_init]
    fn init(_module: &Bound<'_, PyModule>) -> PyResult<()> {
        engine::import::silence_guarded_panics();
        Ok(())
    }
}
