//! The directory of a backup: who works on it, and which segments it has.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::catalog::{Access, CatalogReader, Database, TableId, check_features};
use crate::error::{BackupError, Result};
use crate::lock::{LOCK_FILE, LockError, LockKind, StoreLock};
use crate::segment::SealedSegment;

/// Where a path leads, also if its last parts are not there yet.
pub fn resolved(path: &Path) -> PathBuf {
    match (path.canonicalize(), path.parent(), path.file_name()) {
        (Ok(found), ..) => found,
        (Err(_), Some(parent), Some(name)) => resolved(parent).join(name),
        _ => path.to_path_buf(),
    }
}

pub fn lock(backup: &Path, kind: LockKind) -> Result<StoreLock> {
    StoreLock::acquire(backup, kind).map_err(|error| match error {
        LockError::InUse { holders, .. } => {
            let who = holders.first().map_or("not shown by the system".to_string(), |holder| format!("process {}", holder.pid));
            BackupError::Busy { path: backup.to_path_buf(), who }.into()
        }
        other => other.into(),
    })
}

/// Takes away a directory that was made for nothing. Whoever calls this holds its lock.
pub fn remove_new(to: &Path, is_new: bool) {
    let is_empty = || fs::read_dir(to).is_ok_and(|entries| entries.flatten().all(|entry| entry.file_name() == LOCK_FILE));
    if is_new && is_empty() {
        let _ = fs::remove_file(to.join(LOCK_FILE));
        let _ = fs::remove_dir(to);
    }
}

/// The segments of the catalog in a backup.
pub fn read_segments(catalog: &Path) -> Result<Vec<(TableId, SealedSegment)>> {
    let reader = CatalogReader::begin(&Arc::new(Database::open(catalog, Access::Read)?))?;
    check_features(catalog, &reader.store()?, false)?;
    reader.all_segments()
}
