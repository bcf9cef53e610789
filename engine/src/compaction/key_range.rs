//! The key ranges of segments, to see which segments overlap.

use std::collections::HashMap;

use arrow::array::{Array, ArrayRef, new_null_array};
use arrow::compute::{SortOptions, cast, filter, is_not_null};
use arrow::datatypes::SchemaRef;
use arrow::row::{RowConverter, SortField};
use datafusion::common::Result;
use pmem_store::{TableSegment, TableSnapshot};

use super::segment_summary::SegmentSummary;
use common::error::EngineError;
use common::types::physical_schema;
use table::scan::ScanPart;

/// The least and the greatest key as bytes that compare as the keys do, or bounds of them.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct KeyRange {
    pub min: Vec<u8>,
    pub max: Vec<u8>,
}

/// Greater than the rest of any key.
const ABOVE: [u8; 32] = [u8::MAX; 32];

impl KeyRange {
    fn unknown() -> KeyRange {
        KeyRange { min: Vec::new(), max: ABOVE.to_vec() }
    }

    /// Whether they share more than an end point.
    pub fn overlaps(&self, other: &KeyRange) -> bool {
        self.min < other.max && other.min < self.max
    }
}

/// The key ranges of the segments of a clustered table.
pub struct KeyRanges<'a> {
    table: &'a TableSnapshot,
    physical: SchemaRef,
    segments: HashMap<u64, &'a TableSegment>,
    /// The positions of the key's columns in the table, and their order.
    columns: Vec<usize>,
    fields: Vec<SortField>,
}

impl<'a> KeyRanges<'a> {
    pub fn new(table: &'a TableSnapshot) -> Result<KeyRanges<'a>, EngineError> {
        let physical = physical_schema(table.schema());
        let mut columns = Vec::new();
        let mut fields = Vec::new();
        for order in &table.record().cluster_key {
            let Ok(column) = physical.index_of(&order.column) else {
                return Err(EngineError::internal(format!("the key has no column \"{}\"", order.column)));
            };
            columns.push(column);
            let options = SortOptions { descending: order.descending, nulls_first: order.nulls_first };
            fields.push(SortField::new_with_options(physical.field(column).data_type().clone(), options));
        }
        let segments = table.segments().iter().map(|segment| (segment.id(), segment)).collect();
        Ok(KeyRanges { table, physical, segments, columns, fields })
    }

    /// Reads the first and the last row of a sorted segment. For others it uses the zone statistics of the first key column.
    pub fn of(&self, piece: &SegmentSummary) -> Result<KeyRange, EngineError> {
        let Some(segment) = self.segments.get(&piece.id).filter(|_| RowConverter::supports_fields(&self.fields)) else {
            return Ok(KeyRange::unknown());
        };
        let part = ScanPart::open(self.table, segment, &self.physical)?;
        let range = if piece.is_sorted { self.ends(&part) } else { self.bounds(&part) };
        Ok(range.map_err(EngineError::from)?.unwrap_or_else(KeyRange::unknown))
    }

    fn ends(&self, part: &ScanPart) -> Result<Option<KeyRange>> {
        let Some(last) = part.batch_count().checked_sub(1) else { return Ok(None) };
        let converter = RowConverter::new(self.fields.clone())?;
        let key = |batch: usize, row: usize| -> Result<Vec<u8>> {
            let columns = part.decoded(&part.stored_batch(batch, &self.columns)?, &self.columns, row, 1)?;
            let rows = converter.convert_columns(&columns)?;
            Ok(rows.row(0).as_ref().to_vec())
        };
        let (min, max) = (key(0, 0)?, key(last, part.batch_rows(last).len().saturating_sub(1))?);
        part.check_intact()?;
        Ok(Some(KeyRange { min, max }))
    }

    /// The bytes of a row begin with those of its first key column.
    fn bounds(&self, part: &ScanPart) -> Result<Option<KeyRange>> {
        let first = self.columns[0];
        let data_type = self.physical.field(first).data_type();
        let Some(zones) = part.zones(first) else { return Ok(None) };
        let is_unknown = |zone: usize| {
            let has_values = zones.null_count.value(zone) < part.zone_rows().value(zone);
            has_values && (zones.min.is_null(zone) || zones.max.is_null(zone))
        };
        if (0..part.zone_count()).any(is_unknown) {
            return Ok(None);
        }
        let without_nulls = |bounds: &ArrayRef| -> Result<ArrayRef> { Ok(cast(&filter(bounds, &is_not_null(bounds)?)?, data_type)?) };
        let mut bounds = vec![without_nulls(&zones.min)?, without_nulls(&zones.max)?];
        if zones.null_count.values().iter().any(|count| *count > 0) {
            bounds.push(new_null_array(data_type, 1));
        }
        let converter = RowConverter::new(vec![self.fields[0].clone()])?;
        let mut keys: Vec<Vec<u8>> = Vec::new();
        for bounds in bounds {
            keys.extend(converter.convert_columns(&[bounds])?.iter().map(|row| row.as_ref().to_vec()));
        }
        let (min, max) = (keys.iter().min().cloned(), keys.into_iter().max());
        Ok(min.zip(max).map(|(min, mut max)| {
            max.extend(ABOVE);
            KeyRange { min, max }
        }))
    }
}
