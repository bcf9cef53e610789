//! Where rows moved when compaction replaced their segments, for transactions that found them before.
//!
//! A transaction names rows by segment and place. A compaction that commits before it would make
//! those places mean nothing, and whoever changes a busy table would lose to the compaction again
//! and again; with this both come to their end.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use parking_lot::Mutex;

use crate::deletions::Deletions;
use crate::names::TableId;
use crate::segment::SealedSegment;

/// So many rows are followed, with four bytes for each, while only readers are as old.
const ROWS_MAX: usize = 32 << 20;
/// So many, 256 MiB that no query counts, while a transaction is open that may need to know. One that began before the
/// replacement of still more meets a conflict.
const ROWS_NEEDED_MAX: usize = 64 << 20;

/// Segments that hold the rows of others, in new places.
#[derive(Debug, Clone)]
pub struct Replacement {
    pub table: TableId,
    pub schema_version: u32,
    pub removed: Vec<ReplacedSegment>,
    pub added: Vec<SealedSegment>,
    pub sorted: bool,
}

/// A segment that is replaced, and where its rows went, so that rows deleted meanwhile stay deleted.
#[derive(Debug, Clone)]
pub struct ReplacedSegment {
    pub segment: u64,
    /// Its deleted rows when it was read.
    pub deletions: Option<Arc<Deletions>>,
    /// For each row: its place in the added segments put one after the other; `u32::MAX` for one that was deleted.
    pub row_mapping: Vec<u32>,
}

/// What a table had when it was to be cleared: segments, and rows of logs.
#[derive(Debug, Default, Clone)]
pub struct ClearedRows {
    pub segments: BTreeSet<u64>,
    pub logs: BTreeMap<u64, u64>,
}

#[derive(Debug, Default)]
pub struct Moves {
    known: Mutex<Vec<Move>>,
    /// The versions that open transactions began with, and how many with each.
    bases: Mutex<BTreeMap<u64, usize>>,
}

#[derive(Debug)]
struct Move {
    version: u64,
    rows: usize,
    replacement: Arc<Replacement>,
}

impl Moves {
    /// A transaction has begun with `version`: what it may need is kept longer.
    pub fn pin_base(&self, version: u64) {
        *self.bases.lock().entry(version).or_insert(0) += 1;
    }

    pub fn unpin_base(&self, version: u64) {
        let mut bases = self.bases.lock();
        if let Some(count) = bases.get_mut(&version) {
            *count -= 1;
            if *count == 0 {
                bases.remove(&version);
            }
        }
    }

    /// The commit that became `version` replaced these. To be called before anybody else can commit.
    pub fn keep(&self, version: u64, replacements: Vec<Arc<Replacement>>) {
        let mut known = self.known.lock();
        for replacement in replacements {
            let rows = replacement.removed.iter().map(|old| old.row_mapping.len()).sum();
            known.push(Move { version, rows, replacement });
        }
        let oldest_base = self.bases.lock().keys().next().copied().unwrap_or(u64::MAX);
        forget_most(&mut known, oldest_base, ROWS_MAX, ROWS_NEEDED_MAX);
    }

    /// Nobody reads a version before `oldest` any more.
    pub fn forget_before(&self, oldest: u64) {
        self.known.lock().retain(|one| one.version > oldest);
    }

    /// The rows that were known, and the segments that have no others and came in their place.
    pub fn followed(&self, table: TableId, rows: &ClearedRows) -> ClearedRows {
        let mut followed = rows.clone();
        for one in self.known.lock().iter().filter(|one| one.replacement.table == table) {
            let Replacement { removed, added, .. } = one.replacement.as_ref();
            // A log that was sealed may have grown before.
            let is_known = |old: &ReplacedSegment| match followed.logs.get(&old.segment) {
                Some(rows) => old.row_mapping.len() as u64 <= *rows,
                None => followed.segments.contains(&old.segment),
            };
            if removed.iter().all(is_known) {
                followed.segments.extend(added.iter().map(|sealed| sealed.id));
            }
        }
        followed
    }

    /// The replacement that took the segment away, and which of those it removed it is.
    pub fn find(&self, table: TableId, segment: u64) -> Option<(Arc<Replacement>, usize)> {
        self.known.lock().iter().filter(|one| one.replacement.table == table).find_map(|one| {
            let at = one.replacement.removed.iter().position(|old| old.segment == segment)?;
            Some((Arc::clone(&one.replacement), at))
        })
    }
}

/// Oldest first: down to `rows_max` rows those that no transaction needs, which began before `oldest_base` was
/// made; and all that are more than `rows_needed_max`.
fn forget_most(known: &mut Vec<Move>, oldest_base: u64, rows_max: usize, rows_needed_max: usize) {
    let mut rows: usize = known.iter().map(|one| one.rows).sum();
    known.retain(|one| {
        let is_needed = one.version > oldest_base;
        let goes = rows > if is_needed { rows_needed_max } else { rows_max };
        rows -= if goes { one.rows } else { 0 };
        !goes
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moves_since(versions: impl IntoIterator<Item = u64>) -> Vec<Move> {
        let replacement = Arc::new(Replacement { table: 1, schema_version: 1, removed: Vec::new(), added: Vec::new(), sorted: false });
        versions.into_iter().map(|version| Move { version, rows: 10, replacement: Arc::clone(&replacement) }).collect()
    }

    fn left(oldest_base: u64, rows_max: usize, rows_needed_max: usize) -> Vec<u64> {
        let mut known = moves_since(1..=5);
        forget_most(&mut known, oldest_base, rows_max, rows_needed_max);
        known.iter().map(|one| one.version).collect()
    }

    #[test]
    fn what_an_open_transaction_may_need_is_not_forgotten_for_want_of_room() {
        assert_eq!(left(u64::MAX, 25, 100), [4, 5]);
        assert_eq!(left(2, 25, 100), [3, 4, 5]);
        assert_eq!(left(0, 25, 100), [1, 2, 3, 4, 5]);
    }

    #[test]
    fn there_is_a_limit_to_what_open_transactions_keep() {
        assert_eq!(left(0, 25, 30), [3, 4, 5]);
        assert_eq!(left(3, 25, 30), [4, 5]);
    }

    #[test]
    fn all_is_kept_where_there_is_room() {
        assert_eq!(left(u64::MAX, 50, 50), [1, 2, 3, 4, 5]);
    }
}
