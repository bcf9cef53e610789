//! Places a segment and its side files at a second path: by hard links where that is possible, else by copies.

use std::fs::{self, File};
use std::io::{ErrorKind, Read};
use std::ops::ControlFlow;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::layout::UNFINISHED;
use super::{BackupProgress, FileCount, Watch};
use crate::error::{BackupError, Result, StoreError};
use crate::files;
use crate::segment::{SealedSegment, SidePaths, remove_segment_files, segment_pairs};

/// Files are copied in pieces of this size. Between two pieces the caller may stop the backup.
const PIECE_BYTES: u64 = 32 << 20;
/// The rows and three side tables.
pub const SEGMENT_FILES: u64 = 4;

/// Counts the progress and asks the caller whether to go on.
pub struct ProgressMeter<'a> {
    pub progress: BackupProgress,
    watch: Watch<'a>,
}

impl<'a> ProgressMeter<'a> {
    pub fn new(bytes_total: u64, watch: Watch<'a>) -> ProgressMeter<'a> {
        ProgressMeter { progress: BackupProgress { bytes_done: 0, bytes_total }, watch }
    }

    pub fn advance(&mut self, bytes: u64) -> Result<()> {
        self.progress.bytes_done += bytes;
        match (self.watch)(self.progress) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => Err(BackupError::Stopped { left: String::new() }.into()),
        }
    }
}

/// How a segment got to its target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CopyMethod {
    Linked,
    Copied,
}

pub struct SegmentCopier {
    /// True if the caller wants copies, or if hard links turned out to be impossible.
    copies: bool,
    pub linked: FileCount,
    pub copied: FileCount,
}

impl SegmentCopier {
    pub fn new(copies: bool) -> SegmentCopier {
        SegmentCopier { copies, linked: FileCount::default(), copied: FileCount::default() }
    }

    /// Places the segment at `to` and replaces a segment of that name. Everything but the name is durable. A copy
    /// gets its name only if `accepts` approves it.
    pub fn place(
        &mut self,
        from: &Path,
        to: &Path,
        sealed: &SealedSegment,
        meter: &mut ProgressMeter<'_>,
        accepts: impl FnOnce(&Path) -> Result<()>,
    ) -> Result<CopyMethod> {
        let bytes = sealed.size_bytes + sealed.side_size_bytes;
        if !self.copies && self.link(from, to)? {
            meter.advance(bytes)?;
            self.linked.add(SEGMENT_FILES, bytes);
            return Ok(CopyMethod::Linked);
        }
        let unfinished = unfinished(to);
        for (from, to) in segment_pairs(from, &unfinished) {
            copy(&from, &to, meter)?;
        }
        accepts(&unfinished).inspect_err(|_| remove_segment_files(&unfinished))?;
        // The rows come last: a segment exists once its rows do.
        for (from, to) in segment_pairs(&unfinished, to) {
            fs::rename(&from, &to).map_err(|error| StoreError::io("rename", &from, error))?;
        }
        self.copied.add(SEGMENT_FILES, bytes);
        Ok(CopyMethod::Copied)
    }

    /// False if the file system cannot link.
    fn link(&mut self, from: &Path, to: &Path) -> Result<bool> {
        for (from, to) in segment_pairs(from, to) {
            let _ = fs::remove_file(&to);
            match files::link_bytes(&from, &to) {
                Ok(true) => {}
                // Its bytes are on another tier.
                Ok(false) => return Ok(false),
                Err(error) if error.kind() == ErrorKind::NotFound && !from.exists() => return Err(StoreError::io("open", from, error)),
                Err(error) => {
                    // Another device concerns all files; any other error may concern this file alone.
                    self.copies |= error.kind() == ErrorKind::CrossesDevices;
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }
}

/// Whether the segment is at `to` already, judged by its sizes. A caller that wants copies does not accept
/// a hard link to the segment at `from`.
pub fn is_there(from: &Path, to: &Path, sealed: &SealedSegment, wants_copy: bool) -> bool {
    let Some(sizes) = sizes(to) else { return false };
    let same = |from: &Path, to: &Path| match (fs::metadata(from), fs::metadata(to)) {
        (Ok(from), Ok(to)) => (from.dev(), from.ino()) == (to.dev(), to.ino()),
        _ => false,
    };
    let is_linked = || segment_pairs(from, to).iter().any(|(from, to)| same(from, to));
    sizes == (sealed.size_bytes, sealed.side_size_bytes) && !(wants_copy && is_linked())
}

fn unfinished(to: &Path) -> PathBuf {
    let name = to.file_name().unwrap_or_default().to_string_lossy();
    to.with_file_name(format!("{UNFINISHED}{name}"))
}

/// The sizes of the rows and of the side files; `None` if a file is missing.
fn sizes(segment: &Path) -> Option<(u64, u64)> {
    let size = |path: &Path| fs::metadata(path).ok().map(|metadata| metadata.len());
    let sides = SidePaths::of(segment).expected().into_iter().map(size).sum::<Option<u64>>()?;
    Some((size(segment)?, sides))
}

/// Copies the bytes alone: the permissions of the copy do not depend on those of the source.
pub fn copy(from: &Path, to: &Path, meter: &mut ProgressMeter<'_>) -> Result<()> {
    let source = files::open_rows(from)?;
    let mut target = File::create(to).map_err(|error| StoreError::io("create", to, error))?;
    loop {
        // The kernel copies if both files are on one device that supports it.
        let copied = std::io::copy(&mut (&source).take(PIECE_BYTES), &mut target).map_err(|error| StoreError::io("write", to, error))?;
        if copied == 0 {
            break;
        }
        meter.advance(copied)?;
    }
    target.sync_all().map_err(|error| StoreError::io("sync", to, error))
}
