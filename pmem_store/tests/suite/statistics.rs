//! Statistics never skip a zone that has a matching row.

mod floats;
mod texts;

use std::sync::Arc;

use arrow::array::*;
use arrow::compute::{SortOptions, cast, sort};
use arrow::datatypes::{DataType, i256};
use pmem_store::segment::{Extreme, ZoneColumn};
use pmem_store::{Segment, ZONE_ROWS};

use crate::helpers::*;
use crate::types::number_types;

const ROWS: usize = 2 * ZONE_ROWS + 1_000;

pub fn segment_of(columns: Vec<ArrayRef>) -> Segment {
    let names: Vec<String> = (0..columns.len()).map(|index| format!("c{index}")).collect();
    let (_dir, store) = store_with(&[batch(names.iter().map(String::as_str).zip(columns).collect())]);
    // The mapping outlives the file's name.
    segment(&store)
}

fn zones_of(column: ArrayRef) -> ZoneColumn {
    segment_of(vec![column]).statistics().column(0)
}

/// Small numbers without zero; one in ten is NULL, and the last zone has only NULLs.
fn random_numbers(random: &mut Random) -> ArrayRef {
    let values = (0..ROWS).map(|row| {
        let value = 1 + random.below(99) as i64;
        (random.below(10) != 0 && row < 2 * ZONE_ROWS).then_some(value)
    });
    Arc::new(values.collect::<Int64Array>())
}

fn random_texts(random: &mut Random) -> ArrayRef {
    let mut text =
        |length: usize| -> String { (0..length).map(|_| ['a', 'b', 'z', '0', ' ', 'é', '字', '\u{10FFFF}'][random.below(8)]).collect() };
    Arc::new((0..ROWS).map(|row| (row % 10 != 0 && row < 2 * ZONE_ROWS).then(|| text(row % 12))).collect::<StringArray>())
}

fn signed(random: &mut Random, data_type: DataType) -> ArrayRef {
    let values = random_numbers(random);
    let values: Int64Array =
        values.as_any().downcast_ref::<Int64Array>().unwrap().unary(|value| if value % 2 == 0 { -value } else { value });
    match cast(&values, &data_type) {
        Ok(array) => array,
        Err(_) => cast(&cast(&values, &DataType::Int32).unwrap(), &data_type).unwrap(),
    }
}

fn ordered_columns() -> Vec<ArrayRef> {
    use DataType::*;
    let mut random = Random(1);
    let is_unsigned = |to: &DataType| matches!(to, UInt8 | UInt16 | UInt32 | UInt64 | Boolean);
    let numbers = number_types().into_iter().filter(|to| *to != Float16);
    let mut columns: Vec<ArrayRef> = numbers
        .map(|to| match is_unsigned(&to) {
            true => cast(&random_numbers(&mut random), &to).unwrap(),
            false => signed(&mut random, to),
        })
        .collect();
    let texts = random_texts(&mut random);
    let texts = [Utf8, LargeUtf8, Utf8View, Binary, LargeBinary, BinaryView].map(|to| cast(&texts, &to).unwrap());
    columns.extend(texts);
    columns
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
            let one = |descending| sort(&values, Some(SortOptions { descending, nulls_first: false })).unwrap().slice(0, 1);
            let data_type = column.data_type();
            assert_eq!(&zones.min.slice(zone, 1), &one(false), "min of {data_type}, zone {zone}");
            assert_eq!(&zones.max.slice(zone, 1), &one(true), "max of {data_type}, zone {zone}");
            assert_eq!(zones.null_count.value(zone), values.null_count() as u64, "{data_type}, zone {zone}");
            assert!(zones.min_exact.value(zone) && zones.max_exact.value(zone), "{data_type}, zone {zone}");
            assert!(!zones.has_nan.value(zone));
        }
        assert_eq!(statistics.null_count(index), column.null_count() as u64);
    }
}

#[test]
fn the_extremes_of_a_segment_are_those_of_all_its_values() {
    let columns = ordered_columns();
    let segment = segment_of(columns.clone());
    let statistics = segment.statistics();
    for (index, column) in columns.iter().enumerate() {
        let (zones, data_type) = (statistics.column(index), column.data_type());
        let [least, greatest] = statistics.extremes(index);
        for (extreme, bounds, descending) in [(least, &zones.min, false), (greatest, &zones.max, true)] {
            let Extreme::Zone { zone, is_exact: true } = extreme else { panic!("{data_type}: {extreme:?}") };
            let expected = sort(column, Some(SortOptions { descending, nulls_first: false })).unwrap().slice(0, 1);
            assert_eq!(&bounds.slice(zone, 1), &expected, "{data_type}");
        }
    }
}

#[test]
fn a_segment_whose_zones_do_not_tell_all_bounds_has_no_extremes() {
    // A zone with NaN, and a type without an order, have no bounds.
    let with_nan = Float64Array::from_iter_values((0..ROWS).map(|row| if row == 5 { f64::NAN } else { row as f64 }));
    let months = IntervalYearMonthArray::from(vec![1; ROWS]);
    let segment = segment_of(vec![new_null_array(&DataType::Int64, ROWS), Arc::new(with_nan), Arc::new(months)]);
    let statistics = segment.statistics();
    assert_eq!(statistics.extremes(0), [Extreme::Absent; 2]);
    assert_eq!(statistics.extremes(1), [Extreme::Unknown; 2]);
    assert_eq!(statistics.extremes(2), [Extreme::Unknown; 2]);
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
        cast(&numbers, &DataType::List(Arc::new(arrow::datatypes::Field::new("item", DataType::Int32, true)))).unwrap(),
    ];
    let segment = segment_of(columns);
    for index in 0..6 {
        let zones = segment.statistics().column(index);
        assert_eq!(zones.min.data_type(), &DataType::Null);
        assert_eq!(zones.min.len(), 1);
        assert!(!zones.min_exact.value(0) && !zones.max_exact.value(0), "column {index}");
    }
    assert_eq!(segment.statistics().column(0).null_count.value(0), 1);
    assert_eq!(segment.statistics().column(4).null_count.value(0), 3);
}

#[test]
fn extreme_integers_are_exact_bounds() {
    let segment = segment_of(vec![
        Arc::new(Int64Array::from(vec![i64::MIN, i64::MAX])),
        Arc::new(UInt64Array::from(vec![0, u64::MAX])),
        Arc::new(Decimal256Array::from(vec![i256::MIN, i256::MAX])),
    ]);
    let statistics = segment.statistics();
    assert_eq!(statistics.column(0).min.as_ref(), &Int64Array::from(vec![i64::MIN]) as &dyn Array);
    assert_eq!(statistics.column(1).max.as_ref(), &UInt64Array::from(vec![u64::MAX]) as &dyn Array);
    assert_eq!(statistics.column(2).max.as_ref(), &Decimal256Array::from(vec![i256::MAX]) as &dyn Array);
}
