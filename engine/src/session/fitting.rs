//! Values for parameters: which they are, and of what type they are where they belong.

use arrow::array::RecordBatch;
use arrow::datatypes::{DataType, Field};
use datafusion::common::ScalarValue;
use datafusion::common::metadata::{FieldMetadata, ScalarAndMetadata};

use crate::error::EngineError;
use crate::functions::{deeper_scalar, flat_scalar, scalar_nearest};
use crate::kernels::arrays::shape_of;
use crate::sql;

/// One row of parameters.
pub(super) fn values_of(parameters: &RecordBatch, row: usize) -> Result<Vec<ScalarAndMetadata>, EngineError> {
    if row >= parameters.num_rows() {
        let message = format!("there is no row {} of the values: they have {}", row + 1, parameters.num_rows());
        return Err(EngineError::Sql { message, position: None, hint: None });
    }
    let columns = parameters.columns().iter().zip(parameters.schema_ref().fields());
    let values = columns.map(|(column, field)| Ok(ScalarAndMetadata::new(ScalarValue::try_from_array(column, row)?, of_tensor(field))));
    values.collect()
}

/// The value as the type that belongs there, if it is the same value then. Else it means what a literal of its type
/// does: `id = $1` is true of no id where `$1` is 2.5. A tensor is one in a query; VALUES would have to agree on it.
pub(super) fn fitted(given: ScalarAndMetadata, field: &Field, is_query: bool) -> Result<ScalarAndMetadata, EngineError> {
    let (value, shape) = given.into_inner();
    let given_type = value.data_type();
    let source = Field::new("", given_type.clone(), true).with_metadata(shape.as_ref().map(FieldMetadata::to_hashmap).unwrap_or_default());
    let value = deeper_scalar(&value, &source, field)?.unwrap_or(value);
    let value = fitted_value(value, field, is_query)?;
    let shape = shape.filter(|_| value.data_type() == given_type).or_else(|| of_tensor(field));
    Ok(ScalarAndMetadata::new(value, shape.filter(|_| is_query)))
}

/// What says that the values are tensors, if they are.
fn of_tensor(field: &Field) -> Option<FieldMetadata> {
    shape_of(field).is_some().then(|| FieldMetadata::from(field))
}

pub(super) fn fitted_value(value: ScalarValue, field: &Field, is_query: bool) -> Result<ScalarValue, EngineError> {
    let value = flat_scalar(&value, field)?.unwrap_or(value);
    let wanted = field.data_type();
    if *wanted == DataType::Null || value.data_type() == *wanted {
        return Ok(value);
    }
    match scalar_nearest(&value, wanted) {
        Ok(cast) if cast.cast_to(&value.data_type()).is_ok_and(|back| back == value) => Ok(cast),
        Ok(_) => Ok(value),
        // One that is too great for the type.
        Err(_) if is_query && wanted.is_numeric() && value.data_type().is_numeric() => Ok(value),
        Err(_) => Err(wrong_value(field, &value)),
    }
}

pub(super) fn wrong_count(parameters: usize, values: usize) -> EngineError {
    let message = format!("the statement has {parameters} parameters and was given {values} values");
    EngineError::Sql { message, position: None, hint: None }
}

pub(super) fn wrong_value(field: &Field, value: &ScalarValue) -> EngineError {
    let (name, wanted) = (field.name(), sql::column_type_name(field));
    // A decimal as people write it.
    let text = value.data_type().is_decimal().then(|| value.cast_to(&DataType::Utf8).ok()).flatten();
    let value = text.as_ref().unwrap_or(value);
    let message = format!("the value of {name} is {value}, which is no {wanted}");
    EngineError::Sql { message, position: None, hint: None }
}
