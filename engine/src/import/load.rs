//! Files into a table: one commit, sorted by the table's cluster key.

use std::fmt;
use std::sync::Arc;
use std::time::Instant;

use arrow::datatypes::{Schema, SchemaRef};
use async_trait::async_trait;
use datafusion::catalog::{Session as PlanSession, TableProvider};
use datafusion::common::{Column, DFSchema, Result, internal_err};
use datafusion::datasource::provider_as_source;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::{Expr, ExprSchemable, LogicalPlan, LogicalPlanBuilder, TableType};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::stream::RecordBatchReceiverStream;
use datafusion::physical_plan::streaming::{PartitionStream, StreamingTableExec};
use parking_lot::Mutex;
use pmem_store::StoreError;

use super::{Batches, FileScan};
use crate::constraints::planned_defaults;
use crate::error::EngineError;
use crate::session::Running;
use crate::sql::{KeyColumn, key_of, sorted};
use crate::types::declared_schema;
use crate::write::{Declarations, RowWriter, Target, WriteTarget};

/// What to do with a table of the name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoadMode {
    /// The table must not exist.
    Create,
    /// Adds to the table, or makes it.
    Append,
    /// The table must exist.
    AppendExisting,
    /// Takes the table's place, if there is one.
    Replace,
}

#[derive(Debug, Clone)]
pub struct LoadOptions {
    pub namespace: String,
    pub table: String,
    /// Columns a new table is kept in the order of; `name` or `name desc`.
    pub order_by: Vec<String>,
    pub mode: LoadMode,
}

#[derive(Debug, Clone, PartialEq)]
pub struct ImportSummary {
    pub rows: u64,
    pub rows_skipped: u64,
    /// Of the table after the import, on disk.
    pub size_bytes: u64,
    pub segments: u64,
    pub elapsed_ms: f64,
}

pub(crate) async fn load(running: &Running, options: LoadOptions, scan: FileScan) -> Result<ImportSummary, EngineError> {
    let started = Instant::now();
    let Loading { target, scan, defaults } = loading(running, &options, scan)?;
    let progress = scan.progress();
    let source = provider_as_source(Arc::new(FileTable { schema: scan.schema(), batches: Arc::new(Mutex::new(Some(scan.batches()))) }));
    let plan = LogicalPlanBuilder::scan("files", source, None)?.build()?;
    let plan = filled(plan, &target, defaults)?;
    let plan = sorted(plan, &target.cluster_key)?;
    let stream = running.execute_plan(&plan).await?;
    let writer = RowWriter::new(&running.catalog.write_scope(), target)?.in_segments()?.write_all(stream).await?;
    let rows = writer.commit("IMPORT").await?;
    running.catalog.refresh()?;
    let table = running.catalog.snapshot().table(&options.namespace, &options.table)?;
    Ok(ImportSummary {
        rows,
        rows_skipped: progress.rows_skipped(),
        size_bytes: table.as_ref().map_or(0, |table| table.size_bytes()),
        segments: table.as_ref().map_or(0, |table| table.segments().len() as u64),
        elapsed_ms: started.elapsed().as_secs_f64() * 1e3,
    })
}

/// Where the rows go, and the files read as the types that are kept there.
struct Loading {
    target: WriteTarget,
    scan: FileScan,
    /// By column of the target: what it is in every row, where no file has it.
    defaults: Vec<Option<Expr>>,
}

/// The rows of the files with the columns that they lack and that have a default.
fn filled(plan: LogicalPlan, target: &WriteTarget, defaults: Vec<Option<Expr>>) -> Result<LogicalPlan> {
    if defaults.iter().all(Option::is_none) {
        return Ok(plan);
    }
    let columns = target.schema.fields().iter().zip(defaults).map(|(field, default)| match default {
        Some(default) => Ok(default.cast_to(field.data_type(), &DFSchema::empty())?.alias(field.name())),
        None => Ok(Expr::Column(Column::new(Some("files"), field.name())).alias(field.name())),
    });
    LogicalPlanBuilder::from(plan).project(columns.collect::<Result<Vec<_>>>()?)?.build()
}

fn loading(running: &Running, options: &LoadOptions, mut scan: FileScan) -> Result<Loading, EngineError> {
    let snapshot = running.catalog.snapshot();
    let (namespace, table) = (options.namespace.clone(), options.table.clone());
    if !snapshot.namespaces()?.contains(&namespace) {
        return Err(StoreError::DoesNotExist { kind: "schema", name: namespace }.into());
    }
    let existing = snapshot.table(&namespace, &table)?;
    match (&existing, options.mode) {
        (Some(_), LoadMode::Create) => Err(StoreError::AlreadyExists { kind: "table", name: table }.into()),
        (None, LoadMode::AppendExisting) => Err(StoreError::DoesNotExist { kind: "table", name: table }.into()),
        (Some(existing), LoadMode::Append | LoadMode::AppendExisting) => {
            if !options.order_by.is_empty() {
                let hint = "the order of a table is set when it is made";
                return Err(EngineError::unsupported(format!("another order for the table \"{table}\""), Some(hint)));
            }
            let record = existing.record();
            let (schema, cluster_key) = (Arc::clone(existing.schema()), record.cluster_key.clone());
            let what = Target::Existing { id: record.id, replace: false };
            let mut defaults = planned_defaults(&running.engine, existing);
            let missing = scan.missing(&schema);
            defaults.iter_mut().enumerate().filter(|(column, _)| !missing.contains(column)).for_each(|(_, default)| *default = None);
            let read: Vec<usize> = (0..defaults.len()).filter(|column| defaults[*column].is_none()).collect();
            let read = schema.project(&read).map_err(|error| EngineError::internal(error.to_string()))?;
            let target = WriteTarget { namespace, table, schema, cluster_key, what };
            Ok(Loading { target, scan: scan.with_schema(Arc::new(read))?, defaults })
        }
        (_, mode) => {
            let schema = Arc::new(nullable(&declared_schema(&scan.schema())));
            let key = options.order_by.iter().map(|column| KeyColumn::of_text(column)).collect::<Result<Vec<_>, _>>()?;
            let cluster_key = key_of(&schema, &key)?;
            let what = Target::New { replace: mode == LoadMode::Replace, declared: Declarations::default() };
            let target = WriteTarget { namespace, table, schema: Arc::clone(&schema), cluster_key, what };
            Ok(Loading { target, scan: scan.with_schema(schema)?, defaults: Vec::new() })
        }
    }
}

/// A file without NULLs does not say that the next one has none.
fn nullable(schema: &Schema) -> Schema {
    let fields = schema.fields().iter().map(|field| field.as_ref().clone().with_nullable(true));
    Schema::new(fields.collect::<Vec<_>>())
}

/// Files as a table that can be scanned once.
struct FileTable {
    schema: SchemaRef,
    batches: Arc<Mutex<Option<Batches>>>,
}

impl fmt::Debug for FileTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FileTable").field("schema", &self.schema).finish_non_exhaustive()
    }
}

#[async_trait]
impl TableProvider for FileTable {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
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
        let stream = FileTable { schema: Arc::clone(&self.schema), batches: Arc::clone(&self.batches) };
        let partitions: Vec<Arc<dyn PartitionStream>> = vec![Arc::new(stream)];
        let plan = StreamingTableExec::try_new(Arc::clone(&self.schema), partitions, projection, vec![], false, limit)?;
        Ok(Arc::new(plan))
    }
}

impl PartitionStream for FileTable {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// Reads on a thread of its own, a few batches ahead.
    fn execute(&self, _: Arc<TaskContext>) -> SendableRecordBatchStream {
        let mut builder = RecordBatchReceiverStream::builder(Arc::clone(&self.schema), 4);
        let (sender, batches) = (builder.tx(), self.batches.lock().take());
        builder.spawn_blocking(move || {
            let Some(batches) = batches else { return internal_err!("files are read once") };
            for batch in batches {
                let batch = batch.map_err(|error| EngineError::Import(error).into_datafusion());
                let failed = batch.is_err();
                if sender.blocking_send(batch).is_err() || failed {
                    break;
                }
            }
            Ok(())
        });
        builder.build()
    }
}
