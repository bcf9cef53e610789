//! The functions of users that are in Python, as parts of a plan.

use std::sync::Arc;

use arrow::datatypes::{Schema, SchemaRef};
use datafusion::common::Result;
use datafusion::execution::SessionState;
use python_functions::{Definition, FunctionKind, PythonFunction, PythonWorkers};

use super::function_signatures::{SignatureTypes, limits_of, types_of};
use super::provider::StoreCatalog;
use common::error::EngineError;
use common::memory::StatementMemory;
use common::user_functions::{UserAggregate, UserScalar};
use sql::functions::{CodeReturns, FunctionBody, FunctionDefinition, Parameter};

/// The function with its values alone, as it is when it is created.
pub fn python_code(
    catalog: &StoreCatalog,
    state: &SessionState,
    definition: &FunctionDefinition,
    types: &SignatureTypes,
) -> Result<PythonFunction, EngineError> {
    let FunctionBody::Python { returns, code } = &definition.body else {
        return Err(EngineError::internal("this is no function in Python"));
    };
    let kind = match returns {
        CodeReturns::Value(_) => FunctionKind::Scalar,
        CodeReturns::Aggregate(_) => FunctionKind::Aggregate,
        CodeReturns::Table(_) => FunctionKind::Table,
        CodeReturns::Procedure(_) => FunctionKind::Procedure,
    };
    let values: SchemaRef = Arc::new(Schema::new(types.parameters.clone()));
    Ok(PythonFunction::new(
        workers(catalog)?,
        Definition {
            name: definition.name.table().to_string(),
            kind,
            symbol: code.symbol.clone(),
            source: code.source.clone(),
            inputs: vec![values],
            returns: Arc::new(Schema::new(types.results.clone())),
            is_table: definition.parameters.iter().map(Parameter::is_table).collect(),
            definer: None,
            user: catalog.authorization().map(|authorization| authorization.user().to_string()),
            limits: limits_of(state),
        },
    ))
}

/// The processes of functions; an error where there may be none.
pub(super) fn workers(catalog: &StoreCatalog) -> Result<Arc<PythonWorkers>, EngineError> {
    let hint = "who runs it allows them: quiver serve --python /usr/bin/python3";
    let workers = catalog.engine.python().cloned();
    workers.ok_or_else(|| EngineError::unsupported("a function in Python on this server", Some(hint)))
}

/// A procedure, and the columns of its result in the types of SQL.
pub async fn python_procedure(
    catalog: &StoreCatalog,
    state: &SessionState,
    definition: &FunctionDefinition,
    definer: Option<String>,
) -> Result<(PythonFunction, SchemaRef), EngineError> {
    let types = types_of(catalog, state, definition).await?;
    Ok((python_code(catalog, state, definition, &types)?.of_definer(definer), Arc::new(Schema::new(types.results))))
}

pub fn python_scalar(
    catalog: &StoreCatalog,
    state: &SessionState,
    definition: &FunctionDefinition,
    types: &SignatureTypes,
) -> Result<UserScalar, EngineError> {
    let function = python_code(catalog, state, definition, types)?;
    Ok(python_functions::scalar_function(function, &types.parameters, types.result()?, definition.volatility))
}

pub fn python_aggregate(
    catalog: &StoreCatalog,
    state: &SessionState,
    definition: &FunctionDefinition,
    types: &SignatureTypes,
) -> Result<UserAggregate, EngineError> {
    let function = python_code(catalog, state, definition, types)?;
    let memory = StatementMemory::of(state.config_options()).cloned();
    Ok(python_functions::aggregate_function(function, &types.parameters, types.result()?, memory))
}
