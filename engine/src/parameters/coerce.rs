//! Casts the values of parameters to the types that the statement needs.

use std::sync::Arc;

use arrow::array::{Array, AsArray, FixedSizeListArray, RecordBatch, RecordBatchOptions};
use arrow::datatypes::{DataType, Field, Int32Type, IntervalUnit};
use datafusion::common::metadata::{FieldMetadata, ScalarAndMetadata};
use datafusion::common::{Result as PlanResult, ScalarValue};

use common::error::EngineError;
use common::messages::counted;
use common::tensor_shape::{EXTENSION_METADATA, EXTENSION_NAME, shape_of};
use common::tensors::tensor_field;
use common::type_names::column_type_name;
use files::import::{check_type, valid};
use semantics::functions::nested_types::fields_of;
use semantics::functions::{flat_scalar, nested_scalar, scalar_as};

/// Arrow's type of tensors whose shapes differ from row to row.
const ANY_SHAPE: &str = "arrow.variable_shape_tensor";

/// The same rows, if all values are valid for their types. `first` is the number of the first row.
pub fn valid_values(parameters: &RecordBatch, first: usize) -> Result<RecordBatch, EngineError> {
    let refused = |message: String| EngineError::Sql { message, position: None, hint: None };
    let columns = parameters.columns().iter().zip(parameters.schema_ref().fields()).enumerate().map(|(index, (column, field))| {
        let parameter = index + 1;
        check_type(field.data_type()).map_err(|problem| refused(format!("the values of ${parameter}: {problem}")))?;
        valid(column).map_err(|misfit| {
            EngineError::data(format!("row {} of the values, ${parameter}: {}", first + misfit.row, misfit.problem), None)
        })
    });
    let columns = columns.collect::<Result<Vec<_>, _>>()?;
    let options = RecordBatchOptions::new().with_row_count(Some(parameters.num_rows()));
    RecordBatch::try_new_with_options(parameters.schema(), columns, &options).map_err(|error| EngineError::internal(error.to_string()))
}

/// The values of one row of parameters.
pub fn values_of(parameters: &RecordBatch, row: usize) -> Result<Vec<ScalarAndMetadata>, EngineError> {
    if row >= parameters.num_rows() {
        let message = format!("there is no row {} of the values: they have {}", row + 1, parameters.num_rows());
        return Err(EngineError::Sql { message, position: None, hint: None });
    }
    let parameters = valid_values(&parameters.slice(row, 1), row + 1)?;
    let columns = parameters.columns().iter().zip(parameters.schema_ref().fields());
    let values = columns.map(|(column, field)| {
        let value = ScalarValue::try_from_array(column, 0)?;
        match has_any_shape(field).then(|| of_any_shape(&value)).transpose()?.flatten() {
            Some(tensor) => Ok(tensor),
            None => Ok(ScalarAndMetadata::new(value, of_tensor(field))),
        }
    });
    values.collect()
}

/// Whether the values are tensors with a shape for each row.
pub fn has_any_shape(field: &Field) -> bool {
    let of = |key: &str| field.metadata().get(key).map(String::as_str);
    // The metadata may say that the elements are in another order, which the shape does not show.
    of(EXTENSION_NAME) == Some(ANY_SHAPE) && matches!(of(EXTENSION_METADATA), None | Some("" | "{}"))
}

/// A tensor whose shape is stored with its elements; `None` if the number of elements does not match.
fn of_any_shape(value: &ScalarValue) -> PlanResult<Option<ScalarAndMetadata>> {
    let ScalarValue::Struct(tensor) = value else { return Ok(None) };
    let data = tensor.column_by_name("data").and_then(|data| data.as_list_opt::<i32>());
    let sizes = tensor.column_by_name("shape").and_then(|shape| shape.as_fixed_size_list_opt());
    let (Some(data), Some(sizes)) = (data, sizes) else { return Ok(None) };
    if data.is_null(0) || sizes.is_null(0) || tensor.is_null(0) {
        return Ok(Some(ScalarAndMetadata::new(ScalarValue::try_new_null(data.data_type())?, None)));
    }
    let (elements, sizes) = (data.value(0), sizes.value(0));
    let Some(sizes) = sizes.as_primitive_opt::<Int32Type>() else { return Ok(None) };
    let shape = sizes.iter().map(|size| usize::try_from(size?).ok()).collect::<Option<Vec<_>>>();
    let Some(shape) = shape.filter(|shape| !shape.contains(&0)) else { return Ok(None) };
    let field = tensor_field("", elements.data_type().clone(), &shape, true)?;
    let DataType::FixedSizeList(item, width) = field.data_type() else { return Ok(None) };
    if usize::try_from(*width).ok() != Some(elements.len()) {
        return Ok(None);
    }
    let list = FixedSizeListArray::try_new_with_length(Arc::clone(item), *width, elements, None, 1)?;
    Ok(Some(ScalarAndMetadata::new(ScalarValue::FixedSizeList(Arc::new(list)), of_tensor(&field))))
}

/// The value cast to the needed type, if that keeps its value. Otherwise it behaves as a literal of its own type: `id = $1` is false for
/// every id if `$1` is 2.5. In a query a tensor stays one; in VALUES all rows would have to agree on it.
pub fn fitted(value: ScalarAndMetadata, field: &Field, is_query: bool) -> Result<ScalarAndMetadata, EngineError> {
    let (value, shape) = value.into_inner();
    let given_type = value.data_type();
    let source = Field::new("", given_type.clone(), true).with_metadata(shape.as_ref().map(FieldMetadata::to_hashmap).unwrap_or_default());
    if !is_query && !value.is_null() {
        check_shape(&source, field)?;
    }
    let value = nested_scalar(&value, &source, field)?.unwrap_or(value);
    let value = fitted_value(value, field, is_query)?;
    let shape = shape.filter(|_| value.data_type() == given_type).or_else(|| of_tensor(field));
    Ok(ScalarAndMetadata::new(value, shape.filter(|_| is_query)))
}

/// The metadata that marks tensors, if the values are tensors.
fn of_tensor(field: &Field) -> Option<FieldMetadata> {
    shape_of(field).is_some().then(|| FieldMetadata::from(field))
}

/// Tensors with the same number of elements have the same type, but a different meaning.
pub fn check_shape(source: &Field, target: &Field) -> Result<(), EngineError> {
    if shape_of(source).zip(shape_of(target)).is_none_or(|(source, target)| source == target) {
        return Ok(());
    }
    let (name, source, target) = (target.name(), column_type_name(source), column_type_name(target));
    let message = format!("the value of {name} is a {source}, which is no {target}");
    let hint = "give the elements as a list, row by row, if they are to have the other shape";
    Err(EngineError::Sql { message, position: None, hint: Some(hint.to_string()) })
}

pub fn fitted_value(value: ScalarValue, field: &Field, is_query: bool) -> Result<ScalarValue, EngineError> {
    let value = flat_scalar(&value, field)?.unwrap_or(value);
    let target_type = field.data_type();
    let value = match any_length(&value.data_type(), target_type) {
        Some(lists) => value.cast_to(&lists)?,
        None => value,
    };
    if has_untyped_part(target_type) || value.data_type() == *target_type {
        return Ok(value);
    }
    // `day - 2` is a day. As a date, 2 would be the third day of 1970.
    if is_query && *target_type == DataType::Date32 && value.data_type().is_integer() {
        return Ok(value);
    }
    let source = Field::new("", value.data_type(), true);
    match scalar_as(&value, &source, field, false) {
        Ok(cast) if cast.cast_to(&value.data_type()).is_ok_and(|back| back == value) => Ok(cast),
        Ok(_) => Ok(value),
        // `day - ?` takes a day or an interval, `day + ?` an interval or a number, `? + INTERVAL '1 day'` an interval or a day.
        Err(_) if is_query && is_of_times(target_type, &value.data_type()) => Ok(match value.data_type() {
            DataType::Duration(_) => {
                value.cast_to(&DataType::Interval(IntervalUnit::MonthDayNano)).map_err(|_| wrong_value(field, &value))?
            }
            _ => value,
        }),
        // The value is out of the range of the type.
        Err(_) if is_query && target_type.is_numeric() && value.data_type().is_numeric() => Ok(value),
        Err(_) => Err(wrong_value(field, &value)),
    }
}

/// Whether there is a NULL without a type beside the parameter: `$1 IN (SELECT {'a': 1, 'b': NULL})`.
fn has_untyped_part(data_type: &DataType) -> bool {
    data_type.is_null() || fields_of(data_type).iter().any(|field| has_untyped_part(field.data_type()))
}

/// Whether a value of another type than the one that was inferred has a meaning beside a time.
fn is_of_times(target_type: &DataType, value_type: &DataType) -> bool {
    use DataType::{Date32, Duration, Interval, Time64, Timestamp};
    match target_type {
        Date32 | Timestamp(..) | Time64(_) => matches!(value_type, Duration(_) | Interval(_)),
        Interval(_) => value_type.is_integer() || matches!(value_type, Date32 | Timestamp(..) | Time64(_)),
        _ => false,
    }
}

/// A fixed-size list as a list of any length, if the statement needs another type than a list: such a list can be cast to text, and a
/// list of one element is not taken for a number.
pub fn any_length(source_type: &DataType, target_type: &DataType) -> Option<DataType> {
    match source_type {
        DataType::FixedSizeList(item, _) if !target_type.is_list() && *target_type != DataType::Null => {
            Some(DataType::List(Arc::clone(item)))
        }
        _ => None,
    }
}

pub fn wrong_count(parameters: usize, values: usize) -> EngineError {
    let message = format!("the statement has {} and was given {}", counted(parameters, "parameter"), counted(values, "value"));
    EngineError::Sql { message, position: None, hint: None }
}

pub fn wrong_value(field: &Field, value: &ScalarValue) -> EngineError {
    let (name, type_name) = (field.name(), column_type_name(field));
    // A decimal in plain notation.
    let text = value.data_type().is_decimal().then(|| value.cast_to(&DataType::Utf8).ok()).flatten();
    let value = text.as_ref().unwrap_or(value);
    let message = format!("the value of {name} is {value}, which is no {type_name}");
    let is_list = value.data_type().is_list() && !field.data_type().is_list();
    let hint = is_list.then(|| "to look for a value in a list write IN ? without parentheses".to_string());
    EngineError::Sql { message, position: None, hint }
}
