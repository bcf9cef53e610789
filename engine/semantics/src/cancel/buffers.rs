//! Texts that do not hold the buffers of rows that are gone.
//!
//! `take` and `concat` keep all data buffers of the view arrays they read, for a text that is not in the result too. A join
//! joins the batches of its build side into one, with the buffers of all of them, and each batch it puts out has all of
//! these; the next join does it again. So the buffers of a plan of joins are a product, of texts inside structs and lists
//! above all, where arrow-select knows no way around it (<https://github.com/apache/arrow-rs/issues/10692>). Here an array
//! with more buffers than values gets a buffer of its own. A scan gives far fewer, so that texts of tables stay in place.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, OffsetSizeTrait, RecordBatch};
use arrow::buffer::OffsetBuffer;
use arrow::datatypes::DataType;
use pmem_store::compact;

/// So many are no burden for a batch of whatever size.
const BUFFERS_MIN: usize = 64;

/// The batch with columns that have no more data buffers than texts.
pub fn with_few_buffers(batch: RecordBatch) -> RecordBatch {
    let is_crowded = |column: &ArrayRef| has_too_many_buffers(column.as_ref(), column.len());
    if !batch.columns().iter().any(is_crowded) {
        return batch;
    }
    let columns = batch.columns().iter().map(|column| if is_crowded(column) { compact(column) } else { Arc::clone(column) });
    // The same types and lengths: if not, the batch as it came is as good.
    RecordBatch::try_new(batch.schema(), columns.collect()).unwrap_or(batch)
}

/// `values` is how many elements of the array are shown, by a list around it.
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
