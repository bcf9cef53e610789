//! Which directories can have a tier.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use crate::error::{Result, StoreError};

/// The directory by its one name. It may have the store in it: what a tier has lies in a directory of its own, beside the store's.
///
/// # Errors
///
/// It is not there, or it lies in the store, which removes files that it does not know and takes others along when it is copied.
pub fn tier_directory(directory: &Path, store: &Path) -> Result<PathBuf> {
    let found = fs::canonicalize(directory).map_err(|error| match error.kind() {
        ErrorKind::NotFound => StoreError::DoesNotExist { kind: "directory", name: directory.display().to_string() },
        _ => StoreError::io("open", directory, error),
    })?;
    let store = fs::canonicalize(store).map_err(|error| StoreError::io("open", store, error))?;
    let shown = directory.display();
    match () {
        () if !found.is_dir() => Err(StoreError::Refused(format!("\"{shown}\" is no directory"))),
        () if found.starts_with(&store) => {
            Err(StoreError::Refused(format!("\"{shown}\" lies in the store's own directory; give the tier one outside of it")))
        }
        () => Ok(found),
    }
}
