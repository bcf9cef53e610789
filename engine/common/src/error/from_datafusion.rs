//! Converts errors of DataFusion into those of the engine.

use std::collections::HashSet;
use std::error::Error;

use arrow::error::ArrowError;
use datafusion::common::{Column, DataFusionError, SchemaError};
use pmem_store::StoreError;

use crate::error::disk_full::is_spill_full;
use crate::error::function::FunctionError;
use crate::error::sql_wording::{is_of_statement, reworded};
use crate::error::text::{bounded, clean, feature, first_line, regular_expression, without_tree, wrong_width};
use crate::error::{EngineError, nearest};

impl From<DataFusionError> for EngineError {
    fn from(error: DataFusionError) -> Self {
        if is_spill_full(&error) {
            return EngineError::SpillFull;
        }
        let error = unwrapped(error);
        match FunctionError::of(&error) {
            Some(wrong) => wrong.into_engine_error(None, None),
            None => reworded(of_kind(error)),
        }
    }
}

fn of_kind(error: DataFusionError) -> EngineError {
    match error {
        DataFusionError::External(source) => match source.downcast::<EngineError>() {
            Ok(error) => *error,
            Err(source) => match source.downcast::<StoreError>() {
                Ok(error) => EngineError::Store(*error),
                Err(source) => foreign(source.as_ref()),
            },
        },
        DataFusionError::ResourcesExhausted(message) => EngineError::Memory { message: first_line(&message) },
        DataFusionError::NotImplemented(message) if is_expression(&message, &["Exists", "InSubquery"]) => EngineError::unsupported(
            "a subquery of EXISTS, IN, ANY or ALL that cannot be made a join",
            Some("join with the query, or compare with (SELECT count(*) …)"),
        ),
        DataFusionError::NotImplemented(message) if is_expression(&message, &["ScalarSubquery"]) => EngineError::unsupported(
            "a subquery that looks at the query around it other than by x = y",
            Some("join with the subquery, grouped by what it has in common with the query around it"),
        ),
        DataFusionError::NotImplemented(message) if is_expression(&message, &["WindowFunction"]) => EngineError::unsupported(
            "a window function outside of SELECT and ORDER BY",
            Some("compute it in a subquery, and filter its rows"),
        ),
        DataFusionError::NotImplemented(message) if is_expression(&message, &["AggregateFunction"]) => EngineError::unsupported(
            "an aggregate outside of SELECT, HAVING and ORDER BY",
            Some("compute it in a subquery; behind a query it is |> AGGREGATE"),
        ),
        DataFusionError::NotImplemented(message) if is_expression(&message, &["OuterReferenceColumn"]) => EngineError::unsupported(
            "a subquery that looks at the row outside of it in this way",
            Some("write it as a join with the query, or with GROUP BY and a join"),
        ),
        DataFusionError::NotImplemented(message) => EngineError::Unsupported { feature: feature(&message), hint: None },
        DataFusionError::SchemaError(error, _) => schema_error(*error),
        DataFusionError::Plan(message) => plan_error(&message),
        DataFusionError::SQL(error, _) => EngineError::Sql { message: clean(&error.to_string()), position: None, hint: None },
        DataFusionError::Internal(message) if is_of_statement(&first_line(&message)) => plan_error(&first_line(&message)),
        DataFusionError::Internal(message) => match regular_expression(&message) {
            Some(reason) => EngineError::data(reason, None),
            None => EngineError::Internal(first_line(&message)),
        },
        DataFusionError::ArrowError(error, _) if is_of_a_value(&error) => EngineError::data(clean(&error.to_string()), None),
        DataFusionError::Execution(message) => EngineError::data(clean(&message), None),
        DataFusionError::ArrowError(error, _) => EngineError::Execution { message: clean(&error.to_string()), hint: None },
        other => EngineError::Execution { message: clean(&other.strip_backtrace()), hint: None },
    }
}

/// An error of a library that DataFusion calls. A bad pattern is a bad value; a file or a socket is not.
fn foreign(source: &(dyn Error + Send + Sync + 'static)) -> EngineError {
    let message = clean(&source.to_string());
    // DataFusion's optimizer reads constant patterns by `regex_syntax`.
    match source.is::<regex::Error>() || source.is::<regex_syntax::Error>() {
        true => EngineError::data(message, None),
        false => EngineError::Execution { message, hint: None },
    }
}

/// Whether the error is about a value, and not about a file, memory, or an unsupported operation of Arrow.
fn is_of_a_value(error: &ArrowError) -> bool {
    matches!(
        error,
        ArrowError::DivideByZero
            | ArrowError::ArithmeticOverflow(_)
            | ArrowError::CastError(_)
            | ArrowError::ComputeError(_)
            | ArrowError::ParseError(_)
            | ArrowError::InvalidArgumentError(_)
    )
}

/// The error inside its wrappers.
fn unwrapped(error: DataFusionError) -> DataFusionError {
    match error {
        DataFusionError::Context(_, inner) | DataFusionError::Diagnostic(_, inner) => unwrapped(*inner),
        DataFusionError::Collection(errors) => match errors.into_iter().next() {
            Some(first) => unwrapped(first),
            None => DataFusionError::Internal("an empty list of errors".into()),
        },
        DataFusionError::Shared(shared) => match std::sync::Arc::try_unwrap(shared) {
            Ok(error) => unwrapped(error),
            Err(shared) => shared_copy(&shared),
        },
        DataFusionError::External(source) => match source.downcast::<DataFusionError>() {
            Ok(inner) => unwrapped(*inner),
            Err(source) => DataFusionError::External(source),
        },
        DataFusionError::ArrowError(error, backtrace) => match *error {
            ArrowError::ExternalError(source) => unwrapped(DataFusionError::External(source)),
            error => DataFusionError::ArrowError(Box::new(error), backtrace),
        },
        other => other,
    }
}

/// A copy of an error that several streams share.
fn shared_copy(error: &DataFusionError) -> DataFusionError {
    if let DataFusionError::External(source) = error.find_root()
        && let Some(error) = source.downcast_ref::<EngineError>()
    {
        return error.copy().into_datafusion();
    }
    match error.find_root() {
        DataFusionError::ResourcesExhausted(message) => DataFusionError::ResourcesExhausted(message.clone()),
        DataFusionError::NotImplemented(message) => DataFusionError::NotImplemented(message.clone()),
        DataFusionError::Plan(message) => DataFusionError::Plan(message.clone()),
        other => DataFusionError::Execution(clean(&other.strip_backtrace())),
    }
}

fn plan_error(message: &str) -> EngineError {
    let mut lines = message.lines();
    if let Some(name) = lines.next().and_then(|line| line.strip_prefix("Invalid function '")).and_then(|rest| rest.strip_suffix("'.")) {
        let near = lines.next().and_then(|line| line.strip_prefix("Did you mean '")).and_then(|rest| rest.strip_suffix("'?"));
        let hint = near.map(|near| format!("did you mean \"{near}\"?"));
        return EngineError::Sql { message: format!("there is no function \"{name}\""), position: None, hint };
    }
    let text = without_tree(&clean(message)).to_string();
    if text.starts_with("Substring without for/from") {
        let hint = Some("write substring(text, start) or substring(text FROM start FOR length)".to_string());
        return EngineError::Sql { message: "substring needs a place to start, or a length".into(), position: None, hint };
    }
    if let Some(message) = wrong_width(&text) {
        return EngineError::Sql { message, position: None, hint: Some("give a value for each column, or name the columns".into()) };
    }
    if text.contains("require unique expression names") {
        let hint = Some("give one of them another name with AS".to_string());
        return EngineError::Sql { message: "two columns have the same name".into(), position: None, hint };
    }
    if let Some((_, rest)) = text.split_once("column \"").filter(|(_, rest)| rest.contains("must appear in the GROUP BY")) {
        let column = rest.split('"').next().unwrap_or_default();
        let message = format!("column \"{column}\" must be in GROUP BY or in an aggregate");
        return EngineError::Sql { message, position: None, hint: None };
    }
    // DataFusion reports some unsupported features as planning errors.
    for end in [" is not supported", " not supported", " not yet supported", " is not implemented"] {
        if let Some(what) = text.strip_suffix(end).filter(|what| !what.contains(['.', ';'])) {
            return EngineError::Unsupported { feature: feature(what), hint: None };
        }
    }
    EngineError::Sql { message: text, position: None, hint: None }
}

/// An expression that only some clauses may contain.
fn is_expression(message: &str, nodes: &[&str]) -> bool {
    let expression = message.strip_prefix("Physical plan does not support logical expression ");
    expression.is_some_and(|expression| nodes.iter().any(|node| expression.starts_with(node)))
}

fn schema_error(error: SchemaError) -> EngineError {
    let twice = |name: String| {
        let hint = Some("name it once, or give one of the two another name with AS".to_string());
        EngineError::Sql { message: format!("two columns are called \"{name}\""), position: None, hint }
    };
    match error {
        SchemaError::FieldNotFound { valid_fields, .. } if valid_fields.iter().any(is_of_subquery) => EngineError::unsupported(
            "a subquery that looks at a row further outside than that of the query around it",
            Some("join the tables of both queries in one subquery"),
        ),
        SchemaError::FieldNotFound { field, valid_fields } => no_column(&field, &valid_fields),
        SchemaError::DuplicateQualifiedField { qualifier, name } => twice(format!("{}.{name}", qualifier.table())),
        SchemaError::DuplicateUnqualifiedField { name } => twice(name),
        error @ SchemaError::AmbiguousReference { .. } => {
            EngineError::Sql { message: clean(&error.to_string()), position: None, hint: None }
        }
    }
}

/// Whether the column belongs to the table that DataFusion makes of a subquery.
fn is_of_subquery(column: &Column) -> bool {
    let is_one = |table: &str| table.starts_with("__correlated_sq_") || table.starts_with("__scalar_sq_");
    column.relation.as_ref().is_some_and(|table| is_one(table.table()))
}

fn no_column(field: &Column, valid_fields: &[Column]) -> EngineError {
    let near = nearest(&field.name, valid_fields.iter().map(|column| column.name.as_str()));
    let hint = match near {
        Some(name) => Some(format!("did you mean \"{}\"?", with_table(field, name, valid_fields))),
        None if valid_fields.is_empty() => None,
        None => {
            let names = valid_fields.iter().map(|column| column.name.as_str());
            // ORDER BY sees the columns of SELECT and those of FROM.
            let mut seen = HashSet::new();
            let names: Vec<&str> = names.filter(|name| !name.starts_with("__quiver_") && seen.insert(*name)).collect();
            let shown = names.iter().take(20).copied().collect::<Vec<_>>().join(", ");
            Some(format!("columns there are: {}{}", bounded(&shown), if names.len() > 20 { ", …" } else { "" }))
        }
    };
    let message = format!("column \"{}\" does not exist", field.flat_name());
    EngineError::Sql { message, position: None, hint }
}

/// The column with its right table, if the statement named another one.
fn with_table(field: &Column, near: &str, valid_fields: &[Column]) -> String {
    let tables: Vec<&str> =
        valid_fields.iter().filter(|valid| valid.name == near).filter_map(|valid| Some(valid.relation.as_ref()?.table())).collect();
    match field.relation.as_ref() {
        Some(relation) if !tables.is_empty() && !tables.contains(&relation.table()) => format!("{}.{near}", tables[0]),
        _ => near.to_string(),
    }
}
