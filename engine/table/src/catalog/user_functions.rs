//! The functions of users that a statement calls. Their definitions are texts in the store, which are parsed and planned at each use, with the
//! rights of who calls them.

use std::collections::HashMap;
use std::sync::Arc;

use datafusion::catalog::TableProvider;
use datafusion::common::config::ConfigOptions;
use datafusion::common::{DataFusionError, Result, TableReference};
use datafusion::datasource::ViewTable;
use datafusion::execution::SessionState;
use datafusion::logical_expr::{AggregateUDF, Expr, LogicalPlan, ScalarUDF, Volatility};
use datafusion::sql::planner::object_name_to_table_reference;
use datafusion::sql::sqlparser::ast::{self, FunctionArg, FunctionArgExpr, ObjectName};
use pmem_store::Snapshot;
use pmem_store::attributes::AttributeValue;
use pmem_store::objects::{Blobs, Comparison, ObjectCatalog, ObjectKind, ObjectRecord, Objects, Predicate, PropertyKey};

use super::built_in::is_built_in;
use super::function_code::{aggregate, inline_code, portable};
use super::function_signatures::{check_arguments, parsed_definition, statement_of, types_of};
use super::provider::StoreCatalog;
use super::stored_name::resolve;
use super::table_functions::code_table;
use super::view::{error_in_text, nested_state};
use crate::access::Authorization;
use common::error::EngineError;
use common::privilege::Privilege;
use common::type_names::qualified;
use semantics::functions::{InlineDefinition, InlineFunction};
use semantics::optimizer::inline_functions;
use sql::functions::{CodeReturns, FunctionBody, FunctionDefinition, call_query, scalar_query, table_query};
use sql::{StatementText, split_statements};

/// A function with all its definitions.
pub struct UserFunction {
    pub object: ObjectRecord,
    pub definitions: Vec<FunctionDefinition>,
}

impl UserFunction {
    /// The function or procedure of this name; `None` if there is none that the user may know of.
    pub fn named(snapshot: &Snapshot, options: &ConfigOptions, name: &TableReference) -> Result<Option<UserFunction>, EngineError> {
        UserFunction::found(snapshot, &snapshot.objects()?, &snapshot.blobs()?, options, name)
    }

    /// The same at the version whose functions the statement calls. A user sees of it what the user may see now.
    fn called(catalog: &StoreCatalog, options: &ConfigOptions, name: &TableReference) -> Result<Option<UserFunction>, EngineError> {
        let snapshot = catalog.snapshot();
        match catalog.functions_version {
            None => UserFunction::named(&snapshot, options, name),
            Some(version) => {
                let (objects, blobs) = catalog.engine.store().objects_at(version)?;
                UserFunction::found(&snapshot, &objects, &blobs, options, name)
            }
        }
    }

    fn found(
        snapshot: &Snapshot,
        objects: &Objects,
        blobs: &Blobs,
        options: &ConfigOptions,
        name: &TableReference,
    ) -> Result<Option<UserFunction>, EngineError> {
        let (namespace, name) = resolve(name)?;
        let found = objects.named(ObjectKind::Function, &namespace, &name)?;
        let visible = ObjectCatalog::of(snapshot)?;
        found.filter(|object| visible.sees(object)).map(|object| UserFunction::of(blobs, options, object)).transpose()
    }

    fn of(blobs: &Blobs, options: &ConfigOptions, object: ObjectRecord) -> Result<UserFunction, EngineError> {
        let content = blobs.content(object.id)?;
        let text = content.as_deref().and_then(|content| std::str::from_utf8(content).ok());
        let Some(text) = text else { return Err(EngineError::internal(format!("function {} has no text", object.id))) };
        let definition = |text: &str| {
            let definition = parsed_definition(options, text)?;
            definition.ok_or_else(|| EngineError::internal(format!("the text of function {} is no definition", object.id)))
        };
        let definitions =
            split_statements(text).into_iter().map(|statement| definition(statement.text)).collect::<Result<_, EngineError>>()?;
        Ok(UserFunction { object, definitions })
    }

    /// The functions that a user may know of and for which the conditions hold, by schema and name.
    pub fn all(snapshot: &Snapshot, options: &ConfigOptions, mut conditions: Vec<Predicate>) -> Result<Vec<UserFunction>, EngineError> {
        let value = AttributeValue::Text(ObjectKind::Function.word().to_string());
        conditions.push(Predicate::Compare { key: PropertyKey::Kind, operator: Comparison::Equal, value });
        let mut found = ObjectCatalog::of(snapshot)?.search(&Predicate::And(conditions))?;
        found.sort_by(|one, other| (&one.namespace, &one.name).cmp(&(&other.namespace, &other.name)));
        let blobs = snapshot.blobs()?;
        // A damaged text is an error of who calls the function, and hides no others.
        Ok(found.into_iter().filter_map(|object| UserFunction::of(&blobs, options, object).ok()).collect())
    }

    /// The text of all definitions, as the store keeps it. It is divided into the same definitions when it is read again, so that what one says is no part
    /// of another one.
    pub fn text(definitions: &[FunctionDefinition]) -> Result<String, EngineError> {
        let text: String = definitions.iter().map(|definition| format!("{};\n", definition.text)).collect();
        let pieces = split_statements(&text);
        let is_same = |(piece, definition): (&StatementText<'_>, &FunctionDefinition)| piece.text.trim() == definition.text.trim();
        match pieces.len() == definitions.len() && pieces.iter().zip(definitions).all(is_same) {
            true => Ok(text),
            false => Err(EngineError::unsupported(
                "a comment at this place of a definition",
                Some("write the definition without comments like /*! */"),
            )),
        }
    }

    pub fn is_procedure(&self) -> bool {
        self.definitions.iter().any(FunctionDefinition::is_procedure)
    }

    /// The word for it: all definitions are of the same kind.
    pub fn kind(&self) -> &'static str {
        self.definitions.first().map_or("function", FunctionDefinition::kind)
    }

    pub fn check_execute(&self, catalog: &StoreCatalog) -> Result<(), EngineError> {
        catalog.check(|authorization| authorization.execute(&self.object.name, self.object.ownership()))
    }

    /// Whether the user may see its text.
    pub fn is_shown(&self, authorization: Option<&Authorization>) -> bool {
        authorization.is_none_or(|authorization| authorization.on_object(self.object.ownership()).has(Privilege::Ownership))
    }

    fn full_name(&self) -> String {
        qualified(&self.object.namespace, &self.object.name)
    }

    /// The error of a body that cannot be planned.
    fn broken(&self, catalog: &StoreCatalog, state: &SessionState, error: DataFusionError) -> DataFusionError {
        error_in_text(catalog, state, self.kind(), &self.object.name, self.is_shown(catalog.authorization().as_deref()), error)
    }
}

/// What the expressions of a statement call, by the names that the planner asks for.
#[derive(Debug, Clone, Default)]
pub struct CalledFunctions {
    pub scalars: HashMap<String, Arc<ScalarUDF>>,
    pub aggregates: HashMap<String, Arc<AggregateUDF>>,
}

/// The functions that the expressions of a statement call, by the names that the planner asks for.
pub async fn called_functions(
    catalog: &StoreCatalog,
    state: &SessionState,
    calls: Vec<ObjectName>,
    found: &mut CalledFunctions,
) -> Result<()> {
    for call in calls {
        let name = planner_name(&call);
        if found.scalars.contains_key(&name) || found.aggregates.contains_key(&name) || is_built_in(state, &name) {
            continue;
        }
        let Some(function) = function_of(catalog, state, call)? else { continue };
        if let Some(scalar) = scalar_function(catalog, state, &function).await? {
            found.scalars.insert(name, Arc::new(scalar));
        } else if let Some(aggregate) = aggregate_function(catalog, state, &function).await? {
            found.aggregates.insert(name, Arc::new(aggregate));
        }
    }
    Ok(())
}

/// The name that the planner asks for: it passes qualified ones on as they are written.
pub fn planner_name(call: &ObjectName) -> String {
    match call.0.as_slice() {
        [ast::ObjectNamePart::Identifier(name)] => sql::merged_names::normalized(name),
        _ => call.to_string(),
    }
}

fn function_of(catalog: &StoreCatalog, state: &SessionState, name: ObjectName) -> Result<Option<UserFunction>> {
    match object_name_to_table_reference(name, true) {
        // The schemas `system` and `information_schema` have none.
        Ok(reference) if resolve(&reference).is_ok() => {
            UserFunction::called(catalog, state.config_options(), &reference).map_err(EngineError::into_datafusion)
        }
        _ => Ok(None),
    }
}

/// `None` if it is a procedure, or is only called in FROM.
async fn scalar_function(catalog: &StoreCatalog, state: &SessionState, function: &UserFunction) -> Result<Option<ScalarUDF>> {
    let mut definitions = Vec::new();
    if function.definitions.iter().any(FunctionDefinition::is_scalar) {
        function.check_execute(catalog).map_err(EngineError::into_datafusion)?;
    }
    for definition in function.definitions.iter().filter(|definition| definition.is_scalar()) {
        catalog.count_body().map_err(EngineError::into_datafusion)?;
        let planned = planned_definition(catalog, state, definition).await;
        definitions.push(planned.map_err(|error| function.broken(catalog, state, error))?);
    }
    if definitions.is_empty() {
        Ok(None)
    } else {
        InlineFunction::new(&function.object.name, definitions).map(|function| Some(function.into()))
    }
}

/// The definition of a scalar function, with types.
async fn planned_definition(catalog: &StoreCatalog, state: &SessionState, definition: &FunctionDefinition) -> Result<InlineDefinition> {
    let FunctionBody::Scalar { returns, query } = &definition.body else {
        let types = types_of(catalog, state, definition).await?;
        return inline_code(catalog, state, definition, types).map_err(EngineError::into_datafusion);
    };
    let nested = nested_state(catalog, definition.name.table())?;
    let plan = catalog.views.plan(&nested, statement_of(scalar_query(definition, returns, query)?)).await?;
    inline_definition(definition, plan)
}

/// The definition whose `scalar_query` has this plan.
pub fn inline_definition(definition: &FunctionDefinition, plan: LogicalPlan) -> Result<InlineDefinition> {
    let LogicalPlan::Projection(projection) = inline_functions(plan)? else { return Err(not_scalar(definition)) };
    let ([body], LogicalPlan::SubqueryAlias(parameters)) = (projection.expr.as_slice(), projection.input.as_ref()) else {
        return Err(not_scalar(definition));
    };
    let body: Expr = body.clone().unalias();
    let parameters = if definition.parameters.is_empty() { Vec::new() } else { parameters.schema.fields().to_vec() };
    let returns = Arc::clone(&projection.schema.fields()[0]);
    Ok(InlineDefinition { parameters, returns, body })
}

/// `None` if it is no aggregate, of which there is one definition.
async fn aggregate_function(catalog: &StoreCatalog, state: &SessionState, function: &UserFunction) -> Result<Option<AggregateUDF>> {
    let [definition] = function.definitions.as_slice() else { return Ok(None) };
    if !definition.is_aggregate() {
        return Ok(None);
    }
    function.check_execute(catalog).map_err(EngineError::into_datafusion)?;
    let types = types_of(catalog, state, definition).await?;
    let function = portable(catalog, definition).and_then(|portable| aggregate(catalog, state, definition, &types, portable));
    let function = function.map_err(EngineError::into_datafusion)?;
    Ok(Some(function.into()))
}

fn not_scalar(definition: &FunctionDefinition) -> DataFusionError {
    let message = format!("the body of {} is not one expression of its parameters", definition.signature());
    let hint = Some("aggregates and windows are computed in a subquery, as in RETURN (SELECT max(a) FROM t)".to_string());
    EngineError::Sql { message, position: None, hint }.into_datafusion()
}

/// The rows of a call in FROM; `None` if no function of a user is called.
pub async fn called_table(
    catalog: &StoreCatalog,
    state: &SessionState,
    name: &ObjectName,
    arguments: &[FunctionArg],
) -> Result<Option<Arc<dyn TableProvider>>> {
    if matches!(name.0.as_slice(), [ast::ObjectNamePart::Identifier(name)] if is_built_in(state, &sql::merged_names::normalized(name))) {
        return Ok(None);
    }
    let Some(function) = function_of(catalog, state, name.clone())? else { return Ok(None) };
    let plan_of = async {
        function.check_execute(catalog).map_err(EngineError::into_datafusion)?;
        let (definition, values) = called_definition(state, &function, arguments).map_err(EngineError::into_datafusion)?;
        if let FunctionBody::Python { returns: CodeReturns::Table(_), .. } | FunctionBody::Module { returns: CodeReturns::Table(_), .. } =
            &definition.body
        {
            let portable = portable(catalog, definition).map_err(EngineError::into_datafusion)?;
            return code_table(catalog, state, definition, portable, values).await;
        }
        let FunctionBody::Table { columns, query } = &definition.body else {
            let what = if definition.is_procedure() { "is a procedure: CALL runs it" } else { "returns values: call it in an expression" };
            let message = format!("{} {what}", function.full_name());
            return Err(EngineError::Sql { message, position: None, hint: None }.into_datafusion());
        };
        catalog.count_body().map_err(EngineError::into_datafusion)?;
        let arguments = statement_of(call_query(&definition.parameters, values.clone())?);
        let arguments = catalog.views.plan(state, arguments).await?;
        check_arguments(definition, &arguments).map_err(EngineError::into_datafusion)?;
        let nested = nested_state(catalog, &function.object.name)?;
        let statement = statement_of(table_query(definition, columns, query, &values)?);
        let planned = catalog.views.plan(&nested, statement).await;
        planned.map_err(|error| function.broken(catalog, state, error))
    };
    let plan: LogicalPlan = plan_of.await?;
    Ok(Some(Arc::new(ViewTable::new(plan, None))))
}

/// Whether an expression may differ each time that it is computed.
fn is_volatile(state: &SessionState, argument: &ast::Expr) -> bool {
    sql::functions::calls_in(argument).iter().any(|name| {
        let function = state.scalar_functions().get(&planner_name(name));
        function.is_none_or(|function| function.signature().volatility == Volatility::Volatile)
    })
}

/// The definition for so many arguments, and these in the order of its parameters.
fn called_definition<'a>(
    state: &SessionState,
    function: &'a UserFunction,
    arguments: &[FunctionArg],
) -> Result<(&'a FunctionDefinition, Vec<ast::Expr>), EngineError> {
    let refused = |message: String, hint: Option<&str>| Err(EngineError::Sql { message, position: None, hint: hint.map(str::to_string) });
    let name = &function.object.name;
    let fits = |definition: &&FunctionDefinition| definition.parameters.len() == arguments.len();
    let Some(definition) = function.definitions.iter().find(fits) else {
        let there: Vec<String> = function.definitions.iter().map(FunctionDefinition::signature).collect();
        return refused(format!("{name} is called with {} arguments, and there is {}", arguments.len(), there.join(" and ")), None);
    };
    let mut values: Vec<Option<ast::Expr>> = vec![None; arguments.len()];
    for (at, argument) in arguments.iter().enumerate() {
        let (position, value) = match argument {
            FunctionArg::Unnamed(value) => (Some(at), value),
            FunctionArg::Named { name, arg, .. } => {
                let named = sql::merged_names::normalized(name);
                (definition.parameters.iter().position(|parameter| parameter.name == named), arg)
            }
            FunctionArg::ExprNamed { arg, .. } => (None, arg),
        };
        let (Some(position), FunctionArgExpr::Expr(value)) = (position, value) else {
            return refused(format!("{argument} is no argument of {}", definition.signature()), None);
        };
        let is_table = definition.parameters[position].is_table();
        if !is_table && (sql::functions::has_columns(value) || is_volatile(state, value)) {
            let hint = "a function in FROM takes constants and parameters; a column is compared in WHERE or ON";
            return refused(format!("the argument {value} of {name} is not constant"), Some(hint));
        }
        if values[position].replace(value.clone()).is_some() {
            return refused(format!("{} is given twice to {name}", definition.parameters[position].name), None);
        }
    }
    match values.into_iter().collect::<Option<Vec<_>>>() {
        Some(values) => Ok((definition, values)),
        None => refused(format!("an argument of {} is missing", definition.signature()), None),
    }
}
