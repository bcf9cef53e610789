//! Reads columns of a part of a table, zone by zone, in their declared types.

use arrow::array::ArrayRef;
use arrow::datatypes::Schema;
use datafusion::common::Result;
use pmem_store::ZONE_ROWS;

use crate::scan::ScanPart;
use common::types::restore;

/// Some columns of one zone, including deleted rows.
pub struct ZoneRows {
    /// The position of its first row in the part.
    pub start: usize,
    pub columns: Vec<ArrayRef>,
}

/// Whether to read zones in which every row is deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeletedRows {
    Read,
    Skip,
}

/// Calls `each` with the zones that `is_selected` accepts, until it returns that it is done.
pub fn read_zones(
    part: &ScanPart,
    columns: &[usize],
    declared: &Schema,
    deleted: DeletedRows,
    is_selected: impl Fn(usize) -> bool,
    mut each: impl FnMut(ZoneRows) -> Result<ZoneCursor>,
) -> Result<ZoneCursor> {
    for batch in 0..part.batch_count() {
        let rows = part.batch_rows(batch);
        let mut read = None;
        for start in rows.clone().step_by(ZONE_ROWS) {
            let zone = start / ZONE_ROWS;
            if !is_selected(zone) || (deleted == DeletedRows::Skip && part.is_zone_empty(zone)) {
                continue;
            }
            let whole = match &read {
                Some(whole) => whole,
                None => read.insert(part.stored_batch(batch, columns)?),
            };
            let arrays = part.decoded(whole, columns, start - rows.start, ZONE_ROWS.min(rows.end - start))?;
            let arrays = arrays.iter().zip(columns);
            let arrays = arrays.map(|(array, column)| restore(array, declared.field(*column).data_type()));
            let columns = arrays.collect::<Result<Vec<_>, _>>()?;
            if each(ZoneRows { start, columns })? == ZoneCursor::Stop {
                return Ok(ZoneCursor::Stop);
            }
        }
        // A file that was truncated while it was read shows zeros.
        part.check_intact()?;
    }
    Ok(ZoneCursor::Go)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ZoneCursor {
    Go,
    Stop,
}

/// Whether the row is visible in this version of the table.
pub fn is_alive(part: &ScanPart, row: usize) -> bool {
    part.deletions().is_none_or(|deletions| !deletions.rows().contains(row as u32))
}

/// The visible rows of the zone, as positions in the zone.
pub fn alive_rows(part: &ScanPart, start: usize, rows: usize) -> Vec<usize> {
    (0..rows).filter(|row| is_alive(part, start + row)).collect()
}
