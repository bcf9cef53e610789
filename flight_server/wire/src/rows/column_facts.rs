//! The metadata of a field that JDBC and ADBC read about its column.

use std::collections::HashMap;

use arrow::datatypes::{DataType, Field, Schema, TimeUnit};
use engine::column_type_name;

/// The table that contains the columns of a schema.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    pub catalog: String,
    pub schema: String,
    pub table: String,
    /// Whether it is read-only.
    pub is_read_only: bool,
}

/// The schema with the metadata of Flight SQL for each column. The columns of a query belong to no table.
pub fn annotated(schema: &Schema, origin: Option<&Origin>) -> Schema {
    let fields = schema.fields().iter().map(|field| {
        let mut metadata = field.metadata().clone();
        metadata.extend(of_column(field, origin).into_iter().map(|(key, value)| (format!("ARROW:FLIGHT:SQL:{key}"), value)));
        field.as_ref().clone().with_metadata(metadata)
    });
    Schema::new_with_metadata(fields.collect::<Vec<_>>(), schema.metadata().clone())
}

fn of_column(field: &Field, origin: Option<&Origin>) -> HashMap<&'static str, String> {
    let flag = |is_set: bool| if is_set { "1" } else { "0" }.to_string();
    let mut facts = HashMap::from([
        ("TYPE_NAME", type_name(field)),
        ("IS_AUTO_INCREMENT", flag(false)),
        ("IS_CASE_SENSITIVE", flag(is_text(field.data_type()))),
        ("IS_READ_ONLY", flag(origin.is_none_or(|origin| origin.is_read_only))),
        ("IS_SEARCHABLE", flag(true)),
    ]);
    if let Some(origin) = origin {
        facts.insert("CATALOG_NAME", origin.catalog.clone());
        // The second key is the one of FlightSql.proto; the Java and C++ clients read the first.
        facts.insert("SCHEMA_NAME", origin.schema.clone());
        facts.insert("DB_SCHEMA_NAME", origin.schema.clone());
        facts.insert("TABLE_NAME", origin.table.clone());
    }
    let size = size(field.data_type());
    facts.extend(size.precision.map(|precision| ("PRECISION", precision.to_string())));
    facts.extend(size.scale.map(|scale| ("SCALE", scale.to_string())));
    facts
}

/// The name as in the list of types, without precision and scale.
fn type_name(field: &Field) -> String {
    let (declared, data_type) = (column_type_name(field), field.data_type());
    let has_digits = data_type.is_decimal() || data_type.is_temporal();
    match (declared.split_once('('), declared.split_once(')')) {
        (Some((before, _)), Some((_, after))) if has_digits => format!("{before}{after}"),
        _ => declared,
    }
}

fn is_text(data_type: &DataType) -> bool {
    match data_type {
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => true,
        DataType::Dictionary(_, values) => is_text(values),
        _ => false,
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Size {
    /// The digits of a number, or the length of a time as text.
    precision: Option<i32>,
    /// The digits after the decimal point.
    scale: Option<i32>,
}

const DATE_CHARS: i32 = 10;
/// `12:34:56`
const TIME_CHARS: i32 = 8;
/// `+00:00`
const ZONE_CHARS: i32 = 6;

/// Texts and bytes have no maximum length, and so no precision.
fn size(data_type: &DataType) -> Size {
    use DataType::*;
    let of = |precision: i32, scale: i32| Size { precision: Some(precision), scale: Some(scale) };
    match data_type {
        Boolean => Size { precision: Some(1), scale: None },
        Int8 | UInt8 => of(3, 0),
        Int16 | UInt16 => of(5, 0),
        Int32 | UInt32 => of(10, 0),
        Int64 => of(19, 0),
        UInt64 => of(20, 0),
        Float16 => Size { precision: Some(3), scale: None },
        Float32 => Size { precision: Some(7), scale: None },
        Float64 => Size { precision: Some(15), scale: None },
        Decimal32(digits, scale) | Decimal64(digits, scale) | Decimal128(digits, scale) | Decimal256(digits, scale) => {
            of(i32::from(*digits), i32::from(*scale))
        }
        Date32 | Date64 => of(DATE_CHARS, 0),
        Time32(unit) | Time64(unit) => of(TIME_CHARS + fraction_chars(*unit), fraction_digits(*unit)),
        Timestamp(unit, zone) => {
            let zone = if zone.is_some() { ZONE_CHARS } else { 0 };
            of(DATE_CHARS + 1 + TIME_CHARS + fraction_chars(*unit) + zone, fraction_digits(*unit))
        }
        Dictionary(_, values) => size(values),
        _ => Size::default(),
    }
}

fn fraction_digits(unit: TimeUnit) -> i32 {
    match unit {
        TimeUnit::Second => 0,
        TimeUnit::Millisecond => 3,
        TimeUnit::Microsecond => 6,
        TimeUnit::Nanosecond => 9,
    }
}

/// The length of the fraction, including the point.
fn fraction_chars(unit: TimeUnit) -> i32 {
    match fraction_digits(unit) {
        0 => 0,
        digits => digits + 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn existing_metadata_is_kept() {
        let field = Field::new("a", DataType::Utf8, false).with_metadata(HashMap::from([("k".into(), "v".into())]));
        let schema = Schema::new(vec![field]).with_metadata(HashMap::from([("s".into(), "t".into())]));
        let shown = annotated(&schema, None);
        assert_eq!(shown.metadata(), schema.metadata());
        assert_eq!(shown.field(0).metadata().get("k").map(String::as_str), Some("v"));
        assert!(!shown.field(0).is_nullable());
    }

    #[test]
    fn precision_and_scale_are_separate_from_the_name_of_a_type() {
        let shown = annotated(&Schema::new(vec![Field::new("a", DataType::Decimal128(12, 2), true)]), None);
        let facts = ["TYPE_NAME", "PRECISION", "SCALE"].map(|key| shown.field(0).metadata()[&format!("ARROW:FLIGHT:SQL:{key}")].clone());
        assert_eq!(facts, ["DECIMAL", "12", "2"]);
        let instant = |unit| type_name(&Field::new("a", DataType::Timestamp(unit, Some("+00:00".into())), true));
        assert_eq!(instant(TimeUnit::Microsecond), "TIMESTAMP WITH TIME ZONE");
        assert_eq!(instant(TimeUnit::Nanosecond), "TIMESTAMP WITH TIME ZONE");
    }

    #[test]
    fn numbers_and_times_have_a_precision_and_texts_none() {
        let size = |data_type| (size(&data_type).precision, size(&data_type).scale);
        assert_eq!(size(DataType::Int64), (Some(19), Some(0)));
        assert_eq!(size(DataType::Decimal128(15, 2)), (Some(15), Some(2)));
        let chars = |text: &str| i32::try_from(text.len()).ok();
        assert_eq!(size(DataType::Timestamp(TimeUnit::Nanosecond, None)), (chars("2026-11-20 12:34:56.123456789"), Some(9)));
        assert_eq!(size(DataType::Timestamp(TimeUnit::Second, None)), (chars("2026-11-20 12:34:56"), Some(0)));
        assert_eq!(size(DataType::Utf8), (None, None));
    }
}
