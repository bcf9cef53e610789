//! Frees buffers of texts that are no longer in the batch.
//!
//! `take` and `concat` keep all data buffers of the view arrays they read, even those that no text of the result uses. A join concatenates
//! the batches of its build side, with the buffers of all of them, and each output batch has all of these buffers; the next join does it
//! again. So the numbers of buffers multiply in a plan of joins, above all for texts inside structs and lists, where arrow-select has no
//! way around it (<https://github.com/apache/arrow-rs/issues/10692>). Here an array with more buffers than values gets one new buffer. A
//! scan yields far fewer buffers, so that texts of tables are not copied.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, OffsetSizeTrait, RecordBatch};
use arrow::buffer::OffsetBuffer;
use arrow::datatypes::DataType;
use pmem_store::compact;

/// So many buffers do not matter for a batch of any size.
const BUFFERS_MIN: usize = 64;

/// The batch, with at most as many data buffers per column as texts.
pub fn with_few_buffers(batch: RecordBatch) -> RecordBatch {
    let is_crowded = |column: &ArrayRef| has_too_many_buffers(column.as_ref(), column.len());
    if !batch.columns().iter().any(is_crowded) {
        return batch;
    }
    let columns = batch.columns().iter().map(|column| if is_crowded(column) { compact(column) } else { Arc::clone(column) });
    // Types and lengths are the same, so this does not fail; if it did, the original batch is correct too.
    RecordBatch::try_new(batch.schema(), columns.collect()).unwrap_or(batch)
}

/// `values` is the number of elements that a list around the array shows.
fn has_too_many_buffers(array: &dyn Array, values: usize) -> bool {
    let is_too_many = |buffers: usize| buffers > values.max(BUFFERS_MIN);
    match array.data_type() {
        DataType::Utf8View => is_too_many(array.as_string_view().data_buffers().len()),
        DataType::BinaryView => is_too_many(array.as_binary_view().data_buffers().len()),
        DataType::Struct(_) => array.as_struct().columns().iter().any(|column| has_too_many_buffers(column, values)),
        DataType::List(_) => {
            let list = array.as_list::<i32>();
            has_too_many_buffers(list.values(), elements(list.offsets()))
        }
        DataType::LargeList(_) => {
            let list = array.as_list::<i64>();
            has_too_many_buffers(list.values(), elements(list.offsets()))
        }
        DataType::FixedSizeList(_, size) => {
            has_too_many_buffers(array.as_fixed_size_list().values(), values * usize::try_from(*size).unwrap_or(0))
        }
        DataType::Map(..) => {
            let map = array.as_map();
            has_too_many_buffers(map.entries(), elements(map.offsets()))
        }
        _ => false,
    }
}

fn elements<O: OffsetSizeTrait>(offsets: &OffsetBuffer<O>) -> usize {
    (offsets[offsets.len() - 1] - offsets[0]).as_usize()
}
