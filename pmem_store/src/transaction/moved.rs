//! Where rows went when their segments were replaced by others, for who found them before.
//!
//! A transaction names rows by segment and place. A compaction that commits before it would make
//! those places mean nothing, and whoever changes a busy table would lose to the compaction again
//! and again; with this both come to their end.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use roaring::RoaringBitmap;

use super::Replacement;
use super::apply::deletions_of;
use crate::catalog::TableId;
use crate::deletions::Deletions;
use crate::state::TableData;

/// So many rows are followed, with four bytes for each. Those who began before an older replacement
/// meet a conflict.
const ROWS_MAX: usize = 32 << 20;

#[derive(Debug, Default)]
pub struct Moves {
    known: Mutex<Vec<Move>>,
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
        while known.iter().map(|one| one.rows).sum::<usize>() > ROWS_MAX {
            known.remove(0);
        }
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

    fn find(&self, table: TableId, segment: u64) -> Option<(Arc<Replacement>, usize)> {
        self.known.lock().iter().filter(|one| one.replacement.table == table).find_map(|one| {
            let at = one.replacement.removed.iter().position(|old| old.segment == segment)?;
            Some((Arc::clone(&one.replacement), at))
        })
    }
}
