//! The errors of backups. Each has what a person needs to act on it.

use std::path::PathBuf;

#[derive(Debug, thiserror::Error)]
pub enum BackupError {
    #[error("there is no backup at \"{}\": {reason}", path.display())]
    NotABackup { path: PathBuf, reason: &'static str },
    #[error("\"{}\" cannot hold a backup: {reason}; name a directory that is missing or empty, or an earlier backup of this store", path.display())]
    Occupied { path: PathBuf, reason: String },
    #[error("\"{}\" is the backup of another store (of {theirs}, and this is {ours}); choose another directory", path.display())]
    OtherStore { path: PathBuf, theirs: String, ours: String },
    #[error("another program works on the backup \"{}\" ({holder}); wait until it is done", path.display())]
    Busy { path: PathBuf, holder: String },
    #[error("the store \"{}\" is older than backups and has no id; open it for writing once to give it one", .0.display())]
    NoId(PathBuf),
    #[error("the backup \"{}\" has format {found}; this version of Quiver knows formats up to {format_max}; use a newer version", path.display())]
    NewerFormat { path: PathBuf, found: u32, format_max: u32 },
    #[error("the backup is damaged: \"{}\" {what}", path.display())]
    Damaged { path: PathBuf, what: String },
    #[error("\"{}\" of the store is damaged, so no backup was made: {what}; run `quiver check`", path.display())]
    DamagedSource { path: PathBuf, what: String },
    #[error("the disk with \"{}\" is full; {left}", path.display())]
    DiskFull { path: PathBuf, left: String },
    #[error("a store cannot be restored to \"{}\": {reason}; name a directory that is missing or empty", path.display())]
    NoRoom { path: PathBuf, reason: String },
    #[error("stopped; {left}")]
    Stopped { left: String },
}
