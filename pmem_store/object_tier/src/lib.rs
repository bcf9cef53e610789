//! Files in object stores (S3, Google, Azure, or a directory), for threads that wait for the answer.
//!
//! A file is named by its whole URL, as `s3://bucket/prefix/7/12.arrow`. Credentials, regions and endpoints come from the environment of the
//! process, under the names that the tools of the providers use (`AWS_ACCESS_KEY_ID`, `AWS_ENDPOINT_URL`, `GOOGLE_APPLICATION_CREDENTIALS`,
//! `AZURE_STORAGE_ACCOUNT_NAME`, …), and nothing of them is stored.
//!
//! **Invariant:** this crate alone knows the crate `object_store`. Its tasks run on a runtime of their own, so that a caller may wait on any
//! thread, also on one that belongs to another runtime.

mod client;
mod files;
mod runtime;

pub use bytes::Bytes;
pub use files::{check_url, directory_of, in_background, list, put, read, read_all, read_ranges, remove, size_bytes};

#[derive(Debug, thiserror::Error)]
pub enum ObjectError {
    #[error("\"{url}\" is no URL of an object store ({reason}); write s3://bucket/prefix, gs://…, az://… or file:///directory")]
    Url { url: String, reason: String },
    #[error("the object store has no \"{url}\"")]
    NotFound { url: String },
    #[error("the object store could not {action} \"{url}\": {reason}")]
    Failed { action: &'static str, url: String, reason: String },
}

type Result<T, E = ObjectError> = std::result::Result<T, E>;
