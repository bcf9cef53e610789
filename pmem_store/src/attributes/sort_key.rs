//! A value as bytes whose order is that of the values: a byte for the type, then the value.
//!
//! Integers and doubles have one order. A number is the largest double that is not greater, as 8 bytes of which the order of the bits is
//! that of the values (IEEE 754, totalOrder), and for an integer that no double equals the distance from there as 8 more bytes. So equal
//! numbers have equal bytes, whatever their types. All NaN are one value, the largest, and -0.0 is 0.0.

use super::value::Scalar;

/// The values that can be compared with each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum ValueClass {
    /// A list without values, which is in no other class.
    EmptyList = 0,
    Boolean = 1,
    Number = 2,
    Timestamp = 3,
    Text = 4,
}

impl ValueClass {
    pub fn of(value: Scalar<'_>) -> ValueClass {
        match value {
            Scalar::Boolean(_) => ValueClass::Boolean,
            Scalar::Integer(_) | Scalar::Double(_) => ValueClass::Number,
            Scalar::Timestamp(_) => ValueClass::Timestamp,
            Scalar::Text(_) => ValueClass::Text,
            Scalar::EmptyList => ValueClass::EmptyList,
        }
    }
}

/// Appends the bytes of a value.
pub fn put_sort_key(bytes: &mut Vec<u8>, value: Scalar<'_>) {
    bytes.push(ValueClass::of(value) as u8);
    match value {
        Scalar::Boolean(value) => bytes.push(u8::from(value)),
        Scalar::Integer(value) => put_integer(bytes, value),
        Scalar::Double(value) => put_double(bytes, value),
        Scalar::Timestamp(nanos) => bytes.extend_from_slice(&ordered_integer(nanos).to_be_bytes()),
        Scalar::Text(text) => bytes.extend_from_slice(text.as_bytes()),
        Scalar::EmptyList => {}
    }
}

fn ordered_integer(value: i64) -> u64 {
    value as u64 ^ 1 << 63
}

fn put_double(bytes: &mut Vec<u8>, value: f64) {
    let value = if value.is_nan() { f64::NAN } else { value + 0.0 };
    let bits = value.to_bits();
    let ordered = if bits >> 63 == 1 { !bits } else { bits | 1 << 63 };
    bytes.extend_from_slice(&ordered.to_be_bytes());
}

/// Every integer up to this absolute value is a double. Most attributes are such integers, and arithmetic of 128 bits is slow.
const EXACT_MAX: u64 = 1 << f64::MANTISSA_DIGITS;

fn put_integer(bytes: &mut Vec<u8>, value: i64) {
    let nearest = value as f64;
    if value.unsigned_abs() <= EXACT_MAX {
        return put_double(bytes, nearest);
    }
    // Doubles of this size are integers, and far from the limits of i128.
    let below = if nearest as i128 > i128::from(value) { nearest.next_down() } else { nearest };
    put_double(bytes, below);
    let distance = i128::from(value) - below as i128;
    if distance != 0 {
        bytes.extend_from_slice(&(distance as u64).to_be_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sort_key(value: Scalar<'_>) -> Vec<u8> {
        let mut bytes = Vec::new();
        put_sort_key(&mut bytes, value);
        bytes
    }

    #[test]
    fn the_order_of_the_bytes_is_that_of_the_values() {
        use Scalar::{Boolean, Double, EmptyList, Integer, Text, Timestamp};
        let large = 1i64 << 60;
        let ascending = [
            EmptyList,
            Boolean(false),
            Boolean(true),
            Double(f64::NEG_INFINITY),
            Double(-1e300),
            Integer(i64::MIN),
            Integer(i64::MIN + 1),
            Double(-2.5),
            Integer(-2),
            Double(0.0),
            Double(f64::MIN_POSITIVE),
            Integer(1),
            Double(1.5),
            Integer((1 << 53) - 1),
            Double((1u64 << 53) as f64),
            Integer((1 << 53) + 1),
            Integer((1 << 53) + 2),
            Integer(large - 1),
            Double(large as f64),
            Integer(large + 1),
            Integer(i64::MAX - 1),
            Integer(i64::MAX),
            Double(1e300),
            Double(f64::INFINITY),
            Double(f64::NAN),
            Timestamp(-1),
            Timestamp(0),
            Text(""),
            Text("a"),
            Text("ab"),
            Text("b"),
        ];
        for pair in ascending.windows(2) {
            assert!(sort_key(pair[0]) < sort_key(pair[1]), "{pair:?}");
        }
    }

    #[test]
    fn equal_numbers_have_equal_bytes() {
        use Scalar::{Double, Integer};
        for (integer, double) in [
            (0, -0.0),
            (5, 5.0),
            (1 << 53, (1u64 << 53) as f64),
            (-1 << 53, -((1u64 << 53) as f64)),
            (1 << 60, (1u64 << 60) as f64),
            (i64::MIN, i64::MIN as f64),
        ] {
            assert_eq!(sort_key(Integer(integer)), sort_key(Double(double)));
        }
        assert_eq!(sort_key(Double(f64::NAN)), sort_key(Double(-f64::NAN)));
    }
}
