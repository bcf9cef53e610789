//! `timezone(zone, x)`, which is `x AT TIME ZONE zone`: an instant becomes the local time in the zone, and a local time becomes the
//! instant.

use std::sync::Arc;

use arrow::array::ArrayRef;
use arrow::array::timezone::Tz;
use arrow::compute::cast;
use arrow::datatypes::{DataType, Field, TimeUnit};
use datafusion::common::config::ConfigOptions;
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility};

use crate::functions::casts::cast_shown;
use common::error::EngineError;
use common::tensors::refused;
use common::type_names::declared_name;

pub fn timezone(config: &ConfigOptions) -> ScalarUDF {
    let session = config.execution.time_zone.as_deref().unwrap_or("UTC").into();
    ScalarUDF::from(TimeZone { session, signature: Signature::user_defined(Volatility::Immutable) })
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct TimeZone {
    /// The zone in which instants are shown.
    session: Arc<str>,
    signature: Signature,
}

impl TimeZone {
    fn instant(&self, unit: TimeUnit) -> DataType {
        DataType::Timestamp(unit, Some(Arc::clone(&self.session)))
    }

    fn moved(&self, times: &ArrayRef, zone: &str) -> Result<ArrayRef> {
        let field = |data_type: &DataType| Field::new("", data_type.clone(), true);
        let DataType::Timestamp(unit, found) = times.data_type() else { return Ok(Arc::clone(times)) };
        let (clock, there) = (DataType::Timestamp(*unit, None), DataType::Timestamp(*unit, Some(zone.into())));
        match found {
            Some(_) => cast_shown(&cast(times, &there)?, &field(&there), &field(&clock), false),
            None => Ok(cast(&cast_shown(times, &field(&clock), &field(&there), false)?, &self.instant(*unit))?),
        }
    }
}

impl ScalarUDFImpl for TimeZone {
    fn name(&self) -> &str {
        "timezone"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn with_updated_config(&self, config: &ConfigOptions) -> Option<ScalarUDF> {
        Some(timezone(config))
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        let time = match types {
            [zone, DataType::Timestamp(unit, own)] if is_text(zone) => DataType::Timestamp(*unit, own.clone()),
            // As in PostgreSQL, for a text or a date.
            [zone, time] if is_text(zone) && (is_text(time) || *time == DataType::Date32) => self.instant(TimeUnit::Nanosecond),
            [_, time] => {
                return Err(refused(format!("{} is not on clocks of a time zone", declared_name(time)), Some("write a TIMESTAMP")));
            }
            _ => return Err(refused("timezone takes a zone and a time".to_string(), Some("write timezone('Europe/Berlin', time)"))),
        };
        Ok(vec![DataType::Utf8View, time])
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        Ok(match types {
            [_, DataType::Timestamp(unit, Some(_))] => DataType::Timestamp(*unit, None),
            [_, DataType::Timestamp(unit, None)] => self.instant(*unit),
            _ => DataType::Null,
        })
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let [ColumnarValue::Scalar(zone), time] = args.args.as_slice() else {
            return Err(EngineError::unsupported("a time zone that is another one in each row", Some("write its name as a text")).into());
        };
        let Some(zone) = zone.try_as_str().flatten() else {
            return Ok(ColumnarValue::Scalar(ScalarValue::try_new_null(args.return_field.data_type())?));
        };
        if zone.parse::<Tz>().is_err() {
            let hint = Some("write a name as 'Europe/Berlin' or an offset as '+02:00'".to_string());
            return Err(EngineError::data(format!("\"{}\" is no time zone", zone.escape_debug()), hint).into_datafusion());
        }
        match time {
            ColumnarValue::Array(times) => Ok(ColumnarValue::Array(self.moved(times, zone)?)),
            ColumnarValue::Scalar(time) => {
                Ok(ColumnarValue::Scalar(ScalarValue::try_from_array(&self.moved(&time.to_array()?, zone)?, 0)?))
            }
        }
    }
}

fn is_text(data_type: &DataType) -> bool {
    data_type.is_string() || data_type.is_null()
}
