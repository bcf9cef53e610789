//! The directory of a backup: its lock, and its segments.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::catalog::{Access, CatalogReader, Database, TableId, check_features};
use crate::error::{BackupError, Result};
use crate::lock::{LOCK_FILE, LockError, LockKind, StoreLock};
use crate::segment::SealedSegment;

/// The absolute path without links, also if its last parts do not exist yet.
pub fn resolved(path: &Path) -> PathBuf {
    match (path.canonicalize(), path.parent(), path.file_name()) {
        (Ok(canonical), ..) => canonical,
        (Err(_), Some(parent), Some(name)) => resolved(parent).join(name),
        _ => path.to_path_buf(),
    }
}

pub fn lock(backup: &Path, kind: LockKind) -> Result<StoreLock> {
    StoreLock::acquire(backup, kind).map_err(|error| match error {
        LockError::InUse { holders, .. } => {
            let holder_text = holders.first().map_or("not shown by the system".to_string(), |holder| format!("process {}", holder.pid));
            BackupError::Busy { path: backup.to_path_buf(), holder: holder_text }.into()
        }
        other => other.into(),
    })
}

/// Removes a directory that was created for a backup that failed. The caller holds its lock.
pub fn remove_new(to: &Path, is_new: bool) {
    let is_empty = || fs::read_dir(to).is_ok_and(|entries| entries.flatten().all(|entry| entry.file_name() == LOCK_FILE));
    if is_new && is_empty() {
        let _ = fs::remove_file(to.join(LOCK_FILE));
        let _ = fs::remove_dir(to);
    }
}

/// The segments in the catalog of a backup.
pub fn read_segments(catalog: &Path) -> Result<Vec<(TableId, SealedSegment)>> {
    let reader = CatalogReader::begin(&Arc::new(Database::open(catalog, Access::Read)?))?;
    check_features(catalog, &reader.store()?, false)?;
    reader.all_segments()
}
