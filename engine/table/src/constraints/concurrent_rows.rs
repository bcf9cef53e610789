//! The rows that other transactions have added to a table while one was open.

use std::collections::BTreeMap;
use std::sync::Arc;

use pmem_store::{Deletions, StoreError, TableSnapshot};

use crate::scan::{ScanPart, open_parts};

/// Whether `now` has rows that are not in `base` and were not written by the transaction that makes `version`.
pub fn others_have_written(base: &TableSnapshot, now: &TableSnapshot, version: u64) -> bool {
    !new_rows(base, now, version).is_empty()
}

/// Those rows: parts, each with its first new row.
pub fn others_parts(base: &TableSnapshot, now: &TableSnapshot, version: u64) -> Result<Vec<(Arc<ScanPart>, usize)>, StoreError> {
    let new = new_rows(base, now, version);
    if new.is_empty() {
        return Ok(Vec::new());
    }
    let parts = open_parts(now, |id| new.contains_key(&id))?.into_iter();
    Ok(parts.map(|part| (Arc::clone(&part), new.get(&part.id()).copied().unwrap_or_default())).collect())
}

/// The number of rows of a part, and which of them were deleted.
type RowCount<'a> = (usize, Option<&'a Arc<Deletions>>);

/// By part, the first new row. The transaction's own rows have the version that is being made, or are in no file yet.
fn new_rows(base: &TableSnapshot, now: &TableSnapshot, version: u64) -> BTreeMap<u64, usize> {
    let old_parts = all(base, |_| true);
    let others = all(now, |added| added != version);
    let new = others.into_iter().filter_map(|(id, (rows, deletions))| {
        // A log may have become a segment, which keeps its id.
        let first = match old_parts.get(&id) {
            None => 0,
            // Rows that were deleted in `base` and are visible again are new too.
            Some((_, Some(old_deletions))) if !deletions.is_some_and(|now| old_deletions.rows().is_subset(now.rows())) => 0,
            Some((rows, _)) => *rows,
        };
        (first < rows).then_some((id, first))
    });
    new.collect()
}

/// The parts that are in files; for segments only those whose version `is_wanted`.
fn all(table: &TableSnapshot, is_wanted: impl Fn(u64) -> bool) -> BTreeMap<u64, RowCount<'_>> {
    let segments = table.segments().iter().filter(|segment| is_wanted(segment.record().added_version));
    let segments = segments.map(|segment| (segment.id(), (segment.record().sealed.row_count as usize, segment.deletions())));
    let tails = table.tails().iter().filter(|tail| tail.mapping().is_some());
    let tails = tails.map(|tail| (tail.id(), (tail.stored_rows() as usize, tail.deletions())));
    segments.chain(tails).collect()
}
