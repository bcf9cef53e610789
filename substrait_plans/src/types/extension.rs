//! Types of extensions, and variations of plain types, as types of Arrow.

use std::fmt::Display;
use std::sync::Arc;

use arrow::datatypes::{DECIMAL256_MAX_PRECISION, DataType, IntervalUnit, TimeUnit};

use super::names::{DATE_MILLIS, DECIMAL256, DURATION, FIXED_LIST, FLOAT16, NULL, Names, TIMESTAMP_ZONE, UNSIGNED};
use super::read::{TypeReader, digits, length, time_unit};
use crate::error::PlanError;
use crate::proto::Type;
use crate::proto::r#type::UserDefined;
use crate::proto::r#type::parameter::Parameter;

/// A name in the place of which DataFusion writes a number.
type Variation = Option<String>;

pub fn plain(variation: Variation, data_type: DataType, place: &dyn Display) -> Result<DataType, PlanError> {
    match variation {
        None => Ok(data_type),
        Some(name) => Err(unknown(&name, &data_type, place)),
    }
}

/// A whole number, maybe one without a sign. Arrow has half floats as a variation of i16.
pub fn number(variation: Variation, signed: DataType, place: &dyn Display) -> Result<DataType, PlanError> {
    let Some(name) = variation else { return Ok(signed) };
    match (&signed, name.as_str()) {
        (DataType::Int8, "u8" | "1") => Ok(DataType::UInt8),
        (DataType::Int16, "u16" | "1") => Ok(DataType::UInt16),
        (DataType::Int16, FLOAT16) => Ok(DataType::Float16),
        (DataType::Int32, "u32" | "1") => Ok(DataType::UInt32),
        (DataType::Int64, "u64" | "1") => Ok(DataType::UInt64),
        _ => Err(unknown(&name, &signed, place)),
    }
}

pub fn date(variation: Variation, place: &dyn Display) -> Result<DataType, PlanError> {
    match variation.as_deref() {
        None => Ok(DataType::Date32),
        Some("1" | DATE_MILLIS) => Ok(DataType::Date64),
        Some(name) => Err(unknown(name, &DataType::Date32, place)),
    }
}

pub fn decimal(variation: Variation, data_type: DataType, place: &dyn Display) -> Result<DataType, PlanError> {
    match (variation.as_deref(), &data_type) {
        (None, _) => Ok(data_type),
        (Some("1"), DataType::Decimal128(precision, scale)) => Ok(DataType::Decimal256(*precision, *scale)),
        (Some(name), _) => Err(unknown(name, &data_type, place)),
    }
}

/// Days and milliseconds fit one type of Arrow, days and less another.
pub fn interval_day(variation: Variation, precision: i32, place: &dyn Display) -> Result<DataType, PlanError> {
    match variation.as_deref() {
        None if (0..=3).contains(&precision) => Ok(DataType::Interval(IntervalUnit::DayTime)),
        None if (4..=9).contains(&precision) => Ok(DataType::Interval(IntervalUnit::MonthDayNano)),
        None => Err(PlanError::unsupported(format!("an interval with {precision} digits after the second"), place)),
        Some("1") => Ok(DataType::Duration(time_unit(precision, place)?)),
        Some(name) => Err(unknown(name, &DataType::Interval(IntervalUnit::DayTime), place)),
    }
}

/// By its name, whatever extension it is of: Arrow has named its own by several URIs.
pub fn user_defined(reader: &TypeReader<'_>, of: &UserDefined, names: &mut Names<'_>, place: &dyn Display) -> Result<DataType, PlanError> {
    let unknown = || reader.unknown(of.type_reference, place);
    let name = reader.declared.types.get(&of.type_reference).ok_or_else(unknown)?.name.to_ascii_lowercase();
    let name = name.strip_prefix("u!").unwrap_or(&name);
    let parameters: Vec<&Parameter> = of.type_parameters.iter().filter_map(|parameter| parameter.parameter.as_ref()).collect();
    match (name, parameters.as_slice()) {
        (NULL, []) => Ok(DataType::Null),
        (FLOAT16, []) => Ok(DataType::Float16),
        (DATE_MILLIS, []) => Ok(DataType::Date64),
        ("interval_month", []) => Ok(DataType::Interval(IntervalUnit::YearMonth)),
        ("interval_day_milli", []) => Ok(DataType::Interval(IntervalUnit::DayTime)),
        ("interval_month_day_nano" | "interval-month-day-nano", []) => Ok(DataType::Interval(IntervalUnit::MonthDayNano)),
        ("large_string", []) => Ok(DataType::Utf8View),
        ("large_binary", []) => Ok(DataType::BinaryView),
        ("time_seconds", []) => Ok(DataType::Time32(TimeUnit::Second)),
        ("time_millis", []) => Ok(DataType::Time32(TimeUnit::Millisecond)),
        (DURATION, [Parameter::Integer(precision)]) => Ok(DataType::Duration(time_unit(small(*precision), place)?)),
        (TIMESTAMP_ZONE, [Parameter::Integer(precision), Parameter::String(zone)]) => {
            Ok(DataType::Timestamp(time_unit(small(*precision), place)?, Some(known_zone(zone, place)?)))
        }
        (FIXED_LIST, [Parameter::Integer(items), Parameter::DataType(item)]) => fixed_list(reader, *items, item, names, place),
        (DECIMAL256, [Parameter::Integer(precision), Parameter::Integer(scale)]) => {
            let (precision, scale) = digits(*precision, *scale, DECIMAL256_MAX_PRECISION, place)?;
            Ok(DataType::Decimal256(precision, scale))
        }
        (name, []) => match UNSIGNED.iter().position(|unsigned| *unsigned == name) {
            Some(0) => Ok(DataType::UInt8),
            Some(1) => Ok(DataType::UInt16),
            Some(2) => Ok(DataType::UInt32),
            Some(_) => Ok(DataType::UInt64),
            None => Err(unknown()),
        },
        _ => Err(unknown()),
    }
}

fn fixed_list(reader: &TypeReader<'_>, items: i64, item: &Type, names: &mut Names<'_>, place: &dyn Display) -> Result<DataType, PlanError> {
    Ok(DataType::FixedSizeList(reader.item(item, names, place)?, length(small(items), place)?))
}

/// A number that is too large is one that nothing takes.
fn small(number: i64) -> i32 {
    i32::try_from(number).unwrap_or(-1)
}

/// Arrow finds out what a zone is where it is first needed, and then in the middle of a query.
pub fn known_zone(zone: &str, place: &dyn Display) -> Result<Arc<str>, PlanError> {
    match zone.parse::<arrow::array::timezone::Tz>() {
        Ok(_) => Ok(zone.into()),
        Err(_) => Err(PlanError::invalid(format!("\"{}\" is no time zone", zone.escape_default()), place)),
    }
}

fn unknown(variation: &str, data_type: &DataType, place: &dyn Display) -> PlanError {
    PlanError::unsupported(format!("the variation \"{variation}\" of {data_type}"), place)
}
