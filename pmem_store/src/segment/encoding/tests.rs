use arrow::datatypes::TimeUnit;

use super::*;

#[test]
fn the_physical_type_is_read_back_from_the_stored_field() {
    let instants = |zone: Option<&str>| DataType::Timestamp(TimeUnit::Microsecond, zone.map(Into::into));
    let types = [
        (DataType::Int64, ColumnEncoding::Integers(2)),
        (DataType::UInt32, ColumnEncoding::Integers(1)),
        (DataType::Date32, ColumnEncoding::Integers(2)),
        (DataType::Decimal64(15, 2), ColumnEncoding::Integers(4)),
        (DataType::Decimal128(38, -3), ColumnEncoding::Integers(8)),
        (instants(None), ColumnEncoding::Integers(4)),
        (instants(Some("Europe/Berlin")), ColumnEncoding::Integers(4)),
        (DataType::Time64(TimeUnit::Nanosecond), ColumnEncoding::Integers(4)),
        (DataType::Duration(TimeUnit::Second), ColumnEncoding::Integers(1)),
        (DataType::Utf8View, ColumnEncoding::Dictionary(1)),
        (DataType::BinaryView, ColumnEncoding::Dictionary(2)),
        (DataType::Utf8View, ColumnEncoding::Offsets),
    ];
    for (physical, encoding) in types {
        let field = Field::new("v", physical.clone(), true);
        let stored = Schema::new(vec![encoding.stored_field(&field)]);
        assert_ne!(stored.field(0).data_type(), &physical);
        assert_eq!(physical_schema(&stored).unwrap().field(0), &field, "{encoding:?}");
    }
}

/// Files have these texts, and clients read them.
#[test]
fn the_names_of_types_stay() {
    let names = [
        ("Int64", DataType::Int64),
        ("Date32", DataType::Date32),
        ("Decimal64(15, 2)", DataType::Decimal64(15, 2)),
        ("Decimal128(38, 10)", DataType::Decimal128(38, 10)),
        ("Timestamp(µs)", DataType::Timestamp(TimeUnit::Microsecond, None)),
        ("Timestamp(ns, \"Europe/Berlin\")", DataType::Timestamp(TimeUnit::Nanosecond, Some("Europe/Berlin".into()))),
        ("Time64(µs)", DataType::Time64(TimeUnit::Microsecond)),
        ("Duration(ms)", DataType::Duration(TimeUnit::Millisecond)),
        ("Utf8View", DataType::Utf8View),
        ("BinaryView", DataType::BinaryView),
    ];
    for (name, data_type) in names {
        assert_eq!(data_type.to_string(), name);
        assert_eq!(name.parse::<DataType>().unwrap(), data_type);
    }
}

#[test]
fn a_stored_type_that_cannot_be_the_physical_one_is_refused() {
    let field = |physical: &str| {
        let metadata = [(TYPE_METADATA.to_string(), physical.to_string())].into();
        Schema::new(vec![Field::new("v", DataType::Int16, true).with_metadata(metadata)])
    };
    assert!(physical_schema(&field("Int64")).is_some());
    for wrong in ["Utf8View", "Int8", "Int16", "UInt64", "Float64", "no type"] {
        assert_eq!(physical_schema(&field(wrong)), None, "{wrong}");
    }
}
