//! Statistics never let a zone be skipped that has a row in question.

use std::sync::Arc;

use arrow::array::*;
use arrow::compute::{SortOptions, cast, sort};
use arrow::datatypes::{DataType, TimeUnit, i256};
use pmem_store::segment::ZoneColumn;
use pmem_store::{Segment, ZONE_ROWS};

use crate::helpers::*;

const ROWS: usize = 2 * ZONE_ROWS + 1_000;

pub fn segment_of(columns: Vec<ArrayRef>) -> Segment {
    let names: Vec<String> = (0..columns.len())
        .map(|index| format!("c{index}"))
        .collect();
    let (_dir, store) = store_with(&[batch(
        names.iter().map(String::as_str).zip(columns).collect(),
    )]);
    // The mapping outlives the file's name.
    segment(&store)
}

fn zones_of(column: ArrayRef) -> ZoneColumn {
    segment_of(vec![column]).statistics().column(0).clone()
}

/// Small numbers, no zero, one in ten NULL, none but NULLs in the last zone.
fn random_numbers(random: &mut Random) -> ArrayRef {
    let values = (0..ROWS).map(|row| {
        let value = 1 + random.below(99) as i64;
        (random.below(10) != 0 && row < 2 * ZONE_ROWS).then_some(value)
    });
    Arc::new(values.collect::<Int64Array>())
}

fn random_texts(random: &mut Random) -> ArrayRef {
    let mut text = |length: usize| -> String {
        (0..length)
            .map(|_| ['a', 'b', 'z', '0', ' ', 'é', '字', '\u{10FFFF}'][random.below(8)])
            .collect()
    };
    Arc::new(
        (0..ROWS)
            .map(|row| (row % 10 != 0 && row < 2 * ZONE_ROWS).then(|| text(row % 12)))
            .collect::<StringArray>(),
    )
}

fn signed(random: &mut Random, data_type: DataType) -> ArrayRef {
    let values = random_numbers(random);
    let values: Int64Array = values
        .as_any()
        .downcast_ref::<Int64Array>()
        .unwrap()
        .unary(|value| if value % 2 == 0 { -value } else { value });
    match cast(&values, &data_type) {
        Ok(array) => array,
        Err(_) => cast(&cast(&values, &DataType::Int32).unwrap(), &data_type).unwrap(),
    }
}

fn ordered_columns() -> Vec<ArrayRef> {
    use DataType::*;
    use TimeUnit::*;
    let mut random = Random(1);
    let unsigned = [UInt8, UInt16, UInt32, UInt64, Boolean]
        .map(|to| cast(&random_numbers(&mut random), &to).unwrap());
    let signed_types = [
        Int8,
        Int16,
        Int32,
        Int64,
        Float32,
        Float64,
        Decimal32(9, 2),
        Decimal64(18, 4),
        Decimal128(38, 10),
        Decimal256(76, 20),
        Date32,
        Date64,
        Time32(Second),
        Time32(Millisecond),
        Time64(Microsecond),
        Time64(Nanosecond),
        Timestamp(Second, None),
        Timestamp(Millisecond, Some("UTC".into())),
        Timestamp(Microsecond, Some("+02:00".into())),
        Timestamp(Nanosecond, None),
        Duration(Second),
        Duration(Millisecond),
        Duration(Microsecond),
        Duration(Nanosecond),
    ];
    let texts = random_texts(&mut random);
    let texts = [Utf8, LargeUtf8, Utf8View, Binary, LargeBinary, BinaryView]
        .map(|to| cast(&texts, &to).unwrap());
    let signed = signed_types.map(|to| signed(&mut random, to));
    unsigned.into_iter().chain(signed).chain(texts).collect()
}

#[test]
fn bounds_and_null_counts_of_every_ordered_type_are_those_of_the_zone() {
    let columns = ordered_columns();
    let segment = segment_of(columns.clone());
    let statistics = segment.statistics();
    assert_eq!(statistics.row_counts().values(), &[8_192, 8_192, 1_000]);
    for (index, column) in columns.iter().enumerate() {
        let zones = statistics.column(index);
        for zone in 0..3 {
            let start = zone * ZONE_ROWS;
            let values = column.slice(start, ZONE_ROWS.min(ROWS - start));
            let one = |descending| {
                sort(
                    &values,
                    Some(SortOptions {
                        descending,
                        nulls_first: false,
                    }),
                )
                .unwrap()
                .slice(0, 1)
            };
            let data_type = column.data_type();
            assert_eq!(
                &zones.min.slice(zone, 1),
                &one(false),
                "min of {data_type}, zone {zone}"
            );
            assert_eq!(
                &zones.max.slice(zone, 1),
                &one(true),
                "max of {data_type}, zone {zone}"
            );
            assert_eq!(
                zones.null_count.value(zone),
                values.null_count() as u64,
                "{data_type}, zone {zone}"
            );
            assert!(
                zones.min_exact.value(zone) && zones.max_exact.value(zone),
                "{data_type}, zone {zone}"
            );
            assert!(!zones.has_nan.value(zone));
        }
        assert_eq!(
            statistics.summary(index).null_count,
            column.null_count() as u64
        );
    }
}

#[test]
fn a_type_without_an_order_has_no_bounds_and_does_not_call_them_exact() {
    let numbers: ArrayRef = Arc::new(Int32Array::from(vec![Some(1), None, Some(3)]));
    let columns = vec![
        cast(&numbers, &DataType::Float16).unwrap(),
        Arc::new(IntervalYearMonthArray::from(vec![1, 2, 3])) as ArrayRef,
        Arc::new(IntervalMonthDayNanoArray::from(vec![None, None, None])),
        Arc::new(FixedSizeBinaryArray::try_from_iter(["a", "b", "c"].iter()).unwrap()),
        Arc::new(NullArray::new(3)),
        cast(
            &numbers,
            &DataType::List(Arc::new(arrow::datatypes::Field::new(
                "item",
                DataType::Int32,
                true,
            ))),
        )
        .unwrap(),
    ];
    let segment = segment_of(columns);
    for index in 0..6 {
        let zones = segment.statistics().column(index);
        assert_eq!(zones.min.data_type(), &DataType::Null);
        assert_eq!(zones.min.len(), 1);
        assert!(
            !zones.min_exact.value(0) && !zones.max_exact.value(0),
            "column {index}"
        );
    }
    assert_eq!(segment.statistics().column(0).null_count.value(0), 1);
    assert_eq!(segment.statistics().column(4).null_count.value(0), 3);
}

#[test]
fn a_nan_makes_the_bounds_of_its_zone_unknown_and_is_flagged() {
    for nan in [f64::NAN, -f64::NAN] {
        let mut values = vec![1.0; ZONE_ROWS + 2];
        values[77] = nan;
        let values: ArrayRef = Arc::new(Float64Array::from(values));
        for column in [cast(&values, &DataType::Float32).unwrap(), values] {
            let zones = zones_of(column);
            assert!(zones.has_nan.value(0) && !zones.has_nan.value(1));
            assert!(zones.min.is_null(0) && zones.max.is_null(0) && zones.min.is_valid(1));
            assert!(
                !zones.min_exact.value(0) && !zones.max_exact.value(0) && zones.min_exact.value(1)
            );
        }
    }
}

#[test]
fn a_nan_under_a_null_does_not_count() {
    let values = Float64Array::new(vec![1.0, f64::NAN].into(), Some(vec![true, false].into()));
    let zones = zones_of(Arc::new(values));
    assert!(!zones.has_nan.value(0));
    assert_eq!(
        zones
            .max
            .as_any()
            .downcast_ref::<Float64Array>()
            .unwrap()
            .value(0),
        1.0
    );
}

#[test]
fn a_zero_bound_covers_both_zeros_and_is_not_exact() {
    for zeros in [[0.0, 0.0], [-0.0, -0.0], [0.0, -0.0], [-0.0, 0.0]] {
        let zones = zones_of(Arc::new(Float64Array::from(zeros.to_vec())));
        let value = |array: &ArrayRef| {
            array
                .as_any()
                .downcast_ref::<Float64Array>()
                .unwrap()
                .value(0)
        };
        assert_eq!(value(&zones.min).to_bits(), (-0.0f64).to_bits());
        assert_eq!(value(&zones.max).to_bits(), 0.0f64.to_bits());
        assert!(!zones.min_exact.value(0) && !zones.max_exact.value(0));
    }
    let zones = zones_of(Arc::new(Float32Array::from(vec![-0.0, 5.0])));
    assert!(!zones.min_exact.value(0) && zones.max_exact.value(0));
}

#[test]
fn infinities_are_exact_bounds() {
    let zones = zones_of(Arc::new(Float64Array::from(vec![
        1.0,
        f64::INFINITY,
        f64::NEG_INFINITY,
    ])));
    let value = |array: &ArrayRef| {
        array
            .as_any()
            .downcast_ref::<Float64Array>()
            .unwrap()
            .value(0)
    };
    assert_eq!(
        (value(&zones.min), value(&zones.max)),
        (f64::NEG_INFINITY, f64::INFINITY)
    );
    assert!(zones.min_exact.value(0) && zones.max_exact.value(0));
}

#[test]
fn extreme_integers_are_exact_bounds() {
    let segment = segment_of(vec![
        Arc::new(Int64Array::from(vec![i64::MIN, i64::MAX])),
        Arc::new(UInt64Array::from(vec![0, u64::MAX])),
        Arc::new(Decimal256Array::from(vec![i256::MIN, i256::MAX])),
    ]);
    let statistics = segment.statistics();
    assert_eq!(
        statistics.column(0).min.as_ref(),
        &Int64Array::from(vec![i64::MIN]) as &dyn Array
    );
    assert_eq!(
        statistics.column(1).max.as_ref(),
        &UInt64Array::from(vec![u64::MAX]) as &dyn Array
    );
    assert_eq!(
        statistics.column(2).max.as_ref(),
        &Decimal256Array::from(vec![i256::MAX]) as &dyn Array
    );
}

/// Strings around the cut at 64 bytes: every length, characters of every width, the greatest ones.
fn long_texts() -> Vec<String> {
    let mut random = Random(3);
    let alphabet = [
        "a",
        "é",
        "字",
        "😀",
        "\u{10FFFF}",
        "\u{D7FF}",
        "\u{E000}",
        "\u{7F}",
    ];
    let mut texts: Vec<String> = (0..300)
        .map(|length| {
            (0..length % 90)
                .map(|_| alphabet[random.below(alphabet.len())])
                .collect()
        })
        .collect();
    texts.extend((60..70).flat_map(|length| alphabet.map(|text| text.repeat(length))));
    texts
}

fn string_column(texts: &[&str], data_type: &DataType) -> ArrayRef {
    let texts: ArrayRef = Arc::new(
        texts
            .iter()
            .copied()
            .map(Some)
            .chain([None])
            .collect::<StringArray>(),
    );
    cast(&texts, data_type).unwrap()
}

/// A bound of the first zone as bytes, whatever its type.
fn bound_bytes(bound: &ArrayRef) -> Option<Vec<u8>> {
    let bound = cast(bound, &DataType::LargeBinary).unwrap();
    bound
        .is_valid(0)
        .then(|| bound.as_binary::<i64>().value(0).to_vec())
}

#[test]
fn bounds_of_long_strings_are_cut_yet_hold_for_every_value() {
    use DataType::*;
    let texts = long_texts();
    for data_type in [Utf8, LargeUtf8, Utf8View, Binary, LargeBinary, BinaryView] {
        let groups: Vec<Vec<&str>> = texts
            .chunks(2)
            .map(|pair| pair.iter().map(String::as_str).collect())
            .collect();
        let segment = segment_of(
            groups
                .iter()
                .map(|group| string_column(group, &data_type))
                .collect(),
        );
        for (index, group) in groups.iter().enumerate() {
            let zones = segment.statistics().column(index);
            let (least, greatest) = (
                group.iter().min().unwrap().as_bytes(),
                group.iter().max().unwrap().as_bytes(),
            );
            let min = bound_bytes(&zones.min).unwrap();
            assert!(
                min.len() <= 64 && min.as_slice() <= least,
                "{data_type} {group:?}"
            );
            assert_eq!(zones.min_exact.value(0), min == least);
            assert_eq!(zones.min_exact.value(0), least.len() <= 64);
            // An absent bound holds for every value; the next character may take a byte more.
            let max = bound_bytes(&zones.max);
            assert!(
                max.as_ref()
                    .is_none_or(|max| max.as_slice() >= greatest && max.len() <= 65),
                "{data_type} {group:?}"
            );
            assert_eq!(zones.max_exact.value(0), max.as_deref() == Some(greatest));
            assert_eq!(zones.max_exact.value(0), greatest.len() <= 64);
        }
    }
}

#[test]
fn a_string_of_only_the_greatest_characters_has_no_upper_bound() {
    let text = "\u{10FFFF}".repeat(17);
    let bytes = BinaryArray::from(vec![[255u8; 65].as_slice(); 2]);
    let segment = segment_of(vec![
        string_column(&[&text], &DataType::Utf8),
        Arc::new(bytes),
    ]);
    for index in 0..2 {
        let zones = segment.statistics().column(index);
        assert!(zones.max.is_null(0) && !zones.max_exact.value(0));
        assert!(zones.min.is_valid(0) && !zones.min_exact.value(0));
    }
}
