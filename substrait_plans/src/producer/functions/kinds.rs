//! The short names of types in function signatures: `add:i64_i64`.

use arrow::datatypes::{DataType, IntervalUnit};

pub fn kinds_of(types: &[DataType]) -> Vec<&'static str> {
    types.iter().map(kind).collect()
}

/// An extension type is `u!` and its name.
pub fn kind(data_type: &DataType) -> &'static str {
    use DataType::*;
    match data_type {
        Boolean => "bool",
        Int8 => "i8",
        Int16 => "i16",
        Int32 => "i32",
        Int64 => "i64",
        UInt8 => "u!u8",
        UInt16 => "u!u16",
        UInt32 => "u!u32",
        UInt64 => "u!u64",
        Float16 => "u!fp16",
        Float32 => "fp32",
        Float64 => "fp64",
        Utf8 | LargeUtf8 | Utf8View => "str",
        Binary | LargeBinary | BinaryView => "vbin",
        FixedSizeBinary(_) => "fbin",
        Decimal32(..) | Decimal64(..) | Decimal128(..) => "dec",
        Decimal256(..) => "u!decimal256",
        Date32 => "date",
        Date64 => "u!date_millis",
        Time32(_) | Time64(_) => "pt",
        Timestamp(_, None) => "pts",
        Timestamp(_, Some(zone)) if is_utc(zone) => "ptstz",
        Timestamp(..) => "u!timestamp_zone",
        Duration(_) => "u!duration",
        Interval(IntervalUnit::YearMonth) => "iyear",
        Interval(IntervalUnit::DayTime) => "iday",
        Interval(IntervalUnit::MonthDayNano) => "icompound",
        List(_) | LargeList(_) | ListView(_) | LargeListView(_) => "list",
        FixedSizeList(..) => "u!fixed_list",
        Struct(_) => "struct",
        Map(..) => "map",
        Dictionary(_, value) => kind(value),
        RunEndEncoded(_, values) => kind(values.data_type()),
        Null => "u!null",
        Union(..) => "any",
    }
}

pub fn is_utc(zone: &str) -> bool {
    zone == "UTC" || zone == "+00:00"
}

/// The standard's integers.
pub fn is_signed(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Int8 | DataType::Int16 | DataType::Int32 | DataType::Int64)
}

/// The standard's floats.
pub fn is_float(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Float32 | DataType::Float64)
}

pub fn is_text(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View)
}
