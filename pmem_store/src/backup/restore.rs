//! Restores a store from a backup.
//!
//! The catalog gets its name last, when everything is there and verified. So the remains of a restore that
//! was killed are no store.

use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::copy::{ProgressMeter, SegmentCopier, copy};
use super::directory::{read_segments, remove_new, resolved};
use super::head::Head;
use super::layout::{CATALOG_FILE, log_file, segment_path, segments_dir, state_dir};
use super::verify::{hold, own_problems, verify_segment};
use super::{BackupReport, Watch};
use crate::catalog::{Access, CatalogWriter, Database, new_store_id};
use crate::error::{BackupError, Result, StoreError};
use crate::files;
use crate::lock::{LOCK_FILE, LockKind, StoreLock};
use crate::log::{LogIdentity, place_log};
use crate::segment::SealedSegment;

/// Makes a store of the backup at `to`, which must be missing or empty. Everything is verified before the store
/// exists. The store gets a new id, so that its backups cannot be confused with those of the original store.
///
/// # Errors
///
/// All that this call created at `to` is removed, and files that other processes put there stay. Only if the
/// last fsync fails, after the catalog has got its name, the store exists.
pub fn restore_backup(backup: &Path, to: &Path, copies: bool, watch: Watch<'_>) -> Result<BackupReport> {
    let to = &std::path::absolute(to).map_err(|error| StoreError::io("find", to, error))?;
    let (_nobody_writes, head) = hold(backup)?;
    let is_new = check_target(backup, to)?;
    if let Some(problem) = own_problems(backup, &head).into_iter().next() {
        return Err(StoreError::Refused(format!("{problem}; nothing was restored")));
    }
    let _lock = claim(backup, to, is_new).map_err(|error| with_outcome(to, error))?;
    let job = Job { backup, to, copies, head: &head };
    let report = job.run(watch).map_err(|error| {
        remove_all(to, is_new);
        with_outcome(to, error)
    })?;
    // The store exists from here on: nothing is removed any more, even after an error.
    files::sync_dir(to)?;
    Ok(report)
}

/// Claims the target for this process until the lock is dropped. Only one process can create `segments/`, and it
/// puts all other files there. A process that fails here removes only empty directories.
fn claim(backup: &Path, to: &Path, is_new: bool) -> Result<StoreLock> {
    let locked = files::create_dir_durably(to).and_then(|()| Ok(StoreLock::acquire(to, LockKind::Exclusive)?));
    let lock = locked.inspect_err(|_| {
        if is_new {
            let _ = fs::remove_dir(to);
        }
    })?;
    // Another process may have made a store of it since the check.
    let segments = segments_dir(to);
    let claimed =
        check_target(backup, to).and_then(|_| fs::create_dir(&segments).map_err(|error| StoreError::io("create", &segments, error)));
    claimed.inspect_err(|_| remove_new(to, is_new))?;
    Ok(lock)
}

struct Job<'a> {
    backup: &'a Path,
    to: &'a Path,
    copies: bool,
    head: &'a Head,
}

impl Job<'_> {
    fn run(&self, watch: Watch<'_>) -> Result<BackupReport> {
        let (head, state) = (self.head, self.backup.join(state_dir(self.head.state)));
        let catalog = state.join(CATALOG_FILE);
        let segments = read_segments(&catalog)?;
        let path = self.backup.to_path_buf();
        let (version, created_at_ms) = (head.version, head.created_at_ms);
        let mut report = BackupReport { path, version, created_at_ms, ..BackupReport::default() };
        self.place_segments(&segments, &mut report, watch)?;
        for log in &head.logs {
            let bytes = fs::read(state.join(log_file(log.table, log.id))).map_err(|error| StoreError::io("read", &state, error))?;
            files::create_dir(&files::table_dir(self.to, log.table))?;
            let identity = LogIdentity { table: log.table, log: log.id, schema_version: log.schema_version };
            place_log(&files::log_path(self.to, log.table, log.id), &bytes, identity)?;
            report.copied.add(1, log.file.size_bytes);
        }
        let dirs = segments.iter().map(|(table, _)| *table).chain(head.logs.iter().map(|log| log.table));
        for table in dirs.collect::<std::collections::BTreeSet<_>>() {
            files::sync_dir(&files::table_dir(self.to, table))?;
        }
        files::sync_dir(&segments_dir(self.to))?;
        self.publish(&catalog)?;
        report.copied.add(1, head.catalog.size_bytes);
        Ok(report)
    }

    fn place_segments(&self, segments: &[(u64, SealedSegment)], report: &mut BackupReport, watch: Watch<'_>) -> Result<()> {
        let size = |sealed: &SealedSegment| sealed.size_bytes + sealed.side_size_bytes;
        let mut meter = ProgressMeter::new(segments.iter().map(|(_, sealed)| size(sealed)).sum(), watch);
        let mut copier = SegmentCopier::new(self.copies);
        for (table, sealed) in segments {
            let (from, to) = (segment_path(self.backup, *table, sealed), files::segment_path(self.to, *table, sealed.id));
            verify_segment(&from, sealed)
                .map_err(|problem| StoreError::Refused(format!("the backup is damaged: {problem}; nothing was restored")))?;
            files::create_dir(&files::table_dir(self.to, *table))?;
            copier.place(&from, &to, sealed, &mut meter, |_| Ok(()))?;
        }
        (report.linked, report.copied) = (copier.linked, copier.copied);
        Ok(())
    }

    /// The moment of a restore. Its last step is the rename: nothing after it fails that would have to undo it.
    fn publish(&self, catalog: &Path) -> Result<()> {
        let (new, path) = (self.to.join(files::CATALOG_FILE_NEW), self.to.join(files::CATALOG_FILE));
        // A backup may be read-only, but the catalog of a store is writable. The file is private before it has any content.
        // A file that exists already would keep its mode.
        files::remove(&new);
        files::open_private(&new).map_err(|error| StoreError::io("create", &new, error))?;
        copy(catalog, &new, &mut ProgressMeter::new(self.head.catalog.size_bytes, &mut |_| ControlFlow::Continue(())))?;
        let mut writer = CatalogWriter::begin(&Arc::new(Database::open(&new, Access::Write)?))?;
        writer.put_store_id(&new_store_id())?;
        // Its segments are all here.
        (writer.store.disk_tier, writer.store.object_tier) = (None, None);
        writer.commit_unversioned("the restored catalog")?;
        let file = fs::File::open(&new).map_err(|error| StoreError::io("open", &new, error))?;
        file.sync_all().map_err(|error| StoreError::io("sync", &new, error))?;
        files::sync_dir(self.to)?;
        fs::rename(&new, &path).map_err(|error| StoreError::io("rename", &new, error))
    }
}

/// Returns whether the directory must be created.
fn check_target(backup: &Path, to: &Path) -> Result<bool> {
    let no_room = |reason: &str| BackupError::NoRoom { path: to.to_path_buf(), reason: reason.to_string() };
    if resolved(to).starts_with(resolved(backup)) {
        return Err(no_room("it is inside the backup").into());
    }
    let entries = match fs::read_dir(to) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(true),
        Err(error) if error.kind() == std::io::ErrorKind::NotADirectory => return Err(no_room("it is a file").into()),
        Err(error) => return Err(StoreError::io("read", to, error)),
    };
    let names: Vec<_> = entries.flatten().map(|entry| entry.file_name()).collect();
    match () {
        () if names.iter().any(|name| name == files::CATALOG_FILE) => Err(no_room("there is a store already").into()),
        () if names.iter().all(|name| name == LOCK_FILE) => Ok(false),
        () => Err(no_room("it is not empty").into()),
    }
}

/// The directory was empty or missing, and this process has claimed it since.
fn remove_all(to: &Path, is_new: bool) {
    let parts: [PathBuf; 2] = [to.join(files::CATALOG_FILE_NEW), to.join(LOCK_FILE)];
    let removed = fs::remove_dir_all(segments_dir(to));
    parts.iter().for_each(|path| files::remove(path));
    if let (Err(error), true) = (removed, segments_dir(to).exists()) {
        tracing::warn!(path = %to.display(), %error, "could not remove the remains of a failed restore");
    }
    if is_new {
        let _ = fs::remove_dir(to);
    }
}

fn with_outcome(to: &Path, error: StoreError) -> StoreError {
    let left = "nothing was restored".to_string();
    match error {
        StoreError::Backup(BackupError::Stopped { .. }) => BackupError::Stopped { left }.into(),
        error if error.is_no_space() => BackupError::DiskFull { path: to.to_path_buf(), left }.into(),
        error => error,
    }
}
