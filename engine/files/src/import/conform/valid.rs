//! Checks that values are valid for their Arrow type. Arrow itself only checks what makes an array safe to read: offsets,
//! texts, keys of dictionaries, ends of runs. It does not check what a value means: a DECIMAL(3,0) may hold 1000, a TIME may be after
//! midnight. Such a value cannot be shown, or is shown as another one, and casts that rely on the type panic.
//!
//! **Invariant:** every row or parameter from outside passes this check before it reaches a table or a statement.

use std::ops::RangeInclusive;
use std::sync::Arc;

use arrow::array::timezone::Tz;
use arrow::array::{
    Array, ArrayRef, ArrowNativeTypeOp, ArrowPrimitiveType, AsArray, GenericListArray, MapArray, OffsetSizeTrait, make_array,
};
use arrow::buffer::NullBuffer;
use arrow::compute::cast;
use arrow::datatypes::{
    DECIMAL32_MAX_PRECISION, DECIMAL64_MAX_PRECISION, DECIMAL128_MAX_PRECISION, DECIMAL256_MAX_PRECISION, DataType, Date32Type, Date64Type,
    Decimal32Type, Decimal64Type, Decimal128Type, Decimal256Type, DecimalType, DurationMillisecondType, DurationSecondType, Field,
    FieldRef, Time32MillisecondType, Time32SecondType, Time64MicrosecondType, Time64NanosecondType, TimeUnit, TimestampMicrosecondType,
    TimestampMillisecondType, TimestampSecondType,
};

use super::{Misfit, column_misfit, mask_nulls};
use common::masked_values::in_use;
use common::type_names::plain::sql_type_name;

const DAY_SECONDS: i64 = 24 * 60 * 60;
/// The days since 1970 that can be written: the years from -262143 to 262142.
const DAYS: RangeInclusive<i32> = -96_465_292..=95_026_236;

/// An error says what is wrong with the type of a column, or with a type nested in it.
pub fn check_type(data_type: &DataType) -> Result<(), String> {
    let digits = |precision: u8, scale: i8, most: u8| match (1..=most).contains(&precision) && i16::from(scale) <= i16::from(precision) {
        true => Ok(()),
        false => {
            let name = sql_type_name(data_type);
            Err(format!("it is {name}, and a decimal of its width has 1 to {most} digits, no more of them after the point"))
        }
    };
    match data_type {
        DataType::Timestamp(_, Some(zone)) if zone.parse::<Tz>().is_err() => {
            Err(format!("its time zone {zone:?} is not known; name one as \"Europe/Berlin\" or \"+01:00\""))
        }
        DataType::Decimal32(precision, scale) => digits(*precision, *scale, DECIMAL32_MAX_PRECISION),
        DataType::Decimal64(precision, scale) => digits(*precision, *scale, DECIMAL64_MAX_PRECISION),
        DataType::Decimal128(precision, scale) => digits(*precision, *scale, DECIMAL128_MAX_PRECISION),
        DataType::Decimal256(precision, scale) => digits(*precision, *scale, DECIMAL256_MAX_PRECISION),
        DataType::Dictionary(_, value) => check_type(value),
        _ => fields_of(data_type).into_iter().try_for_each(|field| check_type(field.data_type())),
    }
}

/// The same array; an error if one of its values is invalid for its type. An invalid value beneath a NULL becomes zero, because casts
/// of all values at once read it, too.
pub fn valid(array: &ArrayRef) -> Result<ArrayRef, Misfit> {
    use DataType::{
        Date32, Date64, Decimal32, Decimal64, Decimal128, Decimal256, Dictionary, Duration, RunEndEncoded, Time32, Time64, Timestamp,
    };
    use TimeUnit::{Microsecond, Millisecond, Nanosecond, Second};
    match array.data_type() {
        Decimal32(..) => decimals::<Decimal32Type>(array),
        Decimal64(..) => decimals::<Decimal64Type>(array),
        Decimal128(..) => decimals::<Decimal128Type>(array),
        Decimal256(..) => decimals::<Decimal256Type>(array),
        Time32(Second) => times::<Time32SecondType>(array, DAY_SECONDS as i32 - 1),
        Time32(_) => times::<Time32MillisecondType>(array, DAY_SECONDS as i32 * 1_000 - 1),
        Time64(Nanosecond) => times::<Time64NanosecondType>(array, DAY_SECONDS * 1_000_000_000 - 1),
        Time64(_) => times::<Time64MicrosecondType>(array, DAY_SECONDS * 1_000_000 - 1),
        Date32 => instants::<Date32Type>(array, DAYS, "days"),
        Date64 => instants::<Date64Type>(array, since_1970(1_000, false), "milliseconds"),
        Timestamp(Second, zone) => instants::<TimestampSecondType>(array, since_1970(1, zone.is_some()), "seconds"),
        Timestamp(Millisecond, zone) => instants::<TimestampMillisecondType>(array, since_1970(1_000, zone.is_some()), "milliseconds"),
        Timestamp(Microsecond, zone) => instants::<TimestampMicrosecondType>(array, since_1970(1_000_000, zone.is_some()), "microseconds"),
        Duration(Second) => within::<DurationSecondType>(array, -(i64::MAX / 1_000)..=i64::MAX / 1_000, |value| {
            format!("{value} seconds are more than a duration has")
        }),
        Duration(Millisecond) => within::<DurationMillisecondType>(array, -i64::MAX..=i64::MAX, |value| {
            format!("{value} milliseconds are more than a duration has")
        }),
        // Values of the dictionary that no row uses do not count.
        Dictionary(_, value) => valid(&cast(array, value).map_err(column_misfit)?).map(|_| Arc::clone(array)),
        RunEndEncoded(_, values) => valid(&cast(array, values.data_type()).map_err(column_misfit)?).map(|_| Arc::clone(array)),
        data_type if has_bounds(data_type) => valid_within(array),
        _ => Ok(Arc::clone(array)),
    }
}

/// Whether values of this type can be invalid.
fn has_bounds(data_type: &DataType) -> bool {
    use DataType::{Date32, Date64, Decimal32, Decimal64, Decimal128, Decimal256, Duration, Time32, Time64, Timestamp};
    match data_type {
        Decimal32(..) | Decimal64(..) | Decimal128(..) | Decimal256(..) => true,
        Time32(_) | Time64(_) | Date32 | Date64 | Timestamp(..) | Duration(_) => true,
        DataType::Dictionary(_, value) => has_bounds(value),
        _ => fields_of(data_type).into_iter().any(|field| has_bounds(field.data_type())),
    }
}

fn fields_of(data_type: &DataType) -> Vec<&Field> {
    match data_type {
        DataType::List(field)
        | DataType::LargeList(field)
        | DataType::ListView(field)
        | DataType::LargeListView(field)
        | DataType::FixedSizeList(field, _)
        | DataType::Map(field, _)
        | DataType::RunEndEncoded(_, field) => vec![field.as_ref()],
        DataType::Struct(fields) => fields.iter().map(AsRef::as_ref).collect(),
        DataType::Union(fields, _) => fields.iter().map(|(_, field)| field.as_ref()).collect(),
        _ => Vec::new(),
    }
}

/// Checks elements, fields, keys and values.
fn valid_within(array: &ArrayRef) -> Result<ArrayRef, Misfit> {
    match array.data_type() {
        DataType::List(field) => valid_list::<i32>(array, field),
        DataType::LargeList(field) => valid_list::<i64>(array, field),
        DataType::Map(field, is_sorted) => valid_map(array, field, *is_sorted),
        _ => valid_children(array),
    }
}

fn valid_list<O: OffsetSizeTrait>(array: &ArrayRef, field: &FieldRef) -> Result<ArrayRef, Misfit> {
    let list = array.as_list::<O>();
    let (offsets, values) = in_use(list.offsets(), list.values());
    let (offsets, same) = mask_nulls::mask_lists(&values, offsets, list.nulls(), valid)?;
    if Arc::ptr_eq(&same, &values) {
        return Ok(Arc::clone(array));
    }
    let list = GenericListArray::<O>::try_new(Arc::clone(field), offsets, same, list.nulls().cloned());
    Ok(Arc::new(list.map_err(column_misfit)?))
}

fn valid_map(array: &ArrayRef, field: &FieldRef, is_sorted: bool) -> Result<ArrayRef, Misfit> {
    let map = array.as_map();
    let entries: ArrayRef = Arc::new(map.entries().clone());
    let (offsets, entries) = in_use(map.offsets(), &entries);
    let (offsets, same) = mask_nulls::mask_lists(&entries, offsets, map.nulls(), valid)?;
    if Arc::ptr_eq(&same, &entries) {
        return Ok(Arc::clone(array));
    }
    let map = MapArray::try_new(Arc::clone(field), offsets, same.as_struct().clone(), map.nulls().cloned(), is_sorted);
    Ok(Arc::new(map.map_err(column_misfit)?))
}

/// Checks the children of arrays without offsets: structs, and lists of a fixed size.
fn valid_children(array: &ArrayRef) -> Result<ArrayRef, Misfit> {
    let data = array.to_data();
    let (mut changed, mut looked_at) = (false, Vec::with_capacity(data.child_data().len()));
    for (index, child) in data.child_data().iter().enumerate() {
        let child = make_array(child.clone());
        let same = mask_nulls::mask_fields(&child, parents(array), valid).map_err(|misfit| in_row(array, index, misfit))?;
        if Arc::ptr_eq(&same, &child) || same.data_type() != child.data_type() {
            // Runs beneath NULLs are checked as plain values, and stay unchanged.
            looked_at.push(child.to_data());
            continue;
        }
        changed = true;
        looked_at.push(same.to_data());
    }
    match changed {
        false => Ok(Arc::clone(array)),
        true => Ok(make_array(data.into_builder().child_data(looked_at).build().map_err(column_misfit)?)),
    }
}

/// For each value of a child, whether its parent is not NULL.
fn parents(array: &ArrayRef) -> Option<NullBuffer> {
    match array.data_type() {
        DataType::Struct(_) => array.nulls().cloned(),
        DataType::FixedSizeList(_, size) => array.nulls().map(|nulls| nulls.expand(usize::try_from(*size).unwrap_or(0))),
        _ => None,
    }
}

/// The misfit of a nested value, with the row that contains it.
fn in_row(array: &ArrayRef, child: usize, misfit: Misfit) -> Misfit {
    match array.data_type() {
        DataType::FixedSizeList(_, size) => Misfit { row: misfit.row / usize::try_from(*size).unwrap_or(1).max(1), ..misfit },
        DataType::Struct(fields) => Misfit { problem: format!("in {}: {}", fields[child].name(), misfit.problem), ..misfit },
        _ => misfit,
    }
}

fn decimals<T: DecimalType>(array: &ArrayRef) -> Result<ArrayRef, Misfit> {
    let (precision, scale) = match array.data_type() {
        DataType::Decimal32(precision, scale)
        | DataType::Decimal64(precision, scale)
        | DataType::Decimal128(precision, scale)
        | DataType::Decimal256(precision, scale) => (*precision, *scale),
        _ => return Ok(Arc::clone(array)),
    };
    let Some(most) = T::MAX_FOR_EACH_PRECISION.get(usize::from(precision)) else {
        return Err(Misfit { row: 0, problem: format!("no decimal has {precision} digits") });
    };
    let name = sql_type_name(array.data_type());
    // The message has all digits: cut to those of the type the value would look valid.
    within::<T>(array, most.neg_wrapping()..=*most, |value| format!("{} does not fit {name}", T::format_decimal(value, u8::MAX, scale)))
}

fn times<T: ArrowPrimitiveType>(array: &ArrayRef, last: T::Native) -> Result<ArrayRef, Misfit> {
    let name = array.data_type();
    within::<T>(array, T::Native::default()..=last, |value| {
        format!("{value:?} is no TIME ({name}): it must be from 00:00:00 to before 24:00:00")
    })
}

fn instants<T: ArrowPrimitiveType>(array: &ArrayRef, range: RangeInclusive<T::Native>, unit: &str) -> Result<ArrayRef, Misfit> {
    let name = sql_type_name(array.data_type());
    within::<T>(array, range, |value| format!("{value:?} {unit} since 1970 are no {name}: years go from -262143 to 262142"))
}

/// The instants that can be written. A time zone moves them by less than a day.
fn since_1970(units: i64, has_zone: bool) -> RangeInclusive<i64> {
    let moved = i64::from(has_zone);
    let (first, end) = (i64::from(*DAYS.start()) + moved, i64::from(*DAYS.end()) + 1 - moved);
    let bound = |days: i64| days.saturating_mul(DAY_SECONDS).saturating_mul(units);
    bound(first)..=bound(end).saturating_sub(1)
}

fn within<T: ArrowPrimitiveType>(
    array: &ArrayRef,
    range: RangeInclusive<T::Native>,
    problem: impl Fn(T::Native) -> String,
) -> Result<ArrayRef, Misfit> {
    let values = array.as_primitive::<T>();
    let (least, most) = range.into_inner();
    let is_outside = |value: T::Native| (value < least) | (value > most);
    // The first pass has no branch and ignores NULLs, because usually there is nothing to find.
    if !values.values().iter().fold(false, |any, value| any | is_outside(*value)) {
        return Ok(Arc::clone(array));
    }
    match (0..values.len()).find(|row| values.is_valid(*row) && is_outside(values.values()[*row])) {
        Some(row) => Err(Misfit { row, problem: problem(values.values()[row]) }),
        None => {
            let zeroed = values.unary::<_, T>(|value| if is_outside(value) { T::Native::default() } else { value });
            Ok(Arc::new(zeroed.with_data_type(array.data_type().clone())))
        }
    }
}

#[cfg(test)]
mod tests;
