//! Columns of a part of a table, zone by zone, as they are declared.

use arrow::array::ArrayRef;
use arrow::datatypes::Schema;
use datafusion::common::Result;
use pmem_store::ZONE_ROWS;

use crate::scan::ScanPart;
use common::types::restore;

/// Some columns of one zone; rows that are deleted are among them.
pub struct ZoneRows {
    /// Of its first row, in the part.
    pub start: usize,
    pub columns: Vec<ArrayRef>,
}

/// Whether zones of which every row is deleted are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeletedRows {
    Read,
    Skip,
}

/// Gives `each` the zones that `wanted` picks, until it says that it has seen enough.
pub fn read_zones(
    part: &ScanPart,
    columns: &[usize],
    declared: &Schema,
    deleted: DeletedRows,
    wanted: impl Fn(usize) -> bool,
    mut each: impl FnMut(ZoneRows) -> Result<ZoneCursor>,
) -> Result<ZoneCursor> {
    for batch in 0..part.batch_count() {
        let rows = part.batch_rows(batch);
        let mut read = None;
        for start in rows.clone().step_by(ZONE_ROWS) {
            let zone = start / ZONE_ROWS;
            if !wanted(zone) || (deleted == DeletedRows::Skip && part.is_zone_empty(zone)) {
                continue;
            }
            let whole = match &read {
                Some(whole) => whole,
                None => read.insert(part.batch(batch, columns)?),
            };
            let slice = whole.slice(start - rows.start, ZONE_ROWS.min(rows.end - start));
            let arrays = slice.columns().iter().zip(columns);
            let arrays = arrays.map(|(array, column)| restore(array, declared.field(*column).data_type()));
            let columns = arrays.collect::<Result<Vec<_>, _>>()?;
            if each(ZoneRows { start, columns })? == ZoneCursor::Stop {
                return Ok(ZoneCursor::Stop);
            }
        }
        // A file cut short while it was read shows zeros.
        part.check_intact()?;
    }
    Ok(ZoneCursor::Go)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ZoneCursor {
    Go,
    Stop,
}

/// Whether this version of the table has the row.
pub fn is_alive(part: &ScanPart, row: usize) -> bool {
    part.deletions().is_none_or(|deletions| !deletions.rows().contains(row as u32))
}

/// The zone's rows that this version has, as places in the zone.
pub fn alive_rows(part: &ScanPart, start: usize, rows: usize) -> Vec<usize> {
    (0..rows).filter(|row| is_alive(part, start + row)).collect()
}
