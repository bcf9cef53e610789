//! Where lists of any kind have their elements.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, MutableArrayData, make_array};
use arrow::buffer::OffsetBuffer;
use arrow::compute::cast;
use arrow::datatypes::DataType;
use datafusion::common::Result;

use common::error::EngineError;

/// The depth of nested lists.
pub fn list_levels(data_type: &DataType) -> usize {
    match data_type {
        DataType::List(item)
        | DataType::LargeList(item)
        | DataType::ListView(item)
        | DataType::LargeListView(item)
        | DataType::FixedSizeList(item, _) => 1 + list_levels(item.data_type()),
        _ => 0,
    }
}

/// Where each list begins and ends among the values.
pub struct ListBounds {
    values: ArrayRef,
    bounds: Bounds,
}

enum Bounds {
    Fixed(usize),
    Offsets(OffsetBuffer<i64>),
}

impl ListBounds {
    pub fn of(lists: &ArrayRef) -> Result<ListBounds> {
        if let DataType::FixedSizeList(_, width) = lists.data_type() {
            let values = Arc::clone(lists.as_fixed_size_list().values());
            return Ok(ListBounds { values, bounds: Bounds::Fixed(usize::try_from(*width).unwrap_or_default()) });
        }
        let item = match lists.data_type() {
            DataType::List(item) | DataType::LargeList(item) | DataType::ListView(item) | DataType::LargeListView(item) => item,
            other => return Err(EngineError::internal(format!("{other} is no list")).into()),
        };
        // Only the offsets are converted; the values are shared.
        let large = cast(lists, &DataType::LargeList(Arc::clone(item)))?;
        let large = large.as_list::<i64>();
        Ok(ListBounds { values: Arc::clone(large.values()), bounds: Bounds::Offsets(large.offsets().clone()) })
    }

    pub fn values(&self, row: usize) -> ArrayRef {
        self.values.slice(self.start(row), self.end(row) - self.start(row))
    }

    /// Arrow's offsets are never negative.
    pub fn start(&self, row: usize) -> usize {
        match &self.bounds {
            Bounds::Fixed(width) => row * width,
            Bounds::Offsets(offsets) => offsets[row] as usize,
        }
    }

    pub fn end(&self, row: usize) -> usize {
        match &self.bounds {
            Bounds::Fixed(width) => (row + 1) * width,
            Bounds::Offsets(offsets) => offsets[row + 1] as usize,
        }
    }
}

/// The values of the valid rows, `size` for each, and as many NULLs for other rows. No copy is made if the values already lie end to end.
pub fn end_to_end(rows: &ListBounds, valid: &[bool], size: usize) -> Result<ArrayRef> {
    if valid.is_empty() {
        return Ok(rows.values.slice(0, 0));
    }
    let first = rows.start(0);
    let lie_so = |row: usize| valid[row] && rows.start(row) == first + row * size;
    if (0..valid.len()).all(lie_so) {
        return Ok(rows.values.slice(first, valid.len() * size));
    }
    let values = rows.values.to_data();
    let mut made = MutableArrayData::new(vec![&values], true, valid.len() * size);
    for (row, is_valid) in valid.iter().enumerate() {
        match is_valid {
            true => made.try_extend(0, rows.start(row), rows.end(row))?,
            false => made.try_extend_nulls(size)?,
        }
    }
    Ok(make_array(made.freeze()))
}
