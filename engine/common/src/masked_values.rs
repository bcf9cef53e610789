//! Values beneath NULLs. If a struct or a list is NULL, Arrow leaves open what its fields and elements hold and whether they are marked
//! as NULL. They are not values. The tests are with the callers, in `files/src/import/conform/beneath.rs`.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, BooleanArray, BooleanBufferBuilder, OffsetSizeTrait};
use arrow::buffer::{NullBuffer, OffsetBuffer};
use arrow::compute::{cast, filter, nullif};
use arrow::datatypes::DataType;
use arrow::error::ArrowError;

/// The values, set to NULL where their parents are NULL.
pub fn hidden_beneath(values: &ArrayRef, parents: &NullBuffer) -> Result<ArrayRef, ArrowError> {
    let values = match values.data_type() {
        // Run-end encoded arrays have no validity bitmap of their own.
        DataType::RunEndEncoded(_, plain) => cast(values, plain.data_type())?,
        DataType::Union(..) | DataType::Null => return Ok(values.clone()),
        _ => values.clone(),
    };
    let nulls = NullBuffer::union(values.nulls(), Some(parents));
    match nulls.is_none_or(|nulls| nulls.null_count() == values.null_count()) {
        true => Ok(values),
        false => nullif(&values, &BooleanArray::new(!parents.inner(), None)),
    }
}

/// The elements that valid lists contain, with new offsets.
pub fn shown_elements<O: OffsetSizeTrait>(
    offsets: &OffsetBuffer<O>,
    elements: &ArrayRef,
    lists: Option<&NullBuffer>,
) -> Result<(OffsetBuffer<O>, ArrayRef), ArrowError> {
    let (offsets, elements) = in_use(offsets, elements);
    let is_hidden = |lists: &NullBuffer| offsets.lengths().zip(lists.iter()).any(|(length, is_valid)| !is_valid && length > 0);
    match lists.filter(|lists| lists.null_count() > 0 && is_hidden(lists)) {
        Some(lists) => without_null_lists(&elements, &offsets, lists),
        None => Ok((offsets, elements)),
    }
}

/// Turns NULL lists into empty ones.
pub fn without_null_lists<O: OffsetSizeTrait>(
    elements: &ArrayRef,
    offsets: &OffsetBuffer<O>,
    lists: &NullBuffer,
) -> Result<(OffsetBuffer<O>, ArrayRef), ArrowError> {
    let mut mask = BooleanBufferBuilder::new(elements.len());
    offsets.lengths().zip(lists.iter()).for_each(|(length, is_valid)| mask.append_n(length, is_valid));
    let elements = filter(elements, &BooleanArray::new(mask.finish(), None))?;
    let lengths = offsets.lengths().zip(lists.iter()).map(|(length, is_valid)| if is_valid { length } else { 0 });
    Ok((OffsetBuffer::from_lengths(lengths), elements))
}

/// The elements that these lists use, with new offsets: the values of a sliced array also contain those of other lists.
pub fn in_use<O: OffsetSizeTrait>(offsets: &OffsetBuffer<O>, values: &ArrayRef) -> (OffsetBuffer<O>, ArrayRef) {
    let (first, end) = (offsets[0].as_usize(), offsets[offsets.len() - 1].as_usize());
    if first == 0 && end == values.len() {
        return (offsets.clone(), Arc::clone(values));
    }
    let moved = OffsetBuffer::from_lengths(offsets.lengths());
    (moved, values.slice(first, end - first))
}
