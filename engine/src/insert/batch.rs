//! Converts the batches of a program into rows of a target.

use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch};
use arrow::compute::{CastOptions, SortColumn, SortOptions, lexsort_to_indices, take_record_batch};
use arrow::datatypes::SchemaRef;
use arrow::error::ArrowError;
use pmem_store::StoreError;

use super::target::InsertTarget;
use common::error::EngineError;
use semantics::functions::{cast_nearest, own_values, with_one_nan};
use table::constraints::check_shapes;

/// The rows in the types and in the order of the table.
pub fn rows_of_batch(target: &InsertTarget, rows: &RecordBatch) -> Result<RecordBatch, EngineError> {
    Ok(sorted(target, declared_rows(target, rows)?).map_err(StoreError::from)?)
}

/// The batch as the table declares its columns.
fn declared_rows(target: &InsertTarget, rows: &RecordBatch) -> Result<RecordBatch, EngineError> {
    let declared = Arc::clone(&target.nullable);
    if !names(rows.schema_ref()).eq(names(&declared)) {
        let [actual, expected] = [rows.schema_ref(), &declared].map(|schema| names(schema).collect::<Vec<_>>().join(", "));
        let message = format!("the batch has the columns ({actual}), the table \"{}\" ({expected})", target.write.table);
        let hint = Some("give all columns of the table in their order".to_string());
        return Err(EngineError::Sql { message, position: None, hint });
    }
    check_shapes(&declared, rows.schema_ref())?;
    let options = CastOptions { safe: false, ..CastOptions::default() };
    let columns = rows.columns().iter().zip(rows.schema_ref().fields()).zip(declared.fields());
    let columns = columns.map(|((column, source), field)| -> Result<ArrayRef, EngineError> {
        if column.data_type() == field.data_type() {
            return Ok(with_one_nan(column));
        }
        if let Some(result) = own_values(column, source, field) {
            return Ok(with_one_nan(&result?));
        }
        Ok(with_one_nan(&cast_nearest(column, field.data_type(), &options).map_err(StoreError::from)?))
    });
    let columns = columns.collect::<Result<Vec<_>, EngineError>>()?;
    Ok(RecordBatch::try_new(declared, columns).map_err(StoreError::from)?)
}

fn names(schema: &SchemaRef) -> impl Iterator<Item = &str> {
    schema.fields().iter().map(|field| field.name().as_str())
}

/// Sorts by the table's key: many rows make a segment, which must be sorted.
fn sorted(target: &InsertTarget, rows: RecordBatch) -> Result<RecordBatch, ArrowError> {
    let key = &target.write.cluster_key;
    if key.is_empty() || rows.num_rows() < 2 {
        return Ok(rows);
    }
    let column = |order: &pmem_store::ColumnOrder| -> Result<SortColumn, ArrowError> {
        let values = Arc::clone(rows.column(rows.schema().index_of(&order.column)?));
        let options = SortOptions { descending: order.descending, nulls_first: order.nulls_first };
        Ok(SortColumn { values, options: Some(options) })
    };
    let columns = key.iter().map(column).collect::<Result<Vec<_>, _>>()?;
    take_record_batch(&rows, &lexsort_to_indices(&columns, None)?)
}
