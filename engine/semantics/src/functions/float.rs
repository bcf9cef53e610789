//! NaN is one value, and greater than every other number.
//!
//! Processors make NaNs with the sign bit set (0/0, inf - inf), and negation sets it. Arrow compares floats by their bits, so such a NaN
//! would be less than every number. [`one_nan`] wraps the operators, functions and casts that can make one, and [`float_result`] replaces
//! the aggregates. DataFusion's grouped `min` and `max` replace a NaN by any value that follows it; [`own_extreme`] replaces them.
//!
//! [`float_result`]: super::float_results::float_result
//! [`own_extreme`]: super::extreme::own_extreme

use std::sync::{Arc, LazyLock};

use arrow::array::{Array, ArrayRef, ArrowPrimitiveType, AsArray, PrimitiveArray};
use arrow::datatypes::{DataType, FieldRef, Float16Type, Float32Type, Float64Type};
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::common::{DFSchema, Result, ScalarValue, internal_err};
use datafusion::logical_expr::{
    ColumnarValue, Expr, ExprSchemable, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};

static ONE_NAN: LazyLock<Arc<ScalarUDF>> =
    LazyLock::new(|| Arc::new(ScalarUDF::from(OneNan { signature: Signature::any(1, Volatility::Immutable) })));

pub fn one_nan() -> &'static Arc<ScalarUDF> {
    &ONE_NAN
}

pub fn is_one_nan(function: &ScalarUDF) -> bool {
    function.inner().downcast_ref::<OneNan>().is_some()
}

/// The condition without `one_nan` around columns that are not floats, where the function does nothing.
pub fn without_one_nan(condition: Expr, schema: &DFSchema) -> Result<Expr> {
    let bare = |part: Expr| match part {
        Expr::ScalarFunction(mut call) if is_one_nan(&call.func) && matches!(call.args.as_slice(), [Expr::Column(_)]) => {
            match call.args[0].get_type(schema)?.is_floating() {
                true => Ok(Transformed::no(Expr::ScalarFunction(call))),
                false => Ok(Transformed::yes(call.args.remove(0))),
            }
        }
        part => Ok(Transformed::no(part)),
    };
    condition.transform_up(bare).data()
}

/// The array with the one NaN, which has no sign.
pub fn with_one_nan(array: &ArrayRef) -> ArrayRef {
    match array.data_type() {
        DataType::Float16 => Arc::new(unsigned::<Float16Type>(array.as_primitive(), |value| value.is_nan(), half_nan())),
        DataType::Float32 => Arc::new(unsigned::<Float32Type>(array.as_primitive(), |value| value.is_nan(), f32::NAN)),
        DataType::Float64 => Arc::new(unsigned::<Float64Type>(array.as_primitive(), |value| value.is_nan(), f64::NAN)),
        _ => Arc::clone(array),
    }
}

pub fn scalar_with_one_nan(value: ScalarValue) -> ScalarValue {
    match value {
        ScalarValue::Float16(Some(value)) if value.is_nan() => ScalarValue::Float16(Some(half_nan())),
        ScalarValue::Float32(Some(value)) if value.is_nan() => ScalarValue::Float32(Some(f32::NAN)),
        ScalarValue::Float64(Some(value)) if value.is_nan() => ScalarValue::Float64(Some(f64::NAN)),
        value => value,
    }
}

fn half_nan() -> <Float16Type as ArrowPrimitiveType>::Native {
    <Float16Type as ArrowPrimitiveType>::Native::NAN
}

fn unsigned<T: ArrowPrimitiveType>(array: &PrimitiveArray<T>, is_nan: fn(T::Native) -> bool, nan: T::Native) -> PrimitiveArray<T> {
    match array.values().iter().any(|value| is_nan(*value)) {
        true => array.unary(|value| if is_nan(value) { nan } else { value }),
        false => array.clone(),
    }
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct OneNan {
    signature: Signature,
}

/// `output_ordering` stays the default, unordered: the operand is sorted by the bits of its NaNs (`-a` of a sorted `a` starts with one),
/// and the result is not.
impl ScalarUDFImpl for OneNan {
    fn name(&self) -> &str {
        "one_nan"
    }

    /// Columns keep their names.
    fn schema_name(&self, args: &[Expr]) -> Result<String> {
        match args {
            [arg] => Ok(arg.schema_name().to_string()),
            _ => internal_err!("one_nan of {} arguments", args.len()),
        }
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, arg_types: &[DataType]) -> Result<DataType> {
        Ok(arg_types[0].clone())
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        let field = &args.arg_fields[0];
        Ok(Arc::new(field.as_ref().clone().with_name(self.name())))
    }

    fn is_strict(&self) -> bool {
        true
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        Ok(match &args.args[0] {
            ColumnarValue::Array(array) => ColumnarValue::Array(with_one_nan(array)),
            ColumnarValue::Scalar(value) => ColumnarValue::Scalar(scalar_with_one_nan(value.clone())),
        })
    }
}
