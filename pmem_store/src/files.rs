//! Paths and small files of the store, and the fsyncs that make names durable.

mod disk_tier;
mod object_tier;
mod row_location;
mod tier_directory;
mod tier_owner;

use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use crate::checksum::xxh3;
use crate::error::{Result, StoreError};
use crate::region::PoisonFlag;

pub use disk_tier::DiskTier;
pub use object_tier::{ObjectTier, is_compressed};
pub use row_location::{RowLocation, link_bytes, open_rows};
pub use tier_directory::tier_directory;

pub const CATALOG_FILE: &str = "catalog.redb";
/// The name of the catalog while a store is created.
pub const CATALOG_FILE_NEW: &str = "catalog.redb.new";
pub const SEGMENTS_DIR: &str = "segments";

const OWNER_MAY_ENTER: u32 = 0o700;
const OWNER_MAY_READ: u32 = 0o600;

pub fn table_dir(store: &Path, table: u64) -> PathBuf {
    store.join(SEGMENTS_DIR).join(table.to_string())
}

pub fn segment_path(store: &Path, table: u64, segment: u64) -> PathBuf {
    table_dir(store, table).join(format!("{segment}.arrow"))
}

pub fn log_path(store: &Path, table: u64, log: u64) -> PathBuf {
    table_dir(store, table).join(format!("{log}.log"))
}

pub fn create_dir(path: &Path) -> Result<()> {
    fs::create_dir_all(path).map_err(|error| StoreError::io("create", path, error))
}

/// Creates the directory of a store or a backup, which only its owner may enter. An existing directory keeps its mode: its creator
/// may have let others in.
pub fn create_private_dir(path: &Path) -> Result<()> {
    let failed = |error| StoreError::io("create", path, error);
    if let Some(above) = path.parent() {
        fs::create_dir_all(above).map_err(failed)?;
    }
    match fs::DirBuilder::new().mode(OWNER_MAY_ENTER).create(path) {
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists && path.is_dir() => Ok(()),
        result => result.map_err(failed),
    }
}

/// Opens a file that only its owner may read, as the catalog: it has the hashes of passwords, and the key that signs tokens.
pub fn open_private(path: &Path) -> std::io::Result<File> {
    fs::OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(OWNER_MAY_READ).open(path)
}

/// As [`create_private_dir`], for an absolute path; the names of all directories that were missing are durable when this returns.
pub fn create_dir_durably(path: &Path) -> Result<()> {
    let missing: Vec<&Path> = path.ancestors().take_while(|dir| !dir.exists()).collect();
    create_private_dir(path)?;
    missing.into_iter().filter_map(Path::parent).try_for_each(sync_dir)
}

/// The number of attempts to create a file in a directory that others may remove.
const ATTEMPTS: usize = 3;

/// Creates a file in `dir`, and `dir` if it is missing. Another thread that removes the last file of a table removes
/// its directory too, and may do so between the two steps.
pub fn create_in<T, E>(dir: &Path, mut create: impl FnMut() -> std::result::Result<T, E>) -> Result<T>
where
    E: std::error::Error + Into<StoreError> + 'static,
{
    for _ in 1..ATTEMPTS {
        create_dir(dir)?;
        match create() {
            Err(error) if is_not_found(&error) => {}
            result => return result.map_err(Into::into),
        }
    }
    create_dir(dir)?;
    create().map_err(Into::into)
}

fn is_not_found(error: &(dyn std::error::Error + 'static)) -> bool {
    let causes = std::iter::successors(Some(error), |cause| cause.source());
    causes.filter_map(|cause| cause.downcast_ref::<std::io::Error>()).any(|cause| cause.kind() == std::io::ErrorKind::NotFound)
}

/// Removes a file that nothing refers to; if this fails, the next open for writing removes it.
pub fn remove(path: &Path) {
    if let Err(error) = fs::remove_file(path)
        && error.kind() != std::io::ErrorKind::NotFound
    {
        tracing::warn!(path = %path.display(), %error, "could not remove a file that is not needed any more");
    }
}

/// A line, and its checksum as a second line.
pub fn with_sum(line: &str) -> String {
    format!("{line}\n{:016x}\n", xxh3(line.as_bytes()))
}

/// The line, if the checksum behind it is right; else what is wrong.
pub fn without_sum(bytes: &[u8]) -> Result<&[u8], &'static str> {
    let split = bytes.iter().position(|byte| *byte == b'\n').ok_or("is cut short")?;
    let (line, rest) = (&bytes[..split], &bytes[split + 1..]);
    match rest == format!("{:016x}\n", xxh3(line)).as_bytes() {
        true => Ok(line),
        false => Err("has a wrong checksum"),
    }
}

/// Writes a file and makes all but its name durable.
pub fn write_durably(path: &Path, bytes: &[u8]) -> Result<()> {
    write_anew(path, bytes)?.sync_all().map_err(|error| StoreError::io("sync", path, error))
}

/// As [`write_durably`], for a file of a store; see [`sync_store_dir`].
pub fn write_store_file(path: &Path, bytes: &[u8], poison: &PoisonFlag) -> Result<()> {
    sync(&write_anew(path, bytes)?, path, poison)
}

fn write_anew(path: &Path, bytes: &[u8]) -> Result<File> {
    let mut file = File::create(path).map_err(|error| StoreError::io("create", path, error))?;
    file.write_all(bytes).map_err(|error| StoreError::io("write", path, error))?;
    Ok(file)
}

/// Makes the names in a directory durable.
pub fn sync_dir(path: &Path) -> Result<()> {
    let dir = File::open(path).map_err(|error| StoreError::io("open", path, error))?;
    dir.sync_all().map_err(|error| StoreError::io("sync", path, error))
}

/// As [`sync_dir`], for a directory of a store. If the sync fails, it is unknown what is durable, even if a later sync succeeds: so
/// nothing is written any more.
pub fn sync_store_dir(path: &Path, poison: &PoisonFlag) -> Result<()> {
    let dir = File::open(path).map_err(|error| StoreError::io("open", path, error))?;
    sync(&dir, path, poison)
}

/// As [`sync_store_dir`], for a file.
pub fn sync(file: &File, path: &Path, poison: &PoisonFlag) -> Result<()> {
    file.sync_all().map_err(|source| {
        poison.poison(format!("\"{}\" could not be made durable ({source})", path.display()));
        StoreError::Sync { path: path.to_path_buf(), source }
    })
}

/// The size of every file below `path`, in bytes; files that vanish meanwhile count as nothing.
pub fn size_below(path: &Path) -> u64 {
    let Ok(entries) = fs::read_dir(path) else { return 0 };
    entries
        .flatten()
        .map(|entry| match entry.metadata() {
            Ok(metadata) if metadata.is_dir() => size_below(&entry.path()),
            Ok(metadata) => metadata.len(),
            Err(_) => 0,
        })
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_made_although_its_directory_goes_meanwhile() {
        let store = tempfile::tempdir().unwrap();
        let dir = table_dir(store.path(), 7);
        let mut attempts = 0;
        let result = create_in(&dir, || {
            attempts += 1;
            if attempts == 1 {
                fs::remove_dir(&dir).unwrap();
            }
            let path = dir.join("1.arrow");
            File::create_new(&path).map(|_| path.clone()).map_err(|error| StoreError::io("create", path, error))
        });
        assert!(result.unwrap().exists());
        assert_eq!(attempts, 2);
    }

    #[test]
    fn what_else_goes_wrong_is_not_tried_again() {
        let store = tempfile::tempdir().unwrap();
        let mut attempts = 0;
        let result: Result<()> = create_in(store.path(), || {
            attempts += 1;
            Err(StoreError::Poisoned("the disk is gone".into()))
        });
        assert!(matches!(result, Err(StoreError::Poisoned(_))));
        assert_eq!(attempts, 1);
    }
}
