//! The files of a scan as DataFusion plans them.

use std::fmt;
use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use datafusion::common::stats::Precision;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{Result, Statistics, internal_err};
use datafusion::datasource::source::DataSource;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::projection::ProjectionExprs;
use datafusion::physical_expr::{EquivalenceProperties, Partitioning, PhysicalExpr};
use datafusion::physical_plan::DisplayFormatType;
use datafusion::physical_plan::metrics::{ExecutionPlanMetricsSet, MetricBuilder};

use super::FileScan;
use crate::import::rows::{read_ahead, readable};

/// The most names of files that a plan shows.
const NAMES_SHOWN: usize = 3;

/// Files that can be read several times, in partitions.
#[derive(Debug, Clone)]
pub struct FileSource {
    schema: SchemaRef,
    partitions: Arc<[Partition]>,
    limit: Option<usize>,
    metrics: ExecutionPlanMetricsSet,
}

#[derive(Debug)]
pub(super) struct Partition {
    pub scan: FileScan,
    /// `None`: not known before they are read.
    pub rows: Option<usize>,
    /// The size on disk.
    pub bytes: u64,
}

impl FileSource {
    pub(super) fn new(schema: SchemaRef, partitions: Vec<Partition>, limit: Option<usize>) -> FileSource {
        FileSource { schema, partitions: partitions.into(), limit, metrics: ExecutionPlanMetricsSet::new() }
    }
}

impl DataSource for FileSource {
    fn open(&self, partition: usize, _context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let Some(Partition { scan, .. }) = self.partitions.get(partition) else {
            return internal_err!("files have no partition {partition}");
        };
        let rows = MetricBuilder::new(&self.metrics).output_rows(partition);
        let mut batches = scan.clone().batches();
        let mut remaining = self.limit.unwrap_or(usize::MAX);
        let limited = std::iter::from_fn(move || {
            if remaining == 0 {
                return None;
            }
            let batch = batches.next()?.map(|batch| batch.slice(0, batch.num_rows().min(remaining)));
            let count = batch.as_ref().map_or(0, |batch| batch.num_rows());
            remaining -= count;
            rows.add(count);
            Some(readable(batch))
        });
        Ok(read_ahead(&self.schema, limited))
    }

    fn fmt_as(&self, format: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Without their directories, which only users with FILES may know.
        let files = self.partitions.iter().flat_map(|partition| &partition.scan.files);
        let mut names: Vec<_> = files.filter_map(|file| file.source.path.file_name()).map(|name| name.to_string_lossy()).collect();
        names.dedup();
        let count = names.len();
        names.truncate(NAMES_SHOWN);
        match format {
            DisplayFormatType::Default | DisplayFormatType::Verbose => {
                let columns: Vec<&str> = self.schema.fields().iter().map(|field| field.name().as_str()).collect();
                let more = if count > NAMES_SHOWN { ", …" } else { "" };
                write!(f, "FileSource files={count} [{}{more}], columns=[{}]", names.join(", "), columns.join(", "))?;
                if let Some(limit) = self.limit {
                    write!(f, ", limit={limit}")?;
                }
                write!(f, ", partitions={}", self.partitions.len())
            }
            DisplayFormatType::TreeRender => writeln!(f, "files={count}"),
        }
    }

    fn output_partitioning(&self) -> Partitioning {
        Partitioning::UnknownPartitioning(self.partitions.len())
    }

    fn eq_properties(&self) -> EquivalenceProperties {
        EquivalenceProperties::new(Arc::clone(&self.schema))
    }

    fn partition_statistics(&self, partition: Option<usize>) -> Result<Arc<Statistics>> {
        let partitions: &[Partition] = match partition {
            Some(partition) => self.partitions.get(partition).map(std::slice::from_ref).unwrap_or_default(),
            None => &self.partitions,
        };
        // Each partition stops at the limit by itself.
        let most = self.limit.unwrap_or(usize::MAX);
        let rows = partitions.iter().try_fold(0_usize, |rows, partition| Some(rows.saturating_add(partition.rows?.min(most))));
        let bytes = partitions.iter().map(|partition| partition.bytes).sum::<u64>();
        let mut statistics = Statistics::new_unknown(&self.schema);
        statistics.num_rows = rows.map_or(Precision::Absent, Precision::Exact);
        statistics.total_byte_size = usize::try_from(bytes).map_or(Precision::Absent, Precision::Inexact);
        Ok(Arc::new(statistics))
    }

    fn with_fetch(&self, limit: Option<usize>) -> Option<Arc<dyn DataSource>> {
        Some(Arc::new(FileSource { limit, ..self.clone() }))
    }

    fn fetch(&self) -> Option<usize> {
        self.limit
    }

    fn metrics(&self) -> ExecutionPlanMetricsSet {
        self.metrics.clone()
    }

    fn try_swapping_with_projection(&self, _: &ProjectionExprs) -> Result<Option<Arc<dyn DataSource>>> {
        // The planner has asked for the columns already.
        Ok(None)
    }

    fn apply_expressions(&self, _: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }
}
