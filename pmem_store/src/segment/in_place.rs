//! Writes rows whose wide column is made in place in the file, and nowhere else in memory first.
//!
//! The rows are a separate segment. Its one batch is written around a hole of the size of the column, the column is made in
//! the hole, and then the segment is sealed as any other: the checksums cover the final bytes.

use std::ptr::NonNull;
use std::sync::Arc;

use arrow::array::{ArrayRef, FixedSizeListArray, Float32Array, Float64Array, LargeBinaryArray, RecordBatch};
use arrow::buffer::{Buffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow::datatypes::{DataType, SchemaRef};
use arrow::error::ArrowError;
use memmap2::MmapOptions;

use super::statistics::has_no_statistics;
use super::{BATCH_ZONES, SEGMENT_TARGET_BYTES};
use crate::ZONE_ROWS;
use crate::error::{Result, StoreError};

/// The limit of a segment that is made in place, which has one batch.
pub(crate) const ROWS_MAX: usize = BATCH_ZONES * ZONE_ROWS;

/// The number of rows of a segment of the target size, if the column that is made in place has `row_bytes` per row. `None` if they are so
/// narrow that one batch of them is smaller; then they are better written together with others.
pub fn rows_of_segment(row_bytes: usize) -> Option<usize> {
    let rows = usize::try_from(SEGMENT_TARGET_BYTES).ok()?.checked_div(row_bytes)?;
    (rows <= ROWS_MAX).then_some(rows.max(1))
}

/// The elements of the column, row after row. A new file has zeros.
#[derive(Debug)]
pub enum Elements<'a> {
    F64(&'a mut [f64]),
    F32(&'a mut [f32]),
}

/// All columns of the rows except the one that is made in place.
#[derive(Debug)]
pub struct OtherColumns {
    /// In the order of the physical schema; `None` is the column made in place, a list of fixed size of DOUBLE or REAL, or bytes without
    /// statistics.
    pub columns: Vec<Option<ArrayRef>>,
    /// Of bytes: where those of each row begin, and where the last ones end.
    pub offsets: Option<OffsetBuffer<i64>>,
    pub row_count: usize,
    /// The nulls of that column.
    pub nulls: Option<NullBuffer>,
}

/// Rows whose in-place column is never read.
pub(super) struct InPlaceRows {
    pub rows: RecordBatch,
    /// The buffer of its elements.
    pub buffer: Buffer,
    pub element: DataType,
}

impl OtherColumns {
    pub(super) fn with_hole(self, schema: &SchemaRef) -> Result<InPlaceRows> {
        if !(1..=ROWS_MAX).contains(&self.row_count) {
            return Err(refused(format!("{} rows are not one batch", self.row_count)));
        }
        let OtherColumns { columns: others, offsets, row_count, nulls } = self;
        let mut hole = None;
        let mut columns = Vec::with_capacity(others.len());
        for (column, field) in others.into_iter().zip(schema.fields()) {
            columns.push(match (column, field.data_type()) {
                (Some(column), _) => column,
                (None, DataType::FixedSizeList(item, width)) if hole.is_none() && offsets.is_none() => {
                    let (elements, buffer) = element_space(item.data_type(), row_count, *width)?;
                    hole = Some((buffer, item.data_type().clone()));
                    Arc::new(FixedSizeListArray::try_new(Arc::clone(item), *width, elements, nulls.clone())?)
                }
                (None, DataType::LargeBinary) if hole.is_none() && has_no_statistics(field) => {
                    let offsets = offsets.clone().ok_or_else(|| refused("the bytes that are made in place have no offsets".to_string()))?;
                    let buffer = address_space(offsets.last().map_or(0, |end| *end as usize))?;
                    hole = Some((buffer.clone(), DataType::LargeBinary));
                    Arc::new(LargeBinaryArray::try_new(offsets, buffer, nulls.clone())?)
                }
                _ => {
                    return Err(refused(
                        "one column is made in place, of lists of a fixed size, or of bytes without statistics".to_string(),
                    ));
                }
            });
        }
        let (buffer, element) = hole.ok_or_else(|| refused("no column is left to be made in place".to_string()))?;
        Ok(InPlaceRows { rows: RecordBatch::try_new(Arc::clone(schema), columns)?, buffer, element })
    }
}

fn refused(what: String) -> StoreError {
    ArrowError::InvalidArgumentError(what).into()
}

/// Elements that take no memory, because no page of them is touched.
fn element_space(element: &DataType, rows: usize, width: i32) -> Result<(ArrayRef, Buffer)> {
    let count = usize::try_from(width).ok().and_then(|width| width.checked_mul(rows)).filter(|count| *count > 0);
    let size = count.zip(element.primitive_width()).and_then(|(count, width)| count.checked_mul(width));
    let size = size.ok_or_else(|| refused(format!("{rows} rows of {width} elements are not made in place")))?;
    let buffer = address_space(size)?;
    let elements: ArrayRef = match element {
        DataType::Float64 => Arc::new(Float64Array::new(ScalarBuffer::from(buffer.clone()), None)),
        DataType::Float32 => Arc::new(Float32Array::new(ScalarBuffer::from(buffer.clone()), None)),
        other => return Err(refused(format!("elements of {other} are not made in place"))),
    };
    Ok((elements, buffer))
}

fn address_space(size: usize) -> Result<Buffer> {
    if size == 0 {
        return Err(refused("nothing is made in place of no bytes".to_string()));
    }
    let map = MmapOptions::new().len(size).no_reserve_swap().map_anon();
    let map = Arc::new(map.map_err(|error| refused(format!("no room for {size} bytes of addresses: {error}")))?);
    let start = NonNull::from(&map[..]).cast::<u8>();
    // SAFETY: mapped as long as the `Arc` given as owner lives, zeros, and never written. Held by
    // `rows_made_in_place_read_back_equal`.
    Ok(unsafe { Buffer::from_custom_allocation(start, size, map) })
}

impl<'a> Elements<'a> {
    /// `None` if the bytes are not aligned for the type.
    pub(super) fn of(element: &DataType, bytes: &'a mut [u8]) -> Option<Elements<'a>> {
        match element {
            DataType::Float64 => as_elements(bytes).map(Elements::F64),
            DataType::Float32 => as_elements(bytes).map(Elements::F32),
            _ => None,
        }
    }
}

trait Number {}
impl Number for f64 {}
impl Number for f32 {}

fn as_elements<T: Number>(bytes: &mut [u8]) -> Option<&mut [T]> {
    // SAFETY: `Number` is f64 and f32, of which any bits are a value and any value has bits. Held by
    // `rows_made_in_place_read_back_equal`.
    let (before, numbers, after) = unsafe { bytes.align_to_mut::<T>() };
    (before.is_empty() && after.is_empty()).then_some(numbers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_made_in_place_are_a_whole_segment_or_not_made_in_place() {
        assert_eq!(rows_of_segment(0), None);
        assert_eq!(rows_of_segment(2047), None);
        assert_eq!(rows_of_segment(2048), Some(ROWS_MAX));
        assert_eq!(rows_of_segment(8 << 20), Some(32));
        assert_eq!(rows_of_segment(SEGMENT_TARGET_BYTES as usize * 3), Some(1));
    }
}
