//! The types in the signature of a function of a user, the arguments that fit them, and the limits of a call.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

use arrow::datatypes::{FieldRef, Fields};
use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::execution::SessionState;
use datafusion::logical_expr::{Expr, ExprSchemable, LogicalPlan};
use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::{self, Query};
use parking_lot::Mutex;

use super::provider::StoreCatalog;
use common::engine_settings::switches;
use common::error::EngineError;
use common::type_names::declared_name;
use common::user_functions::FunctionLimits;
use semantics::functions::is_converted;
use sql::functions::{FunctionDefinition, Parameter, signature_query};
use sql::{FunctionStatement, Parsed};

/// The types of the parameters that are no tables, and of the result or its columns.
#[derive(Clone)]
pub(super) struct SignatureTypes {
    pub parameters: Fields,
    pub results: Vec<FieldRef>,
}

impl SignatureTypes {
    pub fn result(&self) -> Result<FieldRef, EngineError> {
        self.results.first().cloned().ok_or_else(|| EngineError::internal("a function without a result"))
    }
}

/// The definition that a text creates; `None` if it is another statement.
pub(super) fn parsed_definition(options: &ConfigOptions, text: &str) -> Result<Option<FunctionDefinition>, EngineError> {
    match sql::parse_with(options, text)? {
        Parsed::Functions(FunctionStatement::Create(create)) => Ok(Some(create.definition)),
        _ => Ok(None),
    }
}

/// They depend on the text and the session's time zone alone, and planning them takes longer than a call.
pub(super) async fn types_of(catalog: &StoreCatalog, state: &SessionState, definition: &FunctionDefinition) -> Result<SignatureTypes> {
    static TYPES: LazyLock<Mutex<HashMap<(String, Option<String>), SignatureTypes>>> = LazyLock::new(Mutex::default);
    const TYPES_MAX: usize = 1_000;
    const TEXT_BYTES_MAX: usize = 64 << 10;
    let key = (definition.text.clone(), state.config_options().execution.time_zone.clone());
    if let Some(types) = TYPES.lock().get(&key) {
        return Ok(types.clone());
    }
    let mut columns: Vec<Parameter> = definition.parameters.iter().filter(|parameter| !parameter.is_table()).cloned().collect();
    let count = columns.len();
    let results = definition.result_columns();
    columns.extend(results.iter().enumerate().map(|(at, column)| Parameter { name: format!("__result{at}"), ..column.clone() }));
    let plan = catalog.views.plan(state, statement_of(signature_query(&columns)?)).await?;
    let (parameters, found) = plan.schema().fields().split_at(count.min(plan.schema().fields().len()));
    let named = |(field, column): (&FieldRef, &Parameter)| Arc::new(field.as_ref().clone().with_name(&column.name));
    let types = SignatureTypes { parameters: parameters.into(), results: found.iter().zip(&results).map(named).collect() };
    if definition.text.len() > TEXT_BYTES_MAX {
        return Ok(types);
    }
    let mut all = TYPES.lock();
    if all.len() >= TYPES_MAX {
        all.clear();
    }
    all.insert(key, types.clone());
    Ok(types)
}

pub(super) fn limits_of(state: &SessionState) -> FunctionLimits {
    let settings = switches(state.config_options());
    let memory_bytes = usize::try_from(settings.function_memory_bytes).unwrap_or(usize::MAX);
    FunctionLimits { memory_bytes, time_ms: settings.function_timeout_ms }
}

/// An error for an argument that an expression would not convert without a cast. `plan` has a column for each, cast to the type of its
/// parameter.
pub fn check_arguments(definition: &FunctionDefinition, plan: &LogicalPlan) -> Result<(), EngineError> {
    let LogicalPlan::Projection(projection) = plan else { return Ok(()) };
    let parameters = definition.parameters.iter().filter(|parameter| !parameter.is_table());
    for (column, parameter) in projection.expr.iter().zip(parameters) {
        let Expr::Cast(cast) = column.clone().unalias() else { continue };
        let given = cast.expr.get_type(projection.input.schema())?;
        if !is_converted(&given, cast.field.data_type()) {
            let (name, given) = (&parameter.name, declared_name(&given));
            let message = format!("the argument {name} of {} is {given}", definition.signature());
            return Err(EngineError::Sql { message, position: None, hint: Some("write a cast if that is meant".into()) });
        }
    }
    Ok(())
}

pub fn statement_of(query: Query) -> Statement {
    Statement::Statement(Box::new(ast::Statement::Query(Box::new(query))))
}
