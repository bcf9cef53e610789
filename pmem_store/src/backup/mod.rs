//! Backups: consistent copies of an open store, each in its own directory, and stores restored from them.
//!
//! - `create`: makes a backup; `image`: keeps one version of the store while it is copied
//! - `directory`: the directory of a backup and its lock
//! - `layout`: names in a backup; `head`: the file that describes the backup
//! - `copy`: links or copies files; `sweep`: removes what no backup needs
//! - `verify` and `restore`: check a backup and make a store of it
//!
//! **Invariant:** a backup consists of what its head names, and a head never changes: a rename replaces it with
//! a new one after all that the new one names is durable. What the old one names is removed only after that. So a backup
//! that fails or stops at any moment leaves the previous backup valid.
//!
//! **Invariant:** a file with a second hard link, in a store or a backup, is a sealed segment or one of its side
//! files. Those never change, whoever owns them; catalogs and logs are copied.

mod copy;
mod create;
mod directory;
mod head;
mod image;
mod layout;
mod restore;
mod sweep;
mod verify;

use std::ops::ControlFlow;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

pub(crate) use layout::is_backup;
pub use restore::restore_backup;
pub use verify::verify_backup;

pub use crate::error::BackupError;

/// Called between two files, and several times in a large one; `Break` stops the backup.
pub type Watch<'a> = &'a mut dyn FnMut(BackupProgress) -> ControlFlow<()>;

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
    /// Files that were there already.
    pub kept: FileCount,
}

/// The findings of a verification.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct VerifyReport {
    pub path: PathBuf,
    pub version: u64,
    pub created_at_ms: u64,
    pub segments: u64,
    pub bytes: u64,
    /// Sentences; each names a file and what is wrong with it.
    pub problems: Vec<String>,
}
