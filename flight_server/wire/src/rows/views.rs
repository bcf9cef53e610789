//! Columns of views on their way out: as plain texts and bytes for most clients, as they are for those who ask.
//!
//! The store writes what is too long to stand in a view behind each other in the order of the rows, a buffer for each zone. Where
//! nothing is short, that buffer already is the column in plain: it is sent from where it lies, and only the offsets are made. Else,
//! and where a filter left rows out, each value is copied once.

use std::borrow::Cow;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, GenericByteArray, GenericByteViewArray};
use arrow::buffer::{Buffer, OffsetBuffer, ScalarBuffer};
use arrow::datatypes::{ByteArrayType, ByteViewType};
use arrow::error::ArrowError;

/// A view is a length in 4 bytes, and then a value of at most so many bytes; or of a longer one 4 bytes, the number of its buffer
/// and its place in there.
const INLINE_BYTES_MAX: usize = 12;
/// Views that are looked at before it is asked whether they were in order.
const ROWS_AT_ONCE: usize = 512;
/// Values of up to so many bytes are copied with what lies behind them, which the next value is written over: to copy a fixed number
/// of bytes is no call.
const COPIED_BYTES: usize = 64;

/// Texts as Utf8, bytes as Binary.
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
    // Views of a file that was cut short meanwhile are other ones at a second look.
    if values.len() != measured.bytes {
        return Err(outside());
    }
    Ok(made::<V, P>(array, measured.offsets, values))
}

/// [`plain`] where the values lie behind each other already, and only offsets are made. None where values would have to be copied.
pub fn lying_plain<V, P>(array: &GenericByteViewArray<V>) -> Option<ArrayRef>
where
    V: ByteViewType,
    P: ByteArrayType<Offset = i32, Native = V::Native>,
{
    let views = shown(array);
    let first = first_place(&views)?;
    let mut measured = ViewLengths::new(views.len());
    // A column that is not in order is mostly seen not to be at its beginning.
    if !views.chunks(ROWS_AT_ONCE).all(|views| measured.add(views, Some(first))) {
        return None;
    }
    i32::try_from(measured.bytes).ok()?;
    let values = lying(array.data_buffers(), first, measured.bytes)?;
    Some(made::<V, P>(array, measured.offsets, values))
}

/// **Invariant:** the offsets are sums of the lengths that the array shows, and the values those that it shows behind each other.
fn made<V, P>(array: &GenericByteViewArray<V>, offsets: Vec<i32>, values: Buffer) -> ArrayRef
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

/// The same views, with no byte in their buffers that none of them shows: those may be of rows that a filter left out, and that whoever
/// reads the result is not to see.
pub fn compact<V: ByteViewType>(array: &GenericByteViewArray<V>) -> ArrayRef {
    let held: usize = array.data_buffers().iter().map(Buffer::len).sum();
    let shows_all = shown_in_order(&shown(array)) == Some(held);
    Arc::new(if shows_all { array.clone() } else { array.gc() })
}

/// The views, empty where there is NULL: a view there may show anything.
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

/// The number of a buffer in the lower half, a place in it in the upper one, as a view has them.
type BufferPosition = u64;

struct ViewLengths {
    offsets: Vec<i32>,
    /// The last offset, also where it is more than offsets reach.
    bytes: usize,
}

impl ViewLengths {
    fn new(rows: usize) -> ViewLengths {
        let mut offsets = Vec::with_capacity(rows + 1);
        offsets.push(0);
        ViewLengths { offsets, bytes: 0 }
    }

    /// Whether these views too show what lies behind each other from `first` on.
    fn add(&mut self, views: &[u128], first: Option<BufferPosition>) -> bool {
        let from = first.unwrap_or_default();
        let (mut end, mut in_order) = (self.bytes, true);
        self.offsets.extend(views.iter().map(|view| {
            let length = length(*view);
            let is_next = place(*view) == from.wrapping_add((end as u64) << 32);
            // Not `||` and `&&`: short texts among long ones would be branches that nobody can foretell.
            in_order &= (length == 0) | ((length > INLINE_BYTES_MAX) & is_next);
            end += length;
            end as i32
        }));
        self.bytes = end;
        in_order
    }
}

/// How many bytes of a buffer are shown, if what lies there does so behind each other: each byte once, then.
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

/// `bytes` from a place on, as they lie.
fn lying(buffers: &[Buffer], first: BufferPosition, bytes: usize) -> Option<Buffer> {
    let (buffer, start) = taken_apart(first);
    let buffer = buffers.get(buffer)?;
    let end = start + bytes;
    // Behind 4 GiB places begin anew.
    let is_there = end <= buffer.len() && u32::try_from(end).is_ok();
    is_there.then(|| buffer.slice_with_length(start, bytes))
}

/// None where a view points to what is not there.
fn gathered(views: &[u128], buffers: &[Buffer], bytes: usize) -> Option<Vec<u8>> {
    // With room behind the last value for what is copied too much.
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
