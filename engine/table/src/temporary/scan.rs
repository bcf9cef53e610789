//! Scans a temporary table: its batches without a copy, in pieces of at most a zone.

use std::fmt;
use std::sync::Arc;

use arrow::array::{RecordBatch, RecordBatchOptions};
use arrow::datatypes::SchemaRef;
use arrow::error::ArrowError;
use datafusion::common::stats::Precision;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{Result, Statistics, internal_err};
use datafusion::datasource::source::DataSource;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::projection::ProjectionExprs;
use datafusion::physical_expr::{EquivalenceProperties, Partitioning, PhysicalExpr};
use datafusion::physical_plan::DisplayFormatType;
use datafusion::physical_plan::coop::cooperative;
use datafusion::physical_plan::execution_plan::SchedulingType;
use datafusion::physical_plan::metrics::{BaselineMetrics, ExecutionPlanMetricsSet, RecordOutput};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use pmem_store::ZONE_ROWS;

use super::tables::TemporaryRows;
use crate::scan::projected_columns;
use common::report::{ReportCollector, TemporaryReads};

/// With fewer pieces, another partition costs more than it saves.
const PARTITION_PIECES_MIN: usize = 4;

/// Rows of a batch, given by the index of its chunk and its own index in that.
#[derive(Debug, Clone, Copy)]
struct ChunkRange {
    chunk: usize,
    batch: usize,
    start: usize,
    rows: usize,
}

#[derive(Debug, Clone)]
pub struct TemporaryScan {
    table: Arc<TemporaryRows>,
    projection: Arc<[usize]>,
    schema: SchemaRef,
    /// Fixed when the plan is made.
    partitions: Arc<[Vec<ChunkRange>]>,
    limit: Option<usize>,
    metrics: ExecutionPlanMetricsSet,
}

impl TemporaryScan {
    pub fn new(
        table: Arc<TemporaryRows>,
        projection: Option<&Vec<usize>>,
        limit: Option<usize>,
        target_partitions: usize,
    ) -> Result<TemporaryScan> {
        let all = || (0..table.schema.fields().len()).collect();
        let projection: Arc<[usize]> = projection.cloned().unwrap_or_else(all).into();
        let schema = Arc::new(table.schema.project(&projection)?);
        // Only the first rows are needed, and a single partition returns them soonest.
        let target = if limit.is_some() { 1 } else { target_partitions };
        let partitions = divide(&table, target).into();
        Ok(TemporaryScan { table, projection, schema, partitions, limit, metrics: ExecutionPlanMetricsSet::new() })
    }

    /// The rows of one partition or of all, with at most the limit from each.
    fn row_count(&self, partition: Option<usize>) -> usize {
        let most = self.limit.unwrap_or(usize::MAX);
        let rows = |pieces: &Vec<ChunkRange>| pieces.iter().map(|piece| piece.rows).sum::<usize>().min(most);
        match partition {
            Some(partition) => self.partitions.get(partition).map_or(0, rows),
            None => self.partitions.iter().map(rows).sum(),
        }
    }
}

/// Distributed round-robin among at most `target` partitions.
fn divide(table: &TemporaryRows, target: usize) -> Vec<Vec<ChunkRange>> {
    let mut pieces = Vec::new();
    for (chunk, rows) in table.chunks().iter().enumerate() {
        for (batch, rows_of_batch) in rows.batches().iter().enumerate() {
            let starts = (0..rows_of_batch.num_rows()).step_by(ZONE_ROWS);
            pieces.extend(starts.map(|start| ChunkRange { chunk, batch, start, rows: ZONE_ROWS.min(rows_of_batch.num_rows() - start) }));
        }
    }
    let target = target.clamp(1, pieces.len().div_ceil(PARTITION_PIECES_MIN).max(1));
    let mut partitions = vec![Vec::with_capacity(pieces.len().div_ceil(target)); target];
    for (index, piece) in pieces.into_iter().enumerate() {
        partitions[index % target].push(piece);
    }
    partitions
}

impl DataSource for TemporaryScan {
    fn open(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let Some(pieces) = self.partitions.get(partition).cloned() else {
            return internal_err!("scan of {} has no partition {partition}", self.table.name);
        };
        let report = context.session_config().get_extension::<ReportCollector>().unwrap_or_default();
        // Some of the rows may be in these segments: a result computed from them is withheld if one was truncated.
        report.reads(self.table.chunks().iter().flat_map(|chunk| chunk.segments()));
        report.reads_counted(self.table.chunks().iter().map(|chunk| Arc::clone(chunk) as Arc<dyn TemporaryReads>));
        ReportCollector::add(&report.rows_total, self.row_count(Some(partition)));
        let metrics = BaselineMetrics::new(&self.metrics, partition);
        let (table, projection, schema) = (Arc::clone(&self.table), Arc::clone(&self.projection), Arc::clone(&self.schema));
        let mut remaining = self.limit.unwrap_or(usize::MAX);
        let batches = pieces.into_iter().map_while(move |piece| {
            let rows = piece.rows.min(remaining);
            if rows == 0 {
                return None;
            }
            remaining -= rows;
            let batch = &table.chunks()[piece.chunk].batches()[piece.batch];
            ReportCollector::add(&report.rows_scanned, rows);
            let batch = projected(batch, &projection, &schema, piece.start, rows).map(|batch| batch.record_output(&metrics));
            Some(batch.map_err(Into::into))
        });
        let stream = RecordBatchStreamAdapter::new(Arc::clone(&self.schema), futures::stream::iter(batches));
        Ok(Box::pin(cooperative(stream)))
    }

    fn fmt_as(&self, format: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let columns: Vec<&str> = self.schema.fields().iter().map(|field| field.name().as_str()).collect();
        match format {
            DisplayFormatType::Default | DisplayFormatType::Verbose => {
                write!(f, "VolatileScan table={}, columns=[{}]", self.table.name, columns.join(", "))?;
                if let Some(limit) = self.limit {
                    write!(f, ", limit={limit}")?;
                }
                write!(f, ", partitions={}, rows={}", self.partitions.len(), self.table.row_count())
            }
            DisplayFormatType::TreeRender => writeln!(f, "table={}", self.table.name),
        }
    }

    fn output_partitioning(&self) -> Partitioning {
        Partitioning::UnknownPartitioning(self.partitions.len())
    }

    fn eq_properties(&self) -> EquivalenceProperties {
        EquivalenceProperties::new(Arc::clone(&self.schema))
    }

    fn scheduling_type(&self) -> SchedulingType {
        SchedulingType::Cooperative
    }

    fn partition_statistics(&self, partition: Option<usize>) -> Result<Arc<Statistics>> {
        let mut statistics = self.table.statistics();
        if partition.is_some() || self.limit.is_some() {
            statistics = statistics.to_inexact();
            statistics.num_rows = Precision::Exact(self.row_count(partition));
        }
        Ok(Arc::new(statistics.project(Some(&self.projection.as_ref()))))
    }

    fn with_fetch(&self, limit: Option<usize>) -> Option<Arc<dyn DataSource>> {
        Some(Arc::new(TemporaryScan { limit, ..self.clone() }))
    }

    fn fetch(&self) -> Option<usize> {
        self.limit
    }

    fn metrics(&self) -> ExecutionPlanMetricsSet {
        self.metrics.clone()
    }

    fn try_swapping_with_projection(&self, projection: &ProjectionExprs) -> Result<Option<Arc<dyn DataSource>>> {
        let Some(columns) = projected_columns(&self.projection, projection) else { return Ok(None) };
        let schema = Arc::new(self.table.schema.project(&columns)?);
        Ok(Some(Arc::new(TemporaryScan { projection: columns.into(), schema, ..self.clone() })))
    }

    fn apply_expressions(&self, _: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }
}

fn projected(batch: &RecordBatch, projection: &[usize], schema: &SchemaRef, start: usize, rows: usize) -> Result<RecordBatch, ArrowError> {
    let columns = projection.iter().map(|column| batch.column(*column).slice(start, rows)).collect();
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    RecordBatch::try_new_with_options(Arc::clone(schema), columns, &options)
}
