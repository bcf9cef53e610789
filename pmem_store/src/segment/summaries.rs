//! What a segment knows of each column as a whole: how many NULLs it has, and the sketch of its distinct values.
//!
//! A sketch has 4 KiB, those of 1,000 columns have 4 MiB for each open segment, and a statement needs few of them. So the sketches of
//! many columns are read where they lie in their file, which stays mapped.

use std::path::Path;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BinaryArray, RecordBatch, StringArray, UInt64Array};
use arrow::datatypes::{DataType, Field, Schema, UInt64Type};

use super::cache_budget::has_spare_mappings;
use super::side_table::{map_table, read_table};
use super::sketch::{DistinctSketch, REGISTERS};
use crate::error::{Result, StoreError};
use crate::mapping::Mapping;

/// The sketches of at most so many columns are decoded: a mapping would take as much memory, and there are not many mappings.
const DECODED_MAX: usize = 16;

/// The summaries of all columns of a segment.
#[derive(Debug)]
pub(super) struct ColumnSummaries {
    null_counts: Vec<u64>,
    sketches: Sketches,
}

/// One for each column that has one.
#[derive(Debug)]
enum Sketches {
    Decoded(Vec<Option<DistinctSketch>>),
    /// Their offsets in the file.
    Mapped(Arc<Mapping>, Vec<Option<usize>>),
}

impl ColumnSummaries {
    pub fn read(path: &Path, expected: u64, columns: usize) -> Result<ColumnSummaries> {
        if columns > DECODED_MAX
            && has_spare_mappings()
            && let Some((mapping, batch)) = map_table(path, expected)
            && let Some(summaries) = ColumnSummaries::mapped(mapping, &batch, columns)
        {
            return Ok(summaries);
        }
        let batch = read_table(path, expected)?;
        let Some((null_counts, sketches)) = parts(&batch, columns) else {
            return Err(StoreError::damaged(path, 0, "it is not the statistics of this segment"));
        };
        let decoded = |row: usize| sketches.is_valid(row).then(|| DistinctSketch::from_bytes(sketches.value(row))).flatten();
        let sketches = Sketches::Decoded((0..columns).map(decoded).collect());
        Ok(ColumnSummaries { null_counts: null_counts.values().to_vec(), sketches })
    }

    /// `None` if the file has other content, or lost a page.
    fn mapped(mapping: Arc<Mapping>, batch: &RecordBatch, columns: usize) -> Option<ColumnSummaries> {
        let (null_counts, sketches) = parts(batch, columns)?;
        let first = sketches.value_data().as_ptr().addr().checked_sub(mapping.as_ptr().addr())?;
        // Not `value`, which would panic if these offsets became zeros now.
        let offset = |row: usize| {
            let (start, end) = (sketches.value_offsets()[row] as usize, sketches.value_offsets()[row + 1] as usize);
            (sketches.is_valid(row) && end.checked_sub(start) == Some(REGISTERS)).then_some(first + start)
        };
        let offsets = (0..columns).map(offset).collect();
        let null_counts = null_counts.values().to_vec();
        (!mapping.damaged()).then_some(ColumnSummaries { null_counts, sketches: Sketches::Mapped(mapping, offsets) })
    }

    pub fn null_count(&self, column: usize) -> u64 {
        self.null_counts[column]
    }

    /// Adds the distinct values of a column to `sketch`; returns false if they are unknown, and then it is of no use.
    pub fn merge_distinct(&self, column: usize, sketch: &mut DistinctSketch) -> bool {
        match &self.sketches {
            Sketches::Decoded(sketches) => {
                let Some(decoded) = &sketches[column] else { return false };
                sketch.merge(decoded);
                true
            }
            Sketches::Mapped(mapping, offsets) => {
                let stored = offsets[column].and_then(|offset| mapping.slice(offset, REGISTERS).ok());
                // A page that was lost reads as zeros.
                stored.is_some_and(|stored| sketch.merge_stored(stored)) && !mapping.damaged()
            }
        }
    }
}

/// The table of the columns.
pub(super) fn columns_batch(schema: &Schema, null_counts: Vec<u64>, sketches: &[Option<DistinctSketch>]) -> Result<RecordBatch> {
    let names = schema.fields().iter().map(|field| field.name().as_str());
    let sketches = sketches.iter().map(|sketch| sketch.as_ref().map(DistinctSketch::to_bytes));
    let arrays: Vec<ArrayRef> = vec![
        Arc::new(StringArray::from_iter_values(names)),
        Arc::new(UInt64Array::from(null_counts)),
        Arc::new(BinaryArray::from_iter(sketches)),
    ];
    Ok(RecordBatch::try_new(Arc::new(columns_schema()), arrays)?)
}

/// The NULL counts and the sketches; `None` if it is no such table.
fn parts(batch: &RecordBatch, columns: usize) -> Option<(&UInt64Array, &BinaryArray)> {
    let is_such = batch.schema().as_ref() == &columns_schema() && batch.num_rows() == columns;
    is_such.then(|| (batch.column(1).as_primitive::<UInt64Type>(), batch.column(2).as_binary::<i32>()))
}

fn columns_schema() -> Schema {
    Schema::new(vec![
        Field::new("column", DataType::Utf8, false),
        Field::new("null_count", DataType::UInt64, false),
        Field::new("distinct_sketch", DataType::Binary, true),
    ])
}
