//! The code of functions that are not in SQL: from their definitions in the store, or in a plan of another node.

use std::sync::Arc;

use arrow::buffer::Buffer;
use arrow::datatypes::Schema;
use datafusion::common::{Column, ScalarValue};
use datafusion::execution::SessionState;
use datafusion::logical_expr::{AggregateUDF, Expr, ScalarUDF, lit, when};
use pmem_store::objects::ObjectKind;
use pmem_store::{DEFAULT_NAMESPACE, StoreError, said_name};

use super::built_in::is_built_in;
use super::function_signatures::{SignatureTypes, limits_of, parsed_definition, types_of};
use super::plan_functions::PLAN_FUNCTIONS_SIZE_MAX;
use super::provider::StoreCatalog;
use super::python_functions::{python_aggregate, python_code, python_scalar, workers};
use super::stored_name::resolve;
use crate::access::Authorization;
use crate::user_tables::TableFunction;
use common::error::EngineError;
use common::memory::StatementMemory;
use common::names::FUNCTION_PARAMETERS;
use common::privilege::Privilege;
use common::user_functions::{PortableFunction, UserAggregate, UserScalar};
use semantics::functions::InlineDefinition;
use sql::functions::{CodeReturns, FunctionBody, FunctionDefinition, ModuleSource, Parameter};
use wasm_functions::{CompiledModule, content_hash};

/// An error if the code cannot be used.
pub async fn check_code(catalog: &StoreCatalog, state: &SessionState, definition: &FunctionDefinition) -> Result<(), EngineError> {
    let types = types_of(catalog, state, definition).await?;
    match &definition.body {
        FunctionBody::Python { .. } => {
            let name = definition.name.table();
            python_code(catalog, state, definition, &types)?.check().map_err(|error| error.of(name))
        }
        FunctionBody::Module { returns: CodeReturns::Table(_), .. } => {
            table_function(catalog, state, definition, &types, portable(catalog, definition)?).map(drop)
        }
        _ if definition.is_aggregate() => aggregate(catalog, state, definition, &types, portable(catalog, definition)?).map(drop),
        _ => scalar(catalog, state, definition, &types, portable(catalog, definition)?).map(drop),
    }
}

/// The definition with a function in another language as its body.
pub(super) fn inline_code(
    catalog: &StoreCatalog,
    state: &SessionState,
    definition: &FunctionDefinition,
    types: SignatureTypes,
) -> Result<InlineDefinition, EngineError> {
    let (function, returns) = (scalar(catalog, state, definition, &types, portable(catalog, definition)?)?, types.result()?);
    let parameters = types.parameters.to_vec();
    let columns: Vec<Expr> = parameters.iter().map(|field| Expr::Column(Column::new(Some(FUNCTION_PARAMETERS), field.name()))).collect();
    let is_null = columns.iter().cloned().map(Expr::is_null).reduce(Expr::or);
    let call = ScalarUDF::from(function).call(columns);
    let body = match is_null.filter(|_| definition.is_strict) {
        Some(is_null) => when(is_null, lit(ScalarValue::try_from(returns.data_type())?)).otherwise(call)?,
        None => call,
    };
    Ok(InlineDefinition { parameters, returns, body })
}

/// What another engine needs of it.
pub(super) fn portable(catalog: &StoreCatalog, definition: &FunctionDefinition) -> Result<Arc<PortableFunction>, EngineError> {
    let module = match &definition.body {
        FunctionBody::Module { module, .. } => Some(module_bytes(catalog, module)?),
        _ => None,
    };
    let (text, hash) = (definition.text.clone(), content_hash(definition.text.as_bytes()));
    let name = definition.name.table().to_string();
    Ok(Arc::new(PortableFunction { name, language: definition.language(), text, module, hash, is_sent: false }))
}

fn scalar(
    catalog: &StoreCatalog,
    state: &SessionState,
    definition: &FunctionDefinition,
    types: &SignatureTypes,
    portable: Arc<PortableFunction>,
) -> Result<UserScalar, EngineError> {
    let name = definition.name.table();
    let function = match &definition.body {
        FunctionBody::Module { module: source, .. } => {
            let (module, limits) = (compiled_module(catalog, definition, source, &portable)?, limits_of(state));
            let (parameters, returns) = (&types.parameters, types.result()?);
            let function =
                wasm_functions::scalar_function(name, &source.symbol, module, parameters, returns, definition.volatility, limits);
            function.map_err(|error| error.of(name))?
        }
        FunctionBody::Python { .. } => python_scalar(catalog, state, definition, types)?,
        _ => return Err(EngineError::internal("this is no scalar function")),
    };
    Ok(function.with_portable(portable))
}

/// An aggregate in another language. `state` is that of the statement.
pub(super) fn aggregate(
    catalog: &StoreCatalog,
    state: &SessionState,
    definition: &FunctionDefinition,
    types: &SignatureTypes,
    portable: Arc<PortableFunction>,
) -> Result<UserAggregate, EngineError> {
    let name = definition.name.table();
    let function = match &definition.body {
        FunctionBody::Module { module: source, .. } => {
            let (module, limits) = (compiled_module(catalog, definition, source, &portable)?, limits_of(state));
            let memory = StatementMemory::of(state.config_options()).cloned();
            let (parameters, returns) = (&types.parameters, types.result()?);
            let function = wasm_functions::aggregate_function(name, &source.symbol, module, parameters, returns, limits, memory);
            function.map_err(|error| error.of(name))?
        }
        _ => python_aggregate(catalog, state, definition, types)?,
    };
    Ok(function.with_portable(portable))
}

/// A function in another language that is called in FROM.
pub(super) fn table_function(
    catalog: &StoreCatalog,
    state: &SessionState,
    definition: &FunctionDefinition,
    types: &SignatureTypes,
    portable: Arc<PortableFunction>,
) -> Result<TableFunction, EngineError> {
    let (name, columns) = (definition.name.table(), Arc::new(Schema::new(types.results.clone())));
    let is_table: Vec<bool> = definition.parameters.iter().map(Parameter::is_table).collect();
    let table_count = is_table.iter().filter(|is_table| **is_table).count();
    let kernel = match &definition.body {
        FunctionBody::Module { module: source, .. } => {
            let (module, limits) = (compiled_module(catalog, definition, source, &portable)?, limits_of(state));
            let function = wasm_functions::table_function(name, &source.symbol, module, is_table, Arc::clone(&columns), limits);
            function.map_err(|error| error.of(name))?
        }
        _ => python_functions::table_function(python_code(catalog, state, definition, types)?, Arc::clone(&columns)),
    };
    Ok(TableFunction::new(portable, types.parameters.clone(), table_count, columns, kernel))
}

/// The module with the content that the function was created with.
fn compiled_module(
    catalog: &StoreCatalog,
    definition: &FunctionDefinition,
    source: &ModuleSource,
    portable: &PortableFunction,
) -> Result<Arc<CompiledModule>, EngineError> {
    let name = definition.name.table();
    let Some(content) = &portable.module else { return Err(EngineError::internal(format!("function {name} has no module"))) };
    if source.hash.as_ref().is_some_and(|hash| *hash != content_hash(content)) {
        let kind = definition.kind();
        let message = format!("{kind} {name}: blob {} has another content than when the {kind} was created", source.blob);
        let hint = Some(format!("CREATE OR REPLACE {} {name} … takes the new one", kind.to_uppercase()));
        return Err(EngineError::Sql { message, position: None, hint });
    }
    catalog.engine.modules()?.module(content, !portable.is_sent).map_err(|error| error.of(name))
}

/// Whoever may call the function need not see the blob.
pub fn module_bytes(catalog: &StoreCatalog, source: &ModuleSource) -> Result<Buffer, EngineError> {
    let (namespace, name) = resolve(&source.blob)?;
    let (objects, blobs) = match catalog.functions_version {
        None => (catalog.snapshot().objects()?, catalog.snapshot().blobs()?),
        Some(version) => catalog.engine.store().objects_at(version)?,
    };
    let found = objects.named(ObjectKind::Blob, &namespace, &name)?;
    let content = found.map(|blob| blobs.content(blob.id)).transpose()?.flatten();
    content.ok_or_else(|| StoreError::DoesNotExist { kind: "blob", name: said_name(&namespace, &name) }.into())
}

/// A function that came with a plan.
#[derive(Debug, Clone)]
pub enum PlanFunction {
    Scalar(Arc<ScalarUDF>),
    Aggregate(Arc<AggregateUDF>),
    /// It is called in FROM.
    Table(Arc<TableFunction>),
}

/// The function with this name and hash, whose text and module are those of `sent`, or came with an earlier plan of the same user. `None` if neither
/// is so. The user needs the privileges of who creates such a function.
pub async fn plan_function(
    catalog: &StoreCatalog,
    state: &SessionState,
    name: &str,
    hash: &str,
    sent: Option<(String, Option<Buffer>)>,
) -> Result<Option<PlanFunction>, EngineError> {
    catalog.count_body()?;
    let user = catalog.user().map(str::to_string);
    let functions = catalog.engine.plan_functions();
    let (is_new, known) = (sent.is_some(), functions.get(&user, hash));
    let (text, module) = match (sent, known) {
        (Some(sent), _) => sent,
        (None, Some(function)) => (function.text.clone(), function.module.clone()),
        (None, None) => return Ok(None),
    };
    let definition = match parsed_definition(state.config_options(), &text)? {
        Some(definition) if content_hash(text.as_bytes()) == hash && definition.name.table() == name => definition,
        _ => return Err(not_in_a_plan(format!("a plan that does not define the function \"{name}\" that it names"))),
    };
    check_language(catalog, definition.language())?;
    if definition.is_procedure() || is_built_in(state, name) {
        return Err(not_in_a_plan(format!("{} \"{name}\" in a plan", definition.kind())));
    }
    if let FunctionBody::Module { module: source, .. } = &definition.body
        && (source.hash.is_none() || module.is_none())
    {
        return Err(not_in_a_plan(format!("the function \"{name}\" without its module")));
    }
    let portable =
        PortableFunction { name: name.to_string(), language: definition.language(), text, module, hash: hash.to_string(), is_sent: true };
    if portable.size_bytes() > PLAN_FUNCTIONS_SIZE_MAX {
        return Err(not_in_a_plan(format!("a function of more than {PLAN_FUNCTIONS_SIZE_MAX} bytes in a plan")));
    }
    // Where the zone of a session is another one, its types are not sent.
    let mut in_utc = state.clone();
    in_utc.config_mut().options_mut().execution.time_zone = Some("UTC".into());
    let (types, portable) = (types_of(catalog, &in_utc, &definition).await?, Arc::new(portable));
    let made = match () {
        () if definition.is_aggregate() => {
            PlanFunction::Aggregate(Arc::new(aggregate(catalog, state, &definition, &types, Arc::clone(&portable))?.into()))
        }
        () if definition.is_scalar() => {
            PlanFunction::Scalar(Arc::new(scalar(catalog, state, &definition, &types, Arc::clone(&portable))?.into()))
        }
        () => PlanFunction::Table(Arc::new(table_function(catalog, state, &definition, &types, Arc::clone(&portable))?)),
    };
    if is_new {
        functions.put(user, portable);
    }
    Ok(Some(made))
}

fn not_in_a_plan(what: String) -> EngineError {
    EngineError::unsupported(what, None)
}

/// The languages of the functions that the user may send with a plan.
pub fn plan_languages(catalog: &StoreCatalog) -> Vec<&'static str> {
    ["wasm", "python"].into_iter().filter(|language| check_language(catalog, language).is_ok()).collect()
}

fn check_language(catalog: &StoreCatalog, language: &str) -> Result<(), EngineError> {
    catalog.check(|authorization| match authorization.on_schema(DEFAULT_NAMESPACE).has(Privilege::Create) {
        true => Ok(()),
        false => Err(EngineError::Denied {
            message: format!("you may not send a function: it needs the privilege CREATE on schema {DEFAULT_NAMESPACE}"),
            hint: "SET pushdown = off computes it where you are".into(),
        }),
    })?;
    match language {
        "python" => {
            workers(catalog)?;
            catalog.check(Authorization::create_python)
        }
        "wasm" => Ok(()),
        language => Err(not_in_a_plan(format!("a function in {language} in a plan"))),
    }
}
