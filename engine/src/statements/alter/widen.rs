//! Types that contain all values of another one, and the text in which initial values are stored.

use arrow::datatypes::DataType;
use datafusion::common::ScalarValue;

use common::error::EngineError;
use common::type_names::declared_name;

/// Whether every value of `from` is also a value of `to`, unchanged.
pub fn is_wider(from: &DataType, to: &DataType) -> bool {
    use DataType::*;
    match (from, to) {
        (Float16, Float32 | Float64) | (Float32, Float64) => true,
        (Decimal128(from_digits, from_scale), Decimal128(digits, scale) | Decimal256(digits, scale))
        | (Decimal256(from_digits, from_scale), Decimal256(digits, scale)) => {
            let before = |digits: u8, scale: i8| i16::from(digits) - i16::from(scale);
            scale >= from_scale && before(*digits, *scale) >= before(*from_digits, *from_scale)
        }
        (from, to) => match (integer_bits(from), integer_bits(to)) {
            (Some((from_signed, from_bits)), Some((signed, bits))) => bits > from_bits && (signed || !from_signed),
            _ => false,
        },
    }
}

/// Whether it is signed, and its number of bits.
fn integer_bits(data_type: &DataType) -> Option<(bool, u8)> {
    use DataType::*;
    Some(match data_type {
        Int8 => (true, 8),
        Int16 => (true, 16),
        Int32 => (true, 32),
        Int64 => (true, 64),
        UInt8 => (false, 8),
        UInt16 => (false, 16),
        UInt32 => (false, 32),
        UInt64 => (false, 64),
        _ => return None,
    })
}

/// The value as text that parses to the same value; `None` for NULL.
pub fn initial_text(value: &ScalarValue, data_type: &DataType) -> Result<Option<String>, EngineError> {
    if value.is_null() {
        return Ok(None);
    }
    let text = value.cast_to(&DataType::Utf8).ok().and_then(|text| text.try_as_str().flatten().map(str::to_string));
    let is_same = |text: &String| ScalarValue::try_from_string(text.clone(), data_type).is_ok_and(|read| read == *value);
    match text.filter(is_same) {
        Some(text) => Ok(Some(text)),
        None => {
            let hint = "add the column without it, then use ALTER COLUMN … SET DEFAULT for new rows and UPDATE for those that are there";
            Err(EngineError::unsupported(format!("ADD COLUMN with a DEFAULT of type {}", declared_name(data_type)), Some(hint)))
        }
    }
}

/// The value of the column for rows older than the column, converted to the wider type.
pub fn widened_initial(text: Option<String>, from: &DataType, to: &DataType) -> Result<Option<String>, EngineError> {
    let Some(text) = text else { return Ok(None) };
    let value = ScalarValue::try_from_string(text, from)?.cast_to(to)?;
    initial_text(&value, to)
}

#[cfg(test)]
mod tests {
    use super::*;
    use DataType::*;

    #[test]
    fn a_type_is_wider_if_it_has_every_value_of_the_other() {
        for (from, to) in [
            (Int8, Int16),
            (Int32, Int64),
            (UInt8, UInt16),
            (UInt8, Int16),
            (UInt32, Int64),
            (Float32, Float64),
            (Decimal128(5, 2), Decimal128(6, 2)),
            (Decimal128(5, 2), Decimal128(6, 3)),
            (Decimal128(38, 0), Decimal256(40, 2)),
        ] {
            assert!(is_wider(&from, &to), "{from} to {to}");
            assert!(!is_wider(&to, &from), "{to} to {from}");
        }
        for (from, to) in [
            (Int8, UInt16),
            (UInt64, Int64),
            (Int64, Float64),
            (Int32, Float32),
            (Date32, Utf8View),
            (Utf8View, Int64),
            (Decimal128(5, 2), Decimal128(5, 3)),
            (Decimal128(5, 2), Decimal128(9, 1)),
            (Int32, Decimal128(38, 10)),
        ] {
            assert!(!is_wider(&from, &to), "{from} to {to}");
        }
    }

    #[test]
    fn a_value_is_kept_as_text_only_if_it_comes_back() {
        let same = |value: ScalarValue, expected: &str| {
            assert_eq!(initial_text(&value, &value.data_type()).unwrap().as_deref(), Some(expected), "{value}");
        };
        same(ScalarValue::Int32(Some(-5)), "-5");
        same(ScalarValue::Utf8View(Some("it's é".into())), "it's é");
        same(ScalarValue::Decimal128(Some(150), 5, 2), "1.50");
        same(ScalarValue::Boolean(Some(true)), "true");
        same(ScalarValue::Date32(Some(0)), "1970-01-01");
        assert_eq!(initial_text(&ScalarValue::Int32(None), &Int32).unwrap(), None);
        assert!(initial_text(&ScalarValue::BinaryView(Some(vec![0xff])), &BinaryView).is_err());
    }

    #[test]
    fn the_text_of_a_real_is_that_of_the_double_it_becomes() {
        let widened = widened_initial(Some("0.1".into()), &Float32, &Float64).unwrap();
        assert_eq!(widened.as_deref(), Some("0.10000000149011612"));
    }
}
