//! The rows that a scan skips at its beginning, without reading them.

use std::sync::Arc;

use pmem_store::ZONE_ROWS;

use super::part::ScanPart;
use super::partition::ScanUnit;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Offset {
    /// The number of skipped rows, not counting deleted ones.
    pub rows: usize,
    /// How many rows to skip in the first zone that is read; fewer than a zone has.
    pub of_first_zone: usize,
}

/// The units without the zones that are skipped completely.
pub fn skip(parts: &[Arc<ScanPart>], units: &[ScanUnit], rows: usize) -> (Vec<ScanUnit>, Offset) {
    let mut left = rows;
    let mut units = units.iter().copied();
    let mut rest = Vec::new();
    for mut unit in units.by_ref() {
        let part = &parts[unit.part];
        let first_row = part.batch_rows(unit.batch).start;
        let alive = |start: usize, end: usize| {
            let deleted_rows = part.deletions().map_or(0, |deletions| deletions.count_in(first_row + start, first_row + end));
            end - start - deleted_rows as usize
        };
        if alive(unit.start, unit.end) <= left {
            left -= alive(unit.start, unit.end);
            continue;
        }
        // This ends within the unit, which has more live rows than are left to skip.
        while alive(unit.start, unit.end.min(unit.start + ZONE_ROWS)) <= left {
            left -= alive(unit.start, unit.end.min(unit.start + ZONE_ROWS));
            unit.start += ZONE_ROWS;
        }
        rest.push(unit);
        break;
    }
    rest.extend(units);
    (rest, Offset { rows, of_first_zone: left })
}
