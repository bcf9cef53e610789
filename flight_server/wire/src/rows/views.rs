//! Encodes columns of views: as plain texts and bytes for most clients, and unchanged for those that want views.
//!
//! The store writes values that are too long to be inlined contiguously and in the order of the rows, with one buffer per zone. If
//! no value is short, that buffer already is the plain column: it is sent in place, and only the offsets are computed. Otherwise,
//! and if a filter has dropped rows, each value is copied once.

use std::borrow::Cow;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, GenericByteArray, GenericByteViewArray};
use arrow::buffer::{Buffer, OffsetBuffer, ScalarBuffer};
use arrow::datatypes::{ByteArrayType, ByteViewType};
use arrow::error::ArrowError;

/// A view is a length of 4 bytes, followed by an inlined value of at most this many bytes; or, for a longer value, by its first
/// 4 bytes, the number of its buffer and its offset in it.
const INLINE_BYTES_MAX: usize = 12;
/// The number of views between two checks whether they are in order.
const ROWS_AT_ONCE: usize = 512;
/// Values of up to this many bytes are copied together with the bytes after them, which the next value overwrites: copying a fixed number
/// of bytes is not a call.
const COPIED_BYTES: usize = 64;

/// Converts texts to Utf8 and bytes to Binary.
pub fn plain<V, P>(array: &GenericByteViewArray<V>) -> Result<ArrayRef, ArrowError>
where
    V: ByteViewType,
    P: ByteArrayType<Offset = i32, Native = V::Native>,
{
    if let Some(plain) = lying_plain::<V, P>(array) {
        return Ok(plain);
    }
    let views = shown(array);
    let mut measured = ViewLengths::new(views.len());
    measured.add(&views, None);
    if i32::try_from(measured.bytes).is_err() {
        return Err(ArrowError::OffsetOverflowError(measured.bytes));
    }
    let values = Buffer::from_vec(gathered(&views, array.data_buffers(), measured.bytes).ok_or_else(outside)?);
    // If the file was truncated meanwhile, a second read of the views sees other values.
    if values.len() != measured.bytes {
        return Err(outside());
    }
    Ok(plain_array::<V, P>(array, measured.offsets, values))
}

/// [`plain`] if the values are contiguous already, so that only offsets are computed. `None` if values would have to be copied.
pub fn lying_plain<V, P>(array: &GenericByteViewArray<V>) -> Option<ArrayRef>
where
    V: ByteViewType,
    P: ByteArrayType<Offset = i32, Native = V::Native>,
{
    let views = shown(array);
    let first = first_place(&views)?;
    let mut measured = ViewLengths::new(views.len());
    // A column that is not in order usually shows that near its beginning.
    if !views.chunks(ROWS_AT_ONCE).all(|views| measured.add(views, Some(first))) {
        return None;
    }
    i32::try_from(measured.bytes).ok()?;
    let values = lying(array.data_buffers(), first, measured.bytes)?;
    Some(plain_array::<V, P>(array, measured.offsets, values))
}

/// **Invariant:** the offsets are sums of the lengths in the views, and the values are those of the views, one after the other.
fn plain_array<V, P>(array: &GenericByteViewArray<V>, offsets: Vec<i32>, values: Buffer) -> ArrayRef
where
    V: ByteViewType,
    P: ByteArrayType<Offset = i32, Native = V::Native>,
{
    // SAFETY: the offsets are sums of lengths, from 0 to the length of the values; between two of them lies one whole value, which is
    // valid for `Native` because the view that showed it was. Held by `plain_values_are_those_that_arrow_makes`.
    let plain = unsafe {
        let offsets = OffsetBuffer::new_unchecked(ScalarBuffer::from(offsets));
        GenericByteArray::<P>::new_unchecked(offsets, values, array.nulls().cloned())
    };
    Arc::new(plain)
}

/// The same views, with buffers that contain only bytes that a view refers to: other bytes may belong to rows that a filter has
/// dropped, and that the reader of the result must not see.
pub fn compact<V: ByteViewType>(array: &GenericByteViewArray<V>) -> ArrayRef {
    let buffer_bytes: usize = array.data_buffers().iter().map(Buffer::len).sum();
    let shows_all = shown_in_order(&shown(array)) == Some(buffer_bytes);
    Arc::new(if shows_all { array.clone() } else { array.gc() })
}

/// The views, but empty ones under NULLs, where a view may refer to anything.
fn shown<V: ByteViewType>(array: &GenericByteViewArray<V>) -> Cow<'_, [u128]> {
    let views: &[u128] = array.views();
    let Some(nulls) = array.nulls() else { return Cow::Borrowed(views) };
    let absent = !nulls.inner();
    if absent.set_indices().all(|row| length(views[row]) == 0) {
        return Cow::Borrowed(views);
    }
    let mut views = views.to_vec();
    absent.set_indices().for_each(|row| views[row] = 0);
    Cow::Owned(views)
}

/// The number of a buffer in the lower half and an offset in the upper half, as in a view.
type BufferPosition = u64;

struct ViewLengths {
    offsets: Vec<i32>,
    /// The last offset, even if it exceeds the range of offsets.
    bytes: usize,
}

impl ViewLengths {
    fn new(rows: usize) -> ViewLengths {
        let mut offsets = Vec::with_capacity(rows + 1);
        offsets.push(0);
        ViewLengths { offsets, bytes: 0 }
    }

    /// Whether these views continue the contiguous values from `first` on.
    fn add(&mut self, views: &[u128], first: Option<BufferPosition>) -> bool {
        let from = first.unwrap_or_default();
        let (mut end, mut in_order) = (self.bytes, true);
        self.offsets.extend(views.iter().map(|view| {
            let length = length(*view);
            let is_next = place(*view) == from.wrapping_add((end as u64) << 32);
            // Not `||` and `&&`: short texts among long ones would make unpredictable branches.
            in_order &= (length == 0) | ((length > INLINE_BYTES_MAX) & is_next);
            end += length;
            end as i32
        }));
        self.bytes = end;
        in_order
    }
}

/// The number of bytes of a buffer that views refer to, if the values are contiguous and thus each byte is used once.
fn shown_in_order(views: &[u128]) -> Option<usize> {
    let from = first_place(views).unwrap_or_default();
    let (mut bytes, mut in_order) = (0usize, true);
    for view in views {
        let is_long = length(*view) > INLINE_BYTES_MAX;
        in_order &= !is_long | (place(*view) == from.wrapping_add((bytes as u64) << 32));
        bytes += if is_long { length(*view) } else { 0 };
    }
    in_order.then_some(bytes)
}

fn first_place(views: &[u128]) -> Option<BufferPosition> {
    views.iter().find(|view| length(**view) > INLINE_BYTES_MAX).map(|view| place(*view))
}

/// A slice of `bytes` from an offset on, in place.
fn lying(buffers: &[Buffer], first: BufferPosition, bytes: usize) -> Option<Buffer> {
    let (buffer, start) = taken_apart(first);
    let buffer = buffers.get(buffer)?;
    let end = start + bytes;
    // Offsets wrap around at 4 GiB.
    let is_there = end <= buffer.len() && u32::try_from(end).is_ok();
    is_there.then(|| buffer.slice_with_length(start, bytes))
}

/// `None` if a view points outside of its buffer.
fn gathered(views: &[u128], buffers: &[Buffer], bytes: usize) -> Option<Vec<u8>> {
    // There is room after the last value for the surplus bytes of the copy.
    let mut values = Vec::with_capacity(bytes + COPIED_BYTES);
    for view in views {
        let length = length(*view);
        let end = values.len() + length;
        if length <= INLINE_BYTES_MAX {
            values.extend_from_slice(&view.to_le_bytes()[size_of::<u32>()..]);
            values.truncate(end);
            continue;
        }
        let (buffer, start) = taken_apart(place(*view));
        let from = buffers.get(buffer)?.get(start..)?;
        match from.first_chunk::<COPIED_BYTES>() {
            Some(chunk) if length <= COPIED_BYTES => {
                values.extend_from_slice(chunk);
                values.truncate(end);
            }
            _ => values.extend_from_slice(from.get(..length)?),
        }
    }
    Some(values)
}

fn length(view: u128) -> usize {
    view as u32 as usize
}

fn place(view: u128) -> BufferPosition {
    (view >> 64) as u64
}

fn taken_apart(place: BufferPosition) -> (usize, usize) {
    (place as u32 as usize, (place >> 32) as usize)
}

fn outside() -> ArrowError {
    ArrowError::InvalidArgumentError("a text or bytes lie outside of their column".into())
}

#[cfg(test)]
mod tests;
