//! Columns of views share the buffers of the batch that their rows come from: a few rows would keep all of its texts.

use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, GenericByteViewArray, RecordBatch, RecordBatchOptions};
use arrow::datatypes::{ByteViewType, DataType};
use datafusion::common::Result;

use common::memory::LiveMemory;

/// The same rows with their own texts and no others. Texts in a mapped segment take no memory, and stay there.
pub fn compacted(rows: &RecordBatch, live_memory: &LiveMemory) -> Result<RecordBatch> {
    let columns = rows.columns().iter().map(|column| match column.data_type() {
        DataType::Utf8View => own(column, column.as_string_view(), live_memory),
        DataType::BinaryView => own(column, column.as_binary_view(), live_memory),
        _ => Arc::clone(column),
    });
    let options = RecordBatchOptions::new().with_row_count(Some(rows.num_rows()));
    Ok(RecordBatch::try_new_with_options(rows.schema(), columns.collect(), &options)?)
}

fn own<T: ByteViewType>(column: &ArrayRef, views: &GenericByteViewArray<T>, live_memory: &LiveMemory) -> ArrayRef {
    match views.data_buffers().iter().any(|buffer| live_memory.is_in_memory(buffer)) {
        true => Arc::new(views.gc()),
        false => Arc::clone(column),
    }
}

#[cfg(test)]
mod tests {
    use arrow::array::{StringViewArray, UInt32Array};
    use arrow::compute::take_record_batch;

    use super::*;

    #[test]
    fn a_row_keeps_its_text_and_no_other() {
        let texts = StringViewArray::from_iter_values((0..1_000).map(|row| format!("the text of row number {row:08}")));
        let all = RecordBatch::try_from_iter([("s", Arc::new(texts) as ArrayRef)]).unwrap();
        let row = take_record_batch(&all, &UInt32Array::from(vec![7])).unwrap();
        let copy = compacted(&row, &LiveMemory::default()).unwrap();
        assert_eq!(copy, row);
        assert!(LiveMemory::default().take(&row) > 30_000 && LiveMemory::default().take(&copy) < 300);
    }
}
