//! Compares filters with casts, as DataFusion evaluates them, with their rewritten forms.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, Int64Array, RecordBatch};
use arrow::compute::{CastOptions, cast, cast_with_options};
use arrow::datatypes::TimeUnit::{Microsecond, Millisecond, Nanosecond, Second};
use arrow::datatypes::{DataType, Field, Schema};
use datafusion::common::ScalarValue;
use datafusion::logical_expr::Operator;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::{BinaryExpr, CastExpr, Column, TryCastExpr, lit};
use datafusion::physical_expr::simplifier::PhysicalExprSimplifier;

use super::physical::exact_filter;

const OPS: [Operator; 8] = [
    Operator::Eq,
    Operator::NotEq,
    Operator::Lt,
    Operator::LtEq,
    Operator::Gt,
    Operator::GtEq,
    Operator::IsDistinctFrom,
    Operator::IsNotDistinctFrom,
];

/// Whole numbers in the representation of the type, with a NULL.
fn array(numbers: &[i64], data_type: &DataType) -> ArrayRef {
    let numbers: Int64Array = numbers.iter().copied().map(Some).chain([None]).collect();
    match data_type {
        // Otherwise 12 would be 12.00.
        DataType::Decimal128(precision, scale) => {
            let whole = cast(&numbers, &DataType::Decimal128(38, 0)).unwrap();
            let whole = whole.as_any().downcast_ref::<arrow::array::Decimal128Array>().unwrap().clone();
            Arc::new(whole.with_precision_and_scale(*precision, *scale).unwrap())
        }
        DataType::Date32 => cast(&cast(&numbers, &DataType::Int32).unwrap(), data_type).unwrap(),
        data_type => {
            let options = CastOptions { safe: false, ..CastOptions::default() };
            cast_with_options(&numbers, data_type, &options).unwrap()
        }
    }
}

/// [`agree`] for a value that is cast twice.
fn agree_by_way(from: DataType, way: DataType, to: DataType, constants: &[i64]) {
    let schema = Arc::new(Schema::new(vec![Field::new("v", from.clone(), true)]));
    let batch = RecordBatch::try_new(Arc::clone(&schema), vec![array(&[-2, -1, 0, 1, 2], &from)]).unwrap();
    let constants = array(constants, &to);
    for row in 0..constants.len() {
        for op in OPS {
            let value = Arc::new(CastExpr::new(Arc::new(Column::new("v", 0)), way.clone(), None));
            let cast = Arc::new(CastExpr::new(value, to.clone(), None));
            let constant = lit(ScalarValue::try_from_array(&constants, row).unwrap());
            let plain = Arc::new(BinaryExpr::new(cast, op, constant)) as Arc<dyn PhysicalExpr>;
            let exact = exact_filter(Arc::clone(&plain), &schema).unwrap();
            let simple = PhysicalExprSimplifier::new(&schema).simplify(Arc::clone(&exact)).unwrap();
            assert_eq!(&evaluated(&simple, &batch), &evaluated(&plain, &batch), "{plain} of {from} as {exact}");
        }
    }
}

fn evaluated(expr: &Arc<dyn PhysicalExpr>, batch: &RecordBatch) -> ArrayRef {
    expr.evaluate(batch).unwrap().into_array(batch.num_rows()).unwrap()
}

/// Compares each cast value with each constant, on both sides of each operator. Returns how many comparisons were rewritten without the
/// cast.
fn agree(values: &[i64], from: DataType, constants: &[i64], to: DataType, is_try: bool) -> usize {
    let column = array(values, &from);
    let schema = Arc::new(Schema::new(vec![Field::new("v", from.clone(), true)]));
    let batch = RecordBatch::try_new(Arc::clone(&schema), vec![column]).unwrap();
    let constants = array(constants, &to);
    let mut rewritten = 0;
    for row in 0..constants.len() {
        let constant = lit(ScalarValue::try_from_array(&constants, row).unwrap());
        for op in OPS {
            let value = Arc::new(Column::new("v", 0)) as Arc<dyn PhysicalExpr>;
            let cast: Arc<dyn PhysicalExpr> = match is_try {
                true => Arc::new(TryCastExpr::new(value, to.clone())),
                false => Arc::new(CastExpr::new(value, to.clone(), None)),
            };
            for (left, right) in [(Arc::clone(&cast), Arc::clone(&constant)), (constant.clone(), cast)] {
                let plain = Arc::new(BinaryExpr::new(left, op, right)) as Arc<dyn PhysicalExpr>;
                let exact = exact_filter(Arc::clone(&plain), &schema).unwrap();
                rewritten += usize::from(exact.to_string() != plain.to_string());
                let simple = PhysicalExprSimplifier::new(&schema).simplify(Arc::clone(&exact)).unwrap();
                assert_eq!(&evaluated(&simple, &batch), &evaluated(&plain, &batch), "{plain} of {from} as {exact}");
            }
        }
    }
    rewritten
}

const NEAR_ZERO: [i64; 9] = [-3_000, -1_001, -1_000, -999, -1, 0, 1, 999, 1_500];

fn timestamp(unit: arrow::datatypes::TimeUnit, zone: Option<&str>) -> DataType {
    DataType::Timestamp(unit, zone.map(Into::into))
}

#[test]
fn times_are_compared_with_finer_ones_before_and_after_1970() {
    for (from, to) in [(Second, Millisecond), (Millisecond, Microsecond), (Microsecond, Nanosecond)] {
        assert!(agree(&[-3, -2, -1, 0, 1, 2], timestamp(from, None), &NEAR_ZERO, timestamp(to, None), false) > 0, "{from} to {to}");
    }
    let zoned = timestamp(Nanosecond, Some("UTC"));
    assert!(agree(&[-2, -1, 0, 1], timestamp(Second, None), &[-1_500_000_000, -1, 0, 1, 1_000_000_000], zoned, false) > 0);
    let days = [-86_400_000, -86_399_999, -1, 0, 1, 86_400_000, 86_400_001];
    assert!(agree(&[-2, -1, 0, 1, 2], DataType::Date32, &days, timestamp(Millisecond, None), false) > 0);
}

#[test]
fn a_cast_of_a_cast_is_compared_by_both() {
    let constants = [-1_500_000, -1_000_001, -1_000, -1, 0, 1, 1_000, 999_999, 1_000_000, 1_500_000];
    agree_by_way(timestamp(Second, None), timestamp(Millisecond, None), timestamp(Microsecond, None), &constants);
    agree_by_way(DataType::Date32, timestamp(Second, None), timestamp(Millisecond, None), &[-86_400_001, -1, 0, 86_399_999, 86_400_500]);
}

#[test]
fn constants_at_the_ends_of_a_type_do_not_overflow() {
    let ends = [i64::MIN, i64::MIN + 1, -1, i64::MAX - 1, i64::MAX];
    let few = [-9_223_372_036, -1, 0, 9_223_372_036];
    assert!(agree(&few, timestamp(Second, None), &ends, timestamp(Nanosecond, None), false) > 0);
    assert!(agree(&[-106_751, 0, 106_751], DataType::Date32, &ends, timestamp(Nanosecond, None), false) > 0);
}

#[test]
fn times_without_a_zone_are_those_of_the_zone_they_are_cast_to() {
    let hours: Vec<i64> = (-30..30).map(|half| half * 1_800).collect();
    for zone in ["+02:00", "-07:30"] {
        assert!(agree(&hours, timestamp(Second, None), &hours, timestamp(Second, Some(zone)), false) > 0, "{zone}");
        let fine: Vec<i64> = hours.iter().flat_map(|hour| [hour * 1_000, hour * 1_000 + 1]).collect();
        assert!(agree(&hours, timestamp(Second, None), &fine, timestamp(Millisecond, Some(zone)), false) > 0, "{zone}");
    }
    assert_eq!(agree(&hours, timestamp(Second, Some("+02:00")), &hours, timestamp(Second, None), false), 0);
}

#[test]
fn decimals_that_a_cast_rounds_are_compared_by_what_they_become() {
    let values: Vec<i64> = (-260..=260).collect();
    let (cents, tenths) = (DataType::Decimal128(6, 2), DataType::Decimal128(6, 1));
    assert!(agree(&values, cents.clone(), &[-26, -25, -1, 0, 1, 24, 25, 26], tenths, false) > 0);
    for whole in [DataType::Decimal128(4, 0), DataType::Int32, DataType::UInt8] {
        let (values, constants): (&[i64], &[i64]) = match whole {
            DataType::UInt8 => (&values[260..], &[0, 1, 2, 255]),
            _ => (&values, &[-3, -2, -1, 0, 1, 2]),
        };
        assert!(agree(values, cents.clone(), constants, whole, false) > 0);
    }
}

#[test]
fn what_try_cast_makes_null_of_is_null() {
    assert!(agree(&[-1_000, -129, -128, -1, 0, 127, 128], DataType::Int64, &[-128, 0, 127], DataType::Int8, true) > 0);
    assert!(agree(&[-1, 0, 5], DataType::Int64, &[0, 5], DataType::UInt64, true) > 0);
    assert!(agree(&[-999, -995, -994, 994, 995], DataType::Decimal128(6, 2), &[-9, 9], DataType::Decimal128(1, 0), true) > 0);
    assert!(agree(&[-99, -10, 9, 10, 99], DataType::Int64, &[-900, 0, 900], DataType::Decimal128(3, 2), true) > 0);
    let far = [-9_223_372_037, -1, 0, 9_223_372_037];
    assert!(agree(&far, timestamp(Second, None), &[i64::MIN, -1, 0, i64::MAX], timestamp(Nanosecond, None), true) > 0);
}

#[test]
fn what_try_cast_makes_null_of_between_times_and_numbers_is_null() {
    let far = [-3_000_000_000, -2_147_483_649, -2_147_483_648, -1, 0, 5, 2_147_483_647, 2_147_483_648];
    let ints = [i64::from(i32::MIN), -1, 0, 5, i64::from(i32::MAX)];
    for zone in [None, Some("+02:00")] {
        assert!(agree(&far, timestamp(Second, zone), &ints, DataType::Int32, true) > 0);
        assert!(agree(&far, timestamp(Second, zone), &[0, 5], DataType::UInt64, true) > 0);
        assert!(agree(&far, timestamp(Second, zone), &[-150, 0, 150, 500], DataType::Decimal128(5, 2), true) > 0);
    }
    assert!(agree(&far, DataType::Int64, &ints, DataType::Date32, true) > 0);
    let unsigned = [0, 5, i64::MAX];
    assert!(agree(&unsigned, DataType::UInt64, &unsigned, timestamp(Second, None), true) > 0);
}

#[test]
fn what_try_cast_makes_null_of_in_hours_that_a_zone_skips_or_doubles_is_null() {
    let berlin = Some("Europe/Berlin");
    for changes_at in [1_711_846_800, 1_729_990_800] {
        let halves: Vec<i64> = (-8..12).map(|half| changes_at + half * 1_800).collect();
        assert!(agree(&halves, timestamp(Second, None), &halves, timestamp(Second, berlin), true) > 0);
        let fine: Vec<i64> = halves.iter().flat_map(|time| [time * 1_000, time * 1_000 + 1]).collect();
        assert!(agree(&halves, timestamp(Second, None), &fine, timestamp(Millisecond, berlin), true) > 0);
    }
}

#[test]
fn casts_that_lose_nothing_are_left_to_datafusion() {
    assert_eq!(agree(&[-1, 0, 1], DataType::Int32, &[-1, 0, 1], DataType::Int64, false), 0);
    assert_eq!(agree(&[-1, 0, 1], DataType::Int32, &[-150, 100], DataType::Decimal128(12, 2), false), 0);
    assert_eq!(agree(&[-1_500, 0, 1], timestamp(Millisecond, None), &[-1, 0], timestamp(Second, None), false), 0);
    assert_eq!(agree(&[-1, 0], timestamp(Second, None), &[-1, 0], timestamp(Second, Some("UTC")), false), 0);
}
