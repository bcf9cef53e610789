//! A store says which features a program must know to read it, and to write it.

use std::path::Path;

use super::records::StoreRecord;
use crate::error::{Result, StoreError};

/// Format of this version. A reader refuses a reader flag it does not know, a writer either.
pub const FORMAT_VERSION: u32 = 1;
/// Rows may be deleted, and segments and schemas be kept for older versions alone.
pub const FEATURE_VERSIONS: u64 = 1;
pub const READER_FEATURES: u64 = FEATURE_VERSIONS;
/// There are users, roles and grants, of which those go that are about what is dropped.
pub const FEATURE_ACCESS: u64 = 1;
pub const WRITER_FEATURES: u64 = FEATURE_ACCESS;

/// A reader flag stops readers and writers, a writer flag only writers.
pub(crate) fn check_features(path: &Path, record: &StoreRecord, read_only: bool) -> Result<()> {
    let unknown = |role, feature| StoreError::NewerFormat { path: path.to_path_buf(), role, feature };
    let reader = record.reader_features & !READER_FEATURES;
    if reader != 0 {
        return Err(unknown("reader", reader));
    }
    let writer = record.writer_features & !WRITER_FEATURES;
    if writer != 0 && !read_only {
        return Err(unknown("writer", writer));
    }
    if record.format_version > FORMAT_VERSION {
        return Err(StoreError::NewerVersion { path: path.to_path_buf(), found: record.format_version, known: FORMAT_VERSION });
    }
    Ok(())
}
