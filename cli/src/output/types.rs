//! The SQL name of an Arrow type, as the head of a table shows it.

use arrow::datatypes::{DataType, IntervalUnit};

pub fn type_name(data_type: &DataType) -> String {
    use DataType::*;
    let name = match data_type {
        Null => "null",
        Boolean => "boolean",
        Int8 => "tinyint",
        Int16 => "smallint",
        Int32 => "integer",
        Int64 => "bigint",
        UInt8 => "utinyint",
        UInt16 => "usmallint",
        UInt32 => "uinteger",
        UInt64 => "ubigint",
        Float16 => "half",
        Float32 => "real",
        Float64 => "double",
        Utf8 | LargeUtf8 | Utf8View => "varchar",
        Binary | LargeBinary | BinaryView | FixedSizeBinary(_) => "bytea",
        Date32 | Date64 => "date",
        Time32(_) | Time64(_) => "time",
        Timestamp(_, None) => "timestamp",
        Timestamp(_, Some(_)) => "timestamptz",
        Duration(_) => "duration",
        Interval(IntervalUnit::YearMonth | IntervalUnit::DayTime | IntervalUnit::MonthDayNano) => {
            "interval"
        }
        other => return nested_name(other),
    };
    name.to_string()
}

fn nested_name(data_type: &DataType) -> String {
    use DataType::*;
    match data_type {
        Decimal32(precision, scale)
        | Decimal64(precision, scale)
        | Decimal128(precision, scale)
        | Decimal256(precision, scale) => format!("decimal({precision},{scale})"),
        Dictionary(_, values) => type_name(values),
        List(item) | LargeList(item) | ListView(item) | LargeListView(item) => {
            format!("{}[]", type_name(item.data_type()))
        }
        FixedSizeList(item, length) => format!("{}[{length}]", type_name(item.data_type())),
        Struct(fields) => {
            let field = |field: &arrow::datatypes::FieldRef| {
                format!("{} {}", field.name(), type_name(field.data_type()))
            };
            format!("struct({})", fields.iter().map(field).collect::<Vec<_>>().join(", "))
        }
        Map(entries, _) => match entries.data_type() {
            Struct(fields) if fields.len() == 2 => format!(
                "map({}, {})",
                type_name(fields[0].data_type()),
                type_name(fields[1].data_type())
            ),
            other => format!("map({})", type_name(other)),
        },
        RunEndEncoded(_, values) => type_name(values.data_type()),
        other => other.to_string(),
    }
}
