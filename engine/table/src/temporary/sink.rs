//! INSERT into a temporary table: all rows of a statement, or none.

use std::fmt;
use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use async_trait::async_trait;
use datafusion::common::Result;
use datafusion::datasource::sink::DataSink;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_plan::{DisplayAs, DisplayFormatType};
use futures::StreamExt;

use super::rows::ChunkBuilder;
use super::tables::{TemporaryRows, TemporaryTables};
use crate::write::{WriteScope, nullable};
use common::report::ReportCollector;

#[derive(Debug)]
pub struct TemporarySink {
    tables: Arc<TemporaryTables>,
    table: Arc<TemporaryRows>,
    scope: WriteScope,
    /// Whether to remove the existing rows.
    replace: bool,
    /// With all columns nullable, so that our own check runs, which names table, column and row.
    schema: SchemaRef,
}

impl TemporarySink {
    pub fn new(tables: Arc<TemporaryTables>, table: Arc<TemporaryRows>, scope: WriteScope, replace: bool) -> TemporarySink {
        let schema = nullable(&table.schema);
        TemporarySink { tables, table, scope, replace, schema }
    }
}

impl DisplayAs for TemporarySink {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "VolatileSink table={}", self.table.name)
    }
}

#[async_trait]
impl DataSink for TemporarySink {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    async fn write_all(&self, mut data: SendableRecordBatchStream, context: &Arc<TaskContext>) -> Result<u64> {
        let collector = context.session_config().get_extension::<ReportCollector>().unwrap_or_default();
        let mut rows = ChunkBuilder::new(&self.table.name, Arc::clone(&self.table.schema), context.memory_pool(), collector);
        while let Some(batch) = data.next().await {
            rows.add(batch?)?;
        }
        let (count, rows) = (rows.row_count() as u64, rows.finish()?);
        // A stop comes before this, or too late.
        self.scope.begin_commit()?;
        self.tables.put(&self.table, rows, self.replace)?;
        Ok(count)
    }
}
