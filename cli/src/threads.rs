//! The threads that queries run on.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::time::Duration;

use engine::{WORKER_STACK_BYTES, check_address_space};
use tokio::runtime::{Builder, Handle};
use tokio::signal::unix::{SignalKind, signal};

use crate::errors::{CliError, Result, StatementError};

/// How long to wait for threads: a cancelled query may be in the middle of a batch. Its thread ends with the process.
const PATIENCE: Duration = Duration::from_millis(200);
/// SIGXFSZ: a file has reached the size limit (`ulimit -f`). This is Linux's number on x86 and ARM.
const SIGXFSZ: i32 = 25;

/// Runs `work`, and then waits a short time for its threads.
pub fn with_runtime<T>(threads: Option<usize>, work: impl FnOnce(&Handle) -> Result<T>) -> Result<T> {
    let threads = threads.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from));
    check_address_space(threads).map_err(StatementError::from)?;
    let mut builder = Builder::new_multi_thread();
    builder.enable_all().thread_stack_size(WORKER_STACK_BYTES).worker_threads(threads);
    let failed = |error| CliError::message(format!("cannot start the worker threads: {error}"));
    let runtime = builder.build().map_err(failed)?;
    // With a handler, a file that may not grow is an error of the statement and does not end the process. Nothing reads
    // the signal, and the handler stays installed.
    runtime.block_on(async { signal(SignalKind::from_raw(SIGXFSZ)).map(drop) }).map_err(failed)?;
    let result = catch_unwind(AssertUnwindSafe(|| work(runtime.handle())));
    // Also after a panic: dropping it would wait for threads that may wait for this one.
    runtime.shutdown_timeout(PATIENCE);
    result.unwrap_or_else(|panic| resume_unwind(panic))
}
