//! Loads batches that a program sends into a table.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::{Schema, SchemaRef};
use datafusion::common::{TableReference, exec_datafusion_err};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::streaming::PartitionStream;
use futures::{Stream, StreamExt};
use parking_lot::Mutex;
use pmem_store::{DEFAULT_NAMESPACE, StoreError};

use super::load::{LoadMode, LoadOptions, load_sent};
use crate::execution::StatementContext;
use common::error::EngineError;
use common::error::import::{IS_NULL, ImportError};
use common::names::TEMP;
use common::report::ReportCollector;
use common::types::declared_schema;
use files::import::conform::{find_field, plain_schema, settled_type};
use files::import::rows::RowSource;
use files::import::target::{BatchMismatch, Mapping, assemble, check_types, map_by_name};
use table::catalog::{not_for_temporary, not_writable_view};
use table::temporary::ChunkBuilder;
use table::write::nullable;

/// The table that receives the rows, and what to do if it exists or does not.
#[derive(Debug, Clone)]
pub struct IngestTarget {
    /// `None`: the default schema.
    pub schema: Option<String>,
    pub table: String,
    pub if_missing: IfMissing,
    pub if_exists: IfExists,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IfMissing {
    /// Creates it with the columns of the rows, all of them nullable.
    Create,
    Fail,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IfExists {
    /// Columns are matched by name; columns that the rows lack get their defaults.
    Append,
    /// A new table replaces it in the same commit.
    Replace,
    Fail,
}

pub type Sent = Pin<Box<dyn Stream<Item = Result<RecordBatch, EngineError>> + Send>>;

/// Adds all rows to the table; returns their number. In the schema `temp` they are a new temporary table.
pub async fn ingest(ctx: &StatementContext, target: IngestTarget, schema: SchemaRef, batches: Sent) -> Result<u64, EngineError> {
    let rows = SentRows::new(schema, batches);
    // A store may have a schema of this name that is older than temporary tables.
    if target.schema.as_deref() == Some(TEMP) && ctx.catalog.snapshot().table(TEMP, &target.table)?.is_none() {
        return Box::pin(create_temporary(ctx, &target, rows)).await;
    }
    if target.schema.is_none() {
        ctx.catalog.check_stored(&TableReference::bare(target.table.as_str()), "sending rows to")?;
    }
    check_no_view(ctx, &target)?;
    let options = options(target, |namespace, table| Ok(ctx.catalog.snapshot().table(namespace, table)?.is_some()))?;
    Box::pin(load_sent(ctx, options, rows)).await
}

/// A new temporary table of these rows. As in SQL, it is not part of a transaction, and needs no privilege.
async fn create_temporary(ctx: &StatementContext, target: &IngestTarget, rows: SentRows) -> Result<u64, EngineError> {
    let (name, or_replace) = (target.table.as_str(), target.if_exists == IfExists::Replace);
    let tables = ctx.catalog.temporary();
    match (tables.get(name), target.if_missing, target.if_exists) {
        (Some(_), _, IfExists::Append) => return Err(not_for_temporary(name, "sending rows to")),
        (None, IfMissing::Fail, _) => return Err(StoreError::no_table(TEMP, name).into()),
        _ => tables.check_new(name, or_replace)?,
    }
    let schema = nullable(&declared_schema(&rows.schema()));
    let mut batches = Box::pin(conformed(rows.with_schema(Arc::clone(&schema))?));
    let collector = ctx.state.config().get_extension::<ReportCollector>().unwrap_or_default();
    let mut chunk = ChunkBuilder::new(name, Arc::clone(&schema), &ctx.runtime().memory_pool, collector);
    while let Some(batch) = batches.next().await {
        chunk.add(batch?)?;
    }
    let (count, chunk) = (chunk.row_count() as u64, chunk.finish()?);
    // A stop comes before this, or too late.
    ctx.commit_guard().begin_commit()?;
    let created = tables.create(name, schema, Some(chunk), or_replace);
    if created.is_err() {
        ctx.commit_guard().abandon_commit();
    }
    created.map(|()| count)
}

/// Rows can only be added to tables. Creating or replacing a table checks by itself that the name is free.
fn check_no_view(ctx: &StatementContext, target: &IngestTarget) -> Result<(), EngineError> {
    if target.if_exists != IfExists::Append {
        return Ok(());
    }
    let namespace = target.schema.as_deref().unwrap_or(DEFAULT_NAMESPACE);
    match ctx.catalog.snapshot().view(namespace, &target.table)? {
        Some(view) => Err(not_writable_view(&view)),
        None => Ok(()),
    }
}

fn options(target: IngestTarget, exists: impl FnOnce(&str, &str) -> Result<bool, EngineError>) -> Result<LoadOptions, EngineError> {
    let namespace = target.schema.unwrap_or_else(|| DEFAULT_NAMESPACE.to_string());
    let exists = exists(&namespace, &target.table)?;
    let mode = match (exists, target.if_missing, target.if_exists) {
        (true, _, IfExists::Append) => LoadMode::AppendExisting,
        (true, _, IfExists::Replace) => LoadMode::Replace,
        (true, _, IfExists::Fail) => return Err(StoreError::is_taken("table", &namespace, &target.table).into()),
        (false, IfMissing::Create, _) => LoadMode::Create,
        (false, IfMissing::Fail, _) => return Err(StoreError::no_table(&namespace, &target.table).into()),
    };
    Ok(LoadOptions { namespace, table: target.table, order_by: Vec::new(), mode })
}

/// What messages call these rows.
const ROWS: &str = "what was sent";

struct SentRows {
    /// The schema of the incoming batches.
    from: SchemaRef,
    /// The schema in which they are read.
    schema: SchemaRef,
    mapping: Mapping,
    batches: Sent,
}

impl SentRows {
    fn new(from: SchemaRef, batches: Sent) -> SentRows {
        let plain = plain_schema(&from);
        let settled = plain.fields().iter().map(|field| field.as_ref().clone().with_data_type(settled_type(field.data_type())));
        let schema = Arc::new(Schema::new(settled.collect::<Vec<_>>()));
        let mapping = (0..from.fields().len()).map(Some).collect();
        SentRows { from, schema, mapping, batches }
    }
}

impl RowSource for SentRows {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn missing(&mut self, target: &Schema) -> Vec<usize> {
        let has = |column: &usize| find_field(self.from.fields(), target.field(*column).name()).is_some();
        (0..target.fields().len()).filter(|column| !has(column)).collect()
    }

    fn with_schema(self, target: SchemaRef) -> Result<Self, ImportError> {
        let mapping = map_by_name(ROWS, self.from.fields(), &target)?;
        check_types(ROWS, self.from.fields(), &target, &mapping)?;
        Ok(SentRows { schema: target, mapping, ..self })
    }

    fn into_stream(self) -> Arc<dyn PartitionStream> {
        Arc::new(SentStream { schema: Arc::clone(&self.schema), rows: Mutex::new(Some(self)) })
    }
}

struct SentStream {
    schema: SchemaRef,
    rows: Mutex<Option<SentRows>>,
}

impl fmt::Debug for SentStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SentStream").field("schema", &self.schema).finish_non_exhaustive()
    }
}

impl PartitionStream for SentStream {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn execute(&self, _: Arc<TaskContext>) -> SendableRecordBatchStream {
        let stream = match self.rows.lock().take() {
            Some(rows) => conformed(rows).boxed(),
            None => futures::stream::iter([Err(exec_datafusion_err!("rows that are sent are read once"))]).boxed(),
        };
        Box::pin(RecordBatchStreamAdapter::new(Arc::clone(&self.schema), stream))
    }
}

fn conformed(rows: SentRows) -> impl Stream<Item = datafusion::common::Result<RecordBatch>> + Send {
    let SentRows { from, schema, mapping, batches } = rows;
    let mut rows_before = 0;
    batches.map(move |batch| {
        let conformed = batch.and_then(|batch| {
            if !same_types(&from, batch.schema_ref()) {
                return Err(refused("a batch has other columns than the schema that was sent first".to_string()));
            }
            let conformed = assemble(&batch, &mapping, &schema).map_err(|unfit| misfit(&unfit, rows_before));
            rows_before += batch.num_rows();
            conformed
        });
        conformed.map_err(EngineError::into_datafusion)
    })
}

fn same_types(one: &Schema, other: &Schema) -> bool {
    let types = |schema: &Schema| schema.fields().iter().map(|field| field.data_type().clone()).collect::<Vec<_>>();
    types(one) == types(other)
}

fn misfit(unfit: &BatchMismatch, rows_before: usize) -> EngineError {
    let message = format!("row {} of {ROWS}, column \"{}\": {}", rows_before + unfit.row + 1, unfit.column, unfit.problem);
    match unfit.problem == IS_NULL {
        true => EngineError::Constraint { constraint: "NOT NULL".to_string(), message },
        false => EngineError::data(message, None),
    }
}

fn refused(message: String) -> EngineError {
    EngineError::Sql { message, position: None, hint: None }
}
