//! The threads that queries run on.

use std::time::Duration;

use engine::WORKER_STACK_BYTES;
use tokio::runtime::{Builder, Handle};

use crate::errors::{CliError, Result};

/// A cancelled query may be in the middle of a batch. Its thread ends with the process.
const PATIENCE: Duration = Duration::from_millis(200);

/// Runs `work`, and then waits for its threads no longer than a user would.
pub fn with_runtime<T>(
    threads: Option<usize>,
    work: impl FnOnce(&Handle) -> Result<T>,
) -> Result<T> {
    let mut builder = Builder::new_multi_thread();
    builder.enable_all().thread_stack_size(WORKER_STACK_BYTES);
    if let Some(threads) = threads {
        builder.worker_threads(threads);
    }
    let failed = |error| CliError::message(format!("cannot start the worker threads: {error}"));
    let runtime = builder.build().map_err(failed)?;
    let result = work(runtime.handle());
    runtime.shutdown_timeout(PATIENCE);
    result
}
