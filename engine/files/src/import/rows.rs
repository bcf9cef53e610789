//! A source of rows as a table that is scanned once.

use std::fmt;
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::{Schema, SchemaRef};
use async_trait::async_trait;
use datafusion::catalog::{Session as PlanSession, TableProvider};
use datafusion::common::{Result, internal_err};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::{Expr, TableType};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::stream::RecordBatchReceiverStream;
use datafusion::physical_plan::streaming::{PartitionStream, StreamingTableExec};
use parking_lot::Mutex;

use super::{Batches, FileScan};
use common::error::EngineError;
use common::error::import::ImportError;

pub trait RowSource: Sized {
    fn schema(&self) -> SchemaRef;

    /// The indices of the columns of `target` that the source does not have.
    fn missing(&mut self, target: &Schema) -> Vec<usize>;

    /// The source with these columns instead, matched by name.
    fn with_schema(self, target: SchemaRef) -> Result<Self, ImportError>;

    /// It is read once.
    fn into_stream(self) -> Arc<dyn PartitionStream>;
}

impl RowSource for FileScan {
    fn schema(&self) -> SchemaRef {
        FileScan::schema(self)
    }

    fn missing(&mut self, target: &Schema) -> Vec<usize> {
        FileScan::missing(self, target)
    }

    fn with_schema(self, target: SchemaRef) -> Result<Self, ImportError> {
        FileScan::with_schema(self, target)
    }

    fn into_stream(self) -> Arc<dyn PartitionStream> {
        Arc::new(Files { schema: FileScan::schema(&self), batches: Mutex::new(Some(self.batches())) })
    }
}

struct Files {
    schema: SchemaRef,
    batches: Mutex<Option<Batches>>,
}

impl fmt::Debug for Files {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Files").field("schema", &self.schema).finish_non_exhaustive()
    }
}

impl PartitionStream for Files {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn execute(&self, _: Arc<TaskContext>) -> SendableRecordBatchStream {
        let batches = self.batches.lock().take();
        let no_batches: Option<Result<RecordBatch>> = batches.is_none().then(|| internal_err!("files are read once"));
        read_ahead(&self.schema, no_batches.into_iter().chain(batches.into_iter().flatten().map(readable)))
    }
}

/// The batch, or the error as a plan reports it.
pub(super) fn readable(batch: Result<RecordBatch, ImportError>) -> Result<RecordBatch> {
    batch.map_err(|error| EngineError::Import(error).into_datafusion())
}

/// Reads on a separate thread, a few batches ahead.
pub(super) fn read_ahead(
    schema: &SchemaRef,
    batches: impl Iterator<Item = Result<RecordBatch>> + Send + 'static,
) -> SendableRecordBatchStream {
    let mut builder = RecordBatchReceiverStream::builder(Arc::clone(schema), 4);
    let sender = builder.tx();
    builder.spawn_blocking(move || {
        for batch in batches {
            let failed = batch.is_err();
            if sender.blocking_send(batch).is_err() || failed {
                break;
            }
        }
        Ok(())
    });
    builder.build()
}

/// The source as a table.
#[derive(Debug)]
pub struct OnceTable {
    stream: Arc<dyn PartitionStream>,
}

impl OnceTable {
    pub fn of(source: impl RowSource) -> OnceTable {
        OnceTable { stream: source.into_stream() }
    }
}

#[async_trait]
impl TableProvider for OnceTable {
    fn schema(&self) -> SchemaRef {
        Arc::clone(self.stream.schema())
    }

    fn table_type(&self) -> TableType {
        TableType::Temporary
    }

    async fn scan(
        &self,
        _: &dyn PlanSession,
        projection: Option<&Vec<usize>>,
        _: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let schema = Arc::clone(self.stream.schema());
        Ok(Arc::new(StreamingTableExec::try_new(schema, vec![Arc::clone(&self.stream)], projection, vec![], false, limit)?))
    }
}
