//! Min and max of a run of values, made safe to prune by.
//!
//! Invariant: every value v of the run that is not NULL has min <= v <= max in SQL's order and in
//! Arrow's total order; if that cannot be promised the bound is absent. `exact` says that the
//! bound is a value of the run.

use std::borrow::Borrow;
use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, ArrowPrimitiveType, AsArray, BinaryArray, BinaryViewArray, BooleanArray, LargeBinaryArray, LargeStringArray,
    PrimitiveArray, StringArray, StringViewArray, downcast_primitive_array, new_null_array,
};
use arrow::compute;
use arrow::datatypes::{DataType, Float32Type, Float64Type};

/// Longer string bounds are cut, and are then marked as not exact.
pub const STRING_BOUND_BYTES: usize = 64;

pub struct Bounds {
    /// One value each; NULL where unknown.
    pub min: ArrayRef,
    pub max: ArrayRef,
    pub min_exact: bool,
    pub max_exact: bool,
    pub has_nan: bool,
}

/// Whether values of this type have bounds.
pub fn supports(data_type: &DataType) -> bool {
    use DataType::*;
    match data_type {
        Float16 | Interval(_) => false,
        Boolean | Utf8 | LargeUtf8 | Utf8View | Binary | LargeBinary | BinaryView => true,
        other => other.is_primitive(),
    }
}

pub fn bounds(array: &ArrayRef) -> Bounds {
    if !supports(array.data_type()) {
        return unknown();
    }
    let exact = |min: ArrayRef, max: ArrayRef| Bounds { min, max, min_exact: true, max_exact: true, has_nan: false };
    let values = array.as_ref();
    match array.data_type() {
        DataType::Float32 => return float_bounds::<Float32Type>(values.as_primitive()),
        DataType::Float64 => return float_bounds::<Float64Type>(values.as_primitive()),
        DataType::Boolean => {
            let values = values.as_boolean();
            let one = |value| Arc::new(BooleanArray::from(vec![value])) as ArrayRef;
            return exact(one(compute::min_boolean(values)), one(compute::max_boolean(values)));
        }
        DataType::Utf8 => return string_bounds(values.as_string::<i32>().iter(), |v| Arc::new(StringArray::from(vec![v]))),
        DataType::LargeUtf8 => {
            return string_bounds(values.as_string::<i64>().iter(), |v| Arc::new(LargeStringArray::from(vec![v])));
        }
        DataType::Utf8View => {
            return string_bounds(values.as_string_view().iter(), |v| Arc::new(StringViewArray::from(vec![v])));
        }
        DataType::Binary => return binary_bounds(values.as_binary::<i32>().iter(), |v| Arc::new(BinaryArray::from(vec![v]))),
        DataType::LargeBinary => {
            return binary_bounds(values.as_binary::<i64>().iter(), |v| Arc::new(LargeBinaryArray::from(vec![v])));
        }
        DataType::BinaryView => {
            return binary_bounds(values.as_binary_view().iter(), |v| Arc::new(BinaryViewArray::from(vec![v])));
        }
        _ => {}
    }
    downcast_primitive_array!(
        values => {
            let (min, max) = (compute::min(values), compute::max(values));
            exact(one_value(values, min), one_value(values, max))
        }
        _ => unknown()
    )
}

pub fn unknown() -> Bounds {
    let none = new_null_array(&DataType::Null, 1);
    Bounds { min: Arc::clone(&none), max: none, min_exact: false, max_exact: false, has_nan: false }
}

fn one_value<T: ArrowPrimitiveType>(like: &PrimitiveArray<T>, value: Option<T::Native>) -> ArrayRef {
    Arc::new(PrimitiveArray::<T>::from_iter([value]).with_data_type(like.data_type().clone()))
}

/// With a NaN among the values both bounds are unknown: NaN sorts above or below everything,
/// depending on its sign. A zero bound covers both zeros, and so is not exact.
fn float_bounds<T: ArrowPrimitiveType>(values: &PrimitiveArray<T>) -> Bounds
where
    T::Native: FloatValue,
{
    let mut has_nan = false;
    let (mut min, mut max): (Option<T::Native>, Option<T::Native>) = (None, None);
    for value in values.iter().flatten() {
        has_nan |= value.is_nan_value();
        min = Some(min.map_or(value, |least| if value < least { value } else { least }));
        max = Some(max.map_or(value, |greatest| if value > greatest { value } else { greatest }));
    }
    if has_nan {
        (min, max) = (None, None);
    }
    let zero = T::Native::default();
    let min_exact = !has_nan && min.is_none_or(|value| value != zero);
    let max_exact = !has_nan && max.is_none_or(|value| value != zero);
    let min = min.map(|value| if value == zero { T::Native::NEGATIVE_ZERO } else { value });
    let max = max.map(|value| if value == zero { zero } else { value });
    Bounds { min: one_value(values, min), max: one_value(values, max), min_exact, max_exact, has_nan }
}

trait FloatValue: Copy + PartialOrd + Default {
    const NEGATIVE_ZERO: Self;
    fn is_nan_value(self) -> bool;
}
impl FloatValue for f32 {
    const NEGATIVE_ZERO: f32 = -0.0;
    fn is_nan_value(self) -> bool {
        self.is_nan()
    }
}
impl FloatValue for f64 {
    const NEGATIVE_ZERO: f64 = -0.0;
    fn is_nan_value(self) -> bool {
        self.is_nan()
    }
}

fn extremes<'a, T: ?Sized + Ord + 'a>(values: impl Iterator<Item = Option<&'a T>>) -> Option<(&'a T, &'a T)> {
    values.flatten().fold(None, |bounds, value| match bounds {
        None => Some((value, value)),
        Some((min, max)) => Some((min.min(value), max.max(value))),
    })
}

/// Bounds of at most [`STRING_BOUND_BYTES`]; a longer last character of the upper one may exceed that.
/// `prefix` cuts a value, `next` is the least value above all that begin with what was cut.
fn cut_bounds<'a, T: ?Sized + Ord + ToOwned + 'a>(
    values: impl Iterator<Item = Option<&'a T>>,
    prefix: fn(&T) -> &T,
    next: fn(&T) -> Option<T::Owned>,
    make: impl Fn(Option<&T>) -> ArrayRef,
) -> Bounds {
    let Some((min, max)) = extremes(values) else {
        return Bounds { min: make(None), max: make(None), min_exact: true, max_exact: true, has_nan: false };
    };
    let (lower, upper) = (prefix(min), prefix(max));
    let (min_exact, max_exact) = (lower == min, upper == max);
    let max = if max_exact { make(Some(upper)) } else { make(next(upper).as_ref().map(Borrow::borrow)) };
    Bounds { min: make(Some(lower)), max, min_exact, max_exact, has_nan: false }
}

fn string_bounds<'a>(values: impl Iterator<Item = Option<&'a str>>, make: impl Fn(Option<&str>) -> ArrayRef) -> Bounds {
    cut_bounds(values, string_prefix, next_string, make)
}

fn binary_bounds<'a>(values: impl Iterator<Item = Option<&'a [u8]>>, make: impl Fn(Option<&[u8]>) -> ArrayRef) -> Bounds {
    cut_bounds(values, |value| &value[..value.len().min(STRING_BOUND_BYTES)], next_bytes, make)
}

fn string_prefix(value: &str) -> &str {
    &value[..value.floor_char_boundary(STRING_BOUND_BYTES)]
}

/// The least string, by code points, greater than every string that begins with `prefix`.
fn next_string(prefix: &str) -> Option<String> {
    let mut chars: Vec<char> = prefix.chars().collect();
    while let Some(last) = chars.pop() {
        // The range of `char` steps over the surrogates.
        if let Some(next) = (last..=char::MAX).nth(1) {
            chars.push(next);
            return Some(chars.into_iter().collect());
        }
    }
    None
}

/// The least byte string greater than every one that begins with `prefix`.
fn next_bytes(prefix: &[u8]) -> Option<Vec<u8>> {
    let end = prefix.iter().rposition(|byte| *byte != u8::MAX)?;
    let mut next = prefix[..=end].to_vec();
    next[end] += 1;
    Some(next)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_string_bound_is_above_every_string_with_its_prefix() {
        assert_eq!(next_string("ab").as_deref(), Some("ac"));
        assert_eq!(next_string("a\u{10FFFF}").as_deref(), Some("b"));
        assert_eq!(next_string("\u{D7FF}").as_deref(), Some("\u{E000}"));
        assert_eq!(next_string("\u{10FFFF}"), None);
        assert_eq!(next_bytes(&[1, 255]), Some(vec![2]));
        assert_eq!(next_bytes(&[255, 255]), None);
    }

    #[test]
    fn a_string_is_never_cut_inside_a_character() {
        let long = "é".repeat(40);
        assert_eq!(string_prefix(&long).len(), 64);
        let odd = format!("x{long}");
        assert_eq!(string_prefix(&odd).len(), 63);
    }
}
