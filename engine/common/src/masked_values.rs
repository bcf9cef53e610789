//! What lies beneath NULLs: of a struct or a list that is NULL, Arrow leaves open what its fields and elements hold, and whether
//! they are marked as NULL. It is no value. Tests are beside those who use this, in `files/src/import/conform/beneath.rs`.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, BooleanArray, BooleanBufferBuilder, OffsetSizeTrait};
use arrow::buffer::{NullBuffer, OffsetBuffer};
use arrow::compute::{cast, filter, nullif};
use arrow::datatypes::DataType;
use arrow::error::ArrowError;

/// The values, NULL where their parents are.
pub fn hidden_beneath(values: &ArrayRef, parents: &NullBuffer) -> Result<ArrayRef, ArrowError> {
    let values = match values.data_type() {
        // Runs have no bits of their own for NULLs.
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

/// The elements that are in a list, and where each list is among them.
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

/// Lists that are NULL are empty afterwards.
pub fn without_null_lists<O: OffsetSizeTrait>(
    elements: &ArrayRef,
    offsets: &OffsetBuffer<O>,
    lists: &NullBuffer,
) -> Result<(OffsetBuffer<O>, ArrayRef), ArrowError> {
    let mut kept = BooleanBufferBuilder::new(elements.len());
    offsets.lengths().zip(lists.iter()).for_each(|(length, is_valid)| kept.append_n(length, is_valid));
    let elements = filter(elements, &BooleanArray::new(kept.finish(), None))?;
    let lengths = offsets.lengths().zip(lists.iter()).map(|(length, is_valid)| if is_valid { length } else { 0 });
    Ok((OffsetBuffer::from_lengths(lengths), elements))
}

/// The elements that the lists have, and where each list is among them: a slice of lists has those of all others, too.
pub fn in_use<O: OffsetSizeTrait>(offsets: &OffsetBuffer<O>, values: &ArrayRef) -> (OffsetBuffer<O>, ArrayRef) {
    let (first, end) = (offsets[0].as_usize(), offsets[offsets.len() - 1].as_usize());
    if first == 0 && end == values.len() {
        return (offsets.clone(), Arc::clone(values));
    }
    let moved = OffsetBuffer::from_lengths(offsets.lengths());
    (moved, values.slice(first, end - first))
}
