//! Converts decimals to the nearest float, also inside lists, structs, maps and dictionaries.

use std::fmt::Display;
use std::str::FromStr;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, make_array};
use arrow::compute::{CastOptions, cast_with_options};
use arrow::datatypes::{
    ArrowNativeType, DataType, Decimal32Type, Decimal64Type, Decimal128Type, Decimal256Type, DecimalType, Float32Type, Float64Type,
};
use arrow::error::ArrowError;
use datafusion::common::{Result, ScalarValue};

use crate::functions::nested_types::{fields_of, with_field};

/// The powers of ten that a double holds exactly.
const POWERS: [f64; 23] =
    [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22];

/// Every whole number up to here is a double.
const WHOLE_MAX: u64 = 1 << f64::MANTISSA_DIGITS;

/// The bits of a double that do not fit in a REAL, and their value half way between two REALs.
const DROPPED: u64 = (1 << 29) - 1;
const HALF: u64 = 1 << 28;

pub fn nearest_f64(unscaled: impl ArrowNativeType + Display, scale: i8) -> f64 {
    in_one_rounding(unscaled, scale).unwrap_or_else(|| read(unscaled, scale))
}

/// Rounded once, and not to a double first.
pub fn nearest_f32(unscaled: impl ArrowNativeType + Display, scale: i8) -> f32 {
    // A double below the half-way point means that the decimal is below it too, and likewise above. At that point the decimal may lie on
    // either side.
    let double = in_one_rounding(unscaled, scale).filter(|double| double.to_bits() & DROPPED != HALF);
    double.map_or_else(|| read(unscaled, scale), |double| double as f32)
}

/// One operation on two exact numbers rounds only once.
fn in_one_rounding(unscaled: impl ArrowNativeType, scale: i8) -> Option<f64> {
    let whole = unscaled.to_i64().filter(|whole| whole.unsigned_abs() <= WHOLE_MAX)? as f64;
    let power = POWERS.get(usize::from(scale.unsigned_abs()))?;
    Some(if scale < 0 { whole * power } else { whole / power })
}

/// Parsing the digits rounds correctly.
fn read<F: FromStr + Default>(unscaled: impl Display, scale: i8) -> F {
    format!("{unscaled}e{}", -i32::from(scale)).parse().unwrap_or_default()
}

/// Arrow's cast, except that decimals become the nearest floats. Arrow 59.3 makes a float of all digits and divides it by a power of ten,
/// which rounds up to three times.
pub fn cast_nearest(array: &ArrayRef, to: &DataType, options: &CastOptions<'_>) -> Result<ArrayRef, ArrowError> {
    match with_floats(array.data_type(), to) {
        Some(wanted) => cast_with_options(&converted(array, &wanted)?, to, options),
        None => cast_with_options(array, to, options),
    }
}

pub fn scalar_nearest(value: &ScalarValue, to: &DataType) -> Result<ScalarValue> {
    match with_floats(&value.data_type(), to) {
        Some(wanted) => ScalarValue::try_from_array(&converted(&value.to_array()?, &wanted)?, 0)?.cast_to(to),
        None => value.cast_to(to),
    }
}

/// The type `from` with floats in place of those decimals that are floats in `to`; `None` if there are none.
pub fn with_floats(from: &DataType, to: &DataType) -> Option<DataType> {
    use DataType::{Dictionary, FixedSizeList, Float32, Float64, RunEndEncoded};
    match (from, to) {
        (Dictionary(keys, values), _) => Some(Dictionary(keys.clone(), Box::new(with_floats(values, to)?))),
        (RunEndEncoded(ends, values), _) => {
            let inner = with_floats(values.data_type(), to)?;
            Some(RunEndEncoded(Arc::clone(ends), Arc::new(values.as_ref().clone().with_data_type(inner))))
        }
        (_, Dictionary(_, values)) => with_floats(from, values),
        (_, RunEndEncoded(_, values)) => with_floats(from, values.data_type()),
        // A value becomes a list of one, and a list of one becomes its value.
        _ if to.is_list() && !from.is_list() => with_floats(from, fields_of(to).first()?.data_type()),
        (FixedSizeList(item, 1), _) if !to.is_list() => Some(with_field(from, 0, with_floats(item.data_type(), to)?)),
        _ if from.is_decimal() => matches!(to, Float32 | Float64).then(|| to.clone()),
        _ => with_floats_inside(from, to),
    }
}

/// [`with_floats`] of types with fields.
fn with_floats_inside(from: &DataType, to: &DataType) -> Option<DataType> {
    let (fields, wanted) = (fields_of(from), fields_of(to));
    let is_struct = matches!(from, DataType::Struct(_));
    // Fields match as in casts: those of structs by name.
    let place = |name: &str| fields.iter().position(|field| field.name() == name).filter(|_| is_struct);
    let by_position = fields.len() == wanted.len() && wanted.iter().all(|field| place(field.name()).is_none());
    let mut made = None;
    for (position, field) in wanted.iter().enumerate() {
        let Some(place) = place(field.name()).or_else(|| by_position.then_some(position)) else { continue };
        if let Some(inner) = with_floats(fields[place].data_type(), field.data_type()) {
            made = Some(with_field(made.as_ref().unwrap_or(from), place, inner));
        }
    }
    made
}

/// The array converted to a type that [`with_floats`] made of its own type.
pub fn converted(array: &ArrayRef, wanted: &DataType) -> Result<ArrayRef, ArrowError> {
    Ok(match array.data_type() {
        from if from == wanted => Arc::clone(array),
        DataType::Decimal32(_, scale) => floats::<Decimal32Type>(array, *scale, wanted),
        DataType::Decimal64(_, scale) => floats::<Decimal64Type>(array, *scale, wanted),
        DataType::Decimal128(_, scale) => floats::<Decimal128Type>(array, *scale, wanted),
        DataType::Decimal256(_, scale) => floats::<Decimal256Type>(array, *scale, wanted),
        _ => {
            let data = array.to_data();
            let inner = data.child_data().iter().zip(inner_types(wanted));
            let inner = inner.map(|(data, wanted)| Ok(converted(&make_array(data.clone()), wanted)?.to_data()));
            let inner = inner.collect::<Result<Vec<_>, ArrowError>>()?;
            make_array(data.into_builder().data_type(wanted.clone()).child_data(inner).build()?)
        }
    })
}

/// The types of the child arrays.
fn inner_types(data_type: &DataType) -> Vec<&DataType> {
    match data_type {
        DataType::Dictionary(_, values) => vec![values],
        DataType::RunEndEncoded(ends, values) => vec![ends.data_type(), values.data_type()],
        _ => fields_of(data_type).iter().map(|field| field.data_type()).collect(),
    }
}

fn floats<D: DecimalType>(array: &ArrayRef, scale: i8, wanted: &DataType) -> ArrayRef
where
    D::Native: Display,
{
    let decimals = array.as_primitive::<D>();
    match wanted {
        DataType::Float32 => Arc::new(decimals.unary::<_, Float32Type>(|unscaled| nearest_f32(unscaled, scale))),
        _ => Arc::new(decimals.unary::<_, Float64Type>(|unscaled| nearest_f64(unscaled, scale))),
    }
}

#[cfg(test)]
mod tests;
