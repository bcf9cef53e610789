//! A segment and what lies beside it at a second place: linked where that is possible, else copied.

use std::fs::{self, File};
use std::io::{ErrorKind, Read};
use std::ops::ControlFlow;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::layout::UNFINISHED;
use super::{BackupProgress, FileCount, Watch};
use crate::error::{BackupError, Result, StoreError};
use crate::segment::{SealedSegment, SidePaths, remove_segment_files, segment_pairs};

/// A file is copied in pieces of this size: so often somebody may say that it should stop.
const PIECE_BYTES: u64 = 32 << 20;
/// The rows and three tables.
pub const SEGMENT_FILES: u64 = 4;

/// Counts what was done and asks whether to go on.
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

/// What became of a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlacedSegment {
    Linked,
    Copied,
}

pub struct SegmentCopier {
    /// Asked for, or found out that nothing can be linked here.
    copies: bool,
    pub linked: FileCount,
    pub copied: FileCount,
}

impl SegmentCopier {
    pub fn new(copies: bool) -> SegmentCopier {
        SegmentCopier { copies, linked: FileCount::default(), copied: FileCount::default() }
    }

    /// Puts the segment at `to`, in the place of whatever has that name; durable but for its name. A copy
    /// gets the name only if `accepts` it.
    pub fn place(
        &mut self,
        from: &Path,
        to: &Path,
        sealed: &SealedSegment,
        meter: &mut ProgressMeter<'_>,
        accepts: impl FnOnce(&Path) -> Result<()>,
    ) -> Result<PlacedSegment> {
        let bytes = sealed.size_bytes + sealed.side_size_bytes;
        if !self.copies && self.link(from, to)? {
            meter.advance(bytes)?;
            self.linked.add(SEGMENT_FILES, bytes);
            return Ok(PlacedSegment::Linked);
        }
        let unfinished = unfinished(to);
        for (from, to) in segment_pairs(from, &unfinished) {
            copy(&from, &to, meter)?;
        }
        accepts(&unfinished).inspect_err(|_| remove_segment_files(&unfinished))?;
        // The rows last: only with them it is there.
        for (from, to) in segment_pairs(&unfinished, to) {
            fs::rename(&from, &to).map_err(|error| StoreError::io("rename", &from, error))?;
        }
        self.copied.add(SEGMENT_FILES, bytes);
        Ok(PlacedSegment::Copied)
    }

    /// False where the file system cannot.
    fn link(&mut self, from: &Path, to: &Path) -> Result<bool> {
        for (from, to) in segment_pairs(from, to) {
            let _ = fs::remove_file(&to);
            match fs::hard_link(&from, &to) {
                Ok(()) => {}
                Err(error) if error.kind() == ErrorKind::NotFound && !from.exists() => return Err(StoreError::io("open", from, error)),
                Err(error) => {
                    // Another device, for all of them; more than that may be about this one alone.
                    self.copies |= error.kind() == ErrorKind::CrossesDevices;
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }
}

/// Whether the segment is at `to` already, as far as its sizes tell; for one who wants copies, not as
/// a second name of the one at `from`.
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

/// Of the rows and of all that lies beside them; None if one of the files is not there.
fn sizes(segment: &Path) -> Option<(u64, u64)> {
    let size = |path: &Path| fs::metadata(path).ok().map(|metadata| metadata.len());
    let sides = SidePaths::of(segment).all().into_iter().map(size).sum::<Option<u64>>()?;
    Some((size(segment)?, sides))
}

/// The bytes alone: who may change the copy does not depend on who may change what it is of.
pub fn copy(from: &Path, to: &Path, meter: &mut ProgressMeter<'_>) -> Result<()> {
    let source = File::open(from).map_err(|error| StoreError::io("open", from, error))?;
    let mut target = File::create(to).map_err(|error| StoreError::io("create", to, error))?;
    loop {
        // In the kernel, where both files are on one device that can.
        let copied = std::io::copy(&mut (&source).take(PIECE_BYTES), &mut target).map_err(|error| StoreError::io("write", to, error))?;
        if copied == 0 {
            break;
        }
        meter.advance(copied)?;
    }
    target.sync_all().map_err(|error| StoreError::io("sync", to, error))
}
