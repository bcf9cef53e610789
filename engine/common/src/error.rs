//! Errors as people see them: one clear sentence, the place in the SQL, and what to do.

pub mod copy;
pub mod disk_full;
pub mod export;
pub mod foreign_names;
pub mod function;
pub mod import;
pub mod kind;
pub mod sql_wording;
pub mod text;

use std::path::PathBuf;

use arrow::error::ArrowError;
use datafusion::common::{Column, DataFusionError, SchemaError};
use pmem_store::StoreError;

use crate::error::disk_full::is_spill_full;
use crate::error::export::ExportError;
use crate::error::function::FunctionError;
use crate::error::import::ImportError;
use crate::error::kind::ErrorKind;
use crate::error::sql_wording::{is_of_statement, reworded};
use crate::error::text::{bounded, clean, feature, first_line, regular_expression, without_tree, wrong_width};

/// A message may have an expression, a value or a name of the statement in it, each as long as it was written: it is shown `bounded`.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The statement is not SQL, or names what is not there.
    #[error("{}", bounded(message))]
    Sql { message: String, position: Option<usize>, hint: Option<String> },
    #[error("{}", bounded(message))]
    Execution { message: String, hint: Option<String> },
    /// A value with which the statement cannot be run.
    #[error("{}", bounded(message))]
    Data { message: String, position: Option<usize>, hint: Option<String> },
    #[error("{} is not supported", bounded(feature))]
    Unsupported { feature: String, hint: Option<String> },
    #[error("NULL in column \"{}\" of \"{}\", which is NOT NULL (row {row} of the rows being written)", bounded(column), bounded(table))]
    NotNull { table: String, column: String, row: u64 },
    /// A row that a constraint of its table does not allow.
    #[error("{}", bounded(message))]
    Constraint { constraint: String, message: String },
    #[error("out of memory: {}", bounded(message))]
    Memory { message: String },
    #[error("the query was cancelled")]
    Cancelled,
    #[error("the statement was ended by KILL")]
    Killed,
    #[error("the statement took longer than its limit of {limit_ms} ms")]
    TimedOut { limit_ms: u64 },
    #[error("the statement waited {limit_ms} ms for its turn, and as many as may run at once were still running")]
    QueueTimedOut { limit_ms: u64 },
    #[error("there is no statement {id} that could be ended")]
    NoSuchQuery { id: u64 },
    #[error("statement {id} is another user's")]
    NotOwnQuery { id: u64 },
    #[error("statement {id} has done its work: it is being committed, or only its answer was not read yet")]
    QueryDone { id: u64 },
    /// A plan that was made elsewhere cannot be used.
    #[error("{}", bounded(message))]
    Plan { message: String, hint: Option<String>, kind: ErrorKind },
    /// Another machine, or what lies on it, is out of reach for now.
    #[error("{}", bounded(message))]
    Unreachable { message: String, hint: Option<String> },
    /// The user has not the right to it.
    #[error("{}", bounded(message))]
    Denied { message: String, hint: String },
    /// A user or role, where there is one of these letters in another case.
    #[error("{kind} \"{}\" does not exist", bounded(name))]
    NoPrincipal { kind: &'static str, name: String, hint: String },
    /// Nobody knows who it is that asks.
    #[error("{}", bounded(message))]
    Unauthenticated { message: String },
    #[error("cannot use \"{}\" to spill to: {source}", path.display())]
    SpillDir { path: PathBuf, source: std::io::Error },
    #[error("the disk is full: what a query needs beyond its memory could not be written to where queries spill")]
    SpillFull,
    #[error("{}", bounded(&.0.to_string()))]
    Store(#[from] StoreError),
    #[error("{}", bounded(&.0.to_string()))]
    Import(#[from] ImportError),
    #[error("{}", bounded(&.0.to_string()))]
    Export(ExportError),
    #[error("internal error: {}; please report it", bounded(.0))]
    Internal(String),
}

impl EngineError {
    pub fn internal(message: impl Into<String>) -> Self {
        EngineError::Internal(message.into())
    }

    pub fn data(message: impl Into<String>, hint: Option<String>) -> Self {
        EngineError::Data { message: message.into(), position: None, hint }
    }

    pub fn unsupported(feature: impl Into<String>, hint: Option<&str>) -> Self {
        EngineError::Unsupported { feature: feature.into(), hint: hint.map(str::to_string) }
    }

    pub fn into_datafusion(self) -> DataFusionError {
        DataFusionError::External(Box::new(self))
    }

    /// Byte offset in the statement, where the error is at a place of it.
    pub fn position(&self) -> Option<usize> {
        match self {
            EngineError::Sql { position, .. } | EngineError::Data { position, .. } => *position,
            _ => None,
        }
    }

    pub fn hint(&self) -> Option<&str> {
        match self {
            EngineError::Sql { hint, .. } | EngineError::Execution { hint, .. } | EngineError::Unsupported { hint, .. } => hint.as_deref(),
            EngineError::Data { hint, .. } | EngineError::Plan { hint, .. } | EngineError::Unreachable { hint, .. } => hint.as_deref(),
            EngineError::Denied { hint, .. } | EngineError::NoPrincipal { hint, .. } => Some(hint),
            EngineError::Memory { .. } => Some("give it more with --memory-limit, or ask for less at once"),
            EngineError::SpillFull => {
                Some("free some space, name another directory with --spill-dir, or give the query more memory with --memory-limit")
            }
            EngineError::TimedOut { .. } => Some("SET quiver.statement_timeout_ms changes the limit for the session, 0 takes it away"),
            EngineError::QueueTimedOut { .. } => Some("try again later; system.queries lists what runs, and queries_max is how many may"),
            EngineError::NoSuchQuery { .. } => Some("system.queries lists those that run"),
            EngineError::NotOwnQuery { .. } => Some("ask an administrator to end it"),
            _ => None,
        }
    }
}

pub fn store_error(error: StoreError) -> DataFusionError {
    DataFusionError::External(Box::new(EngineError::Store(error)))
}

impl From<EngineError> for DataFusionError {
    fn from(error: EngineError) -> Self {
        error.into_datafusion()
    }
}

impl From<ExportError> for EngineError {
    fn from(error: ExportError) -> Self {
        match error {
            // The rows could not be made; writing them had no part in it.
            ExportError::Source(source) => EngineError::from(DataFusionError::External(source)),
            error => EngineError::Export(error),
        }
    }
}

impl From<DataFusionError> for EngineError {
    fn from(error: DataFusionError) -> Self {
        if is_spill_full(&error) {
            return EngineError::SpillFull;
        }
        let error = unwrapped(error);
        match FunctionError::of(&error) {
            Some(wrong) => wrong.said(None, None),
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
                Err(source) => foreign(clean(&source.to_string())),
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
            Some(said) => EngineError::data(said, None),
            None => EngineError::Internal(first_line(&message)),
        },
        DataFusionError::ArrowError(error, _) if is_of_a_value(&error) => EngineError::data(clean(&error.to_string()), None),
        DataFusionError::Execution(message) if message.starts_with("Prepared statement '") => {
            EngineError::Sql { message: clean(&message), position: None, hint: None }
        }
        DataFusionError::Execution(message) => EngineError::data(clean(&message), None),
        DataFusionError::ArrowError(error, _) => EngineError::Execution { message: clean(&error.to_string()), hint: None },
        other => EngineError::Execution { message: clean(&other.strip_backtrace()), hint: None },
    }
}

/// Of a library that DataFusion calls. Patterns are values, files and sockets are not.
fn foreign(message: String) -> EngineError {
    match message.starts_with("the regular expression") {
        true => EngineError::data(message, None),
        false => EngineError::Execution { message, hint: None },
    }
}

/// And not of a file, of memory, or of what Arrow cannot do.
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

/// The error itself, out of what wraps it on its way up.
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

/// Of an error that several streams hold.
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
    // Some refusals come as errors of planning.
    for end in [" is not supported", " not supported", " not yet supported", " is not implemented"] {
        if let Some(what) = text.strip_suffix(end).filter(|what| !what.contains(['.', ';'])) {
            return EngineError::Unsupported { feature: feature(what), hint: None };
        }
    }
    EngineError::Sql { message: text, position: None, hint: None }
}

/// One that only some clauses may have.
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

/// Of the table that DataFusion makes of a subquery.
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
            let names: Vec<&str> = names.filter(|name| !name.starts_with("__quiver_")).collect();
            let shown = names.iter().take(20).copied().collect::<Vec<_>>().join(", ");
            Some(format!("columns there are: {}{}", bounded(&shown), if names.len() > 20 { ", …" } else { "" }))
        }
    };
    let message = format!("column \"{}\" does not exist", field.flat_name());
    EngineError::Sql { message, position: None, hint }
}

/// With the table that has it, where another was named.
fn with_table(field: &Column, near: &str, valid_fields: &[Column]) -> String {
    let tables: Vec<&str> =
        valid_fields.iter().filter(|valid| valid.name == near).filter_map(|valid| Some(valid.relation.as_ref()?.table())).collect();
    match field.relation.as_ref() {
        Some(relation) if !tables.is_empty() && !tables.contains(&relation.table()) => format!("{}.{near}", tables[0]),
        _ => near.to_string(),
    }
}

/// The name closest to `name`, if it is close: a slip of the hand, not another word.
pub fn nearest<'a>(name: &str, candidates: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let name = name.to_lowercase();
    let chars = name.chars().count();
    // Any letter is near any other.
    let allowed = if chars < 2 { 0 } else { (chars / 3).clamp(1, 3) };
    candidates
        .map(|candidate| (datafusion::common::utils::datafusion_strsim::levenshtein(&name, &candidate.to_lowercase()), candidate))
        .filter(|(distance, _)| *distance <= allowed)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}
