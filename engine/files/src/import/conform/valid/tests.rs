use arrow::array::{
    Date32Array, Decimal128Array, Decimal256Array, DictionaryArray, FixedSizeListArray, Int8Array, Int32Array, ListArray, MapArray,
    PrimitiveArray, RunArray, StringArray, StructArray, Time64NanosecondArray, TimestampMicrosecondArray, TimestampSecondArray,
};
use arrow::buffer::OffsetBuffer;
use arrow::datatypes::{Int32Type, i256};
use arrow::temporal_conversions::{date32_to_datetime, timestamp_us_to_datetime};
use arrow::util::display::{ArrayFormatter, FormatOptions};

use super::*;

fn decimals_of(values: &[i128]) -> ArrayRef {
    Arc::new(Decimal128Array::from(values.to_vec()).with_precision_and_scale(3, 1).unwrap())
}

fn item(array: &ArrayRef) -> Arc<Field> {
    Arc::new(Field::new("item", array.data_type().clone(), true))
}

/// The refused row, and the reason.
fn refused(array: ArrayRef) -> (usize, String) {
    let Misfit { row, problem } = valid(&array).unwrap_err();
    (row, problem)
}

#[test]
fn a_decimal_with_more_digits_than_its_type_is_refused_with_all_of_them() {
    assert_eq!(refused(decimals_of(&[999, -999, 1000])), (2, "100.0 does not fit DECIMAL(3,1)".into()));
    assert_eq!(refused(decimals_of(&[0, -1000])), (1, "-100.0 does not fit DECIMAL(3,1)".into()));
    let wide: ArrayRef = Arc::new(Decimal256Array::from(vec![i256::from_i128(1 << 100)]).with_precision_and_scale(5, 0).unwrap());
    assert_eq!(refused(wide), (0, format!("{} does not fit DECIMAL(5,0)", 1_i128 << 100)));
    let narrow: ArrayRef = Arc::new(PrimitiveArray::<Decimal64Type>::from(vec![1_i64 << 62]).with_precision_and_scale(5, 0).unwrap());
    assert_eq!(refused(narrow).1, format!("{} does not fit DECIMAL(5,0)", 1_i64 << 62));
}

#[test]
fn what_lies_beneath_a_null_is_no_value_and_harms_no_cast() {
    let nulls = NullBuffer::from(vec![true, false, true]);
    let array = Decimal128Array::new(vec![7, 1 << 64, 9].into(), Some(nulls)).with_precision_and_scale(18, 0).unwrap();
    let array: ArrayRef = Arc::new(array);
    let list: ArrayRef = Arc::new(ListArray::new(item(&array), OffsetBuffer::from_lengths([1, 2]), Arc::clone(&array), None));
    let cleaned = valid(&array).unwrap();
    assert_eq!(cleaned.as_ref(), array.as_ref());
    let narrow = cast(&cleaned, &DataType::Decimal64(18, 0)).unwrap();
    assert_eq!(narrow.null_count(), 1);
    let within = valid(&list).unwrap();
    assert_eq!(within.as_list::<i32>().values().as_primitive::<Decimal128Type>().values()[1], 0);
}

#[test]
fn what_is_refused_within_is_said_of_its_row() {
    let bad = decimals_of(&[1, 2, 3, 4, 1000, 5]);
    let list: ArrayRef = Arc::new(ListArray::new(item(&bad), OffsetBuffer::from_lengths([1, 0, 2, 3]), Arc::clone(&bad), None));
    assert_eq!(refused(Arc::clone(&list)).0, 3);
    assert_eq!(refused(list.slice(2, 2)).0, 1);
    valid(&list.slice(0, 3)).unwrap();
    assert_eq!(refused(Arc::new(FixedSizeListArray::new(item(&bad), 2, Arc::clone(&bad), None))).0, 2);
    let fields = vec![Field::new("price", bad.data_type().clone(), true)];
    let structs: ArrayRef = Arc::new(StructArray::new(fields.into(), vec![Arc::clone(&bad)], None));
    assert_eq!(refused(Arc::clone(&structs)), (4, "in price: 100.0 does not fit DECIMAL(3,1)".into()));
    assert_eq!(refused(structs.slice(3, 3)).0, 1);
    let keys: ArrayRef = Arc::new(StringArray::from(vec!["a"; 6]));
    let fields = vec![Field::new("key", DataType::Utf8, false), Field::new("value", bad.data_type().clone(), true)];
    let entries = StructArray::new(fields.into(), vec![keys, bad], None);
    let entry = Arc::new(Field::new("entries", entries.data_type().clone(), false));
    let map = MapArray::new(entry, OffsetBuffer::from_lengths([3, 3]), entries, None, false);
    assert_eq!(refused(Arc::new(map)), (1, "in value: 100.0 does not fit DECIMAL(3,1)".into()));
}

#[test]
fn of_dictionaries_and_runs_the_rows_count_and_not_what_none_of_them_has() {
    let values = decimals_of(&[1000, 5]);
    let unused: ArrayRef = Arc::new(DictionaryArray::new(Int8Array::from(vec![1, 1]), Arc::clone(&values)));
    valid(&unused).unwrap();
    assert_eq!(refused(Arc::new(DictionaryArray::new(Int8Array::from(vec![1, 0]), values))).0, 1);
    let runs = RunArray::<Int32Type>::try_new(&Int32Array::from(vec![3, 5]), &decimals_of(&[5, 1000])).unwrap();
    assert_eq!(refused(Arc::new(runs)).0, 3);
}

#[test]
fn a_time_is_within_a_day() {
    let last = DAY_SECONDS * 1_000_000_000 - 1;
    valid(&(Arc::new(Time64NanosecondArray::from(vec![0, last])) as ArrayRef)).unwrap();
    for bad in [-1, last + 1, -(1 << 62)] {
        let (row, problem) = refused(Arc::new(Time64NanosecondArray::from(vec![0, bad])));
        assert!(row == 1 && problem.contains(&bad.to_string()) && problem.contains("24:00:00"), "{problem}");
    }
}

#[test]
fn the_days_and_instants_that_are_taken_are_those_that_can_be_written() {
    assert!([*DAYS.start(), *DAYS.end()].iter().all(|day| date32_to_datetime(*day).is_some()));
    assert!([DAYS.start() - 1, DAYS.end() + 1].iter().all(|day| date32_to_datetime(*day).is_none()));
    let micros = since_1970(1_000_000, false);
    assert!([*micros.start(), *micros.end()].iter().all(|time| timestamp_us_to_datetime(*time).is_some()));
    assert!([micros.start() - 1, micros.end() + 1].iter().all(|time| timestamp_us_to_datetime(*time).is_none()));
    for day in [i32::MIN, i32::MAX] {
        assert_eq!(refused(Arc::new(Date32Array::from(vec![None, Some(day)]))).0, 1);
    }
    for time in [i64::MIN, i64::MAX] {
        assert_eq!(refused(Arc::new(TimestampMicrosecondArray::from(vec![time]))).0, 0);
        assert_eq!(refused(Arc::new(TimestampSecondArray::from(vec![0, time]))).0, 1);
    }
}

#[test]
fn an_instant_with_a_zone_can_be_written_in_every_zone() {
    let seconds = since_1970(1, true);
    for zone in ["+23:59", "-23:59", "Pacific/Kiritimati", "UTC"] {
        let array: ArrayRef = Arc::new(TimestampSecondArray::from(vec![*seconds.start(), *seconds.end()]).with_timezone(zone));
        let array = valid(&array).unwrap();
        let options = FormatOptions::default();
        let formatter = ArrayFormatter::try_new(&array, &options).unwrap();
        (0..2).for_each(|row| assert!(formatter.value(row).try_to_string().is_ok(), "{zone}"));
    }
}

#[test]
fn types_that_are_none_are_refused() {
    let zoned = |zone: &str| DataType::Timestamp(TimeUnit::Second, Some(zone.into()));
    for good in [zoned("Europe/Berlin"), zoned("+02:00"), zoned("UTC"), DataType::Decimal128(38, 38), DataType::Decimal128(5, -3)] {
        check_type(&good).unwrap();
    }
    let list = DataType::List(Arc::new(Field::new("item", zoned("Nowhere/No"), true)));
    for bad in [zoned("Nowhere/No"), zoned(""), list, DataType::Decimal128(39, 0), DataType::Decimal64(0, 0), DataType::Decimal32(3, 5)] {
        assert!(check_type(&bad).is_err(), "{bad}");
    }
}
