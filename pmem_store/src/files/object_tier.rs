//! The part of an object store that is one store's: `<URL>/<id of the store>`, with a prefix for each table.

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;

use object_tier::ObjectError;
use zstd::stream::write::Decoder;

use super::disk_tier::is_unlinked;
use super::segment_path;
use super::tier_owner::{OWNER_FILE, is_owner, living_owner, owner_text};
use crate::clock::now_ms;
use crate::error::{Result, StoreError};

/// Behind the names of files that are compressed with zstd.
const COMPRESSED_SUFFIX: &str = ".zst";

#[derive(Debug)]
pub struct ObjectTier {
    root: String,
}

impl ObjectTier {
    pub fn new(url: &str, store_id: &str) -> ObjectTier {
        ObjectTier { root: format!("{}/{store_id}", url.trim_end_matches('/')) }
    }

    pub fn root(&self) -> &str {
        &self.root
    }

    /// A name that no file has had: an earlier file of the segment may be removed while this one is written.
    pub fn new_file(&self, table: u64, segment: u64, is_compressed: bool) -> String {
        let suffix = if is_compressed { COMPRESSED_SUFFIX } else { "" };
        format!("{}/{table}/{segment}-{:x}.arrow{suffix}", self.root, now_ms())
    }

    /// From now on it belongs to the store in this directory, unless the one that has it is still there.
    pub fn claim(&self, store: &Path) -> Result<()> {
        let file = format!("{}/{OWNER_FILE}", self.root);
        match object_tier::read(&file) {
            Ok(owner) => {
                if let Some(owner) = living_owner(&owner, store) {
                    return Err(StoreError::TierInUse { tier: self.root.clone(), owner });
                }
            }
            Err(ObjectError::NotFound { .. }) => {}
            Err(error) => return Err(error.into()),
        }
        object_tier::put(&file, owner_text(store)?.as_bytes(), &mut |_| Ok(()))
    }

    pub fn belongs_to(&self, store: &Path) -> Result<bool> {
        belongs_to(&self.root, store)
    }

    /// Removes files to which no name of a segment leads. Nobody moves a segment meanwhile.
    pub fn remove_unlinked(&self, store: &Path) -> Result<()> {
        match self.belongs_to(store) {
            Ok(true) => {}
            // Nothing of it is there.
            Ok(false) | Err(StoreError::ObjectStore(ObjectError::NotFound { .. })) => return Ok(()),
            Err(error) => return Err(error),
        }
        for url in object_tier::list(&self.root)? {
            let Some((table, segment)) = self.numbers(&url) else { continue };
            let segment = segment_path(store, table, segment);
            // The tier may have another URL than when the link was made.
            let file = url.strip_prefix(&self.root).unwrap_or(&url);
            let leads_elsewhere = || fs::read_link(&segment).is_ok_and(|link| !link.to_string_lossy().ends_with(file));
            if is_unlinked(&segment) || leads_elsewhere() {
                object_tier::remove(&url)?;
            }
        }
        Ok(())
    }

    fn numbers(&self, url: &str) -> Option<(u64, u64)> {
        let (table, file) = url.strip_prefix(&self.root)?.strip_prefix('/')?.split_once('/')?;
        let (segment, _) = file.split_once('-')?;
        Some((table.parse().ok()?, segment.parse().ok()?))
    }
}

pub fn is_compressed(url: &str) -> bool {
    url.ends_with(COMPRESSED_SUFFIX)
}

fn belongs_to(root: &str, store: &Path) -> Result<bool> {
    Ok(is_owner(&object_tier::read(&format!("{root}/{OWNER_FILE}"))?, store))
}

/// Removes a file of a tier while the caller goes on, unless it belongs to another store than this one. If that fails, or if the process
/// ends before, [`ObjectTier::remove_unlinked`] does it.
pub fn remove_of_tier(url: String, store: &Path) {
    let store = store.to_path_buf();
    object_tier::in_background(move || {
        let root = url.rsplitn(3, '/').nth(2).unwrap_or_default();
        let removed = match belongs_to(root, &store) {
            Ok(true) => object_tier::remove(&url).map_err(StoreError::from),
            Ok(false) => Err(StoreError::OthersObjects { url: root.to_string() }),
            Err(error) => Err(error),
        };
        if let Err(error) = removed {
            tracing::warn!(url, %error, "a file in the object store that nobody needs is not removed");
        }
    });
}

/// A file without a name, in the directory of the segment.
pub fn download(url: &str, segment: &Path) -> Result<File> {
    let dir = segment.parent().unwrap_or(segment);
    let failed = |error| StoreError::io("write", dir, error);
    let mut file = tempfile::tempfile_in(dir).map_err(failed)?;
    if is_compressed(url) {
        let mut decoder = Decoder::new(&mut file).map_err(failed)?;
        object_tier::read_all(url, &mut |bytes| decoder.write_all(bytes).map_err(failed))?;
        decoder.flush().map_err(failed)?;
    } else {
        object_tier::read_all(url, &mut |bytes| file.write_all(bytes).map_err(failed))?;
    }
    std::io::Seek::rewind(&mut file).map_err(failed)?;
    Ok(file)
}
