//! The statements about the storage of tables: OPTIMIZE TABLE, CHECKPOINT, FLUSH and BACKUP TO.

use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, RecordBatch};
use arrow::datatypes::SchemaRef;
use arrow::error::ArrowError;
use datafusion::common::TableReference;
use pmem_store::{BackupReport, StoreError};

use crate::backup::{backed_up_row, backup_to};
use crate::compaction::{Optimized, Resources, checkpoint, optimize_table};
use crate::execution::StatementContext;
use common::error::EngineError;
use common::privilege::Privilege;
use sql::MaintenanceStatement;
use table::blocking::blocking;
use table::catalog::resolve;
use table::definition::EXTERNAL;
use table::transactions::state_error;

/// The columns of its result row; `None` if it has none.
pub fn result_schema(statement: &MaintenanceStatement) -> Option<SchemaRef> {
    let row = match statement {
        MaintenanceStatement::Optimize { .. } => optimized_row(Optimized::default()),
        MaintenanceStatement::Backup { .. } => backed_up_row(&BackupReport::default()),
        MaintenanceStatement::Checkpoint | MaintenanceStatement::Flush => return None,
    };
    row.ok().map(|row| row.schema())
}

/// Returns a result row for the statements that have one.
pub async fn run_maintenance(ctx: &StatementContext, statement: MaintenanceStatement) -> Result<Option<RecordBatch>, EngineError> {
    let name = match &statement {
        MaintenanceStatement::Optimize { .. } => "OPTIMIZE TABLE",
        MaintenanceStatement::Checkpoint => "CHECKPOINT",
        MaintenanceStatement::Flush => "FLUSH",
        MaintenanceStatement::Backup { .. } => "BACKUP",
    };
    if ctx.catalog.transaction().is_open() {
        let message = format!("{name} is about what is committed, so it is no part of a transaction");
        return Err(state_error(&message, "end the transaction first"));
    }
    if !matches!(statement, MaintenanceStatement::Backup { .. }) {
        ctx.catalog.write_scope().check_writable()?;
    }
    match statement {
        MaintenanceStatement::Backup { to, .. } if to.as_os_str().is_empty() => {
            Err(state_error("BACKUP TO '' names no directory", "write the path of the backup between the quotes"))
        }
        MaintenanceStatement::Backup { to, copies } => backup_to(&ctx.engine.store, to, copies).await.map(Some),
        MaintenanceStatement::Optimize { table, full } => optimized(ctx, &table, full).await.map(Some),
        MaintenanceStatement::Checkpoint => checkpoint(&ctx.engine.store).await.map(|()| None),
        MaintenanceStatement::Flush => {
            let store = Arc::clone(&ctx.engine.store);
            blocking(move || Ok(store.flush()?)).await.map(|()| None)
        }
    }
}

async fn optimized(ctx: &StatementContext, table: &TableReference, full: bool) -> Result<RecordBatch, EngineError> {
    ctx.catalog.check_stored(table, "OPTIMIZE TABLE of")?;
    let (namespace, name) = resolve(table)?;
    let snapshot = ctx.catalog.snapshot();
    let Some(table) = snapshot.table(&namespace, &name)? else {
        if let Some(view) = snapshot.view(&namespace, &name)? {
            let kind = if view.kind == EXTERNAL { "external table" } else { "view" };
            let hint = "only what is stored can lie better: optimize the tables it reads";
            return Err(EngineError::unsupported(format!("OPTIMIZE TABLE of the {kind} \"{name}\""), Some(hint)));
        }
        return Err(StoreError::no_table(&namespace, &name).into());
    };
    drop(snapshot);
    ctx.catalog.check(|authorization| authorization.table(Privilege::Ownership, table.record()))?;
    let engine = &ctx.engine;
    let resources = Resources {
        store: &engine.store,
        maintenance: &engine.maintenance,
        runtime: ctx.runtime(),
        memory_limit_bytes: engine.query_memory_limit_bytes,
        partitions: engine.partitions,
    };
    let done = optimize_table(resources, table.record().id, full).await?;
    optimized_row(done).map_err(|error| EngineError::internal(error.to_string()))
}

fn optimized_row(done: Optimized) -> Result<RecordBatch, ArrowError> {
    let columns = [
        ("segments_before", done.segments_before),
        ("segments_after", done.segments_after),
        ("bytes_before", done.bytes_before),
        ("bytes_after", done.bytes_after),
    ];
    let columns = columns.map(|(name, value)| (name, Arc::new(Int64Array::from(vec![value as i64])) as ArrayRef));
    RecordBatch::try_from_iter(columns)
}
