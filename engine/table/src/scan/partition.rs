//! Divides a table into partitions.
//!
//! Invariant: the division is fixed when the plan is made. Each partition reads its own zones and no others, however and whenever
//! partitions are polled.

use std::sync::Arc;

use pmem_store::ZONE_ROWS;
use pmem_store::segment::BATCH_ZONES;

use super::part::ScanPart;

/// With fewer zones, another partition costs more than it saves.
const PARTITION_ZONES_MIN: usize = 4;

/// A run of zones within one record batch of one part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ScanUnit {
    pub part: usize,
    pub batch: usize,
    /// Rows of the batch.
    pub start: usize,
    pub end: usize,
}

impl ScanUnit {
    pub fn rows(&self) -> usize {
        self.end - self.start
    }

    pub fn zones(&self) -> usize {
        self.rows().div_ceil(ZONE_ROWS)
    }
}

/// At most `target` partitions, each with units in the order of the table.
pub fn divide(parts: &[Arc<ScanPart>], target: usize) -> Vec<Vec<ScanUnit>> {
    let zones: usize = parts.iter().map(|part| part.zone_count()).sum();
    // Reading a few zones is faster than starting a second task.
    let target = target.clamp(1, zones.div_ceil(PARTITION_ZONES_MIN).max(1));
    // Several units per partition, so that a filter on clustered rows does not leave one idle.
    let unit_rows = (zones / (target * 4)).clamp(1, BATCH_ZONES) * ZONE_ROWS;
    let mut partitions = vec![Vec::new(); target];
    let mut next = 0;
    for (index, part) in parts.iter().enumerate() {
        for batch in 0..part.batch_count() {
            let rows = part.batch_rows(batch).len();
            for start in (0..rows).step_by(unit_rows) {
                partitions[next % target].push(ScanUnit { part: index, batch, start, end: rows.min(start + unit_rows) });
                next += 1;
            }
        }
    }
    partitions
}

/// One partition for each part.
pub fn each_alone(parts: &[Arc<ScanPart>]) -> Vec<Vec<ScanUnit>> {
    let unit = |index: usize, part: &ScanPart, batch: usize| ScanUnit { part: index, batch, start: 0, end: part.batch_rows(batch).len() };
    let units = |(index, part): (usize, &Arc<ScanPart>)| (0..part.batch_count()).map(|batch| unit(index, part, batch)).collect();
    parts.iter().enumerate().map(units).collect()
}
