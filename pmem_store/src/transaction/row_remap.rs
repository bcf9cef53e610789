//! Deletes rows that a transaction found before their segments were replaced by others: at their new positions.

use std::collections::HashMap;
use std::sync::Arc;

use roaring::RoaringBitmap;

use crate::catalog::TableId;
use crate::deletions::Deletions;
use crate::shared::Moves;
use crate::state::TableData;

/// Deletes rows of a segment that was replaced, at their new positions; `None` if another transaction has deleted
/// one of them, or if their new positions are not known.
pub fn delete(moves: &Moves, data: &mut TableData, table: TableId, segment: u64, rows: &RoaringBitmap) -> Option<()> {
    let (replacement, at) = moves.find(table, segment)?;
    let places = &replacement.removed[at].row_mapping;
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
    by_segment.into_iter().try_for_each(|(segment, rows)| match data.deletions_of_mut(segment) {
        Some(deletions) => {
            let mut all = deletions.as_ref().map(|deletions| deletions.rows().clone()).unwrap_or_default();
            if !all.is_disjoint(&rows) {
                return None;
            }
            all |= rows;
            *deletions = Some(Arc::new(Deletions::new(all)));
            Some(())
        }
        // That segment was replaced, too.
        None => delete(moves, data, table, segment, &rows),
    })
}
