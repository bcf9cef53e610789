//! Casts rows to the types in which a segment or log stores them.

use std::sync::Arc;

use arrow::array::{RecordBatch, RecordBatchOptions};
use arrow::compute::{CastOptions, concat_batches};
use arrow::datatypes::{Schema, SchemaRef};
use pmem_store::StoreError;

use common::error::EngineError;
use files::import::valid;
use semantics::functions::{cast_nearest, with_floats, with_one_nan};

/// Checks the values of decimals: narrowing relies on their declared precision. An external file may violate it, and a computation may
/// have left any value beneath a NULL.
pub fn with_valid_decimals(batch: RecordBatch) -> Result<RecordBatch, EngineError> {
    let schema = batch.schema();
    if !schema.fields().iter().any(|field| field.data_type().is_decimal()) {
        return Ok(batch);
    }
    let columns = batch.columns().iter().zip(schema.fields()).map(|(column, field)| match field.data_type().is_decimal() {
        true => valid(column).map_err(|misfit| EngineError::data(format!("column \"{}\": {}", field.name(), misfit.problem), None)),
        false => Ok(Arc::clone(column)),
    });
    let rows = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    let columns = columns.collect::<Result<Vec<_>, _>>()?;
    Ok(RecordBatch::try_new_with_options(Arc::clone(&schema), columns, &rows).map_err(StoreError::from)?)
}

/// Casts decimals to the nearest floats, which the cast of the store does not. Also replaces other NaNs, which files may contain, by the
/// NaN that compares as SQL requires.
pub fn with_floats_of(batch: RecordBatch, physical: &SchemaRef) -> Result<RecordBatch, EngineError> {
    if !physical.fields().iter().any(|field| field.data_type().is_floating() || field.data_type().is_nested()) {
        return Ok(batch);
    }
    let options = CastOptions { safe: false, ..CastOptions::default() };
    let schema = batch.schema();
    let columns = batch.columns().iter().zip(schema.fields()).zip(physical.fields());
    let columns = columns.map(|((column, field), physical_field)| -> Result<_, StoreError> {
        let array = match with_floats(column.data_type(), physical_field.data_type()) {
            Some(_) => cast_nearest(column, physical_field.data_type(), &options)?,
            None => Arc::clone(column),
        };
        let array = with_one_nan(&array);
        let field = match array.data_type() == field.data_type() {
            true => Arc::clone(field),
            false => Arc::new(field.as_ref().clone().with_data_type(array.data_type().clone())),
        };
        Ok((field, array))
    });
    let (fields, columns): (Vec<_>, _) = columns.collect::<Result<Vec<_>, StoreError>>()?.into_iter().unzip();
    let schema = Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone()));
    let rows = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    Ok(RecordBatch::try_new_with_options(schema, columns, &rows).map_err(StoreError::from)?)
}

/// The rows in the types of a segment or log.
pub fn physical_rows(batches: &[RecordBatch], physical: &SchemaRef) -> Result<RecordBatch, StoreError> {
    if let [one] = batches
        && one.columns().iter().zip(physical.fields()).all(|(column, field)| column.data_type() == field.data_type())
    {
        let rows = RecordBatchOptions::new().with_row_count(Some(one.num_rows()));
        return Ok(RecordBatch::try_new_with_options(Arc::clone(physical), one.columns().to_vec(), &rows)?);
    }
    let options = CastOptions { safe: false, ..CastOptions::default() };
    let batches = batches.iter().map(|batch| -> Result<RecordBatch, StoreError> {
        let columns = batch.columns().iter().zip(physical.fields());
        let columns = columns.map(|(column, field)| cast_nearest(column, field.data_type(), &options));
        let rows = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        Ok(RecordBatch::try_new_with_options(Arc::clone(physical), columns.collect::<Result<_, _>>()?, &rows)?)
    });
    Ok(concat_batches(physical, &batches.collect::<Result<Vec<_>, _>>()?)?)
}
