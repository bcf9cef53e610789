//! The attributes of an object as bytes: for each of them, by name, the length of the name, the name, a byte for the type, the value.
//!
//! Lengths and counts are unsigned LEB128 numbers, integers and times signed ones in zigzag form (as in Protocol Buffers), doubles are 8
//! bytes, little-endian. A list has the number of its values, and then a type and a value for each.

use super::error::AttributeError;
use super::value::{AttributeValue, Scalar};

const FALSE: u8 = 0;
const TRUE: u8 = 1;
const INTEGER: u8 = 2;
const DOUBLE: u8 = 3;
const TEXT: u8 = 4;
const TIMESTAMP: u8 = 5;
const LIST: u8 = 6;

/// The length of a name, a name of one byte, and a type.
pub const ATTRIBUTE_BYTES_MIN: usize = 3;

/// One of several packed attributes.
#[derive(Debug, Clone, Copy)]
pub struct PackedAttribute<'a> {
    pub key: &'a str,
    value: &'a [u8],
    /// The key and the value.
    pub bytes: &'a [u8],
}

impl<'a> PackedAttribute<'a> {
    /// Calls `visit` with the value, or each value of a list.
    pub fn each_scalar(&self, visit: &mut dyn FnMut(Scalar<'a>)) -> Result<(), AttributeError> {
        Reader { bytes: self.value, at: 0 }.each_scalar(visit)
    }

    pub fn value(&self) -> Result<AttributeValue, AttributeError> {
        Reader { bytes: self.value, at: 0 }.value()
    }
}

/// What comes after an error is not read.
pub fn packed_attributes(bytes: &[u8]) -> impl Iterator<Item = Result<PackedAttribute<'_>, AttributeError>> {
    let mut reader = Reader { bytes, at: 0 };
    std::iter::from_fn(move || {
        let is_left = reader.at < bytes.len();
        is_left.then(|| reader.attribute().inspect_err(|_| reader.at = bytes.len()))
    })
}

/// Where the first attribute begins whose name is not below `key`.
pub fn position_of(bytes: &[u8], key: &str) -> Result<usize, AttributeError> {
    let mut at = 0;
    for attribute in packed_attributes(bytes) {
        let attribute = attribute?;
        if attribute.key >= key {
            break;
        }
        at += attribute.bytes.len();
    }
    Ok(at)
}

/// The value of one attribute; the others are passed over.
pub fn value_of(bytes: &[u8], key: &str) -> Result<Option<AttributeValue>, AttributeError> {
    let at = position_of(bytes, key)?;
    match packed_attributes(&bytes[at..]).next().transpose()? {
        Some(attribute) if attribute.key == key => attribute.value().map(Some),
        _ => Ok(None),
    }
}

/// An error if the attributes cannot be read, or are not ascending by name.
pub fn check_packed(bytes: &[u8]) -> Result<(), AttributeError> {
    let (mut at, mut last) = (0, None);
    for attribute in packed_attributes(bytes) {
        let attribute = attribute?;
        if last.is_some_and(|last| last >= attribute.key) {
            return Err(AttributeError::Damaged { offset: at, what: "the names are not ascending" });
        }
        last = Some(attribute.key);
        at += attribute.bytes.len();
    }
    Ok(())
}

/// Calls `visit` with each key and its value, or each value of its list. It reads each attribute once, and not to its end first.
pub fn visit_packed<'a>(bytes: &'a [u8], visit: &mut dyn FnMut(&'a str, Scalar<'a>)) -> Result<(), AttributeError> {
    let mut reader = Reader { bytes, at: 0 };
    while reader.at < bytes.len() {
        let key = reader.text()?;
        reader.each_scalar(&mut |value| visit(key, value))?;
    }
    Ok(())
}

fn put_text(bytes: &mut Vec<u8>, text: &str) {
    put_unsigned(bytes, text.len() as u64);
    bytes.extend_from_slice(text.as_bytes());
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

/// Appends an attribute, whose name comes after those that are there. The value must have passed its check.
pub fn put_attribute(bytes: &mut Vec<u8>, key: &str, value: &AttributeValue) {
    put_text(bytes, key);
    if let AttributeValue::List(values) = value {
        bytes.push(LIST);
        put_unsigned(bytes, values.len() as u64);
    }
    value.each_scalar(&mut |value| put_value(bytes, value));
}

/// The same for a value that is no list.
pub fn put_scalar_attribute(bytes: &mut Vec<u8>, key: &str, value: Scalar<'_>) {
    put_text(bytes, key);
    put_value(bytes, value);
}

fn put_value(bytes: &mut Vec<u8>, value: Scalar<'_>) {
    match value {
        Scalar::Boolean(value) => bytes.push(if value { TRUE } else { FALSE }),
        Scalar::Integer(value) => {
            bytes.push(INTEGER);
            put_signed(bytes, value);
        }
        Scalar::Double(value) => {
            bytes.push(DOUBLE);
            bytes.extend_from_slice(&value.to_le_bytes());
        }
        Scalar::Text(text) => {
            bytes.push(TEXT);
            put_text(bytes, text);
        }
        Scalar::Timestamp(nanos) => {
            bytes.push(TIMESTAMP);
            put_signed(bytes, nanos);
        }
        // It has no values.
        Scalar::EmptyList => {}
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

    fn attribute(&mut self) -> Result<PackedAttribute<'a>, AttributeError> {
        let start = self.at;
        let key = self.text()?;
        let value = self.at;
        self.each_scalar(&mut |_| {})?;
        Ok(PackedAttribute { key, value: &self.bytes[value..self.at], bytes: &self.bytes[start..self.at] })
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

    fn all_types() -> Vec<(&'static str, AttributeValue)> {
        let list = |values: &[i64]| AttributeValue::List(values.iter().map(|value| AttributeValue::Integer(*value)).collect());
        vec![
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
            ("l", list(&[1])),
        ]
    }

    fn packed(attributes: &[(&str, AttributeValue)]) -> Vec<u8> {
        let mut bytes = Vec::new();
        attributes.iter().for_each(|(key, value)| put_attribute(&mut bytes, key, value));
        bytes
    }

    #[test]
    fn attributes_of_every_type_come_back_as_they_were() {
        let attributes = all_types();
        let bytes = packed(&attributes);
        assert_eq!(check_packed(&bytes), Ok(()));
        let read = packed_attributes(&bytes).map(|attribute| attribute.and_then(|found| Ok((found.key, found.value()?))));
        assert_eq!(read.collect::<Result<Vec<_>, _>>().unwrap(), attributes);
        for (key, value) in &attributes {
            assert_eq!(value_of(&bytes, key).unwrap().as_ref(), Some(value));
        }
        assert_eq!(value_of(&bytes, "bb").unwrap(), None);
        assert_eq!(value_of(&bytes, "z").unwrap(), None);
    }

    #[test]
    fn names_that_are_not_ascending_are_damage() {
        let integer = AttributeValue::Integer;
        for keys in [["b", "a"], ["a", "a"]] {
            let bytes = packed(&keys.map(|key| (key, integer(1))));
            assert!(matches!(check_packed(&bytes), Err(AttributeError::Damaged { offset: 4, .. })));
        }
    }

    #[test]
    fn bytes_that_end_early_or_are_changed_are_no_panic() {
        let bytes = packed(&all_types());
        for end in 0..bytes.len() {
            let _ = check_packed(&bytes[..end]);
            let mut changed = bytes.clone();
            for wrong in [0x00, 0x7f, 0x80, 0xff] {
                changed[end] = wrong;
                let _ = (check_packed(&changed), value_of(&changed, "k"));
            }
        }
        let endless_list = [1, b'a', LIST, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f];
        assert!(matches!(check_packed(&endless_list), Err(AttributeError::Damaged { .. })));
    }
}
