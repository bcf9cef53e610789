//! What can go wrong with a region.

use std::io;
use std::path::{Path, PathBuf};

/// Why a region could not be created, written, flushed or sealed.
#[derive(Debug, thiserror::Error)]
pub enum RegionError {
    #[error("\"{}\" exists already; a region never writes over a file", path.display())]
    Exists { path: PathBuf },
    #[error("cannot reserve {capacity} bytes for \"{}\", the disk is full or does not allow files of that size ({source}); free some space and try again", path.display())]
    NoSpace { path: PathBuf, capacity: u64, source: io::Error },
    #[error("cannot create \"{}\" with {capacity} bytes: {source}", path.display())]
    Create { path: PathBuf, capacity: u64, source: io::Error },
    #[error("cannot open \"{}\" for writing: {source}", path.display())]
    Open { path: PathBuf, source: io::Error },
    #[error("\"{}\" has {found} bytes and was made with {expected}; it was cut, restore it from a backup", path.display())]
    Length { path: PathBuf, expected: u64, found: u64 },
    #[error("libpmem cannot be used: {reason}; install it, or let the store choose how it writes")]
    NoLibpmem { reason: String },
    #[error("bytes {offset}..+{len} lie outside \"{}\", which has room for {capacity} bytes", path.display())]
    OutOfBounds { path: PathBuf, offset: u64, len: u64, capacity: u64 },
    #[error("offset {offset} of \"{}\" is not a multiple of 8, so no atomic store is possible there", path.display())]
    Misaligned { path: PathBuf, offset: u64 },
    #[error("{}; writing stops here, check the disk and open the store again", lost(.path, *.offset, *.len, "made durable", .source))]
    Flush { path: PathBuf, offset: u64, len: u64, source: io::Error },
    #[error("{}; writing stops here, check the disk and open the store again", lost(.path, *.offset, *.len, "written", .source))]
    Write { path: PathBuf, offset: u64, len: u64, source: io::Error },
    #[error("nothing is written any more since a write or flush failed: {reason}; check the disk and open the store again")]
    Poisoned { reason: String },
    #[error("\"{}\" was to be sealed with no bytes; a sealed file is never empty", path.display())]
    SealedEmpty { path: PathBuf },
    #[error("cannot {step} \"{}\" while sealing it: {source}", path.display())]
    Seal { path: PathBuf, step: &'static str, source: io::Error },
    #[error("cannot find out about the file system of \"{}\": {source}", path.display())]
    FileSystem { path: PathBuf, source: io::Error },
    #[error("the environment sets {variable}={value}, which loses acknowledged data in a power cut; unset it and start again")]
    UnsafeEnvironment { variable: &'static str, value: String },
}

impl RegionError {
    /// What happened, for [`RegionError::Poisoned`], which says itself what to do about it.
    pub(super) fn reason(&self) -> String {
        match self {
            RegionError::Flush { path, offset, len, source } => lost(path, *offset, *len, "made durable", source),
            RegionError::Write { path, offset, len, source } => lost(path, *offset, *len, "written", source),
            other => other.to_string(),
        }
    }
}

fn lost(path: &Path, offset: u64, len: u64, verb: &str, source: &io::Error) -> String {
    format!("bytes {offset}..+{len} of \"{}\" could not be {verb} ({source})", path.display())
}
