//! The file `owner` in a store's part of a tier: a line that tells the store's directory from its copies, and one with its path.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use crate::error::{Result, StoreError};

pub const OWNER_FILE: &str = "owner";

pub fn owner_text(store: &Path) -> Result<String> {
    let path = fs::canonicalize(store).map_err(|error| StoreError::io("open", store, error))?;
    Ok(format!("{}\n{}\n", identity(store)?, path.display()))
}

/// Whether this text is the store's. Its path may be another one than before.
pub fn is_owner(text: &[u8], store: &Path) -> bool {
    let text = String::from_utf8_lossy(text);
    matches!((text.lines().next(), identity(store)), (Some(known), Ok(own)) if known == own)
}

/// Where another store lies to which the tier belongs, if it still does: this one is a copy of it.
pub fn living_owner(text: &[u8], store: &Path) -> Option<PathBuf> {
    let text = String::from_utf8_lossy(text);
    let path = PathBuf::from(text.lines().nth(1)?);
    (!is_owner(text.as_bytes(), store) && is_owner(text.as_bytes(), &path)).then_some(path)
}

/// A directory keeps its number and the time of its birth when it is renamed, and its copy has others. The number of its device may change
/// with each mount.
fn identity(store: &Path) -> Result<String> {
    let metadata = fs::metadata(store).map_err(|error| StoreError::io("read", store, error))?;
    let born = metadata.created().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    Ok(format!("{}:{}", metadata.ino(), born.map_or(0, |born| born.as_nanos())))
}
