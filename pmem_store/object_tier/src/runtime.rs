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
    let failed = |reason: String| ObjectError::Failed { action, url: url.to_string(), reason: with_advice(url, reason) };
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

/// Where clients look for credentials if the environment has none: a service of the providers' machines.
const METADATA_SERVICES: [&str; 2] = ["169.254.169.254", "metadata.google.internal"];
/// All that is said of a URL that begins with `http:` where only `https:` is allowed.
const REFUSED_SCHEME: &str = "builder error";

/// The reason, and the variables of the environment whose lack explains it.
fn with_advice(url: &str, reason: String) -> String {
    let (credentials, allow_http) = match url.split_once("://") {
        Some(("s3", _)) => ("AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY", "AWS_ALLOW_HTTP"),
        Some(("gs", _)) => ("GOOGLE_APPLICATION_CREDENTIALS", "GOOGLE_ALLOW_HTTP"),
        Some(("az", _)) => ("AZURE_STORAGE_ACCOUNT_NAME and AZURE_STORAGE_ACCOUNT_KEY", "AZURE_ALLOW_HTTP"),
        _ => return reason,
    };
    match () {
        () if METADATA_SERVICES.iter().any(|service| reason.contains(service)) => {
            format!("{reason}; there are no credentials, which come from {credentials} in the environment")
        }
        () if reason.contains(REFUSED_SCHEME) => format!("{reason}; an endpoint without TLS needs {allow_http}=true in the environment"),
        () => reason,
    }
}

pub fn in_background(work: impl FnOnce() + Send + 'static) {
    if let Ok(runtime) = RUNTIME.as_ref() {
        runtime.spawn_blocking(work);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_names_the_variables_that_are_missing() {
        let advice = |url: &str, reason: &str| with_advice(url, reason.to_string()).replace(reason, "");
        let asked = "Error performing PUT http://169.254.169.254/latest/api/token in 8s";
        assert_eq!(
            advice("s3://b/p", asked),
            "; there are no credentials, which come from AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY in the environment"
        );
        assert!(advice("gs://b/p", "GET http://metadata.google.internal/x failed").contains("GOOGLE_APPLICATION_CREDENTIALS"));
        assert!(advice("s3://b/p", "HTTP error: builder error").ends_with("needs AWS_ALLOW_HTTP=true in the environment"));
        assert_eq!(advice("s3://b/p", "HTTP error: error sending request"), "");
        assert_eq!(advice("file:///b/p", asked), "");
    }
}
