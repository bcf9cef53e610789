//! The directory of a store that goes with its engine.

use std::os::unix::fs::DirBuilderExt;

use common::error::EngineError;

/// A directory that is removed when it is dropped.
#[derive(Debug)]
pub struct TemporaryDir {
    pub path: std::path::PathBuf,
}

impl TemporaryDir {
    pub fn create() -> Result<TemporaryDir, EngineError> {
        let base = std::env::temp_dir();
        for attempt in 0u32.. {
            let nanos = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0, |at| at.subsec_nanos());
            let path = base.join(format!("quiver-{}-{nanos}-{attempt}", std::process::id()));
            match std::fs::DirBuilder::new().mode(0o700).create(&path) {
                Ok(()) => return Ok(TemporaryDir { path }),
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => continue,
                Err(source) => return Err(EngineError::SpillDir { path, source }),
            }
        }
        unreachable!("2^32 directories of one process exist")
    }
}

impl Drop for TemporaryDir {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.path);
    }
}
