//! Extension types, and variations of plain types, as Arrow types.

use std::fmt::Display;
use std::sync::Arc;

use arrow::datatypes::{DECIMAL256_MAX_PRECISION, DataType, Field, IntervalUnit, TimeUnit};
use engine::tensor_field;

use super::names::{DATE_MILLIS, DECIMAL256, DURATION, FIXED_LIST, FLOAT16, NULL, Names, TENSOR, TIMESTAMP_ZONE, UNSIGNED};
use super::read::{TypeReader, digits, time_unit};
use crate::error::PlanError;
use crate::proto::Type;
use crate::proto::r#type::parameter::Parameter;
use crate::proto::r#type::{Kind, UserDefined};

/// The name of a variation; DataFusion writes a number instead.
type Variation = Option<String>;

pub fn plain(variation: Variation, data_type: DataType, place: &dyn Display) -> Result<DataType, PlanError> {
    match variation {
        None => Ok(data_type),
        Some(name) => Err(unknown(&name, &data_type, place)),
    }
}

/// An integer, possibly unsigned. Arrow's half floats are a variation of i16.
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

/// Arrow has one type for days and milliseconds, and another for smaller units.
pub fn interval_day(variation: Variation, precision: i32, place: &dyn Display) -> Result<DataType, PlanError> {
    match variation.as_deref() {
        None if (0..=3).contains(&precision) => Ok(DataType::Interval(IntervalUnit::DayTime)),
        None if (4..=9).contains(&precision) => Ok(DataType::Interval(IntervalUnit::MonthDayNano)),
        None => Err(PlanError::unsupported(format!("an interval with {precision} digits after the second"), place)),
        Some("1") => Ok(DataType::Duration(time_unit(precision, place)?)),
        Some(name) => Err(unknown(name, &DataType::Interval(IntervalUnit::DayTime), place)),
    }
}

/// By its name in any extension: Arrow has used several URIs for its types.
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
        (TENSOR, _) => tensor(reader, &parameters, names, place).map(|field| field.data_type().clone()),
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
    Ok(DataType::FixedSizeList(reader.item(item, names, place)?, check_items(items, place)?))
}

/// The field of a tensor, if the type is one: its shape is in the metadata, which plain types do not have.
pub fn tensor_of(reader: &TypeReader<'_>, of: &Type, names: &mut Names<'_>, place: &dyn Display) -> Result<Option<Field>, PlanError> {
    let Some(Kind::UserDefined(of)) = &of.kind else { return Ok(None) };
    let name = reader.declared.types.get(&of.type_reference).map(|named| named.name.to_ascii_lowercase());
    if name.is_none_or(|name| name.strip_prefix("u!").unwrap_or(&name) != TENSOR) {
        return Ok(None);
    }
    let parameters: Vec<&Parameter> = of.type_parameters.iter().filter_map(|parameter| parameter.parameter.as_ref()).collect();
    tensor(reader, &parameters, names, place).map(Some)
}

fn tensor(reader: &TypeReader<'_>, parameters: &[&Parameter], names: &mut Names<'_>, place: &dyn Display) -> Result<Field, PlanError> {
    let invalid = |what: &str| PlanError::invalid(format!("a tensor {what}"), place);
    let Some((Parameter::DataType(item), sizes)) = parameters.split_first() else { return Err(invalid("without a type of its elements")) };
    let item = reader.item(item, names, place)?;
    if !item.data_type().is_integer() && !matches!(item.data_type(), DataType::Float32 | DataType::Float64) {
        return Err(invalid(&format!("of {}, where numbers are possible,", item.data_type())));
    }
    let sizes = sizes.iter().map(|size| match size {
        Parameter::Integer(size) => usize::try_from(*size).ok().filter(|size| *size > 0),
        _ => None,
    });
    let shape = sizes.collect::<Option<Vec<usize>>>().filter(|shape| !shape.is_empty()).ok_or_else(|| invalid("without a shape"))?;
    let items = shape.iter().try_fold(1_usize, |all, size| all.checked_mul(*size)).and_then(|items| i64::try_from(items).ok());
    check_items(items.unwrap_or(i64::MAX), place)?;
    tensor_field("", item.data_type().clone(), &shape, true).map_err(|error| PlanError::invalid(error.strip_backtrace(), place))
}

/// Checks the number of elements of a list: it is limited by the DOUBLEs that fit in a value of SQL.
fn check_items(items: i64, place: &dyn Display) -> Result<i32, PlanError> {
    const ITEMS_MAX: i32 = 1 << 28;
    match i32::try_from(items) {
        Ok(items @ 0..=ITEMS_MAX) => Ok(items),
        _ => Err(PlanError::invalid(format!("a list of {items} elements, where 0 to {ITEMS_MAX} are possible"), place)),
    }
}

/// A number that is too large becomes one that every check refuses.
fn small(number: i64) -> i32 {
    i32::try_from(number).unwrap_or(-1)
}

/// Arrow would resolve the zone only when it is first used, in the middle of a query.
pub fn known_zone(zone: &str, place: &dyn Display) -> Result<Arc<str>, PlanError> {
    match zone.parse::<arrow::array::timezone::Tz>() {
        Ok(_) => Ok(zone.into()),
        Err(_) => Err(PlanError::invalid(format!("\"{}\" is no time zone", zone.escape_default()), place)),
    }
}

fn unknown(variation: &str, data_type: &DataType, place: &dyn Display) -> PlanError {
    PlanError::unsupported(format!("the variation \"{variation}\" of {data_type}"), place)
}
