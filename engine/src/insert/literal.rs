//! Literals, and columns made of them, for types that take them without a conversion.

use std::sync::Arc;

use arrow::array::{
    ArrayRef, ArrowPrimitiveType, BooleanArray, Decimal128Array, PrimitiveArray, StringArray, StringViewArray, new_null_array,
};
use arrow::compute::{CastOptions, cast_with_options};
use arrow::datatypes::{
    DataType, Field, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
    i256,
};

use semantics::functions::{nearest_f32, nearest_f64, own_values};

/// Every decimal of 128 bits holds this many digits.
const DIGITS_MAX: usize = 38;

#[derive(Debug, Clone, PartialEq)]
pub enum Literal {
    Null,
    Boolean(bool),
    Integer(i64),
    Decimal { unscaled: i128, scale: u8 },
    Text(String),
}

impl Literal {
    /// `None` for a number with an exponent, or a too long one.
    pub fn number(digits: &str, is_negative: bool) -> Option<Literal> {
        let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
        let is_plain = |part: &str| part.bytes().all(|digit| digit.is_ascii_digit());
        if whole.is_empty() || !is_plain(whole) || !is_plain(fraction) || whole.len() + fraction.len() > DIGITS_MAX {
            return None;
        }
        let mut number: i128 = format!("{whole}{fraction}").parse().ok()?;
        if is_negative {
            number = -number;
        }
        match digits.contains('.') {
            // The planner gives `1.` a scale of its own.
            true if fraction.is_empty() => None,
            true => Some(Literal::Decimal { unscaled: number, scale: fraction.len() as u8 }),
            false => i64::try_from(number).ok().map(Literal::Integer),
        }
    }

    pub fn word(word: &str) -> Option<Literal> {
        let is = |keyword: &str| word.eq_ignore_ascii_case(keyword);
        match () {
            () if is("NULL") => Some(Literal::Null),
            () if is("TRUE") => Some(Literal::Boolean(true)),
            () if is("FALSE") => Some(Literal::Boolean(false)),
            () => None,
        }
    }
}

/// The values as a column of the declared type; `None` if one of them needs a real conversion, or cannot be converted.
pub fn column<'a>(declared: &DataType, literals: impl ExactSizeIterator<Item = &'a Literal> + Clone) -> Option<ArrayRef> {
    if literals.clone().all(|literal| *literal == Literal::Null) {
        return Some(new_null_array(declared, literals.len()));
    }
    match declared {
        DataType::Boolean => {
            let values: Option<Vec<Option<bool>>> = each(literals, |literal| match literal {
                Literal::Boolean(value) => Some(*value),
                _ => None,
            });
            Some(Arc::new(BooleanArray::from(values?)))
        }
        DataType::Int8 => integers::<Int8Type>(literals),
        DataType::Int16 => integers::<Int16Type>(literals),
        DataType::Int32 => integers::<Int32Type>(literals),
        DataType::Int64 => integers::<Int64Type>(literals),
        DataType::UInt8 => integers::<UInt8Type>(literals),
        DataType::UInt16 => integers::<UInt16Type>(literals),
        DataType::UInt32 => integers::<UInt32Type>(literals),
        DataType::UInt64 => integers::<UInt64Type>(literals),
        DataType::Float32 => numbers::<Float32Type>(literals, |integer| integer as f32, nearest_f32),
        DataType::Float64 => numbers::<Float64Type>(literals, |integer| integer as f64, nearest_f64),
        DataType::Decimal128(precision, scale) => decimals(literals, *precision, *scale),
        DataType::Utf8 => Some(Arc::new(StringArray::from(texts(literals)?))),
        DataType::Utf8View => Some(Arc::new(StringViewArray::from(texts(literals)?))),
        DataType::Date32 | DataType::Timestamp(_, _) => converted(Arc::new(StringArray::from(texts(literals)?)), declared),
        _ => None,
    }
}

/// `None` as soon as `value` returns none for a literal that is not NULL.
fn each<'a, T>(literals: impl Iterator<Item = &'a Literal>, value: impl Fn(&'a Literal) -> Option<T>) -> Option<Vec<Option<T>>> {
    let value = |literal| match literal {
        &Literal::Null => Some(None),
        literal => value(literal).map(Some),
    };
    literals.map(value).collect()
}

fn integers<'a, T>(literals: impl Iterator<Item = &'a Literal>) -> Option<ArrayRef>
where
    T: ArrowPrimitiveType,
    T::Native: TryFrom<i64>,
{
    let values = each(literals, |literal| match literal {
        Literal::Integer(value) => T::Native::try_from(*value).ok(),
        _ => None,
    });
    Some(Arc::new(PrimitiveArray::<T>::from_iter(values?)))
}

fn numbers<'a, T: ArrowPrimitiveType>(
    literals: impl Iterator<Item = &'a Literal>,
    whole: impl Fn(i64) -> T::Native,
    nearest: impl Fn(i128, i8) -> T::Native,
) -> Option<ArrayRef> {
    let values = each(literals, |literal| match literal {
        Literal::Integer(value) => Some(whole(*value)),
        Literal::Decimal { unscaled, scale } => Some(nearest(*unscaled, i8::try_from(*scale).ok()?)),
        _ => None,
    });
    Some(Arc::new(PrimitiveArray::<T>::from_iter(values?)))
}

fn decimals<'a>(literals: impl Iterator<Item = &'a Literal>, precision: u8, scale: i8) -> Option<ArrayRef> {
    let scale_declared = u8::try_from(scale).ok()?;
    let most = i256::from_i128(10).checked_pow(u32::from(precision))?;
    let values = each(literals, |literal| {
        let (unscaled, scale) = match literal {
            Literal::Integer(value) => (i128::from(*value), 0),
            Literal::Decimal { unscaled, scale } => (*unscaled, *scale),
            _ => return None,
        };
        // Only the cast may round digits away.
        let up = i256::from_i128(10).checked_pow(u32::from(scale_declared.checked_sub(scale)?))?;
        let value = i256::from_i128(unscaled).checked_mul(up)?;
        let fits = value < most && value > most.checked_neg()?;
        if fits { value.to_i128() } else { None }
    });
    Some(Arc::new(Decimal128Array::from(values?).with_precision_and_scale(precision, scale).ok()?))
}

fn texts<'a>(literals: impl Iterator<Item = &'a Literal>) -> Option<Vec<Option<&'a str>>> {
    each(literals, |literal| match literal {
        Literal::Text(text) => Some(text.as_str()),
        _ => None,
    })
}

fn converted(array: ArrayRef, declared: &DataType) -> Option<ArrayRef> {
    let (from, to) = (Field::new("", array.data_type().clone(), true), Field::new("", declared.clone(), true));
    if let Some(result) = own_values(&array, &from, &to) {
        return result.ok();
    }
    let options = CastOptions { safe: false, ..CastOptions::default() };
    cast_with_options(&array, declared, &options).ok()
}
