//! Why rows were not appended.

use crate::error::StoreError;
use crate::region::RegionError;

#[derive(Debug, thiserror::Error)]
pub enum AppendError {
    /// Nothing was written; the rows fit into another log, if that is large enough, or a segment.
    #[error("the rows take {needed_bytes} bytes and the log has {free_bytes} left")]
    Full { needed_bytes: u64, free_bytes: u64 },
    #[error("version {version} was to be written after version {last} of the same log")]
    Version { version: u64, last: u64 },
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<RegionError> for AppendError {
    fn from(error: RegionError) -> Self {
        AppendError::Store(error.into())
    }
}

impl From<AppendError> for StoreError {
    fn from(error: AppendError) -> Self {
        match error {
            AppendError::Store(error) => error,
            other => StoreError::Arrow(arrow::error::ArrowError::InvalidArgumentError(other.to_string())),
        }
    }
}
