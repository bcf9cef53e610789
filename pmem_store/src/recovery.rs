//! Removes what a crash left behind: segment files that no committed version names.
//!
//! A file `dirty` exists while a process may have such files. A store closed properly has none, so
//! opening it looks at no segment, whatever their number. While other processes read the store under leases, files that an earlier version
//! may name stay, and so does the mark.

use std::ffi::OsString;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;

use crate::catalog::{CatalogReader, Database};
use crate::error::{Result, StoreError};
use crate::files::{self, DiskTier, SEGMENTS_DIR};
use crate::region::PoisonFlag;
use crate::requests;
use crate::segment::remove_segment_files;

#[derive(Debug)]
pub struct DirtyMark {
    path: PathBuf,
    /// Held while the file is made: nobody goes on before it is durable.
    set: Mutex<bool>,
}

impl DirtyMark {
    pub fn new(store: &Path) -> Self {
        DirtyMark { path: store.join("dirty"), set: Mutex::new(false) }
    }

    /// Durable before the first file it stands for.
    pub fn set(&self, poison: &PoisonFlag) -> Result<()> {
        let mut set = self.set.lock();
        if !*set {
            File::create(&self.path).map_err(|error| StoreError::io("create", &self.path, error))?;
            if let Some(store) = self.path.parent() {
                // Where the making of the store was cut short it is missing, or not durable.
                files::create_dir(&store.join(SEGMENTS_DIR))?;
                files::sync_store_dir(store, poison)?;
            }
            *set = true;
        }
        Ok(())
    }

    /// Removes unnamed segments if the last process did not close the store.
    pub fn recover(&self, store: &Path, database: &Arc<Database>) -> Result<()> {
        if self.path.exists() {
            let unnamed = remove_unnamed(store, database)?;
            tracing::info!(removed = unnamed.removed, leased = unnamed.leased, "recovered a store that was not closed");
            if unnamed.leased == 0 {
                fs::remove_file(&self.path).map_err(|error| StoreError::io("remove", &self.path, error))?;
            }
        }
        Ok(())
    }

    /// On close. What cannot be removed now is removed by the next open.
    pub fn clear(&self, store: &Path, database: &Arc<Database>) {
        if self.path.exists() && remove_unnamed(store, database).is_ok_and(|unnamed| unnamed.leased == 0) {
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Numbers of files that no version of the catalog names.
#[derive(Default)]
struct Unnamed {
    removed: u64,
    leased: u64,
}

fn remove_unnamed(store: &Path, database: &Arc<Database>) -> Result<Unnamed> {
    let reader = CatalogReader::begin(database)?;
    // No lease has a file with a later id, because no commit has named it. The id will be given again.
    let next_id = reader.store()?.next_segment;
    let is_read = requests::oldest_lease(store).is_some();
    let root = store.join(SEGMENTS_DIR);
    let mut unnamed = Unnamed::default();
    for (table, name) in numbered(&root)? {
        let dir = root.join(name);
        // At once: a store may have millions of files, and each look at the catalog costs more than one at a file.
        let segments = reader.segment_ids(table)?;
        for (segment, name) in numbered(&dir)? {
            let path = dir.join(&name);
            let has_extension = |wanted: &str| path.extension().is_some_and(|extension| extension == wanted);
            if has_extension("moving") {
                files::remove(&path);
                continue;
            }
            let is_log = has_extension("log");
            if !is_log && segments.contains(&segment) {
                continue;
            }
            let has_log = (is_log || is_read) && reader.has_log(table, segment)?;
            if is_log && has_log {
                continue;
            }
            // The log itself is named as long as its segment is not: nobody has such a segment.
            if is_read && segment < next_id && !has_log {
                unnamed.leased += 1;
                continue;
            }
            if is_log {
                files::remove(&path);
            } else {
                remove_segment_files(&files::segment_path(store, table, segment));
                // A side table whose segment is already gone.
                let _ = fs::remove_file(&path);
            }
            unnamed.removed += 1;
        }
        if segments.is_empty() {
            // Fails where a log is.
            let _ = fs::remove_dir(&dir);
        }
    }
    if let (Some(directory), Some(id)) = (reader.store()?.disk_tier, reader.store_id()?) {
        // Nothing depends on it, and the disk may not be there.
        if let Err(error) = DiskTier::new(&directory, &id).remove_unlinked(store, numbered) {
            tracing::warn!(%error, "the tier on disk could not be searched for remains of moves");
        }
    }
    Ok(unnamed)
}

/// Entries whose name begins with a number, as `7`, `7.arrow` and `7.zones.arrow` do.
fn numbered(dir: &Path) -> Result<Vec<(u64, OsString)>> {
    let entries = match fs::read_dir(dir) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(StoreError::io("read", dir, error)),
    };
    Ok(entries
        .flatten()
        .filter_map(|entry| {
            let name = entry.file_name();
            let number = name.to_str()?.split('.').next()?.parse().ok()?;
            Some((number, name))
        })
        .collect())
}
