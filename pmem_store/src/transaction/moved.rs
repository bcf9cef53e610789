//! Where rows went when their segments were replaced by others, for who found them before.
//!
//! A transaction names rows by segment and place. A compaction that commits before it would make
//! those places mean nothing, and whoever changes a busy table would lose to the compaction again
//! and again; with this both come to their end.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use parking_lot::Mutex;
use roaring::RoaringBitmap;

use super::apply::deletions_of;
use super::change::KnownRows;
use super::{ReplacedSegment, Replacement};
use crate::catalog::TableId;
use crate::deletions::Deletions;
use crate::shared::Shared;
use crate::state::TableData;

/// So many rows are followed, with four bytes for each, while only readers are as old.
const ROWS_MAX: usize = 32 << 20;
/// So many, 256 MiB that no query counts, while a transaction is open that may need to know. One that began before the
/// replacement of still more meets a conflict.
const ROWS_NEEDED_MAX: usize = 64 << 20;

#[derive(Debug, Default)]
pub struct Moves {
    known: Mutex<Vec<Move>>,
    /// The versions that open transactions began with, and how many with each.
    bases: Mutex<BTreeMap<u64, usize>>,
}

/// Held by an open transaction: where rows went since it began stays known.
#[derive(Debug)]
pub struct Base {
    version: u64,
    shared: Arc<Shared>,
}

impl Base {
    pub fn new(version: u64, shared: &Arc<Shared>) -> Base {
        *shared.moves.bases.lock().entry(version).or_insert(0) += 1;
        Base { version, shared: Arc::clone(shared) }
    }
}

impl Drop for Base {
    fn drop(&mut self) {
        let mut bases = self.shared.moves.bases.lock();
        if let Some(count) = bases.get_mut(&self.version) {
            *count -= 1;
            if *count == 0 {
                bases.remove(&self.version);
            }
        }
    }
}

#[derive(Debug)]
struct Move {
    version: u64,
    rows: usize,
    replacement: Arc<Replacement>,
}

impl Moves {
    /// The commit that became `version` replaced these. To be called before anybody else can commit.
    pub fn keep(&self, version: u64, replacements: Vec<Arc<Replacement>>) {
        let mut known = self.known.lock();
        for replacement in replacements {
            let rows = replacement.removed.iter().map(|old| old.places.len()).sum();
            known.push(Move { version, rows, replacement });
        }
        let oldest_base = self.bases.lock().keys().next().copied().unwrap_or(u64::MAX);
        forget_most(&mut known, oldest_base, ROWS_MAX, ROWS_NEEDED_MAX);
    }

    /// Nobody reads a version before `oldest` any more.
    pub fn forget_before(&self, oldest: u64) {
        self.known.lock().retain(|one| one.version > oldest);
    }

    /// Deletes rows of a segment that is no more where they are now; None where one of them was deleted
    /// by others, or nobody knows where they are.
    pub fn delete(&self, data: &mut TableData, table: TableId, segment: u64, rows: &RoaringBitmap) -> Option<()> {
        let (replacement, at) = self.find(table, segment)?;
        let places = &replacement.removed[at].places;
        let mut moved = RoaringBitmap::new();
        for row in rows {
            moved.insert(places.get(row as usize).copied().filter(|place| *place != u32::MAX)?);
        }
        let mut first = 0u64;
        let mut by_segment: HashMap<u64, RoaringBitmap> = HashMap::new();
        for sealed in &replacement.added {
            let end = first + sealed.row_count;
            let rows: RoaringBitmap = moved.range(first as u32..end as u32).map(|place| place - first as u32).collect();
            if !rows.is_empty() {
                by_segment.insert(sealed.id, rows);
            }
            first = end;
        }
        by_segment.into_iter().try_for_each(|(segment, rows)| match deletions_of(data, segment) {
            Some(deletions) => {
                let mut all = deletions.as_ref().map(|deletions| deletions.rows().clone()).unwrap_or_default();
                if !all.is_disjoint(&rows) {
                    return None;
                }
                all |= rows;
                *deletions = Some(Arc::new(Deletions::new(all)));
                Some(())
            }
            // Replaced once more.
            None => self.delete(data, table, segment, &rows),
        })
    }

    /// The rows that were known, and the segments that have no others and came in their place.
    pub fn followed(&self, table: TableId, rows: &KnownRows) -> KnownRows {
        let mut followed = rows.clone();
        for one in self.known.lock().iter().filter(|one| one.replacement.table == table) {
            let Replacement { removed, added, .. } = one.replacement.as_ref();
            // A log that was sealed may have grown before.
            let is_known = |old: &ReplacedSegment| match followed.logs.get(&old.segment) {
                Some(rows) => old.places.len() as u64 <= *rows,
                None => followed.segments.contains(&old.segment),
            };
            if removed.iter().all(is_known) {
                followed.segments.extend(added.iter().map(|sealed| sealed.id));
            }
        }
        followed
    }

    fn find(&self, table: TableId, segment: u64) -> Option<(Arc<Replacement>, usize)> {
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

    fn known(versions: impl IntoIterator<Item = u64>) -> Vec<Move> {
        let replacement = Arc::new(Replacement { table: 1, schema_version: 1, removed: Vec::new(), added: Vec::new(), sorted: false });
        versions.into_iter().map(|version| Move { version, rows: 10, replacement: Arc::clone(&replacement) }).collect()
    }

    fn left(oldest_base: u64, rows_max: usize, rows_needed_max: usize) -> Vec<u64> {
        let mut known = known(1..=5);
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
