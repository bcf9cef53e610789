//! Names in a backup; `docs/format.md` shows them.
//!
//! The name of a segment contains a hash of its content. If a store was set back by other means, say by a file
//! system's snapshot, a new segment may get the id of another one; the two are not confused.

use std::path::{Path, PathBuf};

use crate::catalog::TableId;
use crate::checksum::xxh3;
use crate::files::{self, SEGMENTS_DIR};
use crate::segment::SealedSegment;

pub const HEAD_FILE: &str = "quiver-backup";
/// It exists while a backup runs. The next backup continues what an interrupted one has left.
pub const HEAD_FILE_NEW: &str = "quiver-backup.new";
pub const CATALOG_FILE: &str = files::CATALOG_FILE;
/// The prefix of a file that is still being copied.
pub const UNFINISHED: &str = "new-";
const STATE_PREFIX: &str = "state-";

/// Also true for a backup that is being made, or was interrupted.
pub fn is_backup(path: &Path) -> bool {
    path.join(HEAD_FILE).exists() || path.join(HEAD_FILE_NEW).exists()
}

/// The directory of the files that belong to one backup alone: catalog and logs. No two backups share a number.
pub fn state_dir(number: u64) -> String {
    format!("{STATE_PREFIX}{number}")
}

pub fn state_number(name: &str) -> Option<u64> {
    name.strip_prefix(STATE_PREFIX)?.parse().ok()
}

pub fn log_file(table: TableId, log: u64) -> String {
    format!("{table}-{log}.log")
}

pub fn segments_dir(backup: &Path) -> PathBuf {
    backup.join(SEGMENTS_DIR)
}

pub fn segment_path(backup: &Path, table: TableId, sealed: &SealedSegment) -> PathBuf {
    files::table_dir(backup, table).join(format!("{}.arrow", segment_stem(sealed)))
}

pub fn segment_stem(sealed: &SealedSegment) -> String {
    let parts = [sealed.size_bytes, sealed.row_count, sealed.checksums_xxh3, sealed.statistics_xxh3, sealed.columns_xxh3];
    let bytes: Vec<u8> = parts.iter().flat_map(|part| part.to_le_bytes()).collect();
    format!("{}-{:016x}", sealed.id, xxh3(&bytes))
}
