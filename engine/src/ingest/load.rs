//! Loads external rows into a table: in one commit, sorted by the table's cluster key.

use std::sync::Arc;
use std::time::Instant;

use arrow::datatypes::{DataType, FieldRef, Schema};
use datafusion::common::{Column, DFSchema, Result};
use datafusion::datasource::provider_as_source;
use datafusion::execution::SendableRecordBatchStream;
use datafusion::logical_expr::{Expr, ExprSchemable, LogicalPlan, LogicalPlanBuilder};
use pmem_store::StoreError;

use crate::execution::StatementContext;
use common::error::EngineError;
use common::privilege::Privilege;
use common::types::declared_schema;
use files::import::FileScan;
use files::import::rows::{OnceTable, RowSource};
use sql::KeyColumn;
use table::access::check_not_audit;
use table::catalog::check_no_array;
use table::constraints::planned_defaults;
use table::time_zone::schema_in_zone;
use table::write::{Declarations, RowWriter, WriteMode, WriteTarget, key_of, sorted};

/// What to do about an existing table of this name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoadMode {
    /// The table must not exist.
    Create,
    /// Adds to the table, or creates it.
    Append,
    /// The table must exist.
    AppendExisting,
    /// Replaces the table, if there is one.
    Replace,
}

#[derive(Debug, Clone)]
pub struct LoadOptions {
    pub namespace: String,
    pub table: String,
    /// The cluster key of a new table; `name` or `name desc`. `auto` alone is the first column of dates or timestamps.
    pub order_by: Vec<String>,
    pub mode: LoadMode,
}

#[derive(Debug, Clone, PartialEq)]
pub struct ImportSummary {
    pub rows: u64,
    pub rows_skipped: u64,
    /// The size of the table after the import, on disk.
    pub size_bytes: u64,
    pub segments: u64,
    /// The columns by which the table is sorted.
    pub order_by: Vec<String>,
    pub elapsed_ms: f64,
}

/// Loads files.
pub(crate) async fn load(ctx: &StatementContext, options: LoadOptions, scan: FileScan) -> Result<ImportSummary, EngineError> {
    let started = Instant::now();
    let progress = scan.progress();
    let loading = loading(ctx, &options, scan)?;
    let writer = loading.writer(ctx)?.in_segments()?;
    let order_by = loading.target.cluster_key.iter().map(|key| key.column.clone()).collect();
    let stream = loading.start(ctx).await?;
    let rows = writer.write_all(stream).await?.commit("IMPORT").await?;
    let table = ctx.catalog.now()?.snapshot.table(&options.namespace, &options.table)?;
    Ok(ImportSummary {
        rows,
        rows_skipped: progress.rows_skipped(),
        size_bytes: table.as_ref().map_or(0, |table| table.size_bytes()),
        segments: table.as_ref().map_or(0, |table| table.segments().len() as u64),
        order_by,
        elapsed_ms: started.elapsed().as_secs_f64() * 1e3,
    })
}

/// Loads batches; a few rows may go to the table's log, as those of an INSERT do. Returns the number of rows.
pub(crate) async fn load_sent(ctx: &StatementContext, options: LoadOptions, sent: impl RowSource) -> Result<u64, EngineError> {
    let loading = loading(ctx, &options, sent)?;
    let writer = loading.writer(ctx)?;
    let stream = loading.start(ctx).await?;
    writer.write_all(stream).await?.commit("INSERT").await
}

/// The destination of the rows, and the source read in the destination's types.
struct Loading<S> {
    target: WriteTarget,
    source: S,
    /// By column of the target: the value for every row, if the source lacks the column.
    defaults: Vec<Option<Expr>>,
}

impl<S: RowSource> Loading<S> {
    fn writer(&self, ctx: &StatementContext) -> Result<RowWriter, EngineError> {
        RowWriter::new(&ctx.catalog.write_scope(), self.target.clone())
    }

    async fn start(self, ctx: &StatementContext) -> Result<SendableRecordBatchStream, EngineError> {
        let table = provider_as_source(Arc::new(OnceTable::of(self.source)));
        let plan = LogicalPlanBuilder::scan(SOURCE, table, None)?.build()?;
        let plan = filled(plan, &self.target, self.defaults)?;
        let plan = sorted(plan, &self.target.cluster_key)?;
        ctx.execute_plan(&plan).await
    }
}

const SOURCE: &str = "source";

/// Instead of columns in `order_by`.
const AUTO: &str = "auto";

/// The rows of the source, plus the columns that they lack and that have a default.
fn filled(plan: LogicalPlan, target: &WriteTarget, defaults: Vec<Option<Expr>>) -> Result<LogicalPlan> {
    if defaults.iter().all(Option::is_none) {
        return Ok(plan);
    }
    let columns = target.schema.fields().iter().zip(defaults).map(|(field, default)| match default {
        Some(default) => Ok(default.cast_to(field.data_type(), &DFSchema::empty())?.alias(field.name())),
        None => Ok(Expr::Column(Column::new(Some(SOURCE), field.name())).alias(field.name())),
    });
    LogicalPlanBuilder::from(plan).project(columns.collect::<Result<Vec<_>>>()?)?.build()
}

fn loading<S: RowSource>(ctx: &StatementContext, options: &LoadOptions, mut source: S) -> Result<Loading<S>, EngineError> {
    let snapshot = ctx.catalog.snapshot();
    let (namespace, table) = (options.namespace.clone(), options.table.clone());
    if !snapshot.namespaces()?.contains(&namespace) {
        return Err(StoreError::DoesNotExist { kind: "schema", name: namespace }.into());
    }
    check_not_audit(&namespace, &table)?;
    let existing = snapshot.table(&namespace, &table)?;
    existing.as_ref().map_or(Ok(()), |existing| check_no_array(existing.record()))?;
    ctx.catalog.check(|authorization| match (&existing, options.mode) {
        (Some(table), LoadMode::Append | LoadMode::AppendExisting) => authorization.table(Privilege::Insert, table.record()),
        (Some(table), LoadMode::Replace) => authorization.table(Privilege::Ownership, table.record()),
        (None, LoadMode::AppendExisting) => Ok(()),
        _ => authorization.schema(Privilege::Create, &namespace),
    })?;
    match (&existing, options.mode) {
        (Some(_), LoadMode::Create) => Err(StoreError::is_taken("table", &namespace, &table).into()),
        (None, LoadMode::AppendExisting) => Err(StoreError::no_table(&namespace, &table).into()),
        (Some(existing), LoadMode::Append | LoadMode::AppendExisting) => {
            let record = existing.record();
            let (schema, cluster_key) = (Arc::clone(existing.schema()), record.cluster_key.clone());
            let is_kept = options.order_by.is_empty() || is_auto(&options.order_by, &schema);
            if !is_kept && key_of(&schema, &key_columns(&options.order_by, &schema)?)? != cluster_key {
                let hint = "rows that are added keep the order of the table; ALTER TABLE … SET ORDER BY changes it";
                return Err(EngineError::unsupported(format!("another order for the table \"{table}\""), Some(hint)));
            }
            let what = WriteMode::Existing { id: record.id, replace: false };
            let mut defaults = planned_defaults(&ctx.engine.rules, existing);
            let missing = source.missing(&schema);
            defaults.iter_mut().enumerate().filter(|(column, _)| !missing.contains(column)).for_each(|(_, default)| *default = None);
            let read: Vec<usize> = (0..defaults.len()).filter(|column| defaults[*column].is_none()).collect();
            let read = schema.project(&read).map_err(|error| EngineError::internal(error.to_string()))?;
            let target = WriteTarget { namespace, table, schema, cluster_key, what };
            // Timestamps without a zone are in the session's time zone.
            let read = schema_in_zone(&Arc::new(read), ctx.catalog.zone().as_deref());
            Ok(Loading { target, source: source.with_schema(read)?, defaults })
        }
        (_, mode) => {
            let schema = Arc::new(nullable(&declared_schema(&source.schema())));
            let cluster_key = key_of(&schema, &key_columns(&options.order_by, &schema)?)?;
            let what = WriteMode::New { replace: mode == LoadMode::Replace, declared: Declarations::default() };
            let target = WriteTarget { namespace, table, schema: Arc::clone(&schema), cluster_key, what };
            Ok(Loading { target, source: source.with_schema(schema)?, defaults: Vec::new() })
        }
    }
}

/// For [`AUTO`], the first column of times, if there is one: queries that want a part of a table mostly want a time of it.
fn key_columns(order_by: &[String], schema: &Schema) -> Result<Vec<KeyColumn>, EngineError> {
    if !is_auto(order_by, schema) {
        return order_by.iter().map(|column| KeyColumn::of_text(column)).collect();
    }
    let is_time = |field: &&FieldRef| matches!(field.data_type(), DataType::Date32 | DataType::Date64 | DataType::Timestamp(..));
    let column = schema.fields().iter().find(is_time).map(|field| field.name().clone());
    Ok(column.into_iter().map(|name| KeyColumn { name, descending: false, nulls_first: None }).collect())
}

/// A column of this name is that column.
fn is_auto(order_by: &[String], schema: &Schema) -> bool {
    let names = |name: &str| name.eq_ignore_ascii_case(AUTO);
    matches!(order_by, [auto] if names(auto)) && !schema.fields().iter().any(|field| names(field.name()))
}

/// A file without NULLs does not promise that the next one has none.
fn nullable(schema: &Schema) -> Schema {
    let fields = schema.fields().iter().map(|field| field.as_ref().clone().with_nullable(true));
    Schema::new(fields.collect::<Vec<_>>())
}
