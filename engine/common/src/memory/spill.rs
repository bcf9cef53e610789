//! Where queries spill: a directory that the first spill creates, so that a store opens on a full disk, too.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use datafusion::common::Result;
use datafusion::execution::disk_manager::{DiskManager, DiskManagerBuilder, DiskManagerMode};
use datafusion::execution::spill_file::{SpillFile, TempFileFactory};
use parking_lot::Mutex;

use crate::error::EngineError;
use crate::error::disk_full::is_full;

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
        let manager = DiskManagerBuilder::default().with_mode(DiskManagerMode::Directories(vec![self.path.clone()])).build()?;
        Ok(Arc::clone(files.insert(Arc::new(manager))))
    }
}

impl TempFileFactory for SpillDir {
    fn create_temp_file(&self, description: &str) -> Result<Arc<dyn SpillFile>> {
        self.files()?.create_tmp_file(description)
    }
}
