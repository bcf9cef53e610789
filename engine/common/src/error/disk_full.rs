//! Errors caused by a full disk.

use std::error::Error;
use std::io::{self, ErrorKind};

use datafusion::common::DataFusionError;
use pmem_store::StoreError;

use super::EngineError;

/// Whether the disk was full when DataFusion wrote to it. For its own files the store reports that itself.
pub fn is_spill_full(error: &DataFusionError) -> bool {
    has_full_disk(error)
}

fn has_full_disk(error: &(dyn Error + 'static)) -> bool {
    if let Some(error) = error.downcast_ref::<EngineError>() {
        return matches!(error, EngineError::SpillFull);
    }
    if error.is::<StoreError>() {
        return false;
    }
    if let Some(error) = error.downcast_ref::<io::Error>() {
        // `source` of an `io::Error` skips the error that it wraps.
        return is_full(error) || error.get_ref().is_some_and(|inner| has_full_disk(inner));
    }
    error.source().is_some_and(has_full_disk)
}

pub fn is_full(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge)
}

#[cfg(test)]
mod tests {
    use datafusion::arrow::error::ArrowError;

    use std::sync::Arc;

    use super::*;

    #[test]
    fn a_full_disk_is_found_below_all_that_wraps_it() {
        let full = || io::Error::from_raw_os_error(28);
        let written = io::Error::from(DataFusionError::IoError(full()));
        let arrow = DataFusionError::ArrowError(Box::new(ArrowError::IoError("no room".into(), written)), None);
        let kind = |error: DataFusionError| EngineError::from(error).kind();
        assert_eq!(kind(DataFusionError::Shared(Arc::new(arrow))), crate::error::kind::ErrorKind::Exhausted);
        assert_eq!(kind(DataFusionError::IoError(full())), crate::error::kind::ErrorKind::Exhausted);
        assert_ne!(kind(DataFusionError::IoError(ErrorKind::NotFound.into())), crate::error::kind::ErrorKind::Exhausted);
    }
}
