//! Views and external tables: statements kept in the catalog and planned again when they are named.

use std::sync::Arc;

use datafusion::catalog::TableProvider;
use datafusion::common::{DataFusionError, Result, TableReference, internal_err, plan_err};
use datafusion::datasource::ViewTable;
use datafusion::execution::SessionState;
use datafusion::logical_expr::{DdlStatement, LogicalPlan};
use datafusion::sql::parser::{CreateExternalTable, Statement};
use datafusion::sql::sqlparser::ast::{Ident, ObjectName};
use pmem_store::ViewRecord;

use super::provider::StoreCatalog;
use super::remote::{is_remote, remote_provider};
use super::zones::table_in_zone;
use crate::engine::EngineShared;
use crate::sql_planner::explain_error::explained;
use crate::sql_planner::plan::planned;
use crate::statements::definition::{external_definition, qualified};
use common::error::kind::ErrorKind;
use common::privilege::Privilege;
use common::switches::switches;
use sql::kept_statement;

pub const VIEW: &str = "view";
pub const EXTERNAL: &str = "external";

/// Views may name views; one that comes to name itself must end somewhere.
const DEPTH_MAX: usize = 64;

const TO_ITSELF: &str = "refers to itself";

tokio::task_local! {
    static DEPTH: usize;
}

/// Names in a statement are being looked up.
pub async fn planning<F: Future>(lookup: F) -> F::Output {
    DEPTH.scope(0, Box::pin(lookup)).await
}

pub fn is_planning() -> bool {
    DEPTH.try_with(|_| ()).is_ok()
}

pub async fn provider(catalog: &StoreCatalog, record: &ViewRecord) -> Result<Arc<dyn TableProvider>> {
    let depth = DEPTH.try_with(|depth| *depth).unwrap_or(0) + 1;
    if depth > DEPTH_MAX {
        return plan_err!("view \"{}\" {TO_ITSELF}", record.name);
    }
    let state = catalog.state.read().upgrade();
    let Some(state) = state.map(|state| state.read().clone()) else {
        return plan_err!("view \"{}\" is used outside a session", record.name);
    };
    let broken = |error| {
        let error = explained("", &state, catalog, error);
        // Says nothing of the view.
        if matches!(error.kind(), ErrorKind::Cancelled | ErrorKind::TimedOut | ErrorKind::Exhausted) {
            return error.into_datafusion();
        }
        let (kind, name) = (&record.kind, &record.name);
        DataFusionError::Plan(match error.to_string() {
            // Whatever else is wrong may name what only those may know of who may see the text.
            _ if !is_shown_to(catalog, record) => {
                format!("{kind} \"{name}\" cannot be used: something in it is gone, or is not there for you")
            }
            // Said once for the whole circle.
            message if message.ends_with(TO_ITSELF) => message,
            message => format!("{kind} \"{name}\" cannot be used any more: {message}"),
        })
    };
    let statement = kept_statement(&state, &record.sql).map_err(|error| broken(error.into_datafusion()))?;
    match statement {
        Statement::CreateExternalTable(table) => {
            // That the node is not there now says nothing of the table.
            let is_remote = is_remote(&table);
            let found = external_provider(&catalog.engine, &state, table).await;
            let found = found.map_err(|error| if is_remote { error } else { broken(error) })?;
            Ok(table_in_zone(found, state.config_options().execution.time_zone.as_deref()))
        }
        statement => {
            let plan = DEPTH.scope(depth, Box::pin(planned(&state, statement))).await.map_err(broken)?;
            let name = qualified(&record.namespace, &record.name);
            Ok(Arc::new(ViewTable::new(plan, Some(format!("CREATE VIEW {name} AS {}", record.sql)))))
        }
    }
}

/// Whether the session's user is told what is in the text of a view: not who was only let read it.
fn is_shown_to(catalog: &StoreCatalog, view: &ViewRecord) -> bool {
    catalog.permit().is_none_or(|permit| permit.on_view(&view.namespace, &view.name).has(Privilege::Ownership))
}

/// The files of a `CREATE EXTERNAL TABLE` as a table, or the table of another node.
///
/// Planning resolves every name in a statement, that of the table it makes too, and so would come
/// back here: it is planned under a name that no table has.
pub async fn external_provider(
    engine: &EngineShared,
    state: &SessionState,
    mut table: CreateExternalTable,
) -> Result<Arc<dyn TableProvider>> {
    if is_remote(&table) {
        let pushdown = switches(state.config_options()).pushdown();
        return Ok(remote_provider(engine.remote_tables.as_ref(), &table, pushdown).await?);
    }
    let name = TableReference::parse_str(&table.name.to_string());
    let definition = external_definition(&table);
    table.name = ObjectName::from(vec![Ident::with_quote('"', "\u{1}")]);
    let plan = state.statement_to_plan(Statement::CreateExternalTable(table)).await?;
    let LogicalPlan::Ddl(DdlStatement::CreateExternalTable(mut command)) = plan else {
        return internal_err!("CREATE EXTERNAL TABLE became {}", plan.display());
    };
    command.name = name;
    command.definition = Some(definition);
    let kind = command.file_type.to_uppercase();
    let factory = state
        .table_factories()
        .get(&kind)
        .ok_or_else(|| DataFusionError::Plan(format!("files of type {kind} cannot be read; PARQUET, CSV, JSON and ARROW can")))?;
    factory.create(state, &command).await
}
