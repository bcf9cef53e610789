//! Maps the columns of a file to the columns of the scan, and casts batches accordingly.

use std::collections::BTreeSet;

use arrow::array::{Array, RecordBatch, RecordBatchOptions};
use arrow::datatypes::{Field, Fields, Schema, SchemaRef};

use super::conform::{can_conform, check_type, conform, find_field, nulls};
use common::error::import::{IS_NULL, ImportError};
use common::tensor_shape::shape_of;
use common::type_names::column_type_name;
use common::type_names::plain::sql_type_name;

/// For each column of the scan, its index in the file.
pub type Mapping = Vec<Option<usize>>;

/// Maps by name; a column that the file lacks must be nullable, and the file must have no other columns.
pub fn map_by_name(file: &str, from: &Fields, target: &Schema) -> Result<Mapping, ImportError> {
    let fields = target.fields();
    let mapping: Mapping = fields.iter().map(|field| find_field(from, field.name())).collect();
    let extra: Vec<String> =
        from.iter().enumerate().filter(|(index, _)| !mapping.contains(&Some(*index))).map(|(_, field)| field.name().clone()).collect();
    let missing: Vec<String> = fields
        .iter()
        .zip(&mapping)
        .filter(|(field, place)| place.is_none() && !field.is_nullable())
        .map(|(field, _)| field.name().clone())
        .collect();
    // A column that the table has is left over if another one of its name was taken.
    if let Some(column) = extra.iter().find(|name| find_field(fields, name).is_some()) {
        return Err(ImportError::ColumnTwice { file: file.to_owned(), column: column.clone() });
    }
    if !extra.is_empty() || !missing.is_empty() {
        return Err(ImportError::SchemaMismatch { file: file.to_owned(), missing, extra });
    }
    Ok(mapping)
}

/// Maps by position, for files without names.
pub fn map_by_position(file: &str, columns: usize, target: &Schema) -> Result<Mapping, ImportError> {
    let expected = target.fields().len();
    if columns != expected {
        let file = file.to_owned();
        return Err(ImportError::ColumnCount { file, found: columns, expected });
    }
    Ok((0..columns).map(Some).collect())
}

/// The file's columns that are read, in its order, and the mapping to these alone; `None`: all of its columns.
pub fn used_columns(mapping: Mapping, columns: usize) -> (Option<Vec<usize>>, Mapping) {
    let used: Vec<usize> = mapping.iter().flatten().copied().collect::<BTreeSet<_>>().into_iter().collect();
    if used.len() == columns {
        return (None, mapping);
    }
    let mapping = mapping.into_iter().map(|place| used.binary_search(&place?).ok()).collect();
    (Some(used), mapping)
}

/// For typed formats: checks that the types are supported, and can become the declared ones.
pub fn check_types(file: &str, from: &Fields, target: &Schema, mapping: &Mapping) -> Result<(), ImportError> {
    for (field, place) in target.fields().iter().zip(mapping) {
        let Some(source) = place.map(|index| &from[index]) else { continue };
        check_type(source.data_type())
            .map_err(|problem| ImportError::Unsupported { file: file.to_owned(), what: format!("column {:?}: {problem}", field.name()) })?;
        let is_other_shape = shape_of(source).zip(shape_of(field)).is_some_and(|(from, to)| from != to);
        if is_other_shape || !can_conform(source.data_type(), field.data_type()) {
            return Err(ImportError::CannotConvert {
                file: file.to_owned(),
                column: field.name().clone(),
                from: type_name(source),
                to: type_name(field),
            });
        }
    }
    Ok(())
}

/// The type with the shape of a tensor.
fn type_name(field: &Field) -> String {
    if shape_of(field).is_some() { column_type_name(field) } else { sql_type_name(field.data_type()) }
}

/// Why a batch of a file does not fit: the row in the batch, the column, the problem.
#[derive(Debug)]
pub struct BatchMismatch {
    pub row: usize,
    pub column: String,
    pub problem: String,
}

/// The columns of `batch` in the order and types of `target`.
pub fn assemble(batch: &RecordBatch, mapping: &Mapping, target: &SchemaRef) -> Result<RecordBatch, BatchMismatch> {
    let mut columns = Vec::with_capacity(mapping.len());
    for (field, place) in target.fields().iter().zip(mapping) {
        let unfit = |row, problem| BatchMismatch { row, column: field.name().clone(), problem };
        let column = match place {
            Some(index) => conform(batch.column(*index), field.data_type()).map_err(|misfit| unfit(misfit.row, misfit.problem))?,
            None => nulls(field.data_type(), batch.num_rows()),
        };
        if !field.is_nullable() && column.null_count() > 0 {
            let row = (0..column.len()).find(|row| column.is_null(*row)).unwrap_or(0);
            return Err(unfit(row, IS_NULL.to_owned()));
        }
        columns.push(column);
    }
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    RecordBatch::try_new_with_options(target.clone(), columns, &options).map_err(|error| BatchMismatch {
        row: 0,
        column: String::new(),
        problem: error.to_string(),
    })
}
