//! Views and external tables: statements kept in the catalog and planned again when they are named.

use std::sync::Arc;

use datafusion::catalog::TableProvider;
use datafusion::common::{DataFusionError, Result, plan_err};
use datafusion::datasource::ViewTable;
use datafusion::execution::SessionState;
use datafusion::logical_expr::{DdlStatement, LogicalPlan};
use pmem_store::ViewRecord;

use super::provider::StoreCatalog;

pub const VIEW: &str = "view";
pub const EXTERNAL: &str = "external";

/// Views may name views; one that comes to name itself must end somewhere.
const DEPTH_MAX: usize = 64;

tokio::task_local! {
    static DEPTH: usize;
}

pub async fn provider(catalog: &StoreCatalog, record: &ViewRecord) -> Result<Arc<dyn TableProvider>> {
    let depth = DEPTH.try_with(|depth| *depth).unwrap_or(0) + 1;
    if depth > DEPTH_MAX {
        return plan_err!("view \"{}\" refers to itself", record.name);
    }
    let state = catalog.state.read().upgrade();
    let Some(state) = state.map(|state| state.read().clone()) else {
        return plan_err!("view \"{}\" is used outside a session", record.name);
    };
    let plan = DEPTH.scope(depth, Box::pin(async { state.create_logical_plan(&record.sql).await })).await;
    let plan = plan.map_err(|error| error.context(format!("{} \"{}\" cannot be used any more", record.kind, record.name)))?;
    match plan {
        LogicalPlan::Ddl(DdlStatement::CreateExternalTable(command)) => external(&state, &command).await,
        plan => Ok(Arc::new(ViewTable::new(plan, Some(record.sql.clone())))),
    }
}

/// The files of a `CREATE EXTERNAL TABLE` as a table.
pub async fn external(
    state: &SessionState,
    command: &datafusion::logical_expr::CreateExternalTable,
) -> Result<Arc<dyn TableProvider>> {
    let kind = command.file_type.to_uppercase();
    let factory = state.table_factories().get(&kind).ok_or_else(|| {
        DataFusionError::Plan(format!("files of type {kind} cannot be read; PARQUET, CSV, JSON and ARROW can"))
    })?;
    factory.create(state, command).await
}
