//! `round` to more digits than a float has, or to fewer than it has in front of the point. DataFusion's multiplies by a power of ten that
//! is infinite.
//!
//! For decimals, the result type depends on the number of digits if that is constant. DataFusion casts that number, so it is not a
//! constant until the plan is simplified, and the type changes then. Here a constant stays one, and any other expression is never treated
//! as one.

use std::sync::{Arc, LazyLock};

use arrow::array::{Array, ArrayRef, ArrowPrimitiveType, AsArray, PrimitiveArray};
use arrow::compute::CastOptions;
use arrow::datatypes::{DataType, FieldRef, Float32Type, Float64Type, Int32Type};
use datafusion::common::{Result, ScalarValue};
use datafusion::functions::math::round as datafusion_round;
use datafusion::logical_expr::sort_properties::{ExprProperties, SortProperties};
use datafusion::logical_expr::{
    Coercion, ColumnarValue, Documentation, Expr, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, TypeSignature,
    TypeSignatureClass,
};

use super::counted;

static TO_COMPUTED_DIGITS: LazyLock<Arc<ScalarUDF>> = LazyLock::new(|| Arc::new(counted(made(false))));

pub fn round() -> ScalarUDF {
    made(true)
}

/// Marks a call whose digits are not constant, so that later simplification does not change its type. True if it did.
pub fn take_computed_digits(expr: &mut Expr) -> bool {
    let Expr::ScalarFunction(call) = expr else { return false };
    let is_computed = call.func.name() == "round" && call.args.get(1).is_some_and(|digits| !matches!(digits, Expr::Literal(..)));
    let is_new = is_computed && call.func != *TO_COMPUTED_DIGITS;
    if is_new {
        call.func = Arc::clone(&TO_COMPUTED_DIGITS);
    }
    is_new
}

fn made(to_constant: bool) -> ScalarUDF {
    let inner = datafusion_round();
    let mut signature = inner.signature().clone();
    if let TypeSignature::OneOf(kinds) = &mut signature.type_signature {
        let [decimal, digits] = [TypeSignatureClass::Decimal, TypeSignatureClass::Integer].map(Coercion::new_exact);
        kinds.insert(0, TypeSignature::Coercible(vec![decimal, digits]));
    }
    ScalarUDF::from(Round { inner, signature, to_constant })
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Round {
    inner: Arc<ScalarUDF>,
    signature: Signature,
    to_constant: bool,
}

impl ScalarUDFImpl for Round {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        self.inner.return_type(types)
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        match args.scalar_arguments {
            [value, Some(_)] if !self.to_constant => {
                self.inner.return_field_from_args(ReturnFieldArgs { scalar_arguments: &[*value, None], ..args })
            }
            _ => self.inner.return_field_from_args(args),
        }
    }

    fn documentation(&self) -> Option<&Documentation> {
        self.inner.documentation()
    }

    fn is_strict(&self) -> bool {
        true
    }

    fn output_ordering(&self, input: &[ExprProperties]) -> Result<SortProperties> {
        self.inner.output_ordering(input)
    }

    fn invoke_with_args(&self, mut args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        if let [_, digits] = args.args.as_mut_slice() {
            *digits = digits.cast_to(&DataType::Int32, Some(&CastOptions { safe: false, ..CastOptions::default() }))?;
        }
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
            DataType::Float32 if value.data_type() == rounded.data_type() => {
                finite::<Float32Type>(&value, &digits, &rounded, 0.0, f32::is_finite)
            }
            DataType::Float64 if value.data_type() == rounded.data_type() => {
                finite::<Float64Type>(&value, &digits, &rounded, 0.0, f64::is_finite)
            }
            _ => rounded,
        };
        match is_scalar {
            true => Ok(ColumnarValue::Scalar(ScalarValue::try_from_array(&made, 0)?)),
            false => Ok(ColumnarValue::Array(made)),
        }
    }
}

/// Replaces results that became infinite or NaN: digits behind the point leave the number unchanged, and digits in front of it make 0.
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
