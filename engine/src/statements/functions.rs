//! CREATE and DROP of functions and procedures.

use std::collections::HashSet;
use std::sync::Arc;

use arrow::buffer::Buffer;
use arrow::datatypes::{DataType, FieldRef};
use datafusion::common::DataFusionError;
use datafusion::sql::parser::Statement;
use datafusion::sql::planner::object_name_to_table_reference;
use datafusion::sql::sqlparser::ast;
use datafusion::sql::sqlparser::parser::ParserError;
use pmem_store::objects::{ObjectCatalog, ObjectKind, ObjectRecord};
use pmem_store::{StoreError, Visibility};

use super::ddl::commit;
use super::objects::names::{check_changeable, check_owner, new_object};
use crate::execution::StatementContext;
use common::clock::now_ms;
use common::error::EngineError;
use common::type_names::qualified;
use sql::functions::{
    CreateFunction, DropFunction, FunctionBody, FunctionDefinition, Parameter, calls_of, passes_on, scalar_query, signature_query,
    table_calls_of, table_query,
};
use sql::{ArrayStatement, FunctionStatement, Parsed, kept_statement};
use table::access::Authorization;
use table::catalog::{UserFunction, check_code, inline_definition, is_built_in, module_bytes, resolve, statement_of};
use wasm_functions::content_hash;

/// The parser takes their calls for something else.
const OF_THE_PARSER: [&str; 12] =
    ["unnest", "extract", "any", "all", "some", "if", "values", "exists", "position", "grouping", "cast", "interval"];

pub async fn create(ctx: &StatementContext, create: CreateFunction) -> Result<(), EngineError> {
    let CreateFunction { mut definition, or_replace, if_not_exists } = create;
    if let FunctionBody::Module { module, .. } = &mut definition.body
        && module.hash.is_none()
    {
        // The text says which content is meant, so that a blob that changes later does not change the function.
        let (blob_namespace, blob_name) = resolve(&module.blob)?;
        ObjectCatalog::of(&ctx.catalog.snapshot())?.named(ObjectKind::Blob, &blob_namespace, &blob_name)?;
        let hash = content_hash(&module_bytes(&ctx.catalog, module)?);
        definition.text.push_str(&format!(" HASH '{hash}'"));
        module.hash = Some(hash);
    }
    let (namespace, name) = resolve(&definition.name)?;
    let kind = definition.kind();
    if is_built_in(&ctx.state, &name) || OF_THE_PARSER.contains(&name.as_str()) {
        let message = format!("there is a built-in function \"{name}\"");
        let hint = Some(format!("choose another name for the {kind}"));
        return Err(EngineError::Sql { message, position: None, hint });
    }
    let found = UserFunction::named(&ctx.catalog.snapshot(), ctx.state.config_options(), &definition.name)?;
    let types = parameter_types(ctx, &definition.parameters).await?;
    check_body(ctx, &definition).await?;
    let (object, mut definitions) = match found {
        Some(function) => {
            check_owner(ctx, &function.object)?;
            check_changeable(&function.object)?;
            check_definer(ctx, &function, &definition)?;
            let there = function.kind();
            if there != kind {
                let message = format!("there is {} {there} \"{name}\"; another kind of function cannot have its name", article(there));
                return Err(EngineError::Sql { message, position: None, hint: None });
            }
            (function.object, function.definitions)
        }
        None if definition.is_definer && ctx.catalog.user().is_none() && ctx.engine.store.access().has_users() => {
            let message = "SECURITY DEFINER gives the rights of who creates the procedure, and no user creates this one".to_string();
            return Err(EngineError::Sql { message, position: None, hint: Some("connect as a user".into()) });
        }
        None => {
            let object = new_object(ctx, ObjectKind::Function, namespace.clone(), name.clone())?;
            // The user may not see the function of this name.
            ObjectCatalog::of(&ctx.catalog.snapshot())?.objects().require_free_name(&object)?;
            (object, Vec::new())
        }
    };
    let position = match (definition.is_aggregate(), definitions.len()) {
        // An aggregate has one definition: its calls are resolved by the name alone.
        (true, count) => count.checked_sub(1),
        (false, _) => position_of(ctx, &definitions, &definition, &types).await?,
    };
    match position {
        None => definitions.push(definition),
        Some(_) if if_not_exists => return Ok(()),
        Some(at) if or_replace => definitions[at] = definition,
        Some(at) => {
            let signature = definitions[at].signature();
            let hint = Some(format!("CREATE OR REPLACE {} changes it", kind.to_uppercase()));
            return Err(EngineError::Sql { message: format!("{kind} {signature} is there already"), position: None, hint });
        }
    }
    ctx.catalog.write_scope().check_writable()?;
    let object = ObjectRecord { changed_at_ms: now_ms(), ..object };
    let text = Buffer::from(UserFunction::text(&definitions)?.into_bytes());
    commit(ctx, &format!("CREATE {}", kind.to_uppercase()), |transaction| transaction.put_blobs(vec![(object, text)]))
}

/// A procedure with SECURITY DEFINER has the rights of who created it, so nobody else may say what it does: not even who owns it by a grant.
fn check_definer(ctx: &StatementContext, function: &UserFunction, new: &FunctionDefinition) -> Result<(), EngineError> {
    if !new.is_definer {
        return Ok(());
    }
    let name = &function.object.name;
    ctx.catalog.check(|authorization| match authorization.made(function.object.ownership()) {
        true => Ok(()),
        false => Err(EngineError::Denied {
            message: format!(
                "you may not make procedure {name} SECURITY DEFINER: somebody else has created it, whose rights it would have"
            ),
            hint: format!("DROP PROCEDURE {name} first, and create it yourself"),
        }),
    })
}

fn article(word: &str) -> &'static str {
    if word.starts_with('a') { "an" } else { "a" }
}

/// The definition that takes the same types; of functions in FROM, whose arguments have no types before they are planned, the one that takes
/// as many arguments.
async fn position_of(
    ctx: &StatementContext,
    definitions: &[FunctionDefinition],
    new: &FunctionDefinition,
    types: &[FieldRef],
) -> Result<Option<usize>, EngineError> {
    for (at, definition) in definitions.iter().enumerate() {
        if !has_tables_at_the_same_places(&definition.parameters, &new.parameters) {
            if definition.parameters.len() == new.parameters.len() && !new.is_scalar() {
                return Err(takes_as_many(definition, new));
            }
            continue;
        }
        if definition.is_scalar() != new.is_scalar() {
            let message = format!("{} is there already, and is called in {}", definition.signature(), called_in(definition));
            let hint = Some("definitions of one name with as many parameters are called in the same places".to_string());
            return Err(EngineError::Sql { message, position: None, hint });
        }
        let others = parameter_types(ctx, &definition.parameters).await?;
        let is_same = types.iter().zip(&others).all(|(one, other)| one.data_type() == other.data_type());
        if is_same {
            return Ok(Some(at));
        }
        if !new.is_scalar() {
            return Err(takes_as_many(definition, new));
        }
    }
    Ok(None)
}

fn takes_as_many(definition: &FunctionDefinition, new: &FunctionDefinition) -> EngineError {
    let message = format!("{} is there already, and takes as many arguments", definition.signature());
    let hint = Some(format!("drop it first, or give the new {} another number of parameters", new.kind()));
    EngineError::Sql { message, position: None, hint }
}

fn has_tables_at_the_same_places(one: &[Parameter], other: &[Parameter]) -> bool {
    one.len() == other.len() && one.iter().zip(other).all(|(one, other)| one.is_table() == other.is_table())
}

fn called_in(definition: &FunctionDefinition) -> &'static str {
    if definition.is_scalar() { "expressions" } else { "FROM" }
}

/// The types of the parameters that are no tables, in this session.
pub async fn parameter_types(ctx: &StatementContext, parameters: &[Parameter]) -> Result<Vec<FieldRef>, EngineError> {
    let parameters: Vec<Parameter> = parameters.iter().filter(|parameter| !parameter.is_table()).cloned().collect();
    if parameters.is_empty() {
        return Ok(Vec::new());
    }
    let plan = ctx.plan_query(statement_of(signature_query(&parameters).map_err(malformed)?), Vec::new()).await?;
    Ok(plan.schema().fields().iter().map(Arc::clone).collect())
}

/// Plans a new definition, so that its errors are found now.
async fn check_body(ctx: &StatementContext, definition: &FunctionDefinition) -> Result<(), EngineError> {
    match &definition.body {
        FunctionBody::Scalar { returns, query } => {
            check_recursion(ctx, definition, &statement_of(query.as_ref().clone()))?;
            let plan = ctx.plan_query(statement_of(scalar_query(definition, returns, query).map_err(malformed)?), Vec::new()).await?;
            inline_definition(definition, plan)?;
        }
        FunctionBody::Module { .. } => check_code(&ctx.catalog, &ctx.state, definition).await?,
        FunctionBody::Python { .. } => {
            ctx.catalog.check(Authorization::create_python)?;
            check_code(&ctx.catalog, &ctx.state, definition).await?;
        }
        FunctionBody::Table { columns, query } => {
            check_recursion(ctx, definition, &statement_of(query.as_ref().clone()))?;
            let names: Vec<&str> = definition.parameters.iter().map(|parameter| parameter.name.as_str()).collect();
            // Functions in FROM have columns only for values: `read_csv(path)`.
            if passes_on(query, definition.name.table(), &names) {
                return Ok(());
            }
            let null = sql::fragments::expr_of("NULL").map_err(malformed)?;
            let arguments = vec![null; definition.parameters.len()];
            let with_nulls = table_query(definition, columns, query, &arguments).map_err(malformed)?;
            ctx.plan_query(statement_of(with_nulls), Vec::new()).await?;
        }
        FunctionBody::Procedure { statements } => {
            for statement in statements {
                check_statement(ctx, statement)?;
                if definition.is_definer {
                    check_definer_statement(ctx, statement)?;
                }
            }
        }
    }
    Ok(())
}

/// A body that calls its own function, or one that does, would be put into itself for ever.
fn check_recursion(ctx: &StatementContext, definition: &FunctionDefinition, body: &Statement) -> Result<(), EngineError> {
    let own = resolve(&definition.name)?;
    let all = UserFunction::all(&ctx.catalog.snapshot(), ctx.state.config_options(), Vec::new())?;
    let (mut unseen, mut seen) = (called_names(body), HashSet::new());
    while let Some(name) = unseen.pop() {
        if name == own {
            let name = definition.name.table();
            return Err(EngineError::Sql {
                message: format!("the body of {name} calls {name}: functions in SQL cannot be recursive"),
                position: None,
                hint: Some("WITH RECURSIVE is for what repeats".into()),
            });
        }
        let Some(called) = all.iter().find(|function| (&function.object.namespace, &function.object.name) == (&name.0, &name.1)) else {
            continue;
        };
        if seen.insert(name) {
            unseen.extend(called.definitions.iter().filter_map(body_of).flat_map(|body| called_names(&body)));
        }
    }
    Ok(())
}

/// The query of a definition in SQL.
fn body_of(definition: &FunctionDefinition) -> Option<Statement> {
    match &definition.body {
        FunctionBody::Scalar { query, .. } | FunctionBody::Table { query, .. } => Some(statement_of(query.as_ref().clone())),
        FunctionBody::Procedure { .. } | FunctionBody::Module { .. } | FunctionBody::Python { .. } => None,
    }
}

/// Namespaces and names.
fn called_names(statement: &Statement) -> Vec<(String, String)> {
    let calls = calls_of(statement).into_iter().chain(table_calls_of(statement));
    calls.filter_map(|call| resolve(&object_name_to_table_reference(call, true).ok()?).ok()).collect()
}

fn calls(statement: &Statement, namespace: &str, name: &str) -> bool {
    called_names(statement).iter().any(|(schema, called)| schema == namespace && called == name)
}

/// The tables of a procedure may be made by it, so only its syntax is checked.
pub fn check_statement(ctx: &StatementContext, statement: &str) -> Result<(), EngineError> {
    let is_allowed = match sql::parse(&ctx.state, statement)? {
        Parsed::Statement(statement) => match statement.as_ref() {
            Statement::Statement(inner) => {
                is_about_rows(inner)
                    || matches!(
                        inner.as_ref(),
                        ast::Statement::CreateView(_) | ast::Statement::CreateSchema { .. } | ast::Statement::Drop { .. }
                    )
            }
            Statement::CreateExternalTable(_) => true,
            _ => false,
        },
        Parsed::CreateTable(..) | Parsed::AlterTable(..) | Parsed::Objects(_) | Parsed::Arrays(_) | Parsed::Summarize(_) => true,
        Parsed::CopyFrom(_) | Parsed::CopyTo(_) => true,
        Parsed::Functions(statement) => matches!(statement, FunctionStatement::Call { .. }),
        Parsed::Access(_) | Parsed::Versions(_) | Parsed::Maintenance(_) => false,
    };
    match is_allowed {
        true => Ok(()),
        false => {
            let what: String = statement.split_whitespace().take(2).collect::<Vec<_>>().join(" ");
            let hint = "a procedure is one transaction, and its statements are queries, changes of rows, tables and objects, and CALL";
            Err(EngineError::unsupported(format!("{what} in a procedure"), Some(hint)))
        }
    }
}

fn is_about_rows(statement: &ast::Statement) -> bool {
    matches!(
        statement,
        ast::Statement::Query(_)
            | ast::Statement::Insert(_)
            | ast::Statement::Update(_)
            | ast::Statement::Delete(_)
            | ast::Statement::Merge(_)
            | ast::Statement::Truncate(_)
    )
}

/// What a statement creates belongs to who calls the procedure, also where it has the rights of its owner.
pub fn check_definer_statement(ctx: &StatementContext, statement: &str) -> Result<(), EngineError> {
    let is_allowed = match sql::parse(&ctx.state, statement)? {
        Parsed::Statement(statement) => match statement.as_ref() {
            Statement::Statement(inner) => is_about_rows(inner),
            _ => false,
        },
        Parsed::Arrays(statement) => matches!(statement, ArrayStatement::Update { .. }),
        Parsed::Functions(FunctionStatement::Call { .. }) | Parsed::Summarize(_) => true,
        _ => false,
    };
    let what = || statement.split_whitespace().take(2).collect::<Vec<_>>().join(" ");
    if is_allowed { Ok(()) } else { Err(for_definer(&what())) }
}

pub fn for_definer(what: &str) -> EngineError {
    let hint =
        "with the rights of its owner a procedure reads and changes rows; create what it needs before, or leave SECURITY DEFINER out";
    EngineError::unsupported(format!("{what} in a procedure with SECURITY DEFINER"), Some(hint))
}

pub fn malformed(error: ParserError) -> EngineError {
    EngineError::from(DataFusionError::from(error))
}

pub async fn drop_function(ctx: &StatementContext, dropped: DropFunction) -> Result<(), EngineError> {
    let DropFunction { name, types, if_exists, is_procedure } = dropped;
    let kind = if is_procedure { "procedure" } else { "function" };
    let (namespace, bare) = resolve(&name)?;
    let missing = |what: String| Err(StoreError::DoesNotExist { kind, name: what }.into());
    let full_name = qualified(&namespace, &bare);
    let found = UserFunction::named(&ctx.catalog.snapshot(), ctx.state.config_options(), &name)?
        .filter(|function| function.is_procedure() == is_procedure);
    let Some(UserFunction { object, mut definitions }) = found else {
        return if if_exists { Ok(()) } else { missing(bare) };
    };
    check_owner(ctx, &object)?;
    check_changeable(&object)?;
    match types {
        Some(types) => {
            let parameters = types.into_iter().enumerate().map(|(at, data_type)| Parameter { name: format!("p{at}"), data_type });
            let parameters: Vec<Parameter> = parameters.collect();
            let wanted = parameter_types(ctx, &parameters).await?;
            let wanted: Vec<&DataType> = wanted.iter().map(|field| field.data_type()).collect();
            let mut at = None;
            for (position, definition) in definitions.iter().enumerate() {
                let types = parameter_types(ctx, &definition.parameters).await?;
                let is_same = types.iter().map(|field| field.data_type()).eq(wanted.iter().copied());
                if is_same && has_tables_at_the_same_places(&definition.parameters, &parameters) {
                    at = Some(position);
                }
            }
            match at {
                Some(at) => drop(definitions.remove(at)),
                None if if_exists => return Ok(()),
                None => {
                    let there: Vec<String> = definitions.iter().map(FunctionDefinition::signature).collect();
                    let message = format!("{kind} {full_name} has no definition for these types: there is {}", there.join(" and "));
                    return Err(EngineError::Sql { message, position: None, hint: None });
                }
            }
        }
        None if definitions.len() > 1 => {
            let there: Vec<String> = definitions.iter().map(FunctionDefinition::signature).collect();
            let message = format!("{full_name} has several definitions: {}", there.join(", "));
            let hint = Some(format!("write the types of the one that is meant: DROP {} {}", kind.to_uppercase(), there[0]));
            return Err(EngineError::Sql { message, position: None, hint });
        }
        None => definitions.clear(),
    }
    check_unused(ctx, &namespace, &bare, kind)?;
    ctx.catalog.write_scope().check_writable()?;
    let operation = format!("DROP {}", kind.to_uppercase());
    if definitions.is_empty() {
        return commit(ctx, &operation, |transaction| transaction.remove_blobs(&[object.id]));
    }
    let object = ObjectRecord { changed_at_ms: now_ms(), ..object };
    let text = Buffer::from(UserFunction::text(&definitions)?.into_bytes());
    commit(ctx, &operation, |transaction| transaction.put_blobs(vec![(object, text)]))
}

/// An error if a function has this blob as its module.
pub fn check_no_module(ctx: &StatementContext, namespace: &str, name: &str) -> Result<(), EngineError> {
    let is_it = |definition: &FunctionDefinition| match &definition.body {
        FunctionBody::Module { module, .. } => resolve(&module.blob).is_ok_and(|(schema, blob)| schema == namespace && blob == name),
        _ => false,
    };
    let all = UserFunction::all(&ctx.catalog.snapshot(), ctx.state.config_options(), Vec::new())?;
    match all.iter().find(|function| function.definitions.iter().any(is_it)) {
        None => Ok(()),
        Some(function) => {
            let function = qualified(&function.object.namespace, &function.object.name);
            let message = format!("blob {} is the module of function {function}", qualified(namespace, name));
            Err(EngineError::Sql { message, position: None, hint: Some(format!("drop function {function} first")) })
        }
    }
}

/// An error if a view or another function calls it. What the user may not see is found, too, and not named.
fn check_unused(ctx: &StatementContext, namespace: &str, name: &str, kind: &str) -> Result<(), EngineError> {
    let snapshot = ctx.catalog.snapshot();
    let authorization = ctx.catalog.authorization();
    let mut users = Vec::new();
    let mut views = ctx.engine.store.begin_read_only().base().views()?;
    views.extend(snapshot.views()?);
    for view in views {
        let is_hidden = authorization.as_ref().is_some_and(|authorization| !authorization.has_view(&view));
        let is_there = is_hidden || snapshot.view(&view.namespace, &view.name)?.is_some();
        if is_there && kept_statement(&ctx.state, &view.sql).is_ok_and(|statement| calls(&statement, namespace, name)) {
            users.push(if is_hidden { "a view".to_string() } else { format!("view {}", qualified(&view.namespace, &view.name)) });
        }
    }
    // A function that the user does not see is broken by this as it would be by the removal of a table.
    for function in UserFunction::all(&snapshot, ctx.state.config_options(), Vec::new())? {
        if function.object.namespace == namespace && function.object.name == name {
            continue;
        }
        let bodies = function.definitions.iter().filter_map(body_of);
        if bodies.into_iter().any(|body| calls(&body, namespace, name)) {
            users.push(format!("function {}", qualified(&function.object.namespace, &function.object.name)));
        }
    }
    match users.first() {
        None => Ok(()),
        Some(user) => Err(EngineError::Sql {
            message: format!("{kind} {} is used by {user}", qualified(namespace, name)),
            position: None,
            hint: Some(format!("drop {user} first, or change it")),
        }),
    }
}
