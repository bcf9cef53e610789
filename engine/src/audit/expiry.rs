//! Deletes old rows of the audit.

use std::collections::BTreeMap;

use arrow::array::{AsArray, TimestampNanosecondArray};
use arrow::datatypes::TimestampNanosecondType;
use datafusion::common::Result;
use pmem_store::{RoaringBitmap, Store};

use super::table::{TIME, retention_ms, stored};
use common::clock::now_ms;
use common::error::EngineError;
use table::constraints::{DeletedRows, ZoneCursor, all_parts, read_zones};

/// Deletes rows older than the retention, and returns how many. Rows are in the order of time, so it stops at the first zone that is
/// young enough.
pub fn expire(store: &Store) -> Result<u64, EngineError> {
    let retention_ms = retention_ms(store)?;
    let (Some(table), Some(before_ms)) = (stored(store)?, now_ms().checked_sub(retention_ms)) else { return Ok(0) };
    let before_nanos = i64::try_from(before_ms).unwrap_or(i64::MAX).saturating_mul(1_000_000);
    let mut deletions: BTreeMap<u64, RoaringBitmap> = BTreeMap::new();
    for (part, _) in all_parts(&table)? {
        let mut old = RoaringBitmap::new();
        read_zones(
            &part,
            &[TIME],
            table.schema(),
            DeletedRows::Skip,
            |_| true,
            |zone| {
                let times: &TimestampNanosecondArray = zone.columns[0].as_primitive::<TimestampNanosecondType>();
                let is_alive = |row: u32| part.deletions().is_none_or(|deletions| !deletions.rows().contains(row));
                let rows = times.values().iter().zip(zone.start as u32..);
                let before = old.len();
                old.extend(rows.filter(|(time, row)| **time < before_nanos && is_alive(*row)).map(|(_, row)| row));
                Ok(if old.len() == before { ZoneCursor::Stop } else { ZoneCursor::Go })
            },
        )?;
        if old.is_empty() {
            break;
        }
        deletions.insert(part.id(), old);
    }
    if deletions.is_empty() {
        return Ok(0);
    }
    let count = deletions.values().map(RoaringBitmap::len).sum();
    let mut transaction = store.begin()?;
    transaction.delete_rows(table.record().id, deletions)?;
    transaction.commit("AUDIT")?;
    Ok(count)
}
