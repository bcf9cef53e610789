//! Runs blocking work without delaying other tasks.

use tokio::runtime::{Handle, RuntimeFlavor};

use common::error::EngineError;

/// Runs blocking work on a thread for such work.
pub async fn blocking<T: Send + 'static>(work: impl FnOnce() -> Result<T, EngineError> + Send + 'static) -> Result<T, EngineError> {
    // Without a runtime there are no other tasks.
    let Ok(runtime) = Handle::try_current() else { return work() };
    let span = tracing::Span::current();
    match runtime.spawn_blocking(move || span.in_scope(work)).await {
        Ok(result) => result,
        Err(error) => Err(EngineError::internal(format!("a writer stopped: {error}"))),
    }
}

/// As [`blocking`], for work that takes about as long as a switch to another thread and back: it runs on this thread, if the runtime has
/// others.
pub async fn blocking_here<T: Send + 'static>(work: impl FnOnce() -> Result<T, EngineError> + Send + 'static) -> Result<T, EngineError> {
    match has_other_threads() {
        true => tokio::task::block_in_place(work),
        false => blocking(work).await,
    }
}

/// Runs blocking work on this thread; the runtime's other threads, if there are any, take over its tasks.
pub fn holding_up_nobody<T>(work: impl FnOnce() -> T) -> T {
    if has_other_threads() { tokio::task::block_in_place(work) } else { work() }
}

fn has_other_threads() -> bool {
    Handle::try_current().is_ok_and(|runtime| runtime.runtime_flavor() == RuntimeFlavor::MultiThread)
}
