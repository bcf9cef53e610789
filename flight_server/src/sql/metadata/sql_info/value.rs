//! A value of any of the types of the answer.

use std::collections::BTreeMap;

use arrow_flight::sql::SqlInfo;
use arrow_flight::sql::metadata::SqlInfoDataBuilder;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    Text(String),
    Flag(bool),
    Long(i64),
    /// A bit mask or a number.
    Int(i32),
    Texts(Vec<String>),
    Map(BTreeMap<i32, Vec<i32>>),
}

pub type SqlInfoEntry = (SqlInfo, Value);

impl Value {
    pub fn append_to(self, data: &mut SqlInfoDataBuilder, id: u32) {
        match self {
            Value::Text(text) => data.append(id, text.as_str()),
            Value::Flag(is_set) => data.append(id, is_set),
            Value::Long(number) => data.append(id, number),
            Value::Int(number) => data.append(id, number),
            Value::Texts(texts) => data.append(id, texts),
            Value::Map(map) => data.append(id, map),
        }
    }
}

/// A bit mask of values of an enum of the proto.
pub fn bits(places: &[i32]) -> Value {
    Value::Int(places.iter().fold(0, |bits, place| bits | 1 << place))
}

impl From<&str> for Value {
    fn from(text: &str) -> Value {
        Value::Text(text.to_string())
    }
}

impl From<bool> for Value {
    fn from(is_set: bool) -> Value {
        Value::Flag(is_set)
    }
}

impl From<i64> for Value {
    fn from(number: i64) -> Value {
        Value::Long(number)
    }
}

impl From<i32> for Value {
    fn from(number: i32) -> Value {
        Value::Int(number)
    }
}
