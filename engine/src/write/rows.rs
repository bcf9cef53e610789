//! A stream of batches becomes segments, and one commit makes them visible.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, RecordBatch};
use arrow::datatypes::{DataType, SchemaRef};
use futures::{Stream, StreamExt};
use pmem_store::{Appender, ColumnOrder, NewTable, SealedSegment, StoreError, TableId};

use crate::engine::EngineShared;
use crate::error::EngineError;
use crate::types::physical_schema;

/// Where rows go.
#[derive(Debug, Clone)]
pub struct WriteTarget {
    pub namespace: String,
    pub table: String,
    pub schema: SchemaRef,
    /// The rows come in this order.
    pub cluster_key: Vec<ColumnOrder>,
    pub what: Target,
}

#[derive(Debug, Clone)]
pub enum Target {
    /// Adds to the table with this id; `replace` takes its rows out first.
    Existing { id: TableId, replace: bool },
    /// Makes the table in the same commit; `replace` takes an older one of the name out.
    New { replace: bool },
}

/// Dropped unfinished, it leaves nothing behind.
pub struct RowWriter {
    engine: Arc<EngineShared>,
    target: WriteTarget,
    id: TableId,
    appender: Option<Appender>,
    rows: u64,
}

impl RowWriter {
    pub fn new(engine: &Arc<EngineShared>, target: WriteTarget) -> Result<RowWriter, EngineError> {
        let id = match target.what {
            Target::Existing { id, .. } => id,
            Target::New { .. } => engine.store.new_table_id(),
        };
        let appender = engine.store.appender(id, physical_schema(&target.schema))?;
        Ok(RowWriter { engine: Arc::clone(engine), target, id, appender: Some(appender), rows: 0 })
    }

    /// Blocks while it writes to the mapped file.
    pub fn write(&mut self, batch: RecordBatch) -> Result<(), EngineError> {
        check_not_null(&batch, &self.target, self.rows)?;
        self.rows += batch.num_rows() as u64;
        match &mut self.appender {
            Some(appender) => Ok(appender.write(batch)?),
            None => Err(EngineError::internal("a row was written after the end")),
        }
    }

    /// Writes a whole stream; other tasks go on meanwhile.
    pub async fn write_all<E: Into<EngineError>>(
        mut self,
        mut batches: impl Stream<Item = Result<RecordBatch, E>> + Unpin,
    ) -> Result<RowWriter, EngineError> {
        while let Some(batch) = batches.next().await {
            let batch = batch.map_err(Into::into)?;
            self = blocking(move || self.write(batch).map(|()| self)).await?;
        }
        Ok(self)
    }

    /// Seals and commits; the number of rows.
    pub async fn commit(self, operation: &'static str) -> Result<u64, EngineError> {
        blocking(move || self.commit_now(operation)).await
    }

    pub fn commit_now(mut self, operation: &str) -> Result<u64, EngineError> {
        let segments = self.appender.take().map(Appender::finish).transpose()?.unwrap_or_default();
        let sealed = Uncommitted { engine: &self.engine, table: self.id, segments: &segments };
        let store = &self.engine.store;
        let WriteTarget { namespace, table, schema, cluster_key, what } = &self.target;
        let mut transaction = store.begin()?;
        match what {
            Target::Existing { replace: true, .. } => transaction.clear_table(namespace, table)?,
            Target::Existing { .. } => {}
            Target::New { replace } => {
                if *replace && store.snapshot()?.table(namespace, table)?.is_some() {
                    transaction.drop_table(namespace, table)?;
                }
                let cluster_key = cluster_key.clone();
                let new = NewTable { namespace, name: table, schema, cluster_key, options: Default::default() };
                transaction.create_table(self.id, new)?;
            }
        }
        // Also without rows: this is where a table that was dropped and made anew meanwhile is noticed.
        transaction.add_segments(namespace, table, self.id, &segments, !cluster_key.is_empty())?;
        transaction.commit(operation)?;
        std::mem::forget(sealed);
        Ok(self.rows)
    }
}

/// Removes segments that were sealed but not committed.
struct Uncommitted<'a> {
    engine: &'a EngineShared,
    table: TableId,
    segments: &'a [SealedSegment],
}

impl Drop for Uncommitted<'_> {
    fn drop(&mut self) {
        self.engine.store.discard(self.table, self.segments);
    }
}

/// Runs what blocks where it holds up no other task.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, EngineError> + Send + 'static,
) -> Result<T, EngineError> {
    match tokio::task::spawn_blocking(work).await {
        Ok(result) => result,
        Err(error) => Err(EngineError::internal(format!("a writer stopped: {error}"))),
    }
}

fn check_not_null(batch: &RecordBatch, target: &WriteTarget, rows_before: u64) -> Result<(), EngineError> {
    for (field, array) in target.schema.fields().iter().zip(batch.columns()) {
        if !field.is_nullable() && array.logical_null_count() > 0 {
            let row = (0..array.len()).find(|row| array.logical_nulls().is_some_and(|nulls| nulls.is_null(*row)));
            return Err(EngineError::NotNull {
                table: target.table.clone(),
                column: field.name().clone(),
                row: rows_before + row.unwrap_or(0) as u64 + 1,
            });
        }
        check_inner(array, field.data_type(), field.name())?;
    }
    Ok(())
}

/// NOT NULL of a struct's fields: no SQL declares it, but a file's schema can.
fn check_inner(array: &ArrayRef, declared: &DataType, column: &str) -> Result<(), EngineError> {
    let DataType::Struct(fields) = declared else { return Ok(()) };
    let Some(array) = array.as_struct_opt() else { return Ok(()) };
    for (field, child) in fields.iter().zip(array.columns()) {
        let hidden = array.null_count();
        if !field.is_nullable() && child.logical_null_count() > hidden {
            let column = format!("{column}.{}", field.name());
            return Err(EngineError::Store(StoreError::UnsupportedType(format!("NULL in {column}, which is NOT NULL"))));
        }
    }
    Ok(())
}
