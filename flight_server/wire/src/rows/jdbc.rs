//! Types for the Apache JDBC driver. It reads unsigned integers as signed ones, and it writes times that are bound to a
//! parameter as milliseconds into a column of any unit.

use arrow::datatypes::{DECIMAL128_MAX_PRECISION, DECIMAL128_MAX_SCALE, DataType, TimeUnit};

/// JDBC has no unsigned integers: the next wider type holds all their values.
pub fn result_type(kind: &DataType) -> DataType {
    match kind {
        DataType::UInt8 => DataType::Int16,
        DataType::UInt16 => DataType::Int32,
        DataType::UInt32 => DataType::Int64,
        DataType::UInt64 => DataType::Decimal128(20, 0),
        other => other.clone(),
    }
}

/// The server casts bound values to the types of the statement, so this loses nothing but what the driver drops anyway.
pub fn parameter_type(kind: &DataType) -> DataType {
    match kind {
        DataType::Timestamp(_, zone) => DataType::Timestamp(TimeUnit::Millisecond, zone.clone()),
        DataType::Time32(_) | DataType::Time64(_) => DataType::Time32(TimeUnit::Millisecond),
        // It cannot bind 256 bits.
        DataType::Decimal256(_, scale) => DataType::Decimal128(DECIMAL128_MAX_PRECISION, (*scale).min(DECIMAL128_MAX_SCALE)),
        // The type of the parameter is unknown, and the driver would bind only NULL to it. Text is what programs bind most.
        DataType::Null => DataType::Utf8,
        other => other.clone(),
    }
}
