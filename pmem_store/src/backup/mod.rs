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

pub(crate) use image::Image;
pub(crate) use layout::is_backup;
pub use restore::restore_backup;
pub use verify::verify_backup;

pub use crate::backup_report::{BackupProgress, BackupReport, FileCount};
pub use crate::error::BackupError;

/// Called between two files, and several times in a large one; `Break` stops the backup.
pub type Watch<'a> = &'a mut dyn FnMut(BackupProgress) -> ControlFlow<()>;

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
