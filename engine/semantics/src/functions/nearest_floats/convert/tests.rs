use std::collections::HashMap;

use arrow::array::{
    Decimal32Array, Decimal64Array, Decimal128Array, Decimal256Array, DictionaryArray, FixedSizeListArray, Int32Array, ListArray, RunArray,
    StructArray,
};
use arrow::buffer::OffsetBuffer;
use arrow::datatypes::{Field, Fields, Int32Type, i256};

use super::*;

/// Reproducible pseudo-random numbers (splitmix64).
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    /// A decimal with exactly so many digits.
    fn decimal(&mut self, digits: u32) -> i128 {
        let wide = (u128::from(self.next()) << 64) | u128::from(self.next());
        let least = 10u128.pow(digits - 1);
        let unscaled = (least + wide % (9 * least)) as i128;
        if self.next() & 1 == 0 { unscaled } else { -unscaled }
    }
}

fn text(unscaled: impl Display, scale: i8) -> String {
    format!("{unscaled}e{}", -i32::from(scale))
}

#[test]
fn decimals_of_any_size_are_the_floats_that_their_text_is() {
    let mut numbers = Numbers(1);
    for digits in 1..=38 {
        for _ in 0..2_000 {
            let unscaled = numbers.decimal(digits);
            let scale = numbers.below(49) as i8 - 10;
            let text = text(unscaled, scale);
            assert_eq!(nearest_f64(unscaled, scale), text.parse::<f64>().unwrap(), "{text}");
            assert_eq!(nearest_f32(unscaled, scale), text.parse::<f32>().unwrap(), "{text}");
        }
    }
}

#[test]
fn a_double_that_is_written_with_seventeen_digits_is_itself() {
    let mut numbers = Numbers(2);
    for _ in 0..20_000 {
        let double = (numbers.next() as f64 / u64::MAX as f64 - 0.5) * 200.0;
        let written = format!("{double}");
        let digits = written.split_once('.').map_or(0, |(_, fraction)| fraction.len());
        let Ok(unscaled) = written.replace('.', "").parse::<i128>() else { continue };
        assert_eq!(nearest_f64(unscaled, digits as i8).to_bits(), double.to_bits(), "{written}");
    }
}

#[test]
fn a_decimal_half_way_between_two_reals_as_a_double_goes_to_its_own_side() {
    // Between 1 and the next REAL, 1 + 2^-23, lies 1 + 2^-24 = 1.000000059604644775390625; 15 digits of it are less.
    for (unscaled, scale) in [
        (1_000_000_059_604_644_775_390_625i128, 24),
        (1_000_000_059_604_644_775_390_626, 24),
        (1_000_000_059_604_644_775_390_624, 24),
        (10_000_000_596_046_447, 16),
        (10_000_000_596_046_448, 16),
        (16_777_217, 0),
        (16_777_219, 0),
        (-167_772_170, 1),
    ] {
        let text = text(unscaled, scale);
        assert_eq!(nearest_f32(unscaled, scale), text.parse::<f32>().unwrap(), "{text}");
    }
}

#[test]
fn every_width_of_decimals_is_converted_and_null_stays_null() {
    let arrays: [ArrayRef; 4] = [
        Arc::new(Decimal32Array::from(vec![Some(15), None]).with_precision_and_scale(9, 1).unwrap()),
        Arc::new(Decimal64Array::from(vec![Some(15), None]).with_precision_and_scale(18, 1).unwrap()),
        Arc::new(Decimal128Array::from(vec![Some(15), None]).with_precision_and_scale(38, 1).unwrap()),
        Arc::new(Decimal256Array::from(vec![Some(i256::from_i128(15)), None]).with_precision_and_scale(76, 1).unwrap()),
    ];
    for array in arrays {
        let doubles = cast_nearest(&array, &DataType::Float64, &CastOptions::default()).unwrap();
        assert_eq!(doubles.as_primitive::<Float64Type>().iter().collect::<Vec<_>>(), [Some(1.5), None]);
        let reals = cast_nearest(&array, &DataType::Float32, &CastOptions::default()).unwrap();
        assert_eq!(reals.as_primitive::<Float32Type>().iter().collect::<Vec<_>>(), [Some(1.5), None]);
    }
}

#[test]
fn seventy_six_digits_are_rounded_once() {
    let mut numbers = Numbers(3);
    for _ in 0..2_000 {
        let digits = format!("{}{:038}", numbers.decimal(38), numbers.decimal(38).unsigned_abs());
        let (unscaled, scale) = (i256::from_string(&digits).unwrap(), numbers.below(77) as i8);
        let text = text(&digits, scale);
        assert_eq!(nearest_f64(unscaled, scale), text.parse::<f64>().unwrap(), "{text}");
        assert_eq!(nearest_f32(unscaled, scale), text.parse::<f32>().unwrap(), "{text}");
    }
}

/// What Arrow makes of 22.632464605522298.
const WRITTEN: i128 = 22_632_464_605_522_294;
const MEANT: f64 = 22.632464605522294;

fn decimals(values: Vec<Option<i128>>) -> ArrayRef {
    Arc::new(Decimal128Array::from(values).with_precision_and_scale(17, 15).unwrap())
}

#[test]
fn slices_of_lists_are_converted_with_their_own_values_and_nulls() {
    let values = decimals(vec![Some(1), Some(WRITTEN), None, Some(-WRITTEN)]);
    let item = Arc::new(Field::new_list_field(values.data_type().clone(), true));
    let nulls = vec![true, true, false, true].into();
    let lists = ListArray::new(item, OffsetBuffer::from_lengths([1, 2, 0, 1]), values, Some(nulls));
    let wanted = DataType::new_list(DataType::Float64, true);
    let array: ArrayRef = Arc::new(lists.slice(1, 3));
    let made = cast_nearest(&array, &wanted, &CastOptions::default()).unwrap();
    assert_eq!(made.data_type(), &wanted);
    let rows: Vec<Option<Vec<Option<f64>>>> =
        made.as_list::<i32>().iter().map(|row| row.map(|row| row.as_primitive::<Float64Type>().iter().collect())).collect();
    assert_eq!(rows, [Some(vec![Some(MEANT), None]), None, Some(vec![Some(-MEANT)])]);
}

#[test]
fn only_those_fields_of_a_struct_become_floats_that_are_such_by_name() {
    let field = |name: &str, data_type: &DataType| Field::new(name, data_type.clone(), true);
    let values = decimals(vec![Some(WRITTEN)]);
    let decimal = values.data_type().clone();
    let fields = Fields::from(vec![field("a", &decimal), field("b", &decimal)]);
    let array: ArrayRef = Arc::new(StructArray::new(fields, vec![Arc::clone(&values), values], None));
    let wanted = DataType::Struct(vec![field("b", &DataType::Float64), field("a", &decimal)].into());
    let reached = with_floats(array.data_type(), &wanted).unwrap();
    assert_eq!(reached, DataType::Struct(vec![field("a", &decimal), field("b", &DataType::Float64)].into()));
    let made = converted(&array, &reached).unwrap();
    let columns: HashMap<&str, &ArrayRef> = made.as_struct().column_names().into_iter().zip(made.as_struct().columns()).collect();
    assert_eq!(columns["a"].as_primitive::<Decimal128Type>().value(0), WRITTEN);
    assert_eq!(columns["b"].as_primitive::<Float64Type>().value(0), MEANT);
}

#[test]
fn what_has_no_decimals_or_is_to_have_no_floats_is_left_to_the_cast() {
    let decimal = DataType::Decimal128(10, 2);
    for (from, to) in [
        (DataType::Int64, DataType::Float64),
        (decimal.clone(), DataType::Int64),
        (decimal.clone(), DataType::new_list(DataType::Int64, true)),
        (decimal.clone(), DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8))),
        (DataType::new_list(decimal.clone(), true), DataType::new_list(DataType::Utf8, true)),
        (DataType::Null, DataType::Float64),
    ] {
        assert_eq!(with_floats(&from, &to), None, "{from} {to}");
    }
}

fn doubles(array: &ArrayRef) -> Vec<Option<f64>> {
    array.as_primitive::<Float64Type>().iter().collect()
}

#[test]
fn values_that_are_kept_once_are_converted_where_they_are_kept() {
    let expected = [Some(MEANT), None, Some(MEANT), Some(-MEANT)];
    let keys = Int32Array::from(vec![Some(0), Some(1), None, Some(1), Some(0)]);
    let values = decimals(vec![Some(-WRITTEN), Some(WRITTEN)]);
    let dictionary: ArrayRef = Arc::new(DictionaryArray::new(keys, values).slice(1, 4));
    let runs = RunArray::<Int32Type>::try_new(
        &Int32Array::from(vec![2, 3, 4, 5]),
        &decimals(vec![Some(WRITTEN), None, Some(WRITTEN), Some(-WRITTEN)]),
    );
    let runs: ArrayRef = Arc::new(runs.unwrap().slice(1, 4));
    let kept = |values: DataType| DataType::Dictionary(Box::new(DataType::Int32), Box::new(values));
    for array in [dictionary, runs] {
        for to in [DataType::Float64, kept(DataType::Float64)] {
            let made = cast_nearest(&array, &to, &CastOptions::default()).unwrap();
            assert_eq!(made.data_type(), &to);
            assert_eq!(doubles(&arrow::compute::cast(&made, &DataType::Float64).unwrap()), expected, "{} {to}", array.data_type());
        }
    }
}

#[test]
fn one_decimal_becomes_a_list_of_one_double_and_the_only_one_of_a_list_a_double() {
    let values = decimals(vec![Some(WRITTEN), None]);
    let item = || Arc::new(Field::new_list_field(DataType::Float64, true));
    for to in [DataType::List(item()), DataType::LargeList(item()), DataType::FixedSizeList(item(), 1)] {
        let made = cast_nearest(&values, &to, &CastOptions::default()).unwrap();
        assert_eq!(made.data_type(), &to);
        let inner = make_array(made.to_data().child_data()[0].clone());
        assert_eq!(doubles(&inner)[0], Some(MEANT), "{to}");
    }
    let list: ArrayRef =
        Arc::new(FixedSizeListArray::new(Arc::new(Field::new_list_field(values.data_type().clone(), true)), 1, values, None));
    assert_eq!(doubles(&cast_nearest(&list, &DataType::Float64, &CastOptions::default()).unwrap()), [Some(MEANT), None]);
}
