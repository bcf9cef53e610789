//! The properties of a segment that decide whether to rewrite it.

use arrow::datatypes::SchemaRef;
use pmem_store::segment::SEGMENT_TARGET_BYTES;
use pmem_store::{StoreError, TableSegment, TableSnapshot, ZONE_ROWS};

use common::types::physical_schema;

/// A smaller segment is small: a few of them are worth merging.
pub const SMALL_BYTES: u64 = 64 << 20;
/// The same for segments with less than a zone of rows.
pub const SMALL_BYTES_OF_WIDE_ROWS: u64 = 8 << 20;
/// The target size of a segment.
pub const TARGET_BYTES: u64 = SEGMENT_TARGET_BYTES;
/// If more than one row in this many is deleted, the segment is worth rewriting alone.
const DELETED_ONE_OF: u64 = 5;
/// If more than one row in this many is deleted, scans have to gather the rows of most zones: up to a quarter of the cheapest scan.
const NOTICED_ONE_OF: u64 = 200;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SegmentSummary {
    pub id: u64,
    /// Including deleted rows.
    pub rows: u64,
    pub live_rows: u64,
    pub size_bytes: u64,
    /// The version that added the segment. Sorted segments of one version were written one after the other, so they do not overlap.
    pub run: u64,
    /// Whether it is in the order of the cluster key. Meaningless without a key.
    pub is_sorted: bool,
    /// Reads must assemble the columns, because the table was altered since.
    pub is_stale: bool,
}

impl SegmentSummary {
    fn of(segment: &TableSegment, schema_version: u32, physical: &SchemaRef) -> Result<SegmentSummary, StoreError> {
        let record = segment.record();
        let is_older = record.schema_version != schema_version;
        Ok(SegmentSummary {
            id: segment.id(),
            rows: record.sealed.row_count,
            live_rows: segment.row_count(),
            size_bytes: record.sealed.size_bytes,
            run: record.added_version,
            is_sorted: record.sorted,
            // A new constraint or default leaves the columns as they are.
            is_stale: is_older && (segment.columns().is_some() || !has_types_of(segment, physical)?),
        })
    }

    /// The estimated bytes of the rows that are left.
    pub fn live_bytes(&self) -> u64 {
        (u128::from(self.size_bytes) * u128::from(self.live_rows) / u128::from(self.rows.max(1))) as u64
    }

    pub fn is_dead(&self) -> bool {
        self.live_rows == 0
    }

    pub fn has_deletions(&self) -> bool {
        self.live_rows < self.rows
    }

    pub fn is_much_deleted(&self) -> bool {
        self.is_deleted_more_than(DELETED_ONE_OF)
    }

    /// Whether deletions slow scans down.
    pub fn is_slowed_by_deletions(&self) -> bool {
        self.is_deleted_more_than(NOTICED_ONE_OF)
    }

    fn is_deleted_more_than(&self, one_of: u64) -> bool {
        (self.rows - self.live_rows).saturating_mul(one_of) > self.rows
    }

    /// A segment with less than one zone of rows has a single batch, whatever its size.
    pub fn is_of_wide_rows(&self) -> bool {
        self.rows < ZONE_ROWS as u64
    }

    pub fn is_small(&self) -> bool {
        self.live_bytes() < SMALL_BYTES
    }
}

fn has_types_of(segment: &TableSegment, physical: &SchemaRef) -> Result<bool, StoreError> {
    let opened = segment.open()?;
    let types = |schema: &SchemaRef| schema.fields().iter().map(|field| field.data_type().clone()).collect::<Vec<_>>();
    Ok(types(opened.schema()) == types(physical))
}

pub fn pieces_of(table: &TableSnapshot) -> Result<Vec<SegmentSummary>, StoreError> {
    let physical = physical_schema(table.schema());
    table.segments().iter().map(|segment| SegmentSummary::of(segment, table.record().schema_version, &physical)).collect()
}
