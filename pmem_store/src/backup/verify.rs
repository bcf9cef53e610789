//! Verifies a backup. The head has checksums of the backup's own files; segments are verified with the checksums
//! that were computed when they were sealed.

use std::fs;
use std::path::Path;

use super::copy::ProgressMeter;
use super::directory::{lock, read_segments};
use super::head::{Head, LogFile};
use super::layout::{CATALOG_FILE, log_file, segment_path, state_dir};
use super::{VerifyReport, Watch};
use crate::error::{BackupError, Result, StoreError};
use crate::lock::{LockKind, StoreLock};
use crate::log::{LogIdentity, verify_log};
use crate::segment::{SealedSegment, Segment, SidePaths};

/// Reads all files of the backup. The report says what is wrong; that is no error.
///
/// # Errors
///
/// There is no backup, or its head or catalog cannot be read, so that its files are unknown.
pub fn verify_backup(backup: &Path, watch: Watch<'_>) -> Result<VerifyReport> {
    let (_nobody_writes, head) = hold(backup)?;
    let (version, created_at_ms) = (head.version, head.created_at_ms);
    let mut report = VerifyReport { path: backup.to_path_buf(), version, created_at_ms, ..VerifyReport::default() };
    report.problems.extend(own_problems(backup, &head));
    let state = backup.join(state_dir(head.state));
    if head.catalog.verify(&state.join(CATALOG_FILE)).is_err() {
        return Ok(report);
    }
    let segments = read_segments(&state.join(CATALOG_FILE))?;
    let size = |sealed: &SealedSegment| sealed.size_bytes + sealed.side_size_bytes;
    let mut meter = ProgressMeter::new(segments.iter().map(|(_, sealed)| size(sealed)).sum(), watch);
    for (table, sealed) in &segments {
        let path = segment_path(backup, *table, sealed);
        report.problems.extend(verify_segment(&path, sealed).err());
        report.segments += 1;
        report.bytes += size(sealed);
        meter.advance(size(sealed))?;
    }
    Ok(report)
}

/// Locks the backup, so that it does not change.
pub fn hold(backup: &Path) -> Result<(StoreLock, Head)> {
    // No lock file is made where there is no backup.
    Head::require(backup)?;
    let nobody_writes = lock(backup, LockKind::Shared)?;
    Ok((nobody_writes, Head::require(backup)?))
}

/// The problems of the catalog and the logs.
pub fn own_problems(backup: &Path, head: &Head) -> Vec<String> {
    let state = backup.join(state_dir(head.state));
    let catalog = head.catalog.verify(&state.join(CATALOG_FILE));
    let logs = head.logs.iter().map(|log| verify_own_log(&state.join(log_file(log.table, log.id)), log));
    logs.chain([catalog]).filter_map(|result| result.err().map(|error| error.to_string())).collect()
}

/// The records of a log have their own checksums, older than the backup.
fn verify_own_log(path: &Path, log: &LogFile) -> std::result::Result<(), BackupError> {
    log.file.verify(path)?;
    let identity = LogIdentity { table: log.table, log: log.id, schema_version: log.schema_version };
    let bytes = fs::read(path).map_err(|error| StoreError::io("read", path, error));
    let verified = bytes.and_then(|bytes| verify_log(path, &bytes, identity));
    let damaged = |error| BackupError::Damaged { path: path.to_path_buf(), what: format!("cannot be used: {}", problem_of(&error)) };
    verified.map_err(damaged)
}

/// An error says what is wrong with a segment.
pub fn verify_segment(path: &Path, sealed: &SealedSegment) -> std::result::Result<(), String> {
    let sides = SidePaths::of(path);
    if let Some(missing) = sides.of_sealed(sealed).into_iter().chain([path]).find(|path| !path.exists()) {
        return Err(format!("\"{}\" is missing", missing.display()));
    }
    let segment = Segment::open(path, sealed).map_err(|error| problem_of(&error))?;
    let mut problems = Vec::new();
    segment.verify_all(&mut problems).map_err(|error| problem_of(&error))?;
    if segment.row_count() as u64 != sealed.row_count {
        problems.push(format!("\"{}\" has {} rows, expected {}", path.display(), segment.row_count(), sealed.row_count));
    }
    problems.into_iter().next().map_or(Ok(()), Err)
}

/// The message of an error without its advice, which is about a store.
pub fn problem_of(error: &StoreError) -> String {
    match error {
        StoreError::Damaged { path, offset, what } => format!("\"{}\" is damaged at byte {offset}: {what}", path.display()),
        other => other.to_string(),
    }
}
