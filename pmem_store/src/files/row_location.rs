//! Where the rows of a segment lie: under its name, or where a symbolic link of that name leads.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use ::object_tier::ObjectError;

use super::{disk_tier, object_tier};
use crate::error::{Result, StoreError};

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RowLocation {
    /// In the store's directory.
    Store,
    /// In this file of a disk tier.
    Disk(PathBuf),
    /// In the file of an object store with this URL. A link to it leads nowhere, and its text is the URL.
    Object(String),
}

impl RowLocation {
    pub fn of(segment: &Path) -> RowLocation {
        match fs::read_link(segment) {
            Err(_) => RowLocation::Store,
            Ok(target) => match target.to_str().filter(|text| text.contains("://")) {
                Some(url) => RowLocation::Object(url.to_string()),
                None => RowLocation::Disk(target),
            },
        }
    }

    /// Whether it can be known now what is there. If not, the object store does not answer, or the disk of the tier is not mounted.
    pub fn is_reachable(&self) -> bool {
        match self {
            RowLocation::Store => true,
            RowLocation::Disk(file) => disk_tier::has_owner_above(file),
            RowLocation::Object(url) => !matches!(::object_tier::size_bytes(url), Err(ObjectError::Failed { .. })),
        }
    }

    /// Removes the file, if it is one of a tier that belongs to this store. In an object store that is done later.
    pub fn remove(self, store: &Path) {
        match self {
            RowLocation::Store => {}
            RowLocation::Disk(file) => disk_tier::remove_of_tier(&file, store),
            RowLocation::Object(url) => object_tier::remove_of_tier(url, store),
        }
    }
}

/// The file with the rows; a copy without a name if they are in an object store.
pub fn open_rows(segment: &Path) -> Result<File> {
    let open = |location: &RowLocation| match location {
        RowLocation::Object(url) => object_tier::download(url, segment),
        _ => File::open(segment).map_err(|error| StoreError::io("open", segment, error)),
    };
    let before = RowLocation::of(segment);
    open(&before).or_else(|error| match RowLocation::of(segment) {
        location if location == before => Err(error),
        // The rows have moved to another tier meanwhile.
        location => open(&location),
    })
}

/// Gives the bytes of a file a second name; false if that is not possible. A second name of a symbolic link would be one of the link.
pub fn link_bytes(from: &Path, to: &Path) -> std::io::Result<bool> {
    fs::hard_link(from, to)?;
    let is_link = fs::symlink_metadata(to)?.is_symlink();
    if is_link {
        fs::remove_file(to)?;
    }
    Ok(!is_link)
}
