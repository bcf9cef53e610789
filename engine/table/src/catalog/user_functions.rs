//! The functions of users that a statement calls. Their definitions are texts in the store, which are parsed and planned at each use, with the
//! rights of who calls them.

use std::collections::HashMap;
use std::sync::Arc;

use datafusion::catalog::TableProvider;
use datafusion::common::config::ConfigOptions;
use datafusion::common::{DataFusionError, Result, TableReference};
use datafusion::datasource::ViewTable;
use datafusion::execution::SessionState;
use datafusion::logical_expr::{Expr, LogicalPlan, ScalarUDF};
use datafusion::sql::parser::Statement;
use datafusion::sql::planner::object_name_to_table_reference;
use datafusion::sql::sqlparser::ast::{self, FunctionArg, FunctionArgExpr, ObjectName, Query};
use pmem_store::Snapshot;
use pmem_store::attributes::AttributeValue;
use pmem_store::objects::{Blobs, Comparison, ObjectCatalog, ObjectKind, ObjectRecord, Objects, Predicate, PropertyKey};

use super::provider::StoreCatalog;
use super::stored_name::resolve;
use super::view::{error_in_text, nested_state};
use common::error::EngineError;
use common::privilege::Privilege;
use common::type_names::qualified;
use semantics::functions::{InlineDefinition, InlineFunction};
use semantics::optimizer::inline_functions;
use sql::functions::{CreateFunction, FunctionBody, FunctionDefinition, scalar_query, table_query};
use sql::{FunctionStatement, Parsed, split_statements};

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
        let definition = |text: &str| match sql::parse_with(options, text)? {
            Parsed::Functions(FunctionStatement::Create(create)) => {
                let CreateFunction { definition, .. } = *create;
                Ok(definition)
            }
            _ => Err(EngineError::internal(format!("the text of function {} is no definition", object.id))),
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
        found.into_iter().map(|object| UserFunction::of(&blobs, options, object)).collect()
    }

    /// The text of all definitions, as the store keeps it.
    pub fn text(definitions: &[FunctionDefinition]) -> String {
        definitions.iter().map(|definition| format!("{};\n", definition.text)).collect()
    }

    pub fn is_procedure(&self) -> bool {
        self.definitions.iter().any(FunctionDefinition::is_procedure)
    }

    pub fn check_execute(&self, catalog: &StoreCatalog) -> Result<(), EngineError> {
        catalog.check(|authorization| authorization.execute(&self.object.name, self.object.ownership()))
    }

    fn is_shown(&self, catalog: &StoreCatalog) -> bool {
        catalog.authorization().is_none_or(|authorization| authorization.on_object(self.object.ownership()).has(Privilege::Ownership))
    }

    fn full_name(&self) -> String {
        qualified(&self.object.namespace, &self.object.name)
    }

    /// The error of a body that cannot be planned.
    fn broken(&self, catalog: &StoreCatalog, state: &SessionState, error: DataFusionError) -> DataFusionError {
        error_in_text(catalog, state, "function", &self.full_name(), self.is_shown(catalog), error)
    }
}

/// The functions that the expressions of a statement call, by the names that the planner asks for.
pub async fn called_functions(
    catalog: &StoreCatalog,
    state: &SessionState,
    calls: Vec<ObjectName>,
    found: &mut HashMap<String, Arc<ScalarUDF>>,
) -> Result<()> {
    for call in calls {
        // The planner passes qualified names on as they are written.
        let name = match call.0.as_slice() {
            [ast::ObjectNamePart::Identifier(name)] => sql::merged_names::normalized(name),
            _ => call.to_string(),
        };
        if found.contains_key(&name) || is_built_in(state, &name) {
            continue;
        }
        let Some(function) = function_of(catalog, state, call)? else { continue };
        if let Some(scalar) = scalar_function(catalog, state, &function).await? {
            found.insert(name, Arc::new(scalar));
        }
    }
    Ok(())
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

/// Whether statements can call a function of the engine by this name.
pub fn is_built_in(state: &SessionState, name: &str) -> bool {
    state.scalar_functions().contains_key(name)
        || state.aggregate_functions().contains_key(name)
        || state.window_functions().contains_key(name)
        || state.higher_order_functions().contains_key(name)
        || state.table_functions().contains_key(name)
}

/// `None` if it is a procedure, or is only called in FROM.
async fn scalar_function(catalog: &StoreCatalog, state: &SessionState, function: &UserFunction) -> Result<Option<ScalarUDF>> {
    let is_scalar = |definition: &&FunctionDefinition| matches!(definition.body, FunctionBody::Scalar { .. });
    let mut definitions = Vec::new();
    for definition in function.definitions.iter().filter(is_scalar) {
        function.check_execute(catalog).map_err(EngineError::into_datafusion)?;
        let nested = nested_state(catalog, &function.object.name)?;
        let planned = planned_definition(catalog, &nested, definition).await;
        definitions.push(planned.map_err(|error| function.broken(catalog, state, error))?);
    }
    if definitions.is_empty() { Ok(None) } else { InlineFunction::new(&function.object.name, definitions).map(Some) }
}

/// The definition of a scalar function, with types.
async fn planned_definition(catalog: &StoreCatalog, state: &SessionState, definition: &FunctionDefinition) -> Result<InlineDefinition> {
    let FunctionBody::Scalar { returns, query } = &definition.body else {
        return Err(EngineError::internal("this is no scalar function").into_datafusion());
    };
    let plan = catalog.views.plan(state, statement_of(scalar_query(definition, returns, query)?)).await?;
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

fn not_scalar(definition: &FunctionDefinition) -> DataFusionError {
    let message = format!("the body of {} is not one expression of its parameters", definition.signature());
    let hint = Some("aggregates and windows are computed in a subquery, as in RETURN (SELECT max(a) FROM t)".to_string());
    EngineError::Sql { message, position: None, hint }.into_datafusion()
}

fn statement_of(query: Query) -> Statement {
    Statement::Statement(Box::new(ast::Statement::Query(Box::new(query))))
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
        let (definition, values) = called_definition(&function, arguments).map_err(EngineError::into_datafusion)?;
        let FunctionBody::Table { columns, query } = &definition.body else {
            let what =
                if definition.is_procedure() { "is a procedure: CALL runs it" } else { "returns one value: call it in an expression" };
            let message = format!("{} {what}", function.full_name());
            return Err(EngineError::Sql { message, position: None, hint: None }.into_datafusion());
        };
        let nested = nested_state(catalog, &function.object.name)?;
        let statement = statement_of(table_query(definition, columns, query, &values)?);
        let planned = catalog.views.plan(&nested, statement).await;
        planned.map_err(|error| function.broken(catalog, state, error))
    };
    let plan: LogicalPlan = plan_of.await?;
    Ok(Some(Arc::new(ViewTable::new(plan, None))))
}

/// The definition for so many arguments, and these in the order of its parameters.
fn called_definition<'a>(
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
        if sql::functions::has_columns(value) {
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
