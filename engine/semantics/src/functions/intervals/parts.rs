//! `extract` and `date_part` of intervals. DataFusion's use years of 360 days and truncate fractions of seconds.

use std::sync::{Arc, LazyLock};

use arrow::array::{ArrayRef, AsArray, Float64Array, Int64Array};
use arrow::compute::cast;
use arrow::datatypes::{DataType, FieldRef, IntervalMonthDayNano, IntervalMonthDayNanoType};
use datafusion::common::{DFSchema, Result, ScalarValue, internal_err};
use datafusion::functions::datetime::date_part;
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::{
    ColumnarValue, Expr, ExprSchemable, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};

use super::is_interval;
use common::error::EngineError;
use common::interval_text::{HOUR, MINUTE, SECOND};

static FUNCTION: LazyLock<Arc<ScalarUDF>> =
    LazyLock::new(|| Arc::new(ScalarUDF::from(IntervalPart { signature: Signature::any(2, Volatility::Immutable) })));

/// The call with the function for intervals, if the argument of `date_part` is one.
pub fn part_of_interval(expr: &Expr, schema: &DFSchema) -> Option<Expr> {
    let Expr::ScalarFunction(call) = expr else { return None };
    let [_, interval] = call.args.as_slice() else { return None };
    let is_so = call.func.name() == "date_part" && interval.get_type(schema).is_ok_and(|data_type| is_interval(&data_type));
    is_so.then(|| Expr::ScalarFunction(ScalarFunction::new_udf(Arc::clone(&FUNCTION), call.args.clone())))
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct IntervalPart {
    signature: Signature,
}

impl ScalarUDFImpl for IntervalPart {
    fn name(&self) -> &str {
        "interval_part"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        internal_err!("{} has a field", self.name())
    }

    /// The expressions around the call were planned with this field.
    fn return_field_from_args(&self, args: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        date_part().return_field_from_args(args)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let [ColumnarValue::Scalar(name), interval] = args.args.as_slice() else {
            return internal_err!("{} of {} arguments", self.name(), args.args.len());
        };
        let name = name.try_as_str().flatten().unwrap_or_default().to_ascii_lowercase();
        let wanted = args.return_field.data_type();
        match interval {
            ColumnarValue::Array(intervals) => Ok(ColumnarValue::Array(parts(&name, intervals, wanted)?)),
            ColumnarValue::Scalar(interval) => {
                Ok(ColumnarValue::Scalar(ScalarValue::try_from_array(&parts(&name, &interval.to_array()?, wanted)?, 0)?))
            }
        }
    }
}

fn parts(name: &str, intervals: &ArrayRef, wanted: &DataType) -> Result<ArrayRef> {
    let intervals = intervals.as_primitive::<IntervalMonthDayNanoType>();
    let made: ArrayRef = if name == "epoch" {
        Arc::new(intervals.iter().map(|interval| interval.map(epoch)).collect::<Float64Array>())
    } else {
        let Some(part) = part(name) else {
            let hint = Some(
                "there are millennium, century, decade, year, quarter, month, day, hour, minute, second, millisecond, microsecond, nanosecond and epoch",
            );
            return Err(EngineError::unsupported(format!("the part {name} of an INTERVAL"), hint).into_datafusion());
        };
        Arc::new(intervals.iter().map(|interval| interval.map(part)).collect::<Int64Array>())
    };
    Ok(cast(&made, wanted)?)
}

/// As in PostgreSQL: a year has 365.25 days, and a month that is not part of a year has 30.
fn epoch(interval: IntervalMonthDayNano) -> f64 {
    const QUARTER_DAY_SECONDS: f64 = 21_600.0;
    let (years, months) = (f64::from(interval.months / 12), f64::from(interval.months % 12));
    let quarter_days = years * 1461.0 + months * 120.0 + f64::from(interval.days) * 4.0;
    quarter_days * QUARTER_DAY_SECONDS + interval.nanoseconds as f64 / SECOND as f64
}

fn part(name: &str) -> Option<fn(IntervalMonthDayNano) -> i64> {
    const HOURS: i64 = HOUR as i64;
    const MINUTES: i64 = MINUTE as i64;
    const SECONDS: i64 = SECOND as i64;
    Some(match name {
        "millennium" | "millennia" | "millenniums" | "mil" => |interval| i64::from(interval.months / 12_000),
        "century" | "centuries" | "cent" | "c" => |interval| i64::from(interval.months / 1_200),
        "decade" | "decades" | "dec" => |interval| i64::from(interval.months / 120),
        "year" | "years" | "y" | "yr" | "yrs" => |interval| i64::from(interval.months / 12),
        "quarter" | "quarters" | "qtr" => |interval| i64::from(interval.months % 12 / 3 + 1),
        "month" | "months" | "mon" | "mons" => |interval| i64::from(interval.months % 12),
        "day" | "days" | "d" => |interval| i64::from(interval.days),
        "hour" | "hours" | "h" | "hr" | "hrs" => |interval| interval.nanoseconds / HOURS,
        "minute" | "minutes" | "m" | "min" | "mins" => |interval| interval.nanoseconds % HOURS / MINUTES,
        "second" | "seconds" | "s" | "sec" | "secs" => |interval| interval.nanoseconds % MINUTES / SECONDS,
        "millisecond" | "milliseconds" | "ms" | "msec" | "msecs" => |interval| interval.nanoseconds % MINUTES / 1_000_000,
        "microsecond" | "microseconds" | "us" | "usec" | "usecs" => |interval| interval.nanoseconds % MINUTES / 1_000,
        "nanosecond" | "nanoseconds" | "ns" => |interval| interval.nanoseconds % MINUTES,
        _ => return None,
    })
}
