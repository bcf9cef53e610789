//! Creates a backup.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use super::copy::{CopyMethod, ProgressMeter, SEGMENT_FILES, SegmentCopier, is_there};
use super::directory::{lock, read_segments, remove_new, resolved};
use super::head::{Head, mark_begun};
use super::image::Image;
use super::layout::{CATALOG_FILE, is_backup, segment_path, segments_dir, state_dir};
use super::sweep::{BackupSegments, sweep, sweep_states};
use super::verify::verify_segment;
use super::{BackupReport, FileCount, Watch};
use crate::catalog::TableId;
use crate::clock::now_ms;
use crate::error::{BackupError, Result, StoreError};
use crate::files;
use crate::lock::{LOCK_FILE, LockKind};
use crate::segment::SealedSegment;
use crate::store::Store;

impl Store {
    /// Makes `to` a backup of the last version, with all older versions that can be read. `to` must be missing,
    /// empty, or an earlier backup of this store; of that one it keeps what it still needs. Writers wait no longer
    /// than for another commit.
    ///
    /// Segments are hard links if `to` is on the same file system, unless `copies` is set; links share the medium.
    ///
    /// # Errors
    ///
    /// An earlier backup at `to` stays valid; only if the last fsync fails, `to` may have the new one.
    pub fn backup(&self, to: &Path, copies: bool, watch: Watch<'_>) -> Result<BackupReport> {
        let to = &std::path::absolute(to).map_err(|error| StoreError::io("find", to, error))?;
        let is_new = check_place(self.path(), to)?;
        let image = Image::take(self)?;
        let store_id = image.store_id(self.path())?;
        let locked = files::create_dir_durably(to).and_then(|()| lock(to, LockKind::Exclusive));
        let _lock = locked.inspect_err(|_| {
            // The lock file in the directory may belong to another process.
            if is_new {
                let _ = fs::remove_dir(to);
            }
        })?;
        // Another process may have changed the directory since the check.
        let previous = check_place(self.path(), to).and_then(|_| previous(to, &store_id));
        let previous = previous.inspect_err(|_| remove_new(to, is_new))?;
        let mut job = Job { store: self, to, copies, previous: previous.as_ref(), segments: Vec::new() };
        let done = job.run(image, store_id, watch);
        done.map_err(|error| {
            job.clean_up(&error, is_new);
            job.with_outcome(error)
        })
    }
}

struct Job<'a> {
    store: &'a Store,
    to: &'a Path,
    copies: bool,
    previous: Option<&'a Head>,
    segments: Vec<(TableId, SealedSegment)>,
}

impl Job<'_> {
    fn run(&mut self, image: Image, store_id: String, watch: Watch<'_>) -> Result<BackupReport> {
        mark_begun(self.to)?;
        let state = self.previous.map_or(1, |previous| previous.state + 1);
        sweep_states(self.to, self.previous.map(|previous| previous.state));
        let dir = self.to.join(state_dir(state));
        files::create_dir(&dir)?;
        let version = image.version;
        let created_at_ms = now_ms();
        let (catalog, logs, _pin) = image.write(&dir)?;
        self.segments = read_segments(&dir.join(CATALOG_FILE))?;
        let mut report = BackupReport { path: self.to.to_path_buf(), version, created_at_ms, ..BackupReport::default() };
        self.place_segments(&mut report, watch)?;
        report.copied.add(1 + logs.len() as u64, catalog.size_bytes + logs.iter().map(|log| log.file.size_bytes).sum::<u64>());
        Head::new(store_id, version, created_at_ms, state, catalog, logs).publish(self.to)?;
        // If remains of the previous backup cannot be removed, this backup is complete all the same.
        sweep(self.to, Some(state), &BackupSegments::of(&self.segments));
        Ok(report)
    }

    fn place_segments(&self, report: &mut BackupReport, watch: Watch<'_>) -> Result<()> {
        let size = |sealed: &SealedSegment| sealed.size_bytes + sealed.side_size_bytes;
        let mut meter = ProgressMeter::new(self.segments.iter().map(|(_, sealed)| size(sealed)).sum(), watch);
        let mut copier = SegmentCopier::new(self.copies);
        let mut unchanged = FileCount::default();
        for (table, sealed) in &self.segments {
            let from = files::segment_path(self.store.path(), *table, sealed.id);
            let to = segment_path(self.to, *table, sealed);
            if is_there(&from, &to, sealed, self.copies) {
                unchanged.add(SEGMENT_FILES, size(sealed));
                meter.advance(size(sealed))?;
                continue;
            }
            files::create_dir(&files::table_dir(self.to, *table))?;
            let damaged = |what| StoreError::from(BackupError::DamagedSource { path: from.clone(), what });
            // A hard link is the store's own file, so it is as good as the store. A copy is verified.
            let method = copier.place(&from, &to, sealed, &mut meter, |copy| verify_segment(copy, sealed).map_err(damaged))?;
            if method == CopyMethod::Linked && !is_there(&from, &to, sealed, false) {
                crate::segment::remove_segment_files(&to);
                return Err(damaged("it has another size than the catalog says".to_string()));
            }
        }
        // This includes names that were there before: an attempt that was stopped has not made them durable.
        for table in self.segments.iter().map(|(table, _)| *table).collect::<BTreeSet<_>>() {
            files::sync_dir(&files::table_dir(self.to, table))?;
        }
        if segments_dir(self.to).exists() {
            files::sync_dir(&segments_dir(self.to))?;
        }
        (report.linked, report.copied, report.unchanged) = (copier.linked, copier.copied, unchanged);
        Ok(())
    }

    /// Complete files stay for the next attempt, unless the disk is full.
    fn clean_up(&self, error: &StoreError, is_new: bool) {
        // If the head was renamed and only the sync after that failed, a crash may bring back either head: so both backups stay.
        if !Head::read(self.to).is_ok_and(|head| head.as_ref() == self.previous) {
            return;
        }
        let state = self.previous.map(|previous| previous.state);
        if !error.is_no_space() {
            return sweep_states(self.to, state);
        }
        match self.previous {
            Some(previous) => {
                let catalog = self.to.join(state_dir(previous.state)).join(CATALOG_FILE);
                match read_segments(&catalog) {
                    Ok(segments) => sweep(self.to, state, &BackupSegments::of(&segments)),
                    Err(_) => sweep_states(self.to, state),
                }
            }
            None => {
                sweep(self.to, None, &BackupSegments::default());
                remove_new(self.to, is_new);
            }
        }
    }

    fn with_outcome(&self, error: StoreError) -> StoreError {
        let left = match Head::read(self.to) {
            Ok(Some(head)) if self.previous == Some(&head) => {
                format!("the backup of version {} is as it was", head.version)
            }
            Ok(Some(head)) => format!("there is a backup of version {}", head.version),
            Ok(None) => "no backup was made".to_string(),
            Err(error) => format!("what is there cannot be read: {error}"),
        };
        let path = self.to.to_path_buf();
        match error {
            StoreError::Backup(BackupError::Stopped { .. }) => BackupError::Stopped { left }.into(),
            error if error.is_no_space() => BackupError::DiskFull { path, left }.into(),
            error => error,
        }
    }
}

/// Returns whether the directory must be created.
fn check_place(store: &Path, to: &Path) -> Result<bool> {
    let occupied = |reason: &str| BackupError::Occupied { path: to.to_path_buf(), reason: reason.to_string() };
    let (inner, outer) = (resolved(to), resolved(store));
    if inner == outer {
        return Err(occupied("it is the store itself").into());
    }
    if inner.starts_with(&outer) {
        return Err(occupied("it is inside the store").into());
    }
    let entries = match fs::read_dir(to) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(true),
        Err(error) if error.kind() == std::io::ErrorKind::NotADirectory => return Err(occupied("it is a file").into()),
        Err(error) => return Err(StoreError::io("read", to, error)),
    };
    if is_backup(to) {
        return Ok(false);
    }
    let names: Vec<_> = entries.flatten().map(|entry| entry.file_name()).collect();
    match () {
        () if names.iter().any(|name| name == files::CATALOG_FILE) => Err(occupied("it is a store").into()),
        () if names.iter().all(|name| name == LOCK_FILE) => Ok(false),
        () => Err(occupied("it has other files").into()),
    }
}

fn previous(to: &Path, store_id: &str) -> Result<Option<Head>> {
    let Some(head) = Head::read(to)? else { return Ok(None) };
    match head.store == store_id {
        true => Ok(Some(head)),
        false => Err(BackupError::OtherStore { path: to.to_path_buf(), theirs: head.store, ours: store_id.to_string() }.into()),
    }
}
