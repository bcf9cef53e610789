//! `to_timestamp` and its variants: they use the zone of the result type, read whole seconds as UTC, check the range, and accept
//! PostgreSQL's patterns. DataFusion's ignore the zone for columns of texts, read seconds as local time, and saturate at the last
//! timestamp.

use std::sync::Arc;

use arrow::array::timezone::Tz;
use arrow::array::{Array, ArrayRef, AsArray, PrimitiveArray};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Float64Type, TimeUnit, TimestampNanosecondType};
use datafusion::common::config::ConfigOptions;
use datafusion::common::{Result, ScalarValue};
use datafusion::functions::datetime::{to_timestamp, to_timestamp_micros, to_timestamp_millis, to_timestamp_nanos, to_timestamp_seconds};
use datafusion::logical_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl};

use super::described_by_function;
use super::to_date::{Patterned, patterned};
use crate::functions::casts::{Moment, moments, out_of_range};
use common::error::EngineError;

/// The range of a timestamp in nanoseconds, as floats that do not round to values outside of it.
const LEAST: f64 = -9_223_372_036_854_775_808.0;
const MOST: f64 = 9_223_372_036_854_774_784.0;
const NANOSECONDS: f64 = 1e9;

pub fn all(config: &ConfigOptions) -> impl Iterator<Item = ScalarUDF> + use<> {
    let all = [to_timestamp, to_timestamp_seconds, to_timestamp_millis, to_timestamp_micros, to_timestamp_nanos].map(|made| made(config));
    all.into_iter().map(|inner| ScalarUDF::from(ToTimestamp { inner }))
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct ToTimestamp {
    inner: Arc<ScalarUDF>,
}

impl ScalarUDFImpl for ToTimestamp {
    described_by_function!();

    fn with_updated_config(&self, config: &ConfigOptions) -> Option<ScalarUDF> {
        let inner = Arc::new(self.inner.inner().with_updated_config(config)?);
        Some(ScalarUDF::from(ToTimestamp { inner }))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let wanted = args.return_field.data_type().clone();
        if let Some(patterned) = patterned(&args.args)? {
            return by_pattern(&patterned, &wanted);
        }
        let is_whole = self.name() == "to_timestamp";
        if let Some(value) = args.args.first() {
            let found = value.data_type();
            if found.is_integer() && is_whole {
                return of(value, |values| whole_seconds(values, &wanted));
            }
            if found.is_floating() && is_whole {
                return of(value, |values| seconds(values, &wanted));
            }
        }
        match self.inner.invoke_with_args(args)? {
            ColumnarValue::Array(made) if made.data_type() != &wanted => Ok(ColumnarValue::Array(in_zone(&made, &wanted)?)),
            made => Ok(made),
        }
    }
}

fn of(value: &ColumnarValue, made: impl Fn(&ArrayRef) -> Result<ArrayRef>) -> Result<ColumnarValue> {
    match value {
        ColumnarValue::Array(values) => Ok(ColumnarValue::Array(made(values)?)),
        ColumnarValue::Scalar(value) => Ok(ColumnarValue::Scalar(ScalarValue::try_from_array(&made(&value.to_array()?)?, 0)?)),
    }
}

/// The same instants with the target zone; an instant is stored in UTC whatever its zone.
fn in_zone(made: &ArrayRef, wanted: &DataType) -> Result<ArrayRef> {
    let same_unit = matches!((made.data_type(), wanted), (DataType::Timestamp(found, _), DataType::Timestamp(unit, _)) if found == unit);
    match same_unit {
        true => Ok(arrow::array::make_array(made.to_data().into_builder().data_type(wanted.clone()).build()?)),
        false => Ok(cast(made, wanted)?),
    }
}

fn whole_seconds(values: &ArrayRef, wanted: &DataType) -> Result<ArrayRef> {
    let options = arrow::compute::CastOptions { safe: false, ..Default::default() };
    let seconds = arrow::compute::cast_with_options(values, &DataType::Int64, &options)?;
    let seconds = seconds.as_primitive::<arrow::datatypes::Int64Type>();
    moments(seconds.iter().map(|value| value.map(|value| Ok(Moment::of(value, TimeUnit::Second)))), wanted, false)
}

fn seconds(values: &ArrayRef, wanted: &DataType) -> Result<ArrayRef> {
    let values = cast(values, &DataType::Float64)?;
    let values = values.as_primitive::<Float64Type>();
    let nanoseconds = values.iter().map(|value| match value.map(|value| (value, value * NANOSECONDS)) {
        None => Ok(None),
        Some((_, nanoseconds)) if (LEAST..=MOST).contains(&nanoseconds) => Ok(Some(nanoseconds as i64)),
        Some((value, _)) => {
            let hint = Some("a TIMESTAMP is from 1677-09-21 to 2262-04-11; to_timestamp_seconds has more years".to_string());
            Err(EngineError::data(format!("{value} seconds since 1970 are out of range for a TIMESTAMP"), hint).into_datafusion())
        }
    });
    let made = nanoseconds.collect::<Result<PrimitiveArray<TimestampNanosecondType>>>()?;
    in_zone(&(Arc::new(made) as ArrayRef), wanted)
}

/// A text without a zone is local time in the session's zone.
fn by_pattern(patterned: &Patterned, wanted: &DataType) -> Result<ColumnarValue> {
    let zone = match wanted {
        DataType::Timestamp(_, Some(zone)) => Some(zone.parse::<Tz>()?),
        _ => None,
    };
    let moment = |(at, has_zone): (crate::functions::patterns::Civil, bool)| {
        let clock = Moment { seconds: at.days * 86_400 + at.second_of_day, nanoseconds: at.nanosecond };
        match zone {
            _ if has_zone => Ok(Moment { seconds: clock.seconds - at.offset_seconds, ..clock }),
            Some(zone) => clock.on_clock_of(zone).ok_or_else(|| out_of_range(wanted)),
            None => Ok(clock),
        }
    };
    let values = patterned.read()?;
    let made = moments(values.into_iter().map(|value| value.map(&moment)), wanted, false)?;
    patterned.result(made)
}
