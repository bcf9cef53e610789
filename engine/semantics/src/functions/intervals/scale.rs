//! `INTERVAL '1 day' * 3` and `INTERVAL '1 hour' / 2`, as in PostgreSQL: a fraction of a month are days, 30 to the month, and a fraction of a
//! day is time. No statement can call the functions by name.

use std::sync::{Arc, LazyLock};

use arrow::array::{Array, ArrayRef, AsArray, IntervalMonthDayNanoArray};
use arrow::compute::kernels::arity::try_binary;
use arrow::compute::{CastOptions, cast, cast_with_options};
use arrow::datatypes::{DataType, Float64Type, Int64Type, IntervalMonthDayNano, IntervalMonthDayNanoType, IntervalUnit};
use arrow::error::ArrowError;
use datafusion::common::{DFSchema, DataFusionError, Result, ScalarValue};
use datafusion::logical_expr::planner::{ExprPlanner, PlannerResult, RawBinaryExpr};
use datafusion::logical_expr::{ColumnarValue, ExprSchemable, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility};
use datafusion::sql::sqlparser::ast::BinaryOperator;

use super::is_interval;
use common::error::EngineError;

static TIMES: LazyLock<Arc<ScalarUDF>> = LazyLock::new(|| scaled(Scale::Times));
static OVER: LazyLock<Arc<ScalarUDF>> = LazyLock::new(|| scaled(Scale::Over));

/// Plans these operators while SQL is planned: DataFusion knows no type of theirs.
#[derive(Debug)]
pub struct IntervalOperators;

impl ExprPlanner for IntervalOperators {
    fn plan_binary_op(&self, expr: RawBinaryExpr, schema: &DFSchema) -> Result<PlannerResult<RawBinaryExpr>> {
        let is_product = match expr.op {
            BinaryOperator::Multiply => true,
            BinaryOperator::Divide => false,
            _ => return Ok(PlannerResult::Original(expr)),
        };
        // The planner reports the error of an operand.
        let (Ok(left), Ok(right)) = (expr.left.get_type(schema), expr.right.get_type(schema)) else {
            return Ok(PlannerResult::Original(expr));
        };
        let (function, interval, number) = match (is_interval(&left), is_interval(&right)) {
            (true, false) if is_number(&right) => (if is_product { &*TIMES } else { &*OVER }, expr.left, expr.right),
            (false, true) if is_number(&left) && is_product => (&*TIMES, expr.right, expr.left),
            _ => return Ok(PlannerResult::Original(expr)),
        };
        Ok(PlannerResult::Planned(function.call(vec![interval, number])))
    }
}

fn is_number(data_type: &DataType) -> bool {
    data_type.is_numeric() || data_type.is_null()
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Scale {
    Times,
    Over,
}

fn scaled(scale: Scale) -> Arc<ScalarUDF> {
    Arc::new(ScalarUDF::from(ScaledInterval { scale, signature: Signature::any(2, Volatility::Immutable) }))
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct ScaledInterval {
    scale: Scale,
    signature: Signature,
}

impl ScalarUDFImpl for ScaledInterval {
    fn name(&self) -> &str {
        match self.scale {
            Scale::Times => "interval_times",
            Scale::Over => "interval_over",
        }
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Interval(IntervalUnit::MonthDayNano))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let is_scalar = args.args.iter().all(|argument| matches!(argument, ColumnarValue::Scalar(_)));
        let arrays = ColumnarValue::values_to_arrays(&args.args)?;
        let (intervals, numbers) = (arrays[0].as_primitive::<IntervalMonthDayNanoType>(), &arrays[1]);
        let made: ArrayRef = match self.scale {
            scale if numbers.data_type().is_integer() => {
                let whole = CastOptions { safe: false, ..CastOptions::default() };
                let numbers = cast_with_options(numbers, &DataType::Int64, &whole).map_err(|_| too_large())?;
                Arc::new(with(intervals, numbers.as_primitive::<Int64Type>(), if scale == Scale::Times { times } else { over })?)
            }
            scale => {
                let numbers = cast(numbers, &DataType::Float64)?;
                let numbers = numbers.as_primitive::<Float64Type>();
                Arc::new(match scale {
                    Scale::Times => with(intervals, numbers, |interval, number| of_parts(interval, |part| part * number))?,
                    Scale::Over => with(intervals, numbers, |interval, number| match number == 0.0 {
                        true => Err(ArrowError::DivideByZero),
                        false => of_parts(interval, |part| part / number),
                    })?,
                })
            }
        };
        if is_scalar && made.len() == 1 {
            return Ok(ColumnarValue::Scalar(ScalarValue::try_from_array(&made, 0)?));
        }
        Ok(ColumnarValue::Array(made))
    }
}

fn with<N: arrow::array::ArrowPrimitiveType>(
    intervals: &IntervalMonthDayNanoArray,
    numbers: &arrow::array::PrimitiveArray<N>,
    scale: impl Fn(IntervalMonthDayNano, N::Native) -> Result<IntervalMonthDayNano, ArrowError>,
) -> Result<IntervalMonthDayNanoArray> {
    let made: Result<IntervalMonthDayNanoArray, ArrowError> = try_binary(intervals, numbers, scale);
    made.map_err(|error| match error {
        ArrowError::ArithmeticOverflow(_) => too_large(),
        other => DataFusionError::from(other),
    })
}

fn too_large() -> DataFusionError {
    EngineError::Sql { message: "the result is out of range for INTERVAL".to_string(), position: None, hint: None }.into_datafusion()
}

fn out_of_range() -> ArrowError {
    ArrowError::ArithmeticOverflow(String::new())
}

fn times(interval: IntervalMonthDayNano, number: i64) -> Result<IntervalMonthDayNano, ArrowError> {
    let small = |part: i32| i64::from(part).checked_mul(number).and_then(|product| i32::try_from(product).ok()).ok_or_else(out_of_range);
    let nanoseconds = interval.nanoseconds.checked_mul(number).ok_or_else(out_of_range)?;
    Ok(IntervalMonthDayNano::new(small(interval.months)?, small(interval.days)?, nanoseconds))
}

fn over(interval: IntervalMonthDayNano, number: i64) -> Result<IntervalMonthDayNano, ArrowError> {
    if number == 0 {
        return Err(ArrowError::DivideByZero);
    }
    let number = i128::from(number);
    let (months, rest) = (i128::from(interval.months) / number, i128::from(interval.months) % number);
    let days = i128::from(interval.days) + rest * DAYS_OF_MONTH as i128;
    let (days, rest) = (days / number, days % number);
    let nanoseconds = (i128::from(interval.nanoseconds) + rest * NANOS_OF_DAY as i128) / number;
    let small = |part: i128| i32::try_from(part).map_err(|_| out_of_range());
    Ok(IntervalMonthDayNano::new(small(months)?, small(days)?, i64::try_from(nanoseconds).map_err(|_| out_of_range())?))
}

const DAYS_OF_MONTH: f64 = 30.0;
const NANOS_OF_DAY: f64 = 86_400e9;

fn of_parts(interval: IntervalMonthDayNano, scale: impl Fn(f64) -> f64) -> Result<IntervalMonthDayNano, ArrowError> {
    let months = scale(f64::from(interval.months));
    let days = scale(f64::from(interval.days)) + months.fract() * DAYS_OF_MONTH;
    // What is a whole day but for rounding is one.
    let days = if days.fract() == 0.0 { days } else { (days * NANOS_OF_DAY).round() / NANOS_OF_DAY };
    let nanos = (scale(interval.nanoseconds as f64) + days.fract() * NANOS_OF_DAY).round();
    let small = |part: f64| match part.trunc() {
        whole if whole >= f64::from(i32::MIN) && whole <= f64::from(i32::MAX) => Ok(whole as i32),
        _ => Err(out_of_range()),
    };
    // 2^63 is the first number that is too large.
    let is_in_range = nanos >= i64::MIN as f64 && nanos < i64::MAX as f64;
    let nanos = if is_in_range { nanos as i64 } else { return Err(out_of_range()) };
    Ok(IntervalMonthDayNano::new(small(months)?, small(days)?, nanos))
}
