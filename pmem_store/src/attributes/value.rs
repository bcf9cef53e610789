//! The value of an attribute.

use super::error::AttributeError;

pub const KEY_BYTES_MAX: usize = 256;
/// Attributes of one object.
pub const KEYS_MAX: usize = 10_000;
/// A value is read whole whenever its object is. Long texts belong into a table.
pub const VALUE_BYTES_MAX: usize = 64 << 10;

#[derive(Debug, Clone, PartialEq)]
pub enum AttributeValue {
    Boolean(bool),
    Integer(i64),
    Double(f64),
    Text(String),
    /// Nanoseconds since 1970, UTC.
    Timestamp(i64),
    /// Values of one type, which is no list.
    List(Vec<AttributeValue>),
}

/// A value that is no list, or a list without values.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Scalar<'a> {
    Boolean(bool),
    Integer(i64),
    Double(f64),
    Text(&'a str),
    Timestamp(i64),
    EmptyList,
}

impl AttributeValue {
    /// The value, or each value of a list.
    pub fn each_scalar<'a>(&'a self, visit: &mut dyn FnMut(Scalar<'a>)) {
        match self {
            AttributeValue::Boolean(value) => visit(Scalar::Boolean(*value)),
            AttributeValue::Integer(value) => visit(Scalar::Integer(*value)),
            AttributeValue::Double(value) => visit(Scalar::Double(*value)),
            AttributeValue::Text(text) => visit(Scalar::Text(text)),
            AttributeValue::Timestamp(nanos) => visit(Scalar::Timestamp(*nanos)),
            AttributeValue::List(values) if values.is_empty() => visit(Scalar::EmptyList),
            AttributeValue::List(values) => values.iter().for_each(|value| value.each_scalar(visit)),
        }
    }

    pub fn type_name(&self) -> &'static str {
        match self {
            AttributeValue::Boolean(_) => "boolean",
            AttributeValue::Integer(_) => "integer",
            AttributeValue::Double(_) => "double",
            AttributeValue::Text(_) => "text",
            AttributeValue::Timestamp(_) => "timestamp",
            AttributeValue::List(_) => "list",
        }
    }

    fn size_bytes(&self) -> usize {
        match self {
            AttributeValue::Boolean(_) => 1,
            AttributeValue::Integer(_) | AttributeValue::Double(_) | AttributeValue::Timestamp(_) => 8,
            AttributeValue::Text(text) => text.len(),
            AttributeValue::List(values) => values.iter().map(AttributeValue::size_bytes).sum(),
        }
    }

    /// An error if it cannot be the value of `key`.
    pub fn check(&self, key: &str) -> Result<(), AttributeError> {
        let found = self.size_bytes();
        if found > VALUE_BYTES_MAX {
            return Err(AttributeError::LongValue { key: key.to_string(), found });
        }
        let AttributeValue::List(values) = self else { return Ok(()) };
        let is_nested = values.iter().any(|value| matches!(value, AttributeValue::List(_)));
        match is_nested || values.windows(2).any(|pair| pair[0].type_name() != pair[1].type_name()) {
            true => Err(AttributeError::MixedList { key: key.to_string() }),
            false => Ok(()),
        }
    }
}

/// An error if it cannot be the name of an attribute that a user gives. Names that begin with a colon are the store's own.
pub fn check_key(key: &str) -> Result<(), AttributeError> {
    match key {
        "" => Err(AttributeError::NoKey),
        _ if key.len() > KEY_BYTES_MAX => Err(AttributeError::LongKey { found: key.len() }),
        _ if key.starts_with(':') => Err(AttributeError::ReservedKey(key.to_string())),
        _ => Ok(()),
    }
}
