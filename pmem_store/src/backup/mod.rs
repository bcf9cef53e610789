//! Backups: a consistent copy of an open store in a directory of its own, and stores made of one.
//!
//! - `create`: the way of a backup; `image`: one version of the store, held while it is copied
//! - `directory`: where a backup is and who works on it
//! - `layout`: names in a backup; `head`: the file that says what the backup is
//! - `copy`: files linked or copied; `sweep`: what no backup needs goes
//! - `verify` and `restore`: the way back
//!
//! **Invariant:** a backup is what its head names, and a head never changes: a new one takes its place
//! by one rename, when all it names is durable. What it names is removed only after that. So a backup
//! that fails or stops at any moment leaves the one before it.
//!
//! **Invariant:** a file with a second name, in a store or a backup, is a sealed segment or lies beside
//! one. Those never change, whoever has them; catalogs and logs are copied.

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

/// Asked between two files, and several times in a large one; `Break` stops.
pub type Watch<'a> = &'a mut dyn FnMut(BackupProgress) -> ControlFlow<()>;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BackupProgress {
    pub bytes_done: u64,
    pub bytes_total: u64,
}

/// What became of files, each segment with those beside it.
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

/// What a backup, or a restored store, consists of.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BackupReport {
    /// The directory of the backup.
    pub path: PathBuf,
    /// The one version that it has, with those before that the store kept.
    pub version: u64,
    pub created_at_ms: u64,
    /// Have a second name now, in the store they came from or the backup.
    pub linked: FileCount,
    pub copied: FileCount,
    /// Were there already.
    pub kept: FileCount,
}

/// What was found in a backup.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct VerifyReport {
    pub path: PathBuf,
    pub version: u64,
    pub created_at_ms: u64,
    pub segments: u64,
    pub bytes: u64,
    /// Sentences, each naming a file and what is wrong with it.
    pub problems: Vec<String>,
}
