//! Gives arrays in a mapping buffers with their own sizes.
//!
//! Memory accounting counts the allocation behind a buffer. Buffers that are slices of one mapping
//! would each count as the whole file, and a sort of one column would be refused for want of the
//! memory of all; so each buffer becomes an "allocation" of just its bytes.

use std::sync::Arc;

use arrow::array::{ArrayData, ArrayRef, make_array};
use arrow::buffer::{BooleanBuffer, Buffer, NullBuffer};
use arrow::datatypes::DataType;

use crate::mapping::Mapping;

/// The same array, over the same bytes.
pub(crate) fn exact(array: &ArrayRef, mapping: &Arc<Mapping>) -> ArrayRef {
    make_array(exact_data(&array.to_data(), mapping))
}

fn exact_data(data: &ArrayData, mapping: &Arc<Mapping>) -> ArrayData {
    let is_view = matches!(data.data_type(), DataType::Utf8View | DataType::BinaryView);
    let used = if is_view && data.buffers().len() > 2 { used_buffers(data) } else { vec![true; data.buffers().len()] };
    let buffers = data.buffers().iter().zip(used).map(|(buffer, used)| match used {
        true => exact_buffer(buffer, mapping),
        // The unused buffer keeps its index, so that views find the others.
        false => Buffer::default(),
    });
    let buffers = buffers.collect();
    let children = match data.data_type() {
        // Copies, which the batches of a segment share.
        DataType::Dictionary(..) => data.child_data().to_vec(),
        _ => data.child_data().iter().map(|child| exact_data(child, mapping)).collect(),
    };
    let nulls = data.nulls().map(|nulls| {
        let bits = nulls.inner();
        let bits = BooleanBuffer::new(exact_buffer(bits.inner(), mapping), bits.offset(), bits.len());
        // SAFETY: the same bits as before, and so the same count. Held by
        // `a_zone_has_buffers_of_its_own_size_and_the_same_rows`.
        unsafe { NullBuffer::new_unchecked(bits, nulls.null_count()) }
    });
    let builder = data.clone().into_builder().buffers(buffers).child_data(children).nulls(nulls);
    // SAFETY: every buffer has the bytes it had, so the array is as valid as it was. Held by
    // `a_zone_has_buffers_of_its_own_size_and_the_same_rows`.
    unsafe { builder.build_unchecked() }
}

/// The buffers of a view array that its views point into; the first one, the views, is always one of them.
fn used_buffers(data: &ArrayData) -> Vec<bool> {
    let mut used = vec![false; data.buffers().len()];
    used[0] = true;
    for view in &data.buffer::<u128>(0)[..data.len()] {
        // The layout of a view: 4 bytes length; beyond 12 bytes of text, bytes 8 to 12 name the buffer.
        if *view as u32 > 12
            && let Some(used) = used.get_mut((*view >> 64) as u32 as usize + 1)
        {
            *used = true;
        }
    }
    used
}

/// A buffer outside of the mapping (Arrow's own empty buffers) stays as it is.
fn exact_buffer(buffer: &Buffer, mapping: &Arc<Mapping>) -> Buffer {
    let at = (buffer.as_ptr() as usize).checked_sub(mapping.as_ptr() as usize);
    match at.filter(|_| !buffer.is_empty()).map(|offset| mapping.buffer(offset, buffer.len())) {
        Some(Ok(exact)) => exact,
        _ => buffer.clone(),
    }
}
