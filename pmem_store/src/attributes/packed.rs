//! The attributes of an object as bytes: for each of them, by name, the length of the name, the name, a byte for the type, the value.
//!
//! Lengths and counts are unsigned LEB128 numbers, integers and times signed ones in zigzag form (as in Protocol Buffers), doubles are 8
//! bytes, little-endian. A list has the number of its values, and then a type and a value for each.

use super::collection::Attributes;
use super::error::AttributeError;
use super::value::{AttributeValue, Scalar};

const FALSE: u8 = 0;
const TRUE: u8 = 1;
const INTEGER: u8 = 2;
const DOUBLE: u8 = 3;
const TEXT: u8 = 4;
const TIMESTAMP: u8 = 5;
const LIST: u8 = 6;

/// The attributes are ascending by name.
pub fn pack<'a>(attributes: impl IntoIterator<Item = (&'a str, &'a AttributeValue)>) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(256);
    for (key, value) in attributes {
        put_length(&mut bytes, key.len());
        bytes.extend_from_slice(key.as_bytes());
        put_value(&mut bytes, value);
    }
    bytes
}

pub fn unpack(bytes: &[u8]) -> Result<Attributes, AttributeError> {
    let mut reader = Reader { bytes, at: 0 };
    let mut attributes = Attributes::new();
    while reader.at < bytes.len() {
        let key = reader.text()?;
        attributes.insert(key, reader.value()?);
    }
    Ok(attributes)
}

/// The value of one attribute; the others are passed over.
pub fn value_of(bytes: &[u8], key: &str) -> Result<Option<AttributeValue>, AttributeError> {
    let mut reader = Reader { bytes, at: 0 };
    while reader.at < bytes.len() {
        let found = reader.text()?;
        if found == key {
            return reader.value().map(Some);
        }
        if found > key {
            return Ok(None);
        }
        reader.each_scalar(&mut |_| {})?;
    }
    Ok(None)
}

/// Calls `visit` with each key and its value, or each value of its list.
pub fn visit_packed<'a>(bytes: &'a [u8], visit: &mut dyn FnMut(&'a str, Scalar<'a>)) -> Result<(), AttributeError> {
    let mut reader = Reader { bytes, at: 0 };
    while reader.at < bytes.len() {
        let key = reader.text()?;
        reader.each_scalar(&mut |value| visit(key, value))?;
    }
    Ok(())
}

fn put_length(bytes: &mut Vec<u8>, length: usize) {
    put_unsigned(bytes, length as u64);
}

fn put_unsigned(bytes: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}

fn put_signed(bytes: &mut Vec<u8>, value: i64) {
    put_unsigned(bytes, ((value << 1) ^ (value >> 63)) as u64);
}

fn put_value(bytes: &mut Vec<u8>, value: &AttributeValue) {
    match value {
        AttributeValue::Boolean(value) => bytes.push(if *value { TRUE } else { FALSE }),
        AttributeValue::Integer(value) => {
            bytes.push(INTEGER);
            put_signed(bytes, *value);
        }
        AttributeValue::Double(value) => {
            bytes.push(DOUBLE);
            bytes.extend_from_slice(&value.to_le_bytes());
        }
        AttributeValue::Text(text) => {
            bytes.push(TEXT);
            put_length(bytes, text.len());
            bytes.extend_from_slice(text.as_bytes());
        }
        AttributeValue::Timestamp(nanos) => {
            bytes.push(TIMESTAMP);
            put_signed(bytes, *nanos);
        }
        AttributeValue::List(values) => {
            bytes.push(LIST);
            put_length(bytes, values.len());
            values.iter().for_each(|value| put_value(bytes, value));
        }
    }
}

/// It checks every length, because what a file holds is not trusted.
struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    fn damaged(&self, what: &'static str) -> AttributeError {
        AttributeError::Damaged { offset: self.at, what }
    }

    fn take(&mut self, length: usize) -> Result<&'a [u8], AttributeError> {
        let end = self.at.checked_add(length).filter(|end| *end <= self.bytes.len());
        let end = end.ok_or_else(|| self.damaged("a value is longer than what is left"))?;
        let taken = &self.bytes[self.at..end];
        self.at = end;
        Ok(taken)
    }

    fn byte(&mut self) -> Result<u8, AttributeError> {
        Ok(self.take(1)?[0])
    }

    fn unsigned(&mut self) -> Result<u64, AttributeError> {
        let mut value = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(self.damaged("a number has no end"))
    }

    fn signed(&mut self) -> Result<i64, AttributeError> {
        let value = self.unsigned()?;
        Ok((value >> 1) as i64 ^ -((value & 1) as i64))
    }

    fn length(&mut self) -> Result<usize, AttributeError> {
        let length = self.unsigned()?;
        usize::try_from(length).map_err(|_| self.damaged("a length is no length"))
    }

    fn text(&mut self) -> Result<&'a str, AttributeError> {
        let length = self.length()?;
        let bytes = self.take(length)?;
        std::str::from_utf8(bytes).map_err(|_| self.damaged("a text is not UTF-8"))
    }

    fn value(&mut self) -> Result<AttributeValue, AttributeError> {
        let is_list = self.bytes.get(self.at) == Some(&LIST);
        let mut values = Vec::new();
        self.each_scalar(&mut |value| {
            values.extend(match value {
                Scalar::Boolean(value) => Some(AttributeValue::Boolean(value)),
                Scalar::Integer(value) => Some(AttributeValue::Integer(value)),
                Scalar::Double(value) => Some(AttributeValue::Double(value)),
                Scalar::Text(text) => Some(AttributeValue::Text(text.to_string())),
                Scalar::Timestamp(nanos) => Some(AttributeValue::Timestamp(nanos)),
                Scalar::EmptyList => None,
            });
        })?;
        match values.pop() {
            Some(value) if !is_list => Ok(value),
            last => {
                values.extend(last);
                Ok(AttributeValue::List(values))
            }
        }
    }

    /// The value, or each value of a list.
    fn each_scalar(&mut self, visit: &mut dyn FnMut(Scalar<'a>)) -> Result<(), AttributeError> {
        let kind = self.byte()?;
        if kind != LIST {
            visit(self.scalar(kind)?);
            return Ok(());
        }
        let length = self.length()?;
        if length == 0 {
            visit(Scalar::EmptyList);
        }
        for _ in 0..length {
            let kind = self.byte()?;
            visit(self.scalar(kind)?);
        }
        Ok(())
    }

    fn scalar(&mut self, kind: u8) -> Result<Scalar<'a>, AttributeError> {
        Ok(match kind {
            FALSE => Scalar::Boolean(false),
            TRUE => Scalar::Boolean(true),
            INTEGER => Scalar::Integer(self.signed()?),
            DOUBLE => Scalar::Double(self.double()?),
            TEXT => Scalar::Text(self.text()?),
            TIMESTAMP => Scalar::Timestamp(self.signed()?),
            _ => return Err(self.damaged("a value is of an unknown type")),
        })
    }

    fn double(&mut self) -> Result<f64, AttributeError> {
        let bytes = self.take(8)?;
        Ok(bytes.try_into().map_or(f64::NAN, f64::from_le_bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all_types() -> Attributes {
        let list = |values: &[i64]| AttributeValue::List(values.iter().map(|value| AttributeValue::Integer(*value)).collect());
        [
            ("a", AttributeValue::Boolean(true)),
            ("b", AttributeValue::Boolean(false)),
            ("c", AttributeValue::Integer(i64::MIN)),
            ("d", AttributeValue::Integer(i64::MAX)),
            ("e", AttributeValue::Double(-0.0)),
            ("f", AttributeValue::Double(f64::INFINITY)),
            ("g", AttributeValue::Text("ä".repeat(200))),
            ("h", AttributeValue::Text(String::new())),
            ("i", AttributeValue::Timestamp(-1)),
            ("j", list(&[1, -2, 300])),
            ("k", list(&[])),
        ]
        .into_iter()
        .collect()
    }

    #[test]
    fn attributes_of_every_type_come_back_as_they_were() {
        let attributes = all_types();
        let bytes = pack(attributes.iter());
        assert_eq!(unpack(&bytes).unwrap(), attributes);
        for (key, value) in attributes.iter() {
            assert_eq!(value_of(&bytes, key).unwrap().as_ref(), Some(value));
        }
        assert_eq!(value_of(&bytes, "bb").unwrap(), None);
        assert_eq!(value_of(&bytes, "z").unwrap(), None);
    }

    #[test]
    fn bytes_that_end_early_or_are_changed_are_no_panic() {
        let all = all_types();
        let bytes = pack(all.iter());
        for end in 0..bytes.len() {
            let _ = unpack(&bytes[..end]);
            let mut changed = bytes.clone();
            for wrong in [0x00, 0x7f, 0x80, 0xff] {
                changed[end] = wrong;
                let _ = (unpack(&changed), value_of(&changed, "k"));
            }
        }
        let endless_list = [1, b'a', LIST, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f];
        assert!(matches!(unpack(&endless_list), Err(AttributeError::Damaged { .. })));
    }
}
