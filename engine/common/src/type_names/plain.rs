//! Arrow types in the words of SQL, for messages.

use arrow::datatypes::{DataType, TimeUnit};

/// `Int64` is `BIGINT`, `List(Utf8)` is `VARCHAR[]`.
pub fn sql_type_name(data_type: &DataType) -> String {
    match data_type {
        DataType::Null => "NULL".to_owned(),
        DataType::Boolean => "BOOLEAN".to_owned(),
        DataType::Int8 => "TINYINT".to_owned(),
        DataType::Int16 => "SMALLINT".to_owned(),
        DataType::Int32 => "INTEGER".to_owned(),
        DataType::Int64 => "BIGINT".to_owned(),
        DataType::UInt8 => "TINYINT UNSIGNED".to_owned(),
        DataType::UInt16 => "SMALLINT UNSIGNED".to_owned(),
        DataType::UInt32 => "INTEGER UNSIGNED".to_owned(),
        DataType::UInt64 => "BIGINT UNSIGNED".to_owned(),
        DataType::Float16 => "HALF".to_owned(),
        DataType::Float32 => "REAL".to_owned(),
        DataType::Float64 => "DOUBLE".to_owned(),
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => "VARCHAR".to_owned(),
        DataType::Binary | DataType::LargeBinary | DataType::BinaryView | DataType::FixedSizeBinary(_) => "BINARY".to_owned(),
        DataType::Date32 | DataType::Date64 => "DATE".to_owned(),
        DataType::Time32(_) | DataType::Time64(_) => "TIME".to_owned(),
        DataType::Timestamp(unit, zone) => timestamp_name(*unit, zone.is_some()),
        DataType::Interval(_) => "INTERVAL".to_owned(),
        DataType::Decimal32(p, s) | DataType::Decimal64(p, s) | DataType::Decimal128(p, s) | DataType::Decimal256(p, s) => {
            format!("DECIMAL({p},{s})")
        }
        DataType::List(field) | DataType::LargeList(field) | DataType::ListView(field) => {
            format!("{}[]", sql_type_name(field.data_type()))
        }
        DataType::FixedSizeList(field, size) => {
            format!("{}[{size}]", sql_type_name(field.data_type()))
        }
        DataType::Struct(fields) => {
            let fields: Vec<String> = fields.iter().map(|field| format!("{} {}", field.name(), sql_type_name(field.data_type()))).collect();
            format!("STRUCT({})", fields.join(", "))
        }
        DataType::Dictionary(_, value) => sql_type_name(value),
        DataType::RunEndEncoded(_, values) => sql_type_name(values.data_type()),
        other => other.to_string(),
    }
}

fn timestamp_name(unit: TimeUnit, has_zone: bool) -> String {
    let digits = match unit {
        TimeUnit::Second => "(0)",
        TimeUnit::Millisecond => "(3)",
        TimeUnit::Microsecond => "",
        TimeUnit::Nanosecond => "(9)",
    };
    format!("TIMESTAMP{digits}{}", if has_zone { " WITH TIME ZONE" } else { "" })
}
