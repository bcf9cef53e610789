//! The header that binds a plan to a version of the store and to segments: JSON, in ASCII as headers require.
//!
//! ```json
//! {"version": 41, "segments": {"main.flights": [3, 4, 9]}}
//! ```

use engine::Binding;
use tonic::Status;
use tonic::metadata::{Ascii, MetadataMap, MetadataValue};

pub const PLAN_BINDING: &str = "x-quiver-plan-binding";

/// The binding of the headers; an empty one if there is no such header.
pub fn binding(headers: &MetadataMap) -> Result<Binding, Status> {
    let Some(value) = headers.get(PLAN_BINDING) else { return Ok(Binding::default()) };
    let refused =
        |why: String| Status::invalid_argument(format!("the header {PLAN_BINDING} is not understood: {why}; see docs/flight-sql.md"));
    let text = value.to_str().map_err(|_| refused("it is not plain ASCII text".into()))?;
    // Serde would accept a list in place of an object.
    let fields: serde_json::Map<String, serde_json::Value> = serde_json::from_str(text).map_err(|error| refused(error.to_string()))?;
    serde_json::from_value(fields.into()).map_err(|error| refused(error.to_string()))
}

/// `None` if the binding is empty.
pub fn binding_header(binding: &Binding) -> Option<MetadataValue<Ascii>> {
    if binding.is_empty() {
        return None;
    }
    let json = serde_json::to_string(binding).ok()?;
    json.chars().map(escaped).collect::<String>().parse().ok()
}

/// Escapes characters outside of ASCII, which JSON allows in strings only, as numbers.
fn escaped(char: char) -> String {
    match char.is_ascii() {
        true => char.to_string(),
        false => char.encode_utf16(&mut [0; 2]).iter().map(|unit| format!("\\u{unit:04x}")).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_binding_survives_the_way_through_a_header() {
        let names = ["main.flights", "main.Flüge", "a.🦀 \"x\"\n"];
        let segments = names.iter().map(|name| (name.to_string(), vec![1, u64::MAX])).collect();
        for sent in [Binding { version: Some(7), segments }, Binding { version: Some(0), ..Binding::default() }, Binding::default()] {
            let mut headers = MetadataMap::new();
            if let Some(value) = binding_header(&sent) {
                headers.insert(PLAN_BINDING, value);
            }
            assert_eq!(binding(&headers).unwrap(), sent);
        }
    }

    #[test]
    fn an_invalid_binding_is_refused() {
        for text in ["", "7", "[]", "{\"versions\": 7}", "{\"version\": -1}", "{\"segments\": {\"t\": 7}}", "{"] {
            let mut headers = MetadataMap::new();
            headers.insert(PLAN_BINDING, text.parse().unwrap());
            assert_eq!(binding(&headers).unwrap_err().code(), tonic::Code::InvalidArgument, "{text}");
        }
    }
}
