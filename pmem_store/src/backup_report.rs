//! What a backup has done, for the process that makes it and the one that asked for it.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BackupProgress {
    pub bytes_done: u64,
    pub bytes_total: u64,
}

/// A number of files; a segment counts as one with its side files.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileCount {
    pub files: u64,
    pub bytes: u64,
}

impl FileCount {
    pub(crate) fn add(&mut self, files: u64, bytes: u64) {
        self.files += files;
        self.bytes += bytes;
    }
}

/// The content of a backup or of a restored store.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BackupReport {
    /// The directory of the backup.
    pub path: PathBuf,
    /// The last version in it. It also has the earlier ones that the store kept.
    pub version: u64,
    pub created_at_ms: u64,
    /// Files that have a second hard link now, in the store they came from or in the backup.
    pub linked: FileCount,
    pub copied: FileCount,
    /// Files that the backup already had.
    pub unchanged: FileCount,
}
