//! Bytes that are a value of a row: a blob, or a chunk of an array.

use std::path::PathBuf;
use std::sync::Arc;

use arrow::buffer::Buffer;

use crate::segment::Segment;
use crate::tiers::Tier;

/// Bytes where they lie.
#[derive(Debug, Clone)]
pub struct StoredBytes {
    /// `None` if they would have to be fetched from an object store.
    pub bytes: Option<Buffer>,
    /// `None` if they are in a log, or not committed yet.
    pub segment: Option<Arc<Segment>>,
}

/// Bytes of a sealed file, which another process may map.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileRange {
    pub path: PathBuf,
    /// Of the whole file.
    pub size_bytes: u64,
    pub offset: u64,
    pub length: u64,
}

impl StoredBytes {
    /// The file that has them; `None` if that is no sealed file of this machine. A copy in memory has the offsets of the file.
    pub fn file_range(&self) -> Option<FileRange> {
        let segment = self.segment.as_ref().filter(|segment| matches!(segment.durable_tier(), Tier::Pmem | Tier::Disk))?;
        let (bytes, mapping) = (self.bytes.as_ref()?, segment.mapping().ok()?);
        // A mapping that has been exchanged meanwhile does not have them.
        let offset = mapping.contains(bytes.as_ptr(), bytes.len()).then(|| bytes.as_ptr().addr() - mapping.as_ptr().addr())?;
        let (path, size_bytes) = (segment.path().to_path_buf(), segment.size_bytes());
        Some(FileRange { path, size_bytes, offset: offset as u64, length: bytes.len() as u64 })
    }
}
