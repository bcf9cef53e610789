//! The head of a backup names the store, its version, and the files that belong to the backup alone. It has two
//! lines: JSON, and the checksum of the first line.

use std::fs::{self, File};
use std::io::Read;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::layout::{HEAD_FILE, HEAD_FILE_NEW};
use crate::catalog::TableId;
use crate::checksum::Xxh3;
use crate::error::{BackupError, Result, StoreError};
use crate::files;

const FORMAT: u32 = 1;
const CHUNK_BYTES: usize = 1 << 20;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Head {
    pub format: u32,
    /// The id of the store.
    pub store: String,
    pub version: u64,
    pub created_at_ms: u64,
    /// The number of the directory with the catalog and the logs.
    pub state: u64,
    pub catalog: OwnFile,
    pub logs: Vec<LogFile>,
}

/// A file that belongs to this backup alone, with a checksum of all its bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct OwnFile {
    pub size_bytes: u64,
    pub xxh3: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogFile {
    pub table: TableId,
    pub id: u64,
    pub schema_version: u32,
    #[serde(flatten)]
    pub file: OwnFile,
}

impl Head {
    pub fn new(store: String, version: u64, created_at_ms: u64, state: u64, catalog: OwnFile, logs: Vec<LogFile>) -> Head {
        Head { format: FORMAT, store, version, created_at_ms, state, catalog, logs }
    }

    /// `None` if no backup was finished yet.
    pub fn read(backup: &Path) -> Result<Option<Head>> {
        let path = backup.join(HEAD_FILE);
        let bytes = match fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(StoreError::io("read", &path, error)),
        };
        let damaged = |what: &str| BackupError::Damaged { path: path.clone(), what: what.to_string() };
        let line = files::without_sum(&bytes).map_err(damaged)?;
        // Only the fields that are read here are expected of a later format.
        #[derive(Deserialize)]
        struct Format {
            format: u32,
        }
        let not_ours = |error: serde_json::Error| damaged(&format!("cannot be understood: {error}"));
        let Format { format: found } = serde_json::from_slice(line).map_err(not_ours)?;
        if found > FORMAT {
            return Err(BackupError::NewerFormat { path: backup.to_path_buf(), found, format_max: FORMAT }.into());
        }
        Ok(Some(serde_json::from_slice(line).map_err(not_ours)?))
    }

    pub fn require(backup: &Path) -> Result<Head> {
        let reason = match () {
            () if !backup.exists() => "there is no such directory",
            () if backup.join(files::CATALOG_FILE).exists() => "it is a store, which needs no restoring",
            () if backup.join(HEAD_FILE_NEW).exists() => "the first backup into it was not finished",
            () => "it has no file quiver-backup",
        };
        let missing = BackupError::NotABackup { path: backup.to_path_buf(), reason };
        Head::read(backup)?.ok_or_else(|| missing.into())
    }

    /// The moment at which the backup becomes the current one.
    pub fn publish(&self, backup: &Path) -> Result<()> {
        let line = serde_json::to_string(self).map_err(|error| StoreError::Io {
            action: "write",
            path: backup.join(HEAD_FILE),
            source: error.into(),
        })?;
        let (new, path) = (backup.join(HEAD_FILE_NEW), backup.join(HEAD_FILE));
        files::write_durably(&new, files::with_sum(&line).as_bytes())?;
        // The names of the directories that the head refers to are durable before the head has its name.
        files::sync_dir(backup)?;
        fs::rename(&new, &path).map_err(|error| StoreError::io("rename", &new, error))?;
        files::sync_dir(backup)
    }
}

/// Marks a directory as a backup in progress, before anything else is written to it.
pub fn mark_begun(backup: &Path) -> Result<()> {
    files::write_durably(&backup.join(HEAD_FILE_NEW), b"")?;
    files::sync_dir(backup)
}

impl OwnFile {
    /// The size and the checksum of a file now.
    pub fn of(path: &Path) -> Result<OwnFile> {
        let io = |action| move |error| StoreError::io(action, path, error);
        let mut file = File::open(path).map_err(io("open"))?;
        let (mut sum, mut size_bytes) = (Xxh3::default(), 0);
        let mut chunk = vec![0; CHUNK_BYTES];
        loop {
            let read = file.read(&mut chunk).map_err(io("read"))?;
            if read == 0 {
                return Ok(OwnFile { size_bytes, xxh3: sum.finish() });
            }
            sum.write(&chunk[..read]);
            size_bytes += read as u64;
        }
    }

    /// An error says what is wrong with the file.
    pub fn verify(&self, path: &Path) -> Result<(), BackupError> {
        let damaged = |what: String| BackupError::Damaged { path: path.to_path_buf(), what };
        let file = OwnFile::of(path).map_err(|error| match path.exists() {
            true => damaged(format!("cannot be read: {error}")),
            false => damaged("is missing".to_string()),
        })?;
        match file {
            OwnFile { size_bytes, .. } if size_bytes != self.size_bytes => {
                Err(damaged(format!("has {size_bytes} bytes, expected {}", self.size_bytes)))
            }
            OwnFile { xxh3, .. } if xxh3 != self.xxh3 => Err(damaged(format!("has checksum {xxh3:016x}, expected {:016x}", self.xxh3))),
            _ => Ok(()),
        }
    }
}
