//! `CommandGetXdbcTypeInfo`: the types that a column can be declared with, and the ODBC and JDBC type of each.
//! A client looks up here how to declare a column, so every ODBC and JDBC type that fits has a name.

#[cfg(test)]
mod tests;

use std::sync::LazyLock;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use arrow_flight::sql::metadata::{XdbcTypeInfo, XdbcTypeInfoData, XdbcTypeInfoDataBuilder};
use arrow_flight::sql::{CommandGetXdbcTypeInfo, Nullable, Searchable, XdbcDataType, XdbcDatetimeSubcode};
use engine::{EngineError, Session};

use super::{build_batch, internal};

/// Made once, because it is the same in every session.
static TYPES: LazyLock<Result<XdbcTypeInfoData, String>> = LazyLock::new(|| {
    let mut data = XdbcTypeInfoDataBuilder::new();
    types().into_iter().for_each(|info| data.append(info));
    data.build().map_err(|error| error.to_string())
});

pub fn schema() -> SchemaRef {
    XdbcTypeInfoDataBuilder::new().schema()
}

/// Sorted by type and name. A type that no column can have has no row.
pub fn batch(_: &Session, command: &CommandGetXdbcTypeInfo) -> Result<RecordBatch, EngineError> {
    let types = TYPES.as_ref().map_err(internal)?;
    let rows = types.record_batch(command.data_type).map_err(internal)?;
    build_batch(schema(), rows.columns().to_vec())
}

const DIGITS_MAX: i32 = 76;
const TEXT_CHARS_MAX: i32 = i32::MAX;
/// `2026-11-20`
const DATE_CHARS: i32 = 10;
/// `12:34:56.123456789`
const TIME_CHARS: i32 = 18;
/// `2026-11-20 12:34:56.123456789`
const TIMESTAMP_CHARS: i32 = 29;
/// With `+00:00`.
const INSTANT_CHARS: i32 = 35;

pub fn types() -> Vec<XdbcTypeInfo> {
    let mut types = numbers();
    types.extend(texts());
    types.extend(times());
    // ODBC and JDBC have no corresponding types.
    types.extend(["ARRAY", "STRUCT", "MAP", "TENSOR"].map(|name| plain(name, XdbcDataType::XdbcUnknownType)));
    types
}

fn numbers() -> Vec<XdbcTypeInfo> {
    use XdbcDataType::*;
    let mut types = vec![XdbcTypeInfo { column_size: Some(1), ..plain("BOOLEAN", XdbcBit) }];
    for (name, data_type, digits, unsigned_digits) in
        [("TINYINT", XdbcTinyint, 3, 3), ("SMALLINT", XdbcSmallint, 5, 5), ("INTEGER", XdbcInteger, 10, 10), ("BIGINT", XdbcBigint, 19, 20)]
    {
        types.push(integer(name, data_type, digits, false));
        types.push(integer(&format!("{name} UNSIGNED"), data_type, unsigned_digits, true));
    }
    // FLOAT without a precision is REAL.
    for (name, data_type, digits) in [("REAL", XdbcReal, 24), ("FLOAT", XdbcFloat, 24), ("DOUBLE", XdbcDouble, 53)] {
        types.push(XdbcTypeInfo { num_prec_radix: Some(2), ..number(name, data_type, digits, false) });
    }
    types.extend([("DECIMAL", XdbcDecimal), ("NUMERIC", XdbcNumeric)].map(|(name, data_type)| XdbcTypeInfo {
        create_params: Some(vec!["precision".to_string(), "scale".to_string()]),
        minimum_scale: Some(0),
        maximum_scale: Some(DIGITS_MAX),
        ..number(name, data_type, DIGITS_MAX, false)
    }));
    types
}

fn texts() -> Vec<XdbcTypeInfo> {
    use XdbcDataType::*;
    let text = |name: &str, data_type, has_length: bool| XdbcTypeInfo {
        column_size: Some(TEXT_CHARS_MAX),
        create_params: has_length.then(|| vec!["length".to_string()]),
        case_sensitive: true,
        searchable: Searchable::Full,
        ..quoted(name, data_type, "'")
    };
    let bytes = |name: &str, data_type| XdbcTypeInfo { column_size: Some(TEXT_CHARS_MAX), ..quoted(name, data_type, "X'") };
    vec![
        text("VARCHAR", XdbcVarchar, true),
        text("CHAR", XdbcChar, true),
        text("NVARCHAR", XdbcWvarchar, true),
        text("NCHAR", XdbcWchar, true),
        text("TEXT", XdbcLongvarchar, false),
        bytes("BYTEA", XdbcVarbinary),
        bytes("VARBINARY", XdbcVarbinary),
        bytes("BINARY", XdbcBinary),
        bytes("BLOB", XdbcLongvarbinary),
    ]
}

fn times() -> Vec<XdbcTypeInfo> {
    use XdbcDataType::*;
    let time = |name: &str, data_type, chars, scales: (i32, i32), subcode| XdbcTypeInfo {
        column_size: Some(chars),
        minimum_scale: Some(scales.0),
        maximum_scale: Some(scales.1),
        create_params: (scales.0 < scales.1).then(|| vec!["precision".to_string()]),
        sql_data_type: XdbcDatetime,
        datetime_subcode: Some(subcode),
        ..quoted(name, data_type, &format!("{} '", name.split(' ').next().unwrap_or(name)))
    };
    vec![
        // The subcode of DATE has the same number as that of YEAR.
        time("DATE", XdbcDate, DATE_CHARS, (0, 0), XdbcDatetimeSubcode::XdbcSubcodeYear),
        time("TIME", XdbcTime, TIME_CHARS, (9, 9), XdbcDatetimeSubcode::XdbcSubcodeTime),
        time("TIMESTAMP", XdbcTimestamp, TIMESTAMP_CHARS, (0, 9), XdbcDatetimeSubcode::XdbcSubcodeTimestamp),
        time("TIMESTAMP WITH TIME ZONE", XdbcTimestamp, INSTANT_CHARS, (0, 9), XdbcDatetimeSubcode::XdbcSubcodeTimestampWithTimezone),
        // Months, days and nanoseconds together, for which there is no subcode.
        quoted("INTERVAL", XdbcInterval, "INTERVAL '"),
    ]
}

fn plain(name: &str, data_type: XdbcDataType) -> XdbcTypeInfo {
    XdbcTypeInfo {
        type_name: name.to_string(),
        data_type,
        nullable: Nullable::NullabilityNullable,
        searchable: Searchable::Basic,
        local_type_name: Some(name.to_string()),
        sql_data_type: data_type,
        ..XdbcTypeInfo::default()
    }
}

fn quoted(name: &str, data_type: XdbcDataType, prefix: &str) -> XdbcTypeInfo {
    XdbcTypeInfo { literal_prefix: Some(prefix.to_string()), literal_suffix: Some("'".to_string()), ..plain(name, data_type) }
}

fn number(name: &str, data_type: XdbcDataType, digits: i32, is_unsigned: bool) -> XdbcTypeInfo {
    XdbcTypeInfo {
        column_size: Some(digits),
        unsigned_attribute: Some(is_unsigned),
        auto_increment: Some(false),
        num_prec_radix: Some(10),
        ..plain(name, data_type)
    }
}

fn integer(name: &str, data_type: XdbcDataType, digits: i32, is_unsigned: bool) -> XdbcTypeInfo {
    XdbcTypeInfo { minimum_scale: Some(0), maximum_scale: Some(0), ..number(name, data_type, digits, is_unsigned) }
}
