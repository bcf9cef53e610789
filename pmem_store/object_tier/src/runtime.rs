//! The threads that talk to object stores.

use std::future::Future;
use std::sync::LazyLock;
use std::sync::mpsc::sync_channel;

use tokio::runtime::{Builder, Runtime};

use crate::{ObjectError, Result};

pub const WRITE: &str = "write";

/// Made at the first use: most processes have no object tier. An error if the process may have no more threads.
static RUNTIME: LazyLock<std::io::Result<Runtime>> = LazyLock::new(|| {
    let mut builder = Builder::new_multi_thread();
    builder.worker_threads(2).thread_name("quiver-objects").enable_all().build()
});

/// Waits for the result on a channel, which every thread may do. A caller that is a thread of another runtime stops the tasks of that one
/// meanwhile.
pub fn wait<T: Send + 'static>(
    action: &'static str,
    url: &str,
    work: impl Future<Output = object_store::Result<T>> + Send + 'static,
) -> Result<T> {
    let failed = |reason: String| ObjectError::Failed { action, url: url.to_string(), reason };
    let runtime = RUNTIME.as_ref().map_err(|error| failed(error.to_string()))?;
    let (sender, receiver) = sync_channel(1);
    runtime.spawn(async move { sender.send(work.await) });
    match receiver.recv() {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(object_store::Error::NotFound { .. })) => Err(match action {
            WRITE => failed("there is no such bucket".into()),
            _ => ObjectError::NotFound { url: url.to_string() },
        }),
        Ok(Err(error)) => Err(failed(reason(&error.to_string()))),
        Err(_) => Err(failed("the request broke down".into())),
    }
}

/// The bodies of answers are left out: those of S3 have key ids and what was signed.
fn reason(error: &str) -> String {
    match error.split_once('<') {
        Some((before, _)) => {
            tracing::debug!(error, "the answer of an object store");
            before.trim_end_matches([':', ' ']).to_string()
        }
        None => error.to_string(),
    }
}

pub fn in_background(work: impl FnOnce() + Send + 'static) {
    if let Ok(runtime) = RUNTIME.as_ref() {
        runtime.spawn_blocking(work);
    }
}
