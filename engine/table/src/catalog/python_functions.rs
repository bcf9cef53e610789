//! The functions of users that are in Python, as parts of a plan.

use std::sync::Arc;

use arrow::datatypes::{Schema, SchemaRef};
use datafusion::common::{DataFusionError, Result, TableReference};
use datafusion::execution::SessionState;
use datafusion::logical_expr::{AggregateUDF, LogicalPlan, ScalarUDF};
use datafusion::sql::sqlparser::ast::{self, Query};
use python_functions::{Definition, FunctionKind, PythonFunction, PythonTable};

use super::function_signatures::{SignatureTypes, check_arguments, limits_of, statement_of, types_of};
use super::provider::StoreCatalog;
use common::error::EngineError;
use common::memory::StatementMemory;
use sql::functions::{FunctionBody, FunctionDefinition, Parameter, PythonReturns, call_query};

/// The function with its values alone, as it is when it is created.
pub fn python_code(
    catalog: &StoreCatalog,
    state: &SessionState,
    definition: &FunctionDefinition,
    types: &SignatureTypes,
) -> Result<PythonFunction, EngineError> {
    function(catalog, state, definition, types, Vec::new())
}

/// `tables` are the columns of each table that it is called with.
fn function(
    catalog: &StoreCatalog,
    state: &SessionState,
    definition: &FunctionDefinition,
    types: &SignatureTypes,
    tables: Vec<SchemaRef>,
) -> Result<PythonFunction, EngineError> {
    let FunctionBody::Python { returns, code } = &definition.body else {
        return Err(EngineError::internal("this is no function in Python"));
    };
    let Some(workers) = catalog.engine.python() else {
        let hint = "who runs it allows them: quiver serve --python /usr/bin/python3";
        return Err(EngineError::unsupported("a function in Python on this server", Some(hint)));
    };
    let kind = match returns {
        PythonReturns::Value(_) => FunctionKind::Scalar,
        PythonReturns::Aggregate(_) => FunctionKind::Aggregate,
        PythonReturns::Table(_) => FunctionKind::Table,
        PythonReturns::Procedure(_) => FunctionKind::Procedure,
    };
    let values: SchemaRef = Arc::new(Schema::new(types.parameters.clone()));
    Ok(PythonFunction::new(
        Arc::clone(workers),
        Definition {
            name: definition.name.table().to_string(),
            kind,
            symbol: code.symbol.clone(),
            source: code.source.clone(),
            inputs: std::iter::once(values).chain(tables).collect(),
            returns: Arc::new(Schema::new(types.results.clone())),
            is_table: definition.parameters.iter().map(Parameter::is_table).collect(),
            user: catalog.authorization().map(|authorization| authorization.user().to_string()),
            limits: limits_of(state),
        },
    ))
}

/// A procedure, and the columns of its result in the types of SQL.
pub async fn python_procedure(
    catalog: &StoreCatalog,
    state: &SessionState,
    definition: &FunctionDefinition,
) -> Result<(PythonFunction, SchemaRef), EngineError> {
    let types = types_of(catalog, state, definition).await?;
    Ok((python_code(catalog, state, definition, &types)?, Arc::new(Schema::new(types.results))))
}

pub fn python_scalar(
    catalog: &StoreCatalog,
    state: &SessionState,
    definition: &FunctionDefinition,
    types: &SignatureTypes,
) -> Result<ScalarUDF, EngineError> {
    let function = python_code(catalog, state, definition, types)?;
    Ok(python_functions::scalar_function(function, &types.parameters, types.result()?, definition.volatility))
}

pub fn python_aggregate(
    catalog: &StoreCatalog,
    state: &SessionState,
    definition: &FunctionDefinition,
    types: &SignatureTypes,
) -> Result<AggregateUDF, EngineError> {
    let function = python_code(catalog, state, definition, types)?;
    let memory = StatementMemory::of(state.config_options()).cloned();
    Ok(python_functions::aggregate_function(function, &types.parameters, types.result()?, memory))
}

/// The rows of a call in FROM. `arguments` are in the order of the parameters; that for a table is a text with its name, or a query.
pub async fn python_table(
    catalog: &StoreCatalog,
    state: &SessionState,
    definition: &FunctionDefinition,
    arguments: Vec<ast::Expr>,
) -> Result<LogicalPlan> {
    let types = types_of(catalog, state, definition).await?;
    let (mut parameters, mut values, mut queries) = (Vec::new(), Vec::new(), Vec::new());
    for (parameter, argument) in definition.parameters.iter().zip(arguments) {
        if parameter.is_table() {
            queries.push(table_query(definition, parameter, argument)?);
        } else {
            parameters.push(parameter.clone());
            values.push(argument);
        }
    }
    let values = catalog.views.plan(state, statement_of(call_query(&parameters, values)?)).await?;
    check_arguments(definition, &values).map_err(EngineError::into_datafusion)?;
    let mut inputs = vec![values];
    let mut tables: Vec<SchemaRef> = Vec::new();
    for query in queries {
        let plan = catalog.views.plan(state, statement_of(query)).await?;
        tables.push(Arc::new(Schema::new(plan.schema().fields().clone())));
        inputs.push(plan);
    }
    let function = function(catalog, state, definition, &types, tables).map_err(EngineError::into_datafusion)?;
    PythonTable::plan(function, inputs, &Arc::new(Schema::new(types.results)))
}

fn table_query(definition: &FunctionDefinition, parameter: &Parameter, argument: ast::Expr) -> Result<Query> {
    match argument {
        ast::Expr::Subquery(query) => Ok(*query),
        ast::Expr::Value(ast::ValueWithSpan { value: ast::Value::SingleQuotedString(name), .. }) => {
            let table = TableReference::parse_str(&name).to_quoted_string();
            sql::fragments::query_of(&format!("SELECT * FROM {table}")).map_err(DataFusionError::from)
        }
        other => {
            let message = format!("the argument {} of {} is {other}, and no table", parameter.name, definition.signature());
            let hint = Some(format!("write its name as a text, {}('points'), or a query in parentheses", definition.name.table()));
            Err(EngineError::Sql { message, position: None, hint }.into_datafusion())
        }
    }
}
