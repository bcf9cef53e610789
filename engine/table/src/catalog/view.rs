//! Views and external tables: statements stored in the catalog, which are planned again whenever they are used.

use std::sync::Arc;

use datafusion::catalog::TableProvider;
use datafusion::common::{DataFusionError, Result, internal_err, plan_err};
use datafusion::datasource::ViewTable;
use datafusion::execution::SessionState;
use datafusion::logical_expr::{DdlStatement, LogicalPlan};
use datafusion::sql::parser::{CreateExternalTable, Statement};
use pmem_store::ViewRecord;

use super::context::CatalogContext;
use super::file_tables::table_of_files;
use super::provider::StoreCatalog;
use super::remote::{is_remote, remote_provider};
use super::statement_tables::StatementTables;
use crate::definition::external_definition;
use crate::time_zone::table_in_zone;
use common::engine_settings::switches;
use common::error::EngineError;
use common::error::kind::ErrorKind;
use common::privilege::Privilege;
use common::type_names::qualified;
use sql::kept_statement;

/// Views may use views; a view that refers to itself must be stopped.
const DEPTH_MAX: usize = 64;

pub async fn provider(catalog: &StoreCatalog, record: &ViewRecord) -> Result<Arc<dyn TableProvider>> {
    let state = nested_state(catalog, &record.name)?;
    let broken = |error| error_in_text(catalog, &state, &record.kind, &record.name, is_shown_to(catalog, record), error);
    let statement = kept_statement(&state, &record.sql).map_err(|error| broken(error.into_datafusion()))?;
    match statement {
        Statement::CreateExternalTable(table) => {
            let is_remote = is_remote(&table);
            let provider = external_provider(&*catalog.engine, &state, table).await;
            let provider = provider.map_err(|error| if is_remote { of_node(catalog, record, error) } else { broken(error) })?;
            Ok(table_in_zone(provider, state.config_options().execution.time_zone.as_deref()))
        }
        statement => {
            let plan = catalog.views.plan(&state, statement).await.map_err(broken)?;
            let name = qualified(&record.namespace, &record.name);
            Ok(Arc::new(ViewTable::new(plan, Some(format!("CREATE VIEW {name} AS {}", record.sql)))))
        }
    }
}

/// The state in which the text of a view or function is planned that was found in this catalog.
pub fn nested_state(catalog: &StoreCatalog, name: &str) -> Result<SessionState> {
    if catalog.view_depth >= DEPTH_MAX {
        return Err(EngineError::ViewCycle(name.to_string()).into_datafusion());
    }
    let state = catalog.state.read().upgrade();
    let Some(mut state) = state.map(|state| state.read().clone()) else {
        return plan_err!("\"{name}\" is used outside a session");
    };
    state.register_catalog_list(catalog.for_view().catalog_list());
    if let Some(memory) = &catalog.memory {
        state.config_mut().options_mut().extensions.insert(memory.clone());
    }
    Ok(state)
}

/// The error of a text that cannot be planned. Its message may name objects that only those may know who may see the text.
pub fn error_in_text(
    catalog: &StoreCatalog,
    state: &SessionState,
    kind: &str,
    name: &str,
    is_shown: bool,
    error: DataFusionError,
) -> DataFusionError {
    let error = catalog.views.explained(state, catalog, error);
    // These errors say nothing about the text.
    if matches!(error.kind(), ErrorKind::Cancelled | ErrorKind::TimedOut | ErrorKind::Exhausted) {
        return error.into_datafusion();
    }
    DataFusionError::Plan(match error {
        _ if !is_shown => format!("{kind} \"{name}\" cannot be used: something in it is gone, or is not there for you"),
        // Only one such sentence for the whole cycle.
        EngineError::ViewCycle(_) => return error.into_datafusion(),
        error => format!("{kind} \"{name}\" cannot be used any more: {error}"),
    })
}

/// An unreachable node says nothing about the table. Users who may only read the table are not told which node it is.
fn of_node(catalog: &StoreCatalog, view: &ViewRecord, error: DataFusionError) -> DataFusionError {
    match EngineError::from(error) {
        EngineError::Unreachable { .. } if !is_shown_to(catalog, view) => {
            let message = format!("table \"{}\" is on another node, which cannot be asked now", view.name);
            EngineError::Unreachable { message, hint: None }.into_datafusion()
        }
        error => error.into_datafusion(),
    }
}

/// Whether the session's user may see the text of a view. Users who may only read it may not.
fn is_shown_to(catalog: &StoreCatalog, view: &ViewRecord) -> bool {
    catalog.authorization().is_none_or(|authorization| authorization.on_view(&view.namespace, &view.name).has(Privilege::Ownership))
}

/// The files of a `CREATE EXTERNAL TABLE` as a table, or the remote table.
pub async fn external_provider(
    engine: &dyn CatalogContext,
    state: &SessionState,
    table: CreateExternalTable,
) -> Result<Arc<dyn TableProvider>> {
    if is_remote(&table) {
        let pushdown = switches(state.config_options()).pushdown();
        return Ok(remote_provider(engine.remote_tables(), &table, pushdown).await?);
    }
    let definition = external_definition(&table);
    // Its own name is not resolved: that would come back here.
    let plan = StatementTables::new(state, Vec::new()).plan(Statement::CreateExternalTable(table))?;
    let LogicalPlan::Ddl(DdlStatement::CreateExternalTable(mut command)) = plan else {
        return internal_err!("CREATE EXTERNAL TABLE became {}", plan.display());
    };
    command.definition = Some(definition);
    Ok(table_of_files(*command, engine.file_directories()).await?)
}
