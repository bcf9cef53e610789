//! Planning errors with their position in the statement, and with the name that was probably meant.

use std::cmp::Reverse;

use datafusion::common::diagnostic::DiagnosticNote;
use datafusion::common::{DataFusionError, ResolvedTableReference, SchemaError, TableReference};
use datafusion::execution::SessionState;
use pmem_store::DEFAULT_NAMESPACE;

use super::error_span::error_span;
use crate::system::system_listing;
use common::error::foreign_names::{instead_of_catalog, instead_of_file, instead_of_function, instead_of_table_function};
use common::error::function::FunctionError;
use common::error::text::bounded;
use common::error::{EngineError, nearest};
use common::file_format::is_file_name;
use common::names::SYSTEM;
use sql::alias_hint::similar_alias;
use sql::defined_functions::defined_names;
use sql::locate::{locate, offset_of, place_of, place_of_argument, place_of_literal, place_of_number, place_of_text};
use sql::value_position::position_of_evaluation;
use sql::versions::base_name;
use table::catalog::StoreCatalog;

/// A function name up to this length is short.
const SHORT_NAME_BYTES: usize = 3;

pub fn explain_error(sql: &str, state: &SessionState, catalog: &StoreCatalog, error: DataFusionError) -> EngineError {
    let place = locate(sql, &error).or_else(|| error_span(sql, state, &error));
    if let Some(wrong) = FunctionError::of(&error) {
        let called = name_in(sql, state, &wrong.name);
        return wrong.into_engine_error(called.as_ref().map(|(name, _)| name.as_str()), called.as_ref().map(|(_, place)| *place).or(place));
    }
    if let Some(wrong) = wrong_widths(sql, &error) {
        return wrong;
    }
    let missing = missing_column(&error);
    let error = match EngineError::from(error) {
        EngineError::NoTable(table) => no_table(sql, catalog, &table),
        EngineError::NoTableFunction(function) => {
            let (position, hint) = (place_of(sql, &function), instead_of_table_function(&function).map(str::to_string));
            EngineError::Sql { message: format!("there is no table function \"{function}\""), position, hint }
        }
        EngineError::Sql { message, position, hint } => {
            if let Some(function) = quoted(&message, "there is no function \"", "\"").filter(|name| is_window_function(state, name)) {
                let hint = Some(format!("write {function}(…) OVER (ORDER BY …)"));
                EngineError::Sql { message: format!("{function} is computed over a window"), position: place_of(sql, function), hint }
            } else if let Some(function) = quoted(&message, "there is no function \"", "\"") {
                // DataFusion always suggests something, however different.
                let hint = instead_of_function(function).map(str::to_string).or_else(|| near_function(state, function));
                EngineError::Sql { message, position, hint }
            } else if let Some(alias) = missing.as_deref().and_then(|name| similar_alias(sql, name)) {
                EngineError::Sql { message, position, hint: Some(similar_name(&alias)) }
            } else {
                with_position(sql, message, position, hint)
            }
        }
        EngineError::Execution { message, hint } => match with_position(sql, message, None, hint) {
            EngineError::Sql { message, position: None, hint } => EngineError::Execution { message, hint },
            error => error,
        },
        EngineError::Data { message, position, hint } => match with_position(sql, message, position, hint) {
            EngineError::Sql { message, position, hint } => EngineError::Data { message, position: place.or(position), hint },
            error => error,
        },
        other => other,
    };
    // The position from the parser is better than the first occurrence of the name.
    match error {
        EngineError::Sql { message, position, hint } => {
            let position = place.or(position);
            let is_near = hint.as_deref().is_some_and(|hint| hint.starts_with("did you mean"));
            let text = || perhaps_text(sql, missing.as_deref()?, position);
            let hint = if is_near { hint } else { text().or(hint) };
            EngineError::Sql { message, position, hint }
        }
        other => other,
    }
}

/// The sides of a UNION, INTERSECT or EXCEPT have different widths.
fn wrong_widths(sql: &str, error: &DataFusionError) -> Option<EngineError> {
    let diagnostic = error.diagnostic()?;
    let (operator, _) = diagnostic.message.split_once(" queries have different number of columns")?;
    let [left, right] = diagnostic.notes.as_slice() else { return None };
    let width = |note: &DiagnosticNote| note.message.strip_prefix("this side has ")?.strip_suffix(" fields")?.parse::<usize>().ok();
    let message = format!("the two sides of {operator} have {} and {} columns", width(left)?, width(right)?);
    let position = right.span.map(|span| offset_of(sql, span.start.line, span.start.column));
    Some(EngineError::Sql { message, position, hint: Some("give each SELECT as many columns as the others have".to_string()) })
}

/// The column that does not exist, if that is the error.
fn missing_column(error: &DataFusionError) -> Option<String> {
    let DataFusionError::SchemaError(error, _) = error.find_root() else { return None };
    match error.as_ref() {
        SchemaError::FieldNotFound { field, .. } => Some(field.flat_name()),
        _ => None,
    }
}

/// Double quotes make a name; users of other databases may mean a string.
fn perhaps_text(sql: &str, name: &str, position: Option<usize>) -> Option<String> {
    sql[position?..].starts_with('"').then(|| format!("a text stands in single quotes: '{}'", bounded(name)))
}

/// Adds the position of the part that the message quotes: a string that is not a value of a type, or the number of a column.
fn with_position(sql: &str, message: String, position: Option<usize>, hint: Option<String>) -> EngineError {
    if let Some((clause, number, message)) = wrong_number(&message) {
        let position = position.or_else(|| place_of_number(sql, clause, number));
        return EngineError::Sql { message, position, hint };
    }
    let written = || place_of_value(sql, &message).or_else(|| place_of_text(sql, message.split('\'').nth(1)?));
    let position = position.or_else(written).or_else(|| position_of_evaluation(sql, &message));
    EngineError::Sql { message, position, hint }
}

/// The position of a number with which the message begins, or that follows a LIMIT, or of the LIMIT itself.
fn place_of_value(sql: &str, message: &str) -> Option<usize> {
    if let Some((number, _)) = message.split_once(" is out of range for ") {
        return place_of_literal(sql, number.trim_start_matches('-'));
    }
    if let Some((clause, _)) = message.split_once(" is ").filter(|_| message.ends_with("where it is to be a number of rows")) {
        return place_of(sql, clause);
    }
    let (clause, rest) = message.split_once(" -").filter(|(clause, _)| matches!(*clause, "LIMIT" | "OFFSET"))?;
    place_of_number(sql, clause, rest.split(':').next()?)
}

/// A run-time error. If it is about an argument, and not a value of a row, it gets the position of that argument, if the statement has it
/// once.
pub fn run_error(sql: &str, error: EngineError) -> EngineError {
    let EngineError::Data { message, position: None, hint } = error else { return error };
    let is_of_time = || ["' is no unit of date_trunc", "' is no part of a time"].iter().any(|words| message.contains(words));
    let functions: &[&str] = match message.starts_with("the regular expression '") {
        true => &["regexp_"],
        false if is_of_time() => &["date_", "datetrunc", "datepart"],
        false => &[],
    };
    let place = || place_of_argument(sql, message.split('\'').nth(1)?, functions);
    match (!functions.is_empty()).then(place).flatten() {
        Some(position) => EngineError::Data { message, position: Some(position), hint },
        None => {
            let hint = hint
                .or_else(|| message.starts_with("Cannot cast string '").then(|| "TRY_CAST gives NULL for a text that is none".to_string()));
            EngineError::Data { position: position_of_evaluation(sql, &message), message, hint }
        }
    }
}

/// For `ORDER BY 99` and `GROUP BY 99`: the clause, the number, and what is wrong with it.
fn wrong_number(message: &str) -> Option<(&'static str, &str, String)> {
    if message == "Order by index starts at 1 for column indexes" {
        return Some(("ORDER", "0", "ORDER BY 0: the columns count from 1".to_string()));
    }
    let ordered = message.strip_prefix("Order by column out of bounds, specified: ").and_then(|rest| rest.split_once(", max: "));
    let grouped = || message.strip_prefix("Cannot find column with position ")?.split_once(" in SELECT clause. Valid columns: 1 to ");
    let (clause, (number, columns)) = ordered.map(|numbers| ("ORDER", numbers)).or_else(|| Some(("GROUP", grouped()?)))?;
    let noun = if columns == "1" { "column" } else { "columns" };
    Some((clause, number, format!("{clause} BY {number}: the query has {columns} {noun}")))
}

/// The name and position of a function as the statement calls it.
fn name_in(sql: &str, state: &SessionState, name: &str) -> Option<(String, usize)> {
    let aliases = match (state.scalar_functions().get(name), state.aggregate_functions().get(name), state.window_functions().get(name)) {
        (Some(function), ..) => function.aliases(),
        (_, Some(function), _) => function.aliases(),
        (.., Some(function)) => function.aliases(),
        _ => &[],
    };
    // SQL keywords that become a function call.
    let words: &[&str] = match name {
        "btrim" => &["trim"],
        "date_part" => &["extract"],
        _ => &[],
    };
    let names = std::iter::once(name).chain(aliases.iter().map(String::as_str)).chain(words.iter().copied());
    names.filter_map(|name| Some((name.to_string(), place_of(sql, name)?))).next()
}

fn is_window_function(state: &SessionState, name: &str) -> bool {
    state.window_functions().contains_key(name)
}

fn quoted<'a>(message: &'a str, before: &str, after: &str) -> Option<&'a str> {
    message.strip_prefix(before)?.strip_suffix(after)
}

fn similar_name(name: &str) -> String {
    format!("did you mean \"{name}\"?")
}

/// The message has the short name in the spelling of the statement, and the hint a similar one.
fn no_table(sql: &str, catalog: &StoreCatalog, full: &ResolvedTableReference) -> EngineError {
    let (schema, name) = (&*full.schema, base_name(&full.table));
    if schema == DEFAULT_NAMESPACE
        && let Some(hint) = instead_of_file(name)
    {
        let message = format!("table \"{name}\" does not exist: a file is no table by its name");
        let position = place_of_text(sql, name).or_else(|| place_of(sql, name));
        return EngineError::Sql { message, position, hint: Some(hint.to_string()) };
    }
    let shown = if schema == DEFAULT_NAMESPACE { name.to_string() } else { format!("{schema}.{name}") };
    let hint = near_table(catalog, &TableReference::partial(schema, name))
        .or_else(|| file_without_quotes(sql, &shown))
        .or_else(|| instead_of_catalog(name).map(str::to_string));
    EngineError::Sql { message: format!("table \"{shown}\" does not exist"), position: place_of(sql, name), hint }
}

/// `FROM flights.parquet` names a table of a schema; the hint has the spelling of the statement.
fn file_without_quotes(sql: &str, name: &str) -> Option<String> {
    let start = sql.to_ascii_lowercase().find(&name.to_ascii_lowercase()).filter(|_| is_file_name(name))?;
    Some(format!("a file stands in single quotes: '{}'", &sql[start..start + name.len()]))
}

/// A hint with the table that was probably meant.
pub fn near_table(catalog: &StoreCatalog, table: &TableReference) -> Option<String> {
    let name = table.table();
    let listing = if table.schema() == Some(SYSTEM) { system_listing() } else { catalog.listing().unwrap_or_default() };
    nearest(name, listing.iter().map(|listed| listed.name.as_str())).map(|near| match near == name {
        // A table of that name exists in another schema.
        true => listing
            .iter()
            .find(|listed| listed.name == near)
            .map_or_else(|| similar_name(near), |listed| similar_name(&format!("{}.{near}", listed.schema))),
        false => similar_name(near),
    })
}

/// Of two names that are equally close the longer one: people omit letters more often than they add them.
fn near_function(state: &SessionState, name: &str) -> Option<String> {
    let mut names = function_names(state);
    names.sort_by_key(|name| Reverse(name.len()));
    // Every short word is close to some function; it is suggested only if the first letter is the same.
    let is_alike = |near: &&str| name.len() > SHORT_NAME_BYTES || near.chars().next() == name.to_lowercase().chars().next();
    nearest(name, names.iter().map(String::as_str)).filter(is_alike).map(similar_name)
}

/// By name, without duplicates.
pub fn function_names(state: &SessionState) -> Vec<String> {
    let scalar = state.scalar_functions().keys();
    let names = scalar.chain(state.aggregate_functions().keys()).chain(state.window_functions().keys());
    let mut names: Vec<String> = names.cloned().chain(defined_names().map(str::to_string)).collect();
    names.sort_unstable();
    names.dedup();
    names
}
