//! Casts columns to a declared type, or says which value does not fit.
//!
//! It differs from the default of `arrow::compute::cast`: a value that does not fit is an error and not a
//! NULL, a fraction is not cut off to make an integer, and numbers do not become instants.

mod mask_nulls;
mod nested;
mod plain;
mod valid;

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, new_null_array};
use arrow::compute::{CastOptions, can_cast_types, cast};
use arrow::datatypes::{DataType, Field};
use arrow::util::display::{ArrayFormatter, FormatOptions};

use common::error::import::quote_value;
pub use nested::find_field;
pub use plain::{is_list, plain_schema, settled_type};
use semantics::functions::cast_nearest;
use semantics::functions::casts::cast_shown;
pub use valid::{check_type, valid};

/// A value that does not fit the wanted type.
#[derive(Debug)]
pub struct Misfit {
    /// Row of the column; unknown if the conversion failed as a whole.
    pub row: usize,
    pub problem: String,
}

/// Whether some value of `from` can become `to`.
pub fn can_conform(from: &DataType, to: &DataType) -> bool {
    use DataType::{Dictionary, Map, Null, RunEndEncoded, Struct};
    match (from, to) {
        _ if from == to => true,
        (Null, _) => true,
        (Dictionary(_, from), to) => can_conform(from, to),
        (RunEndEncoded(_, from), to) => can_conform(from.data_type(), to),
        (from, Dictionary(_, to)) => can_conform(from, to),
        (Struct(from), Struct(to)) => {
            from.iter().all(|field| find_field(to, field.name()).is_some())
                && to.iter().all(|field| match find_field(from, field.name()) {
                    Some(index) => can_conform(from[index].data_type(), field.data_type()),
                    None => field.is_nullable(),
                })
        }
        (Map(from, _), Map(to, _)) => nested::can_conform_maps(from, to),
        (from, to) if is_list(from) && is_list(to) => match (plain::element(from), plain::element(to)) {
            (Some(from), Some(to)) => can_conform(from.data_type(), to.data_type()),
            _ => false,
        },
        (from, to) if from.is_nested() || to.is_nested() => false,
        (from, to) => is_sensible(from, to) && can_cast_types(from, to),
    }
}

/// Arrow can read numbers as days or seconds since an epoch; nobody who imports a file means that.
fn is_sensible(from: &DataType, to: &DataType) -> bool {
    let is_number = |t: &DataType| t.is_numeric() || *t == DataType::Boolean;
    let is_text = |t: &DataType| matches!(t, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View);
    let is_binary = |t: &DataType| t.is_binary() || matches!(t, DataType::BinaryView | DataType::FixedSizeBinary(_));
    if is_text(from) || is_text(to) {
        return true;
    }
    if is_binary(from) || is_binary(to) {
        return is_binary(from) && is_binary(to);
    }
    is_number(from) == is_number(to)
}

/// It also refuses values that are invalid for the array's own type.
pub fn conform(array: &ArrayRef, to: &DataType) -> Result<ArrayRef, Misfit> {
    match (array.data_type(), to) {
        (from, _) if from == to => valid(array),
        (DataType::Null, _) => Ok(new_null_array(to, array.len())),
        (DataType::Dictionary(_, value), _) => conform(&cast(array, &shared(value)).map_err(column_misfit)?, to),
        (DataType::RunEndEncoded(_, values), _) => conform(&cast(array, values.data_type()).map_err(column_misfit)?, to),
        (DataType::Struct(_), DataType::Struct(fields)) => nested::conform_struct(array, fields),
        (DataType::Map(..), DataType::Map(field, is_sorted)) => nested::conform_map(array, field, *is_sorted),
        (from, _) if is_list(from) && is_list(to) => nested::conform_list(array, to),
        _ => conform_leaf(&valid(array)?, to),
    }
}

/// The type in which the rows of a dictionary share a long value.
fn shared(value: &DataType) -> DataType {
    match value {
        DataType::Utf8 | DataType::LargeUtf8 => DataType::Utf8View,
        DataType::Binary | DataType::LargeBinary => DataType::BinaryView,
        value => value.clone(),
    }
}

fn conform_leaf(array: &ArrayRef, to: &DataType) -> Result<ArrayRef, Misfit> {
    let converted = match loses_digits(array.data_type(), to) {
        true => {
            let [from, to] = [array.data_type(), to].map(|data_type| Field::new("", data_type.clone(), true));
            cast_shown(array, &from, &to, true).map_err(|error| Misfit { row: 0, problem: error.to_string() })?
        }
        false => {
            let options = CastOptions { safe: true, format_options: FormatOptions::default() };
            cast_nearest(array, to, &options).map_err(column_misfit)?
        }
    };
    if converted.null_count() > array.null_count() {
        let lost = |row: &usize| converted.is_null(*row) && array.is_valid(*row);
        if let Some(row) = (0..array.len()).find(lost) {
            return Err(misfit(array, row, to));
        }
    }
    if array.data_type().is_floating() && to.is_integer() {
        refuse_fractions(array, to)?;
    }
    Ok(converted)
}

/// Whether the conversion loses digits of timestamps, which are then rounded.
fn loses_digits(from: &DataType, to: &DataType) -> bool {
    match (from, to) {
        (DataType::Timestamp(from, from_zone), DataType::Timestamp(to, to_zone)) => to < from && from_zone.is_some() == to_zone.is_some(),
        _ => false,
    }
}

fn refuse_fractions(array: &ArrayRef, to: &DataType) -> Result<(), Misfit> {
    use arrow::array::AsArray;
    use arrow::datatypes::Float64Type;
    let doubles = cast(array, &DataType::Float64).map_err(column_misfit)?;
    let doubles = doubles.as_primitive::<Float64Type>();
    let has_fraction = |row: &usize| doubles.is_valid(*row) && doubles.value(*row).fract() != 0.0;
    match (0..doubles.len()).find(has_fraction) {
        Some(row) => Err(misfit(array, row, to)),
        None => Ok(()),
    }
}

fn misfit(array: &dyn Array, row: usize, to: &DataType) -> Misfit {
    let options = FormatOptions::default();
    let value = ArrayFormatter::try_new(array, &options)
        .and_then(|formatter| formatter.value(row).try_to_string())
        .unwrap_or_else(|_| "a value".to_owned());
    let name = common::type_names::plain::sql_type_name(to);
    Misfit { row, problem: format!("{} does not fit {name}", quote_value(&value)) }
}

fn column_misfit(error: arrow::error::ArrowError) -> Misfit {
    Misfit { row: 0, problem: error.to_string() }
}

/// An all-NULL column, for a column that the file lacks.
pub fn nulls(data_type: &DataType, rows: usize) -> ArrayRef {
    Arc::clone(&new_null_array(data_type, rows))
}
