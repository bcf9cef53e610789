//! Tags as text.

use arrow::temporal_conversions::timestamp_ns_to_datetime;
use pmem_store::attributes::{AttributeValue, Attributes};
use serde_json::{Map, Value};

/// The tags of an object as a JSON object; `None` if it has none.
pub fn tags_json(attributes: &Attributes) -> Option<String> {
    if attributes.is_empty() {
        return None;
    }
    let fields: Map<String, Value> = attributes.iter().map(|(key, value)| (key.to_string(), json(&value))).collect();
    Some(Value::Object(fields).to_string())
}

/// JSON has no NaN and no infinity, so they are texts there.
fn json(value: &AttributeValue) -> Value {
    match value {
        AttributeValue::Boolean(value) => Value::from(*value),
        AttributeValue::Integer(value) => Value::from(*value),
        AttributeValue::Double(value) if value.is_finite() => Value::from(*value),
        AttributeValue::Double(_) | AttributeValue::Text(_) | AttributeValue::Timestamp(_) => Value::from(value_text(value)),
        AttributeValue::List(values) => Value::Array(values.iter().map(json).collect()),
    }
}

/// The value as a text; a list as JSON. Times are in UTC.
pub fn value_text(value: &AttributeValue) -> String {
    match value {
        AttributeValue::Boolean(value) => value.to_string(),
        AttributeValue::Integer(value) => value.to_string(),
        AttributeValue::Double(value) => value.to_string(),
        AttributeValue::Text(text) => text.clone(),
        AttributeValue::Timestamp(nanos) => match timestamp_ns_to_datetime(*nanos) {
            Some(time) => format!("{}Z", time.format("%Y-%m-%d %H:%M:%S%.f")),
            None => format!("{nanos} ns"),
        },
        AttributeValue::List(_) => json(value).to_string(),
    }
}
