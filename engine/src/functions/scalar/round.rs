//! `round` to more digits than a float has, or to fewer than it has in front of the point: DataFusion's multiplies by a power of ten that
//! is infinite.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, ArrowPrimitiveType, AsArray, PrimitiveArray};
use arrow::datatypes::{DataType, Float32Type, Float64Type, Int32Type};
use datafusion::common::{Result, ScalarValue};
use datafusion::functions::math::round as datafusion_round;
use datafusion::logical_expr::sort_properties::{ExprProperties, SortProperties};
use datafusion::logical_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl};

use super::described_by_function;

pub fn round() -> ScalarUDF {
    ScalarUDF::from(Round { inner: datafusion_round() })
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Round {
    inner: Arc<ScalarUDF>,
}

impl ScalarUDFImpl for Round {
    described_by_function!();

    fn is_strict(&self) -> bool {
        true
    }

    fn output_ordering(&self, input: &[ExprProperties]) -> Result<SortProperties> {
        self.inner.output_ordering(input)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let (values, rows) = (args.args.clone(), args.number_rows);
        let rounded = self.inner.invoke_with_args(args)?;
        let [value, digits] = values.as_slice() else { return Ok(rounded) };
        if !rounded.data_type().is_floating() {
            return Ok(rounded);
        }
        let is_scalar = matches!(rounded, ColumnarValue::Scalar(_));
        let rows = if is_scalar { 1 } else { rows };
        let (value, digits, rounded) = (value.to_array(rows)?, digits.to_array(rows)?, rounded.into_array(rows)?);
        let made = match rounded.data_type() {
            DataType::Float32 if value.data_type() == rounded.data_type() => finite::<Float32Type>(&value, &digits, &rounded, 0.0, f32::is_finite),
            DataType::Float64 if value.data_type() == rounded.data_type() => finite::<Float64Type>(&value, &digits, &rounded, 0.0, f64::is_finite),
            _ => rounded,
        };
        match is_scalar {
            true => Ok(ColumnarValue::Scalar(ScalarValue::try_from_array(&made, 0)?)),
            false => Ok(ColumnarValue::Array(made)),
        }
    }
}

/// A number that became none has no digit to lose if there are to be some behind the point, and else has none left.
fn finite<T: ArrowPrimitiveType>(
    value: &ArrayRef,
    digits: &ArrayRef,
    rounded: &ArrayRef,
    zero: T::Native,
    is_finite: fn(T::Native) -> bool,
) -> ArrayRef {
    let (values, found) = (value.as_primitive::<T>(), rounded.as_primitive::<T>());
    let Some(digits) = digits.as_primitive_opt::<Int32Type>() else { return Arc::clone(rounded) };
    let is_lost = |row: usize| found.is_valid(row) && !is_finite(found.value(row)) && is_finite(values.value(row));
    if !(0..found.len()).any(is_lost) {
        return Arc::clone(rounded);
    }
    let made = (0..found.len()).map(|row| match (is_lost(row), found.is_valid(row)) {
        (true, _) => Some(if digits.value(row) < 0 { zero } else { values.value(row) }),
        (false, true) => Some(found.value(row)),
        (false, false) => None,
    });
    Arc::new(made.collect::<PrimitiveArray<T>>())
}
