//! Errors of planning, with the place in the statement and the name that was perhaps meant.

use std::cmp::Reverse;

use datafusion::common::{DataFusionError, TableReference};
use datafusion::execution::SessionState;
use pmem_store::DEFAULT_NAMESPACE;

use super::locate::{locate, place_of};
use super::versions::base_name;
use crate::catalog::StoreCatalog;
use crate::error::{EngineError, nearest};
use crate::system::{SYSTEM, system_listing};

pub fn explained(sql: &str, state: &SessionState, catalog: &StoreCatalog, error: DataFusionError) -> EngineError {
    let place = locate(sql, &error);
    let error = match EngineError::from(error) {
        EngineError::Sql { message, position, hint } => {
            if let Some(table) = quoted(&message, "table '", "' not found") {
                no_table(sql, catalog, table)
            } else if let Some(function) = quoted(&message, "there is no function \"", "\"") {
                let hint = near_function(state, function).or(hint);
                EngineError::Sql { message, position, hint }
            } else {
                EngineError::Sql { message, position, hint }
            }
        }
        other => other,
    };
    // The place the parser knows is better than the first word of that name.
    match error {
        EngineError::Sql { message, position, hint } => EngineError::Sql { message, position: place.or(position), hint },
        other => other,
    }
}

fn quoted<'a>(message: &'a str, before: &str, after: &str) -> Option<&'a str> {
    message.strip_prefix(before)?.strip_suffix(after)
}

fn meant(name: &str) -> String {
    format!("did you mean \"{name}\"?")
}

/// DataFusion says `table 'quiver.main.x' not found`; people want to hear of `x` and its like.
fn no_table(sql: &str, catalog: &StoreCatalog, full: &str) -> EngineError {
    let full = TableReference::parse_str(base_name(full));
    let name = full.table();
    let listing = if full.schema() == Some(SYSTEM) { system_listing() } else { catalog.listing().unwrap_or_default() };
    let hint = nearest(name, listing.iter().map(|listed| listed.name.as_str())).map(|near| match near == name {
        // One of that name is in another schema.
        true => listing.iter().find(|listed| listed.name == near).map_or_else(|| meant(near), |listed| meant(&format!("{}.{near}", listed.schema))),
        false => meant(near),
    });
    let shown = match full.schema() {
        Some(schema) if schema != DEFAULT_NAMESPACE => format!("{schema}.{name}"),
        _ => name.to_string(),
    };
    EngineError::Sql { message: format!("table \"{shown}\" does not exist"), position: place_of(sql, name), hint }
}

/// Of two names that are as near the longer: letters are left out more often than put in.
fn near_function(state: &SessionState, name: &str) -> Option<String> {
    let mut names = function_names(state);
    names.sort_by_key(|name| Reverse(name.len()));
    nearest(name, names.iter().map(String::as_str)).map(meant)
}

/// By name, each once.
pub fn function_names(state: &SessionState) -> Vec<String> {
    let scalar = state.scalar_functions().keys();
    let names = scalar.chain(state.aggregate_functions().keys()).chain(state.window_functions().keys());
    let mut names: Vec<String> = names.cloned().collect();
    names.sort_unstable();
    names.dedup();
    names
}
