//! How much of each table was read, and when last. Tiers and prefetches are chosen by it.
//!
//! It is a hint and no data: a file beside the catalog keeps it from one process to the next, and whoever loses that file loses nothing else.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

use crate::clock::now_ms;
use crate::names::TableId;

const TOUCHES_FILE: &str = "touches.json";
/// Bytes read long ago count less: half after this time.
const HALF_LIFE_MS: u64 = 3_600_000;

/// Somebody who wants to know of reads of rows that lie, or are copied to memory from, outside of the store's directory.
#[derive(Default)]
pub struct TierReads(OnceLock<Box<dyn Fn() + Send + Sync>>);

impl std::fmt::Debug for TierReads {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("TierReads").finish()
    }
}

/// The reads and writes of one table.
#[derive(Debug, Default)]
pub struct Touches {
    tier_reads: Arc<TierReads>,
    bytes: AtomicU64,
    /// As they were when `last_ms` was set.
    recent_bytes: AtomicU64,
    /// Of the last read; 0: never.
    last_ms: AtomicU64,
    /// Of the last write of a user; 0: never.
    changed_ms: AtomicU64,
}

#[derive(Serialize, Deserialize)]
struct TouchesRecord {
    bytes: u64,
    recent_bytes: u64,
    last_ms: u64,
    changed_ms: u64,
}

impl Touches {
    /// Counts bytes that were read. What several threads add in the same moment may be counted a little wrong.
    pub fn add(&self, bytes: u64) {
        let now = now_ms();
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
        let before = self.last_ms.swap(now, Ordering::Relaxed);
        if now.saturating_sub(before) > HALF_LIFE_MS / 100 {
            self.recent_bytes.store(decayed(self.recent_bytes.load(Ordering::Relaxed), before, now) + bytes, Ordering::Relaxed);
        } else {
            self.recent_bytes.fetch_add(bytes, Ordering::Relaxed);
        }
    }

    /// Whether somebody wants to know of reads of other tiers.
    pub fn is_watched(&self) -> bool {
        self.tier_reads.0.get().is_some()
    }

    /// The same for rows of another tier than the store's directory.
    pub fn add_of_tier(&self, bytes: u64) {
        self.add(bytes);
        if let Some(tell) = self.tier_reads.0.get() {
            tell();
        }
    }

    pub fn set_changed(&self) {
        self.changed_ms.store(now_ms(), Ordering::Relaxed);
    }

    /// When it was read or written last.
    pub fn last_use_ms(&self) -> u64 {
        self.last_ms.load(Ordering::Relaxed).max(self.changed_ms.load(Ordering::Relaxed))
    }

    pub fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// The bytes that were read, of which those of an hour ago count half.
    pub fn recent_bytes(&self) -> u64 {
        decayed(self.recent_bytes.load(Ordering::Relaxed), self.last_ms.load(Ordering::Relaxed), now_ms())
    }

    pub fn last_ms(&self) -> Option<u64> {
        Some(self.last_ms.load(Ordering::Relaxed)).filter(|last_ms| *last_ms > 0)
    }
}

fn decayed(bytes: u64, then_ms: u64, now_ms: u64) -> u64 {
    let half_lives = now_ms.saturating_sub(then_ms) as f64 / HALF_LIFE_MS as f64;
    (bytes as f64 * 0.5f64.powf(half_lives)) as u64
}

/// Those of all tables.
#[derive(Debug, Default)]
pub struct TableTouches {
    path: PathBuf,
    tier_reads: Arc<TierReads>,
    /// By table, or blob in a slower tier.
    of: Mutex<HashMap<u64, Arc<Touches>>>,
}

impl TableTouches {
    pub fn load(store: &Path) -> TableTouches {
        let path = store.join(TOUCHES_FILE);
        let records = fs::read(&path).ok().and_then(|bytes| serde_json::from_slice::<HashMap<TableId, TouchesRecord>>(&bytes).ok());
        let tier_reads = Arc::<TierReads>::default();
        let touches = |record: TouchesRecord| Touches {
            tier_reads: Arc::clone(&tier_reads),
            bytes: record.bytes.into(),
            recent_bytes: record.recent_bytes.into(),
            last_ms: record.last_ms.into(),
            changed_ms: record.changed_ms.into(),
        };
        let of = records.unwrap_or_default().into_iter().map(|(table, record)| (table, Arc::new(touches(record)))).collect();
        TableTouches { path, tier_reads, of: Mutex::new(of) }
    }

    pub fn of(&self, object: u64) -> Arc<Touches> {
        let new = || Arc::new(Touches { tier_reads: Arc::clone(&self.tier_reads), ..Touches::default() });
        Arc::clone(self.of.lock().entry(object).or_insert_with(new))
    }

    /// The objects that were read after a time.
    pub fn since(&self, since_ms: u64) -> Vec<u64> {
        let of = self.of.lock();
        of.iter().filter(|(_, touches)| touches.last_ms().is_some_and(|last_ms| last_ms > since_ms)).map(|(id, _)| *id).collect()
    }

    /// From now on `tell` is called at each read of another tier. Whoever comes first stays.
    pub fn on_tier_reads(&self, tell: impl Fn() + Send + Sync + 'static) {
        let _ = self.tier_reads.0.set(Box::new(tell));
    }

    /// Keeps those of the tables that there still are. Those of blobs, which may be many, are forgotten after `blobs_ms`.
    pub fn save(&self, tables: &HashSet<TableId>, blobs_ms: u64) {
        let mut of = self.of.lock();
        let blobs_since_ms = now_ms().saturating_sub(blobs_ms);
        // Those that somebody holds will be counted in.
        of.retain(|object, touches| match tables.contains(object) {
            true => touches.last_use_ms() > 0 || Arc::strong_count(touches) > 1,
            false => touches.last_use_ms() > blobs_since_ms,
        });
        let record = |touches: &Touches| TouchesRecord {
            bytes: touches.bytes(),
            recent_bytes: touches.recent_bytes.load(Ordering::Relaxed),
            last_ms: touches.last_ms.load(Ordering::Relaxed),
            changed_ms: touches.changed_ms.load(Ordering::Relaxed),
        };
        let of_tables = of.iter().filter(|(object, _)| tables.contains(object));
        let records: HashMap<TableId, TouchesRecord> = of_tables.map(|(table, touches)| (*table, record(touches))).collect();
        drop(of);
        let new = self.path.with_extension("new");
        let written = serde_json::to_vec(&records).map_err(std::io::Error::from).and_then(|bytes| fs::write(&new, bytes));
        if let Err(error) = written.and_then(|()| fs::rename(&new, &self.path)) {
            tracing::warn!(%error, "nobody will know when tables were read last");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_of_an_hour_ago_count_half() {
        assert_eq!((decayed(1_000, 5, 5), decayed(1_000, 0, HALF_LIFE_MS), decayed(1_000, 0, 3 * HALF_LIFE_MS)), (1_000, 500, 125));
        assert_eq!(decayed(1_000, 9, 5), 1_000);
    }

    #[test]
    fn a_file_that_is_damaged_says_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let touches = TableTouches::load(dir.path());
        touches.of(7).add(100);
        touches.of(8).add(100);
        touches.save(&HashSet::from([7]), 0);
        assert_eq!((TableTouches::load(dir.path()).of(7).bytes(), TableTouches::load(dir.path()).of(8).bytes()), (100, 0));
        fs::write(dir.path().join(TOUCHES_FILE), "{").unwrap();
        assert_eq!(TableTouches::load(dir.path()).of(7).bytes(), 0);
    }
}
