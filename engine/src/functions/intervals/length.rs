//! How long an interval is, as a number.

use std::sync::{Arc, LazyLock};

use arrow::array::{ArrayRef, AsArray, PrimitiveArray};
use arrow::datatypes::{DECIMAL128_MAX_PRECISION, DataType, Decimal128Type, Field, FieldRef, IntervalMonthDayNano, IntervalMonthDayNanoType};
use datafusion::common::{Result, ScalarValue, internal_err};
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::{ColumnarValue, Expr, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility};

use super::text::DAY_NANOSECONDS;

const LENGTH: DataType = DataType::Decimal128(DECIMAL128_MAX_PRECISION, 0);

static FUNCTION: LazyLock<Arc<ScalarUDF>> =
    LazyLock::new(|| Arc::new(ScalarUDF::from(Length { signature: Signature::any(1, Volatility::Immutable) })));

/// In nanoseconds.
pub fn length_of(interval: IntervalMonthDayNano) -> i128 {
    (i128::from(interval.months) * 30 + i128::from(interval.days)) * DAY_NANOSECONDS + i128::from(interval.nanoseconds)
}

pub fn length(interval: Expr) -> Expr {
    Expr::ScalarFunction(ScalarFunction::new_udf(Arc::clone(&FUNCTION), vec![interval]))
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Length {
    signature: Signature,
}

pub fn lengths(intervals: &ArrayRef) -> Result<ArrayRef> {
    let lengths: PrimitiveArray<Decimal128Type> = intervals.as_primitive::<IntervalMonthDayNanoType>().unary(length_of);
    Ok(Arc::new(lengths.with_data_type(LENGTH)))
}

impl ScalarUDFImpl for Length {
    fn name(&self) -> &str {
        "interval_length"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(LENGTH)
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        Ok(Arc::new(Field::new(self.name(), LENGTH, args.arg_fields.iter().any(|field| field.is_nullable()))))
    }

    fn is_strict(&self) -> bool {
        true
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        match args.args.as_slice() {
            [ColumnarValue::Array(intervals)] => Ok(ColumnarValue::Array(lengths(intervals)?)),
            [ColumnarValue::Scalar(interval)] => {
                Ok(ColumnarValue::Scalar(ScalarValue::try_from_array(&lengths(&interval.to_array()?)?, 0)?))
            }
            _ => internal_err!("{} of {} arguments", self.name(), args.args.len()),
        }
    }
}
