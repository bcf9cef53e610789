//! Where rows moved when compaction replaced their segments, for transactions that found them before.
//!
//! A transaction names rows by segment and position. A compaction that commits before it would invalidate
//! those positions, and a transaction on a busy table would lose to the compaction again
//! and again. With this both of them commit.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use parking_lot::Mutex;

use crate::deletions::Deletions;
use crate::names::TableId;
use crate::segment::SealedSegment;

/// The limit of remembered rows, with four bytes for each, that only readers are old enough to need.
const ROWS_MAX: usize = 32 << 20;
/// The limit while an open transaction may need them: 256 MiB that no query counts. A transaction that began before the
/// replacement of more rows gets a conflict.
const ROWS_NEEDED_MAX: usize = 64 << 20;

/// A commit that put the rows of some segments into new ones.
#[derive(Debug, Clone)]
pub struct Replacement {
    pub table: TableId,
    pub schema_version: u32,
    pub removed: Vec<ReplacedSegment>,
    pub added: Vec<SealedSegment>,
    pub sorted: bool,
}

/// A segment that is replaced, and where its rows moved, so that rows deleted meanwhile stay deleted.
#[derive(Debug, Clone)]
pub struct ReplacedSegment {
    pub segment: u64,
    /// Its deleted rows when it was read.
    pub deletions: Option<Arc<Deletions>>,
    /// For each row its position in the concatenated new segments; `u32::MAX` for a deleted one.
    pub row_mapping: Vec<u32>,
}

/// The rows that a table had when it was to be cleared: segments, and numbers of rows of logs.
#[derive(Debug, Default, Clone)]
pub struct ClearedRows {
    pub segments: BTreeSet<u64>,
    pub logs: BTreeMap<u64, u64>,
}

#[derive(Debug, Default)]
pub struct Moves {
    moves: Mutex<Vec<Move>>,
    /// The versions that open transactions began with, and the number of transactions for each.
    bases: Mutex<BTreeMap<u64, usize>>,
}

#[derive(Debug)]
struct Move {
    version: u64,
    rows: usize,
    replacement: Arc<Replacement>,
}

impl Moves {
    /// A transaction has begun with `version`: moves that it may need are kept longer.
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

    /// Remembers what the commit of `version` replaced. It must be called before the next commit.
    pub fn keep(&self, version: u64, replacements: Vec<Arc<Replacement>>) {
        let mut moves = self.moves.lock();
        for replacement in replacements {
            let rows = replacement.removed.iter().map(|old| old.row_mapping.len()).sum();
            moves.push(Move { version, rows, replacement });
        }
        let oldest_base = self.bases.lock().keys().next().copied().unwrap_or(u64::MAX);
        forget_most(&mut moves, oldest_base, ROWS_MAX, ROWS_NEEDED_MAX);
    }

    /// Forgets the moves that only versions before `oldest` need.
    pub fn forget_before(&self, oldest: u64) {
        self.moves.lock().retain(|one| one.version > oldest);
    }

    /// `rows`, and in addition the segments that replaced them and have no other rows.
    pub fn followed(&self, table: TableId, rows: &ClearedRows) -> ClearedRows {
        let mut followed = rows.clone();
        for one in self.moves.lock().iter().filter(|one| one.replacement.table == table) {
            let Replacement { removed, added, .. } = one.replacement.as_ref();
            // A log may have grown before it was sealed.
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

    /// The replacement that removed the segment, and the segment's index in it.
    pub fn find(&self, table: TableId, segment: u64) -> Option<(Arc<Replacement>, usize)> {
        self.moves.lock().iter().filter(|one| one.replacement.table == table).find_map(|one| {
            let at = one.replacement.removed.iter().position(|old| old.segment == segment)?;
            Some((Arc::clone(&one.replacement), at))
        })
    }
}

/// Forgets moves, oldest first: those of versions up to `oldest_base`, which no transaction needs, down to
/// `rows_max` rows; and all beyond `rows_needed_max`.
fn forget_most(moves: &mut Vec<Move>, oldest_base: u64, rows_max: usize, rows_needed_max: usize) {
    let mut rows: usize = moves.iter().map(|one| one.rows).sum();
    moves.retain(|one| {
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

    fn remaining_versions(oldest_base: u64, rows_max: usize, rows_needed_max: usize) -> Vec<u64> {
        let mut moves = moves_since(1..=5);
        forget_most(&mut moves, oldest_base, rows_max, rows_needed_max);
        moves.iter().map(|one| one.version).collect()
    }

    #[test]
    fn what_an_open_transaction_may_need_is_not_forgotten_for_want_of_room() {
        assert_eq!(remaining_versions(u64::MAX, 25, 100), [4, 5]);
        assert_eq!(remaining_versions(2, 25, 100), [3, 4, 5]);
        assert_eq!(remaining_versions(0, 25, 100), [1, 2, 3, 4, 5]);
    }

    #[test]
    fn there_is_a_limit_to_what_open_transactions_keep() {
        assert_eq!(remaining_versions(0, 25, 30), [3, 4, 5]);
        assert_eq!(remaining_versions(3, 25, 30), [4, 5]);
    }

    #[test]
    fn all_is_kept_where_there_is_room() {
        assert_eq!(remaining_versions(u64::MAX, 50, 50), [1, 2, 3, 4, 5]);
    }
}
