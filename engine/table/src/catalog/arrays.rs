//! Arrays of the store: tables whose rows are chunks.

use std::sync::Arc;

use arrays::definition::ArrayDefinition;
use arrays::table::ArrayTable;
use arrow::array::{AsArray, RecordBatch};
use arrow::datatypes::Int64Type;
use datafusion::catalog::TableProvider;
use pmem_store::{Deletions, StoreError, TableRecord, TableSnapshot, ZONE_ROWS};

use super::table::StoreTable;
use crate::definition::definition_of_array;
use common::error::EngineError;
use common::privilege::Privilege;
use common::type_names::qualified;

/// What the name of a table or array means in a query.
pub fn relation(table: StoreTable) -> Result<Arc<dyn TableProvider>, EngineError> {
    let Some(definition) = definition_of_array(&table.snapshot) else { return Ok(Arc::new(table)) };
    let definition = definition?;
    let record = table.snapshot.record();
    let (name, object_id) = (qualified(&record.namespace, &record.name), record.id);
    // Without SELECT, the scan will be refused; until then nothing is said of what was written.
    let lengths = match table.check(Privilege::Select) {
        Ok(()) => lengths_of_array(&definition, &table.snapshot)?,
        Err(_) => definition.lengths(&[]),
    };
    Ok(Arc::new(ArrayTable::new(name, object_id, definition, lengths, Arc::new(table))))
}

/// The number of cells along each dimension.
pub fn lengths_of_array(array: &ArrayDefinition, chunks: &TableSnapshot) -> Result<Vec<u64>, EngineError> {
    Ok(array.lengths(&growing_lengths(array, chunks)?))
}

/// An error if rows cannot be added to it because they are the chunks of an array.
pub fn check_no_array(record: &TableRecord) -> Result<(), EngineError> {
    match record.is_array() {
        true => Err(not_writable_array(&record.name)),
        false => Ok(()),
    }
}

pub fn not_writable_array(name: &str) -> EngineError {
    let hint = format!("UPDATE ARRAY {name} SET REGION […] = … writes cells");
    EngineError::unsupported(format!("writing rows to the array \"{name}\""), Some(&hint))
}

/// The lengths of the growing dimensions: the greatest that a chunk has.
fn growing_lengths(array: &ArrayDefinition, chunks: &TableSnapshot) -> Result<Vec<u64>, StoreError> {
    let columns = array.length_columns();
    let mut lengths = vec![0_u64; columns.len()];
    if columns.is_empty() {
        return Ok(lengths);
    }
    let mut see = |batch: &RecordBatch, first_row: usize, deletions: Option<&Deletions>| {
        for (length, column) in lengths.iter_mut().zip(batch.columns()) {
            let values = column.as_primitive::<Int64Type>().values().iter().enumerate();
            let alive = values.filter(|(row, _)| deletions.is_none_or(|deletions| !deletions.rows().contains((first_row + row) as u32)));
            *length = (*length).max(alive.map(|(_, length)| *length as u64).max().unwrap_or(0));
        }
    };
    for segment in chunks.segments() {
        let opened = segment.open()?;
        for index in 0..opened.batch_count() {
            see(&opened.batch(index, &columns)?, opened.batch_rows(index).start, segment.deletions().map(|deletions| &**deletions));
        }
    }
    for tail in chunks.tails() {
        for index in 0..tail.chunk_count() {
            see(&tail.chunk(index)?.project(&columns)?, index * ZONE_ROWS, tail.deletions().map(|deletions| &**deletions));
        }
    }
    Ok(lengths)
}
