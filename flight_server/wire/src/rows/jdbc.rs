//! Types as the Apache JDBC driver needs them. It reads unsigned integers as signed ones, and writes what is bound to a
//! parameter as milliseconds into a column of whatever unit it was told.

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

/// What is bound is cast to what the statement needs, so nothing is lost by it but what the driver leaves out anyway.
pub fn parameter_type(kind: &DataType) -> DataType {
    match kind {
        DataType::Timestamp(_, zone) => DataType::Timestamp(TimeUnit::Millisecond, zone.clone()),
        DataType::Time32(_) | DataType::Time64(_) => DataType::Time32(TimeUnit::Millisecond),
        // It binds no 256 bits.
        DataType::Decimal256(_, scale) => DataType::Decimal128(DECIMAL128_MAX_PRECISION, (*scale).min(DECIMAL128_MAX_SCALE)),
        // A type that any value fits, for which it binds NULL alone. Text is what programs have most.
        DataType::Null => DataType::Utf8,
        other => other.clone(),
    }
}
