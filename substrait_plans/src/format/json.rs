//! Plans as JSON.

use serde_json::{Map, Value};

use crate::error::PlanError;
use crate::proto::Plan;

pub fn write(plan: &Plan) -> Result<Vec<u8>, PlanError> {
    let mut json = serde_json::to_vec_pretty(plan).map_err(|error| malformed(&error))?;
    json.push(b'\n');
    Ok(json)
}

pub fn read(bytes: &[u8]) -> Result<Plan, PlanError> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let mut json: Value = serde_json::from_slice(bytes).map_err(|error| malformed(&error))?;
    if let Value::Object(plan) = &mut json {
        with_urns(plan);
    }
    serde_json::from_value(json).map_err(|error| malformed(&error))
}

fn malformed(error: &serde_json::Error) -> PlanError {
    PlanError::Malformed { what: format!("as JSON, {error}") }
}

/// Moves the extension URIs of older plans. The current messages have no fields for them, so they would be dropped silently.
fn with_urns(plan: &mut Map<String, Value>) {
    let has_urns = ["extensionUrns", "extension_urns"].into_iter().any(|name| plan.contains_key(name));
    let Some(uris) = take(plan, ["extensionUris", "extension_uris"]).filter(|_| !has_urns) else { return };
    let mut urns = uris;
    for urn in urns.as_array_mut().into_iter().flatten().filter_map(Value::as_object_mut) {
        rename(urn, ["extensionUriAnchor", "extension_uri_anchor"], "extensionUrnAnchor");
        rename(urn, ["uri", "uri"], "urn");
    }
    plan.insert("extensionUrns".to_string(), urns);
    let declarations = plan.get_mut("extensions").and_then(Value::as_array_mut).into_iter().flatten();
    for declaration in declarations.filter_map(Value::as_object_mut) {
        for named in declaration.values_mut().filter_map(Value::as_object_mut) {
            rename(named, ["extensionUriReference", "extension_uri_reference"], "extensionUrnReference");
        }
    }
}

fn rename(object: &mut Map<String, Value>, from: [&str; 2], to: &str) {
    if let Some(value) = take(object, from) {
        object.insert(to.to_string(), value);
    }
}

fn take(object: &mut Map<String, Value>, names: [&str; 2]) -> Option<Value> {
    names.into_iter().find_map(|name| object.remove(name))
}
