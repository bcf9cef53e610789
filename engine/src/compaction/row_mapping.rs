//! Maps each row of the old segments to its position in the new ones.

use std::sync::Arc;

use arrow::array::UInt64Array;
use pmem_store::ReplacedSegment;

use common::error::EngineError;
use table::scan::ScanPart;
use table::scan::row_id::decode;

/// Four bytes per row, including deleted rows.
pub struct RowMapping {
    segments: Vec<ReplacedSegment>,
    /// The segment of the last row; the next row is probably from the same one.
    last: usize,
    next: u32,
}

impl RowMapping {
    pub fn new(parts: &[Arc<ScanPart>]) -> RowMapping {
        let segment = |part: &Arc<ScanPart>| ReplacedSegment {
            segment: part.id(),
            deletions: part.deletions().cloned(),
            row_mapping: vec![u32::MAX; part.row_count()],
        };
        RowMapping { segments: parts.iter().map(segment).collect(), last: 0, next: 0 }
    }

    pub fn bytes_of(rows: u64) -> usize {
        usize::try_from(rows.saturating_mul(4)).unwrap_or(usize::MAX)
    }

    /// Records that these rows are written next.
    pub fn add(&mut self, ids: &UInt64Array) -> Result<(), EngineError> {
        for id in ids.values() {
            let (segment, row) = decode(*id);
            if self.segments.get(self.last).is_none_or(|last| last.segment != segment) {
                let position = self.segments.iter().position(|other| other.segment == segment);
                self.last = position.ok_or_else(|| EngineError::internal(format!("a row of segment {segment} was not asked for")))?;
            }
            let place = self.segments[self.last].row_mapping.get_mut(row as usize).filter(|place| **place == u32::MAX);
            match place {
                Some(place) => *place = self.next,
                None => return Err(EngineError::internal(format!("row {row} of segment {segment} is there twice"))),
            }
            self.next += 1;
        }
        Ok(())
    }

    pub fn written_rows(&self) -> u64 {
        u64::from(self.next)
    }

    pub fn into_replaced(self) -> Vec<ReplacedSegment> {
        self.segments
    }
}
