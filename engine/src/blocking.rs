//! Work that blocks, where it holds up no other task.

use tokio::runtime::{Handle, RuntimeFlavor};

use common::error::EngineError;

/// Runs what blocks where it holds up no other task.
pub async fn blocking<T: Send + 'static>(work: impl FnOnce() -> Result<T, EngineError> + Send + 'static) -> Result<T, EngineError> {
    // Without a runtime there is no other task to hold up.
    let Ok(runtime) = Handle::try_current() else { return work() };
    let span = tracing::Span::current();
    match runtime.spawn_blocking(move || span.in_scope(work)).await {
        Ok(result) => result,
        Err(error) => Err(EngineError::internal(format!("a writer stopped: {error}"))),
    }
}

/// As [`blocking`], for what takes about as long as handing it to another thread and back would: on this thread, where
/// the runtime has others to go on with.
pub async fn blocking_here<T: Send + 'static>(work: impl FnOnce() -> Result<T, EngineError> + Send + 'static) -> Result<T, EngineError> {
    match has_other_threads() {
        true => tokio::task::block_in_place(work),
        false => blocking(work).await,
    }
}

/// Runs what blocks on this thread; the runtime, if there is one with other threads, goes on with those.
pub fn holding_up_nobody<T>(work: impl FnOnce() -> T) -> T {
    if has_other_threads() { tokio::task::block_in_place(work) } else { work() }
}

fn has_other_threads() -> bool {
    Handle::try_current().is_ok_and(|runtime| runtime.runtime_flavor() == RuntimeFlavor::MultiThread)
}
