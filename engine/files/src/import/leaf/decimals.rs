//! Parses texts as decimals, exactly: surplus digits are rounded half away from zero, as in SQL.

use std::sync::Arc;

use arrow::array::{ArrayRef, PrimitiveBuilder};
use arrow::compute::kernels::cast_utils::{Parser, parse_decimal};
use arrow::datatypes::{DataType, Decimal32Type, Decimal64Type, Decimal128Type, Decimal256Type, DecimalType, Float64Type, i256};

use super::Leaf;

pub(super) fn leaf_for(data_type: &DataType) -> Option<Box<dyn Leaf>> {
    fn leaf<T: DecimalType>(
        data_type: &DataType,
        precision: u8,
        scale: i8,
        parse: fn(&str, u8, i8) -> Option<T::Native>,
    ) -> Option<Box<dyn Leaf>> {
        let builder = PrimitiveBuilder::<T>::new().with_data_type(data_type.clone());
        Some(Box::new(Decimal { builder, precision, scale, parse }))
    }
    match *data_type {
        DataType::Decimal32(p, s) => {
            leaf::<Decimal32Type>(data_type, p, s, |text, p, s| parse_i128(text, p, s).and_then(|value| value.try_into().ok()))
        }
        DataType::Decimal64(p, s) => {
            leaf::<Decimal64Type>(data_type, p, s, |text, p, s| parse_i128(text, p, s).and_then(|value| value.try_into().ok()))
        }
        DataType::Decimal128(p, s) => leaf::<Decimal128Type>(data_type, p, s, parse_i128),
        DataType::Decimal256(p, s) => leaf::<Decimal256Type>(data_type, p, s, parse_i256),
        _ => None,
    }
}

struct Decimal<T: DecimalType> {
    builder: PrimitiveBuilder<T>,
    precision: u8,
    scale: i8,
    parse: fn(&str, u8, i8) -> Option<T::Native>,
}

impl<T: DecimalType> Leaf for Decimal<T> {
    fn push(&mut self, text: &str) -> bool {
        match (self.parse)(text.trim_ascii(), self.precision, self.scale) {
            Some(value) => {
                self.builder.append_value(value);
                true
            }
            None => false,
        }
    }

    fn push_null(&mut self) {
        self.builder.append_null();
    }

    fn len(&self) -> usize {
        arrow::array::ArrayBuilder::len(&self.builder)
    }

    fn finish(&mut self) -> ArrayRef {
        Arc::new(self.builder.finish())
    }
}

/// Digits after the point, when `text` is a plain number without exponent.
fn fraction_digits(text: &str) -> Option<usize> {
    match text.split_once('.') {
        None if text.contains(['e', 'E']) => None,
        None => Some(0),
        Some((_, fraction)) if fraction.contains(['e', 'E']) => None,
        Some((_, fraction)) => Some(fraction.len()),
    }
}

fn parse_i128(text: &str, precision: u8, scale: i8) -> Option<i128> {
    let fits = fraction_digits(text).is_some_and(|digits| digits as i64 <= i64::from(scale));
    if fits {
        return parse_decimal::<Decimal128Type>(text, precision, scale).ok();
    }
    parse_i256(text, precision, scale)?.to_i128()
}

/// It has one digit more than wanted, which decides the rounding.
fn parse_i256(text: &str, precision: u8, scale: i8) -> Option<i256> {
    // `parse_decimal` would accept "1e" and "." as numbers.
    Float64Type::parse(text).filter(|value| value.is_finite())?;
    let longer = parse_decimal::<Decimal256Type>(text, 76, scale.checked_add(1)?).ok()?;
    let ten = i256::from_i128(10);
    let five = i256::from_i128(if longer.is_negative() { -5 } else { 5 });
    let rounded = longer.checked_add(five)?.checked_div(ten)?;
    Decimal256Type::validate_decimal_precision(rounded, precision, scale).ok().map(|()| rounded)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn surplus_digits_are_rounded() {
        assert_eq!(parse_i128("12.34", 10, 2), Some(1234));
        assert_eq!(parse_i128("12.345", 10, 2), Some(1235));
        assert_eq!(parse_i128("-12.345", 10, 2), Some(-1235));
        assert_eq!(parse_i128("12.3449", 10, 2), Some(1234));
        assert_eq!(parse_i128("12", 10, 2), Some(1200));
        assert_eq!(parse_i128("1.5e2", 10, 2), Some(15000));
    }

    #[test]
    fn what_is_too_large_or_no_number_is_refused() {
        assert_eq!(parse_i128("123456789", 10, 2), None);
        assert_eq!(parse_i128("99999999.995", 10, 2), None);
        for text in ["", ".", "-", "1.2.3", "abc", "1e", "--1", "NaN"] {
            assert_eq!(parse_i128(text, 10, 2), None, "{text}");
        }
    }
}
