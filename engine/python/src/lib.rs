//! Functions of users in Python: a source in, a function of DataFusion out.
//!
//! A function runs in a process of its own ([`worker.py`](../worker.py)), which the engine starts with an interpreter that its operator names. Rows
//! go there as Arrow arrays: buffers that lie in a segment are mapped there from the same file, others are copied into a file in memory.
//! Results come back in another one.
//!
//! **Invariant:** before a source is run, its process can do nothing but compute: seccomp leaves it no network, no new processes and no signals to
//! others, and nothing to write; Landlock leaves it nothing to read but libraries (where the kernel has none, it opens no file at all). Its memory is
//! limited, and the engine ends it when a call takes too long or nobody waits for it. A process serves one function and one user. What it
//! leaves behind is validated before it becomes an array.

mod aggregate;
mod arguments;
mod definition;
mod error;
mod function;
mod pass_files;
mod procedure;
mod process;
mod results;
mod scalar;
mod seccomp;
mod session_requests;
mod table;
mod workers;

pub use aggregate::aggregate_function;
pub use definition::{Definition, FunctionKind};
pub use error::PythonError;
pub use function::PythonFunction;
pub use procedure::ProcedureCall;
pub use scalar::scalar_function;
pub use session_requests::{SessionCall, SessionRequest, SessionRows, WriteMode};
pub use table::table_function;
pub use workers::{PythonOptions, PythonWorkers};
