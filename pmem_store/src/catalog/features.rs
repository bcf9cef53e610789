//! A store has flags for the features that a program must know to read it, and to write it.

use std::path::Path;

use super::records::StoreRecord;
use crate::error::{Result, StoreError};

/// The format of this version. A reader refuses an unknown reader flag, a writer refuses any unknown flag.
pub const FORMAT_VERSION: u32 = 1;
/// Rows may be deleted, and segments and schemas may be kept for older versions alone.
pub const FEATURE_VERSIONS: u64 = 1;
/// There are grants on groups or blobs, which a program that does not know them cannot read.
pub const FEATURE_OBJECT_GRANTS: u64 = 2;
/// Rows of segments may lie in an object store.
pub const FEATURE_OBJECT_TIER: u64 = 4;
/// There are functions, or grants on them.
pub const FEATURE_FUNCTIONS: u64 = 8;
/// Columns of segments may be stored in other types than the physical ones.
pub const FEATURE_ENCODINGS: u64 = 16;
pub const READER_FEATURES: u64 = FEATURE_VERSIONS | FEATURE_OBJECT_GRANTS | FEATURE_OBJECT_TIER | FEATURE_FUNCTIONS | FEATURE_ENCODINGS;
/// There are users, roles and grants. Dropping an object must remove the grants on it.
pub const FEATURE_ACCESS: u64 = 1;
/// Names of segments may be links to files on another disk, which go with them.
pub const FEATURE_TIERS: u64 = 2;
pub const WRITER_FEATURES: u64 = FEATURE_ACCESS | FEATURE_TIERS;

/// An unknown reader flag stops readers and writers, an unknown writer flag only writers.
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
        return Err(StoreError::NewerVersion { path: path.to_path_buf(), found: record.format_version, format_max: FORMAT_VERSION });
    }
    Ok(())
}
