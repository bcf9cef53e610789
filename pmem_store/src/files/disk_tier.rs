//! The part of a disk tier's directory that is one store's.

use std::fs;
use std::os::unix::fs::{MetadataExt, chown};
use std::path::{Path, PathBuf};

use super::tier_owner::{OWNER_FILE, is_owner, living_owner, owner_text};
use super::{create_dir_durably, remove, segment_path, sync_dir, write_durably};
use crate::error::{Result, StoreError};

const OWNER_FILE_NEW: &str = "owner.new";

/// `<directory>/<id of the store>`, with a directory for each table.
#[derive(Debug)]
pub struct DiskTier {
    root: PathBuf,
}

impl DiskTier {
    pub fn new(directory: &Path, store_id: &str) -> DiskTier {
        DiskTier { root: directory.join(store_id) }
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    pub fn table_dir(&self, table: u64) -> PathBuf {
        self.root.join(table.to_string())
    }

    pub fn file(&self, table: u64, segment: u64) -> PathBuf {
        self.table_dir(table).join(format!("{segment}.arrow"))
    }

    /// From now on it belongs to the store in this directory, unless the one that has it is still there. Whoever may enter the store may enter
    /// it too.
    pub fn claim(&self, store: &Path) -> Result<()> {
        let owner = fs::read(self.root.join(OWNER_FILE)).ok();
        if let Some(owner) = owner.and_then(|owner| living_owner(&owner, store)) {
            return Err(StoreError::TierInUse { tier: self.root.display().to_string(), owner });
        }
        create_dir_durably(&self.root)?;
        let of_store = fs::metadata(store).map_err(|error| StoreError::io("read", store, error))?;
        fs::set_permissions(&self.root, of_store.permissions()).map_err(|error| StoreError::io("open", &self.root, error))?;
        // Another group than one's own needs the permission to give it.
        let _ = chown(&self.root, None, Some(of_store.gid()));
        let new = self.root.join(OWNER_FILE_NEW);
        write_durably(&new, owner_text(store)?.as_bytes())?;
        fs::rename(&new, self.root.join(OWNER_FILE)).map_err(|error| StoreError::io("rename", &new, error))?;
        sync_dir(&self.root)
    }

    pub fn belongs_to(&self, store: &Path) -> bool {
        belongs_to(&self.root, store)
    }

    /// Whether any store has it. If none has, its disk may not be mounted.
    pub fn has_owner(&self) -> bool {
        has_owner(&self.root)
    }

    /// Removes files of segments whose names lead nowhere: they are gone, or have their bytes themselves. What cannot be looked at stays.
    pub fn remove_unlinked(&self, store: &Path, numbered: impl Fn(&Path) -> Result<Vec<(u64, std::ffi::OsString)>>) -> Result<()> {
        if !self.belongs_to(store) {
            return Ok(());
        }
        for (table, name) in numbered(&self.root)? {
            let dir = self.root.join(name);
            for (segment, name) in numbered(&dir)? {
                if is_unlinked(&segment_path(store, table, segment)) {
                    remove(&dir.join(name));
                }
            }
            // Fails unless it is empty.
            let _ = fs::remove_dir(&dir);
        }
        Ok(())
    }
}

/// Whether the name of a segment leads to no tier: it is gone, or has the bytes itself.
pub fn is_unlinked(segment: &Path) -> bool {
    match fs::symlink_metadata(segment) {
        Ok(found) => found.is_file(),
        Err(error) => error.kind() == std::io::ErrorKind::NotFound,
    }
}

/// Removes a file of a tier, unless its directory belongs to another store than this one.
pub fn remove_of_tier(file: &Path, store: &Path) {
    match file.parent().and_then(Path::parent) {
        Some(root) if belongs_to(root, store) => remove(file),
        _ => {
            tracing::warn!(path = %file.display(), "the file is not removed: its directory belongs to another store, of which this may be a copy")
        }
    }
}

/// As [`DiskTier::has_owner`], of the part that this file is in.
pub fn has_owner_above(file: &Path) -> bool {
    file.parent().and_then(Path::parent).is_some_and(has_owner)
}

fn has_owner(root: &Path) -> bool {
    root.join(OWNER_FILE).exists()
}

fn belongs_to(root: &Path, store: &Path) -> bool {
    fs::read(root.join(OWNER_FILE)).is_ok_and(|owner| is_owner(&owner, store))
}
