//! The state that all readers and writers of one open store share.
//!
//! - `file_gc`: which files a reader still needs; `pins`: the pins of readers and transactions
//! - `segment_cache`: the mappings of segments; `moves`: where rows moved when segments were replaced
//! - `touches`: how much of each table was read; `hand_offs`: whether other processes know files by their names
//! - `claim`: the lock or the lease
//!
//! **Invariant:** while a [`Pin`] or a lease of version v is alive, no file that version v names is removed. So
//! neither DROP nor compaction disturbs a reader, in this process or another.

mod claim;
mod file_gc;
mod hand_offs;
mod moves;
mod pins;
mod segment_cache;
mod touches;

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::files;
use crate::logs::OpenLogs;
use crate::names::TableId;
use crate::region::PoisonFlag;
use crate::requests;
use crate::segment::{SealedSegment, remove_segment_files};

pub(crate) use claim::Claim;
use file_gc::FileGc;
pub use hand_offs::HandOff;
use hand_offs::HandOffs;
pub(crate) use moves::{ClearedRows, Moves};
pub use moves::{ReplacedSegment, Replacement};
pub(crate) use pins::{Pin, TransactionPin};
use segment_cache::SegmentCache;
pub use segment_cache::SegmentHandle;
use touches::TableTouches;
pub use touches::Touches;

#[derive(Debug)]
pub(crate) struct Shared {
    store: PathBuf,
    gc: FileGc,
    segments: SegmentCache,
    pub logs: Arc<OpenLogs>,
    pub moves: Moves,
    pub touches: TableTouches,
    pub hand_offs: Arc<HandOffs>,
    poison: Arc<PoisonFlag>,
    /// The last reader or appender releases it, which may outlive the store.
    pub claim: Claim,
}

impl Shared {
    pub fn new(store: PathBuf, claim: Claim, poison: &Arc<PoisonFlag>) -> Self {
        let touches = TableTouches::load(&store);
        let (segments, poison) = (SegmentCache::new(store.clone()), Arc::clone(poison));
        let (logs, moves, hand_offs) = (Arc::default(), Moves::default(), Arc::default());
        Shared { store, gc: FileGc::default(), segments, logs, moves, touches, hand_offs, poison, claim }
    }

    /// The files of segments, and of logs, that `version` and later ones do not name.
    pub fn defer_unlink(&self, version: u64, segments: &[(TableId, u64)], logs: &[(TableId, u64)]) {
        let segments = segments.iter().map(|(table, segment)| files::segment_path(&self.store, *table, *segment));
        let logs = logs.iter().map(|(table, log)| files::log_path(&self.store, *table, *log));
        self.gc.defer_unlink(version, segments.chain(logs).collect());
    }

    /// The versions that are being read, or that an open transaction began with: each may still get a name.
    pub fn live_versions(&self) -> Vec<u64> {
        self.gc.live_versions()
    }

    /// Removes the files of segments that nobody can read any more; none if the store is poisoned.
    pub fn collect_files(&self) {
        if self.poison.is_set() {
            return;
        }
        let free = self.gc.collect();
        if free.is_empty() {
            return;
        }
        // They are read after the pins: a version that is lent is pinned until its lease is there.
        let lease = requests::oldest_lease(&self.store);
        let (leased, free): (Vec<_>, Vec<_>) = free.into_iter().partition(|(version, _)| lease.is_some_and(|lease| *version >= lease));
        leased.into_iter().for_each(|(version, files)| self.gc.defer_unlink(version, files));
        let files: Vec<PathBuf> = free.into_iter().flat_map(|(_, files)| files).collect();
        let removed: HashSet<&Path> = files.iter().map(PathBuf::as_path).collect();
        self.segments.forget_files(&removed);
        for path in &files {
            if path.extension().is_some_and(|extension| extension == "log") {
                files::remove(path);
            } else {
                remove_segment_files(path);
            }
            if let Some(dir) = path.parent() {
                // It succeeds after the last segment of a dropped table and fails harmlessly before.
                let _ = std::fs::remove_dir(dir);
            }
        }
    }

    /// Drops the mapping of a segment that was never part of the store.
    pub fn forget(&self, table: TableId, segment: u64) {
        self.segments.forget(table, segment);
    }

    pub fn handle(&self, table: TableId, sealed: &SealedSegment) -> Arc<SegmentHandle> {
        self.segments.handle(table, sealed)
    }
}
