//! Splits batches so that each piece fits into a message.
//!
//! Only the bytes of the rows count, not those of the buffers that they are a slice of: a zone is a slice of a
//! mapped batch, and a column of views may point anywhere in the file.

use arrow::array::{Array, ArrayRef, AsArray, OffsetSizeTrait, RecordBatch};
use arrow::datatypes::{ByteViewType, DataType};

/// The maximum size of a message. gRPC clients commonly accept 4 MiB, Flight clients 16 MiB or more.
pub const MESSAGE_BYTES: usize = 2 << 20;

/// [`pieces`] of a batch whose size is known: computing it would visit each text.
pub fn pieces_of(batch: RecordBatch, bytes: usize, bytes_max: usize) -> Vec<RecordBatch> {
    if bytes <= bytes_max { vec![batch] } else { pieces(batch, bytes_max) }
}

/// The rows of `batch` in order. Each piece has at most `bytes_max`, unless a single row has more.
pub fn pieces(batch: RecordBatch, bytes_max: usize) -> Vec<RecordBatch> {
    let mut stack = vec![batch];
    let mut done = Vec::new();
    while let Some(batch) = stack.pop() {
        let rows = batch.num_rows();
        if rows <= 1 || batch_bytes(&batch) <= bytes_max {
            done.push(batch);
            continue;
        }
        let half = rows / 2;
        stack.push(batch.slice(half, rows - half));
        stack.push(batch.slice(0, half));
    }
    done
}

pub fn batch_bytes(batch: &RecordBatch) -> usize {
    batch.columns().iter().fold(0, |sum, column| sum.saturating_add(array_bytes(column)))
}

fn array_bytes(array: &ArrayRef) -> usize {
    let own = match array.data_type() {
        DataType::Utf8View => view_bytes(array.as_string_view()),
        DataType::BinaryView => view_bytes(array.as_binary_view()),
        DataType::List(_) => list_bytes::<i32>(array),
        DataType::LargeList(_) => list_bytes::<i64>(array),
        DataType::Map(_, _) => {
            let map = array.as_map();
            let (from, to) = ends(map.value_offsets());
            let entries = map.entries().slice(from, to - from);
            4 * array.len() + struct_bytes(entries.columns())
        }
        DataType::FixedSizeList(_, size) => {
            let list = array.as_fixed_size_list();
            let size = usize::try_from(*size).unwrap_or(0);
            array_bytes(&list.values().slice(list.offset() * size, list.len() * size))
        }
        DataType::Struct(_) => struct_bytes(array.as_struct().columns()),
        DataType::Dictionary(_, _) => {
            let dictionary = array.as_any_dictionary();
            dictionary.keys().get_buffer_memory_size() + array_bytes(dictionary.values())
        }
        _ => array.to_data().get_slice_memory_size().unwrap_or_else(|_| array.get_buffer_memory_size()),
    };
    own.saturating_add(array.len() / 8)
}

fn view_bytes<T: ByteViewType + ?Sized>(array: &arrow::array::GenericByteViewArray<T>) -> usize {
    16 * array.len() + array.lengths().map(|length| length as usize).sum::<usize>()
}

fn list_bytes<O: OffsetSizeTrait>(array: &ArrayRef) -> usize {
    let list = array.as_list::<O>();
    let (from, to) = ends(list.value_offsets());
    size_of::<O>() * array.len() + array_bytes(&list.values().slice(from, to - from))
}

fn struct_bytes(columns: &[ArrayRef]) -> usize {
    columns.iter().map(array_bytes).sum()
}

fn ends<O: OffsetSizeTrait>(offsets: &[O]) -> (usize, usize) {
    let end = |offset: Option<&O>| offset.map_or(0, |offset| offset.as_usize());
    (end(offsets.first()), end(offsets.last()))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{Int64Array, ListArray, StringViewArray};
    use arrow::datatypes::Int32Type;

    use super::*;

    #[test]
    fn a_slice_counts_its_own_rows_only() {
        let long: ArrayRef = Arc::new(Int64Array::from_iter_values(0..1_000_000));
        assert!(array_bytes(&long.slice(10, 100)) < 1_000);
        let text = "a text that is too long for a view".repeat(100);
        let texts: ArrayRef = Arc::new(StringViewArray::from_iter_values(std::iter::repeat_n(text.as_str(), 1_000)));
        assert!(array_bytes(&texts) > 3_000_000);
        assert!(array_bytes(&texts.slice(0, 1)) < 4_000);
        let lists = ListArray::from_iter_primitive::<Int32Type, _, _>((0..1_000).map(|_| Some(vec![Some(1); 100])));
        let lists: ArrayRef = Arc::new(lists);
        assert!(array_bytes(&lists.slice(5, 2)) < 1_000);
    }

    #[test]
    fn pieces_hold_all_rows_in_order() {
        let column: ArrayRef = Arc::new(Int64Array::from_iter_values(0..10_001));
        let batch = RecordBatch::try_from_iter([("n", column)]).unwrap();
        let pieces = pieces(batch, 1_000);
        assert!(pieces.iter().all(|piece| batch_bytes(piece) <= 1_000));
        let numbers = pieces.iter().flat_map(|piece| piece.column(0).as_primitive::<arrow::datatypes::Int64Type>().values().to_vec());
        assert!(numbers.eq(0..10_001));
    }
}
