//! Where queries spill: a directory that is made when the first of them does, so that a store opens also on a disk
//! that is full.

use std::error::Error;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::PathBuf;
use std::sync::Arc;

use datafusion::common::{DataFusionError, Result};
use datafusion::execution::disk_manager::{DiskManager, DiskManagerBuilder, DiskManagerMode};
use datafusion::execution::spill_file::{SpillFile, TempFileFactory};
use parking_lot::Mutex;
use pmem_store::StoreError;

use crate::error::EngineError;

#[derive(Debug)]
pub struct SpillDir {
    path: PathBuf,
    files: Mutex<Option<Arc<DiskManager>>>,
}

impl SpillDir {
    pub fn new(path: PathBuf) -> SpillDir {
        SpillDir { path, files: Mutex::default() }
    }

    fn files(&self) -> Result<Arc<DiskManager>> {
        let mut files = self.files.lock();
        if let Some(files) = &*files {
            return Ok(Arc::clone(files));
        }
        let unusable = |source| match is_full(&source) {
            true => EngineError::SpillFull,
            false => EngineError::SpillDir { path: self.path.clone(), source },
        };
        fs::create_dir_all(&self.path).map_err(unusable)?;
        let made = DiskManagerBuilder::default().with_mode(DiskManagerMode::Directories(vec![self.path.clone()])).build()?;
        Ok(Arc::clone(files.insert(Arc::new(made))))
    }
}

impl TempFileFactory for SpillDir {
    fn create_temp_file(&self, description: &str) -> Result<Arc<dyn SpillFile>> {
        self.files()?.create_tmp_file(description)
    }
}

/// Whether it is because the disk has no more room. Of what DataFusion writes: the store says so itself.
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
        // What it was made of is not what it gives as its source.
        return is_full(error) || error.get_ref().is_some_and(|inner| has_full_disk(inner));
    }
    error.source().is_some_and(has_full_disk)
}

fn is_full(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge)
}

#[cfg(test)]
mod tests {
    use datafusion::arrow::error::ArrowError;

    use super::*;

    #[test]
    fn a_full_disk_is_found_below_all_that_wraps_it() {
        let full = || io::Error::from_raw_os_error(28);
        let written = io::Error::from(DataFusionError::IoError(full()));
        let arrow = DataFusionError::ArrowError(Box::new(ArrowError::IoError("no room".into(), written)), None);
        let kind = |error: DataFusionError| EngineError::from(error).kind();
        assert_eq!(kind(DataFusionError::Shared(Arc::new(arrow))), crate::ErrorKind::Exhausted);
        assert_eq!(kind(DataFusionError::IoError(full())), crate::ErrorKind::Exhausted);
        assert_ne!(kind(DataFusionError::IoError(ErrorKind::NotFound.into())), crate::ErrorKind::Exhausted);
    }
}
