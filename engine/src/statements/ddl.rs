//! CREATE and DROP of schemas and views; DROP TABLE. What every statement does that commits, and those that cannot be taken back.

use datafusion::common::{SchemaReference, TableReference};
use datafusion::logical_expr::{CreateView, DdlStatement};
use pmem_store::{DEFAULT_NAMESPACE, StoreError, Transaction, ViewRecord, said_name};

use super::objects::SchemaObjects;
use crate::execution::StatementContext;
use common::error::{EngineError, nearest};
use common::names::{CATALOG, INFORMATION_SCHEMA, SYSTEM, TEMP};
use common::privilege::Privilege;
use sql::tokens::tokenize;
use sql::versions::alias_version;
use table::catalog::resolve;
use table::definition::{EXTERNAL, VIEW};
use table::transactions::state_error;

pub fn run_ddl(ctx: &StatementContext, ddl: DdlStatement) -> Result<(), EngineError> {
    match ddl {
        DdlStatement::CreateCatalogSchema(command) => {
            let name = namespace(&command.schema_name)?;
            if name == TEMP {
                return Err(EngineError::unsupported(
                    "a schema named \"temp\"",
                    Some("temporary tables are found there; choose another name"),
                ));
            }
            if command.if_not_exists && ctx.catalog.snapshot().namespaces()?.contains(&name) {
                return Ok(());
            }
            ctx.catalog.check(|authorization| authorization.create_schema())?;
            commit(ctx, "CREATE SCHEMA", |transaction| transaction.create_namespace(&name))
        }
        DdlStatement::DropCatalogSchema(command) => {
            let name = match &command.name {
                SchemaReference::Bare { schema } => namespace(schema)?,
                SchemaReference::Full { schema, catalog } => namespace(&format!("{catalog}.{schema}"))?,
            };
            if name == DEFAULT_NAMESPACE {
                return Err(EngineError::unsupported(format!("dropping the default schema \"{name}\""), None));
            }
            if command.if_exists && !ctx.catalog.snapshot().namespaces()?.contains(&name) {
                return Ok(());
            }
            ctx.catalog.check(|authorization| match ctx.catalog.snapshot().has_namespace(&name) {
                true => authorization.schema(Privilege::Ownership, &name),
                false => Err(StoreError::DoesNotExist { kind: "schema", name: name.clone() }.into()),
            })?;
            let dropped = SchemaObjects::of(&ctx.catalog.snapshot(), &name)?;
            if !command.cascade && !dropped.is_empty() {
                return Err(StoreError::NamespaceNotEmpty(name).into());
            }
            commit(ctx, "DROP SCHEMA", |transaction| {
                dropped.remove(transaction)?;
                transaction.drop_namespace(&name, command.cascade)
            })
        }
        DdlStatement::CreateView(command) => create_view(ctx, command),
        DdlStatement::DropTable(command) => drop_named(ctx, &command.name, command.if_exists, "table"),
        DdlStatement::DropView(command) => drop_named(ctx, &command.name, command.if_exists, "view"),
        DdlStatement::CreateCatalog(_) => {
            Err(EngineError::unsupported("CREATE DATABASE", Some("a store is one database; use CREATE SCHEMA")))
        }
        DdlStatement::CreateIndex(_) => {
            Err(EngineError::unsupported("CREATE INDEX", Some("zone statistics prune scans; order the table with ORDER BY")))
        }
        other => Err(EngineError::unsupported(other.name().to_string(), None)),
    }
}

fn create_view(ctx: &StatementContext, command: CreateView) -> Result<(), EngineError> {
    if command.temporary {
        return Err(EngineError::unsupported("CREATE TEMPORARY VIEW", None));
    }
    let (namespace, name) = resolve(&command.name)?;
    // The definition is the whole statement; the view shows only the part after AS.
    let definition = command.definition.unwrap_or_default();
    let sql = view_query(&definition)?;
    let record = ViewRecord::new(&namespace, &name, VIEW, &sql);
    check_new_view(ctx, &record, command.or_replace)?;
    commit(ctx, "CREATE VIEW", |transaction| transaction.create_view(record, command.or_replace))
}

/// Only the owner of a view may replace it.
pub fn check_new_view(ctx: &StatementContext, view: &ViewRecord, or_replace: bool) -> Result<(), EngineError> {
    ctx.catalog.check(|authorization| match ctx.catalog.snapshot().view(&view.namespace, &view.name)? {
        Some(old_view) if or_replace => authorization.view(Privilege::Ownership, &old_view),
        _ => authorization.schema(Privilege::Create, &view.namespace),
    })
}

/// The query of a CREATE VIEW statement, with the view's column names in it.
fn view_query(definition: &str) -> Result<String, EngineError> {
    use datafusion::sql::sqlparser::{ast, parser::Parser};
    use sql::dialect::QuiverDialect;
    let dialect = QuiverDialect;
    let mut parsed = tokenize(definition, &dialect)
        .and_then(|tokens| Parser::new(&dialect).with_tokens_with_locations(tokens).parse_statements())
        .map_err(|error| EngineError::internal(format!("a view's text cannot be read again: {error}")))?;
    match parsed.pop() {
        Some(ast::Statement::CreateView(mut view)) => {
            alias_version(&mut view.query);
            if view.columns.is_empty() {
                return Ok(view.query.to_string());
            }
            let names: Vec<String> = view.columns.iter().map(|column| column.name.to_string()).collect();
            Ok(format!("SELECT * FROM ({}) AS v({})", view.query, names.join(", ")))
        }
        _ => Err(EngineError::internal("a view's text is not a CREATE VIEW")),
    }
}

pub fn drop_named(ctx: &StatementContext, name: &TableReference, if_exists: bool, kind: &'static str) -> Result<(), EngineError> {
    let temporary = ctx.catalog.temporary();
    if let Some(table) = temporary.named(name) {
        if kind != "table" {
            let message = format!("\"{}\" is a temporary table, not a {kind}", table.name);
            let hint = Some("use DROP TABLE, or name the view with its schema".into());
            return Err(EngineError::Sql { message, position: None, hint });
        }
        temporary.drop_table(&table.name);
        return Ok(());
    }
    let (namespace, name) = resolve(name)?;
    let snapshot = ctx.catalog.snapshot();
    let table = snapshot.table_record(&namespace, &name);
    let view = snapshot.view(&namespace, &name)?;
    ctx.catalog.check(|authorization| match (table, &view) {
        (Some(table), _) => authorization.table(Privilege::Ownership, table),
        (None, Some(view)) => authorization.view(Privilege::Ownership, view),
        (None, None) => Ok(()),
    })?;
    let is_external = view.as_ref().is_some_and(|view| view.kind == EXTERNAL);
    match (kind, table, &view) {
        ("table" | "array", Some(table), _) if (kind == "array") == table.is_array() => {
            commit(ctx, &format!("DROP {}", kind.to_uppercase()), |transaction| {
                transaction.drop_table(&namespace, &name)?;
                transaction.remove_objects(&[table.id])
            })
        }
        ("table" | "view", None, Some(view)) if (kind == "table") == is_external => {
            let operation = if is_external { "DROP EXTERNAL TABLE" } else { "DROP VIEW" };
            commit(ctx, operation, |transaction| {
                transaction.drop_view(&namespace, &name)?;
                transaction.remove_objects(&[view.id])
            })
        }
        (_, None, None) if if_exists => Ok(()),
        (_, None, None) => {
            let listing = ctx.catalog.listing()?;
            let near = nearest(&name, listing.iter().map(|listed| listed.name.as_str()));
            let hint = near.map(|near| format!("did you mean \"{near}\"?"));
            Err(EngineError::Sql { message: format!("{kind} \"{}\" does not exist", said_name(&namespace, &name)), position: None, hint })
        }
        _ => {
            let (is, use_instead) = match table {
                Some(table) if table.is_array() => ("an array", "DROP ARRAY"),
                Some(_) => ("a table", "DROP TABLE"),
                None if is_external => ("a table", "DROP TABLE"),
                None => ("a view", "DROP VIEW"),
            };
            let message = format!("\"{name}\" is {is}, not {} {kind}", if kind == "array" { "an" } else { "a" });
            Err(EngineError::Sql { message, position: None, hint: Some(format!("use {use_instead}")) })
        }
    }
}

pub fn commit(
    ctx: &StatementContext,
    operation: &str,
    change: impl FnOnce(&mut Transaction) -> Result<(), StoreError>,
) -> Result<(), EngineError> {
    ctx.catalog.write_scope().change(operation, change)
}

fn namespace(name: &str) -> Result<String, EngineError> {
    let (catalog, name) = name.split_once('.').unwrap_or((CATALOG, name));
    if catalog != CATALOG || name == INFORMATION_SCHEMA || name == SYSTEM {
        return Err(EngineError::unsupported(format!("a schema named \"{name}\" in \"{catalog}\""), None));
    }
    Ok(name.to_string())
}

/// An error in a transaction, of a statement whose effect ROLLBACK would not undo.
pub fn refuse_transaction(ctx: &StatementContext, what: &str) -> Result<(), EngineError> {
    match ctx.catalog.transaction().is_open() {
        true => Err(state_error(&format!("{what} cannot be taken back, so it is no part of a transaction"), "end the transaction first")),
        false => Ok(()),
    }
}
