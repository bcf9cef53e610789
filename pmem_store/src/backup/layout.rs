//! Names in a backup; `docs/format.md` shows them.
//!
//! A segment is called after its content too: one that got the same id in a store that was set back by
//! other means than ours, say by a file system's snapshot, is another file and not taken for it.

use std::path::{Path, PathBuf};

use crate::catalog::TableId;
use crate::checksum::xxh3;
use crate::files::{self, SEGMENTS_DIR};
use crate::segment::SealedSegment;

pub const HEAD_FILE: &str = "quiver-backup";
/// There from the begin of a backup to its end; the next one goes on with what it left.
pub const HEAD_FILE_NEW: &str = "quiver-backup.new";
pub const CATALOG_FILE: &str = files::CATALOG_FILE;
/// Begins the name of a file that is still being copied.
pub const UNFINISHED: &str = "new-";
const STATE_PREFIX: &str = "state-";

/// Also one that is still being made, or was left unfinished.
pub fn is_backup(path: &Path) -> bool {
    path.join(HEAD_FILE).exists() || path.join(HEAD_FILE_NEW).exists()
}

/// What one backup has of its own: catalog and logs. No two share a number.
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
