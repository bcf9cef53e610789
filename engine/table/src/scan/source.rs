//! The scan as DataFusion plans it, with projection, filters, limit and statistics of one table.

use std::any::Any;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use arrow::array::ArrayRef;
use arrow::compute::BatchCoalescer;
use arrow::datatypes::{Schema, SchemaRef};
use datafusion::common::config::ConfigOptions;
use datafusion::common::stats::Precision;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{Result, Statistics, internal_err};
use datafusion::datasource::source::DataSource;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::expressions::{Column, DynamicFilterPhysicalExpr};
use datafusion::physical_expr::projection::ProjectionExprs;
use datafusion::physical_expr::utils::collect_columns;
use datafusion::physical_expr::{EquivalenceProperties, Partitioning, PhysicalExpr, PhysicalSortExpr, conjunction_opt, split_conjunction};
use datafusion::physical_expr_common::physical_expr::is_volatile;
use datafusion::physical_plan::DisplayFormatType;
use datafusion::physical_plan::filter_pushdown::{FilterPushdownPropagation, PushedDown};
use datafusion::physical_plan::metrics::ExecutionPlanMetricsSet;
use pmem_store::segment::Fetched;
use pmem_store::{TableSnapshot, Tier, Touches};

use super::fetch::Fetch;
use super::filter::ScanFilter;
use super::metrics::ScanMetrics;
use super::offset::{self, Offset};
use super::ordering::{project_ordering, table_ordering};
use super::part::ScanPart;
use super::partition::{ScanUnit, divide, each_alone};
use super::projection::projected_columns;
use super::row_id::with_row_id;
use super::row_order::shared_values;
use super::selectivity::selectivity;
use super::statistics::TableStatistics;
use super::stored_rows::StoredStream;
use super::stream::{ScanStream, is_wide};
use common::engine_settings::switches;
use common::report::ReportCollector;
use common::types::physical_schema;

/// How long a scan waits for the keys of a join; then it reads without them.
const AWAIT_MAX: Duration = Duration::from_secs(2);

#[derive(Debug, Clone)]
pub struct StoreScan {
    pub(super) table: TableSnapshot,
    pub(super) statistics: Arc<TableStatistics>,
    /// The table's schema, with the row id if it is requested.
    pub(super) declared: SchemaRef,
    pub(super) physical: SchemaRef,
    pub(super) projection: Arc<[usize]>,
    pub(super) schema: SchemaRef,
    /// Over the declared schema.
    pub(super) filters: Vec<Arc<dyn PhysicalExpr>>,
    /// The filters that a join above completes before it reads from here.
    pub(super) awaited: Vec<Arc<dyn PhysicalExpr>>,
    /// Rows to skip; `limit` counts from there.
    pub(super) offset: Option<Offset>,
    pub(super) limit: Option<usize>,
    pub(super) partitions: Arc<[Vec<ScanUnit>]>,
    pub(super) ordering: Arc<[PhysicalSortExpr]>,
    /// What counts the bytes that are read: those of the table, unless the reader is none of a user.
    pub(super) touches: Arc<Touches>,
    /// How long ago the version was followed by a newer one; 0 if it is the newest, or was named.
    pub(super) staleness_ms: u64,
    pub(super) metrics: ExecutionPlanMetricsSet,
}

impl StoreScan {
    /// `declared` is the table's schema, perhaps with the row id; `filters` are over it, and every output row passes all of them.
    pub fn new(
        table: TableSnapshot,
        declared: SchemaRef,
        statistics: Arc<TableStatistics>,
        projection: Option<&Vec<usize>>,
        filters: Vec<Arc<dyn PhysicalExpr>>,
        limit: Option<usize>,
        target_partitions: usize,
    ) -> Result<StoreScan> {
        let all = || (0..declared.fields().len()).collect();
        let projection: Arc<[usize]> = projection.cloned().unwrap_or_else(all).into();
        // Only the first rows are needed, and a single partition returns them soonest.
        let partitions = if limit.is_some() && filters.is_empty() { 1 } else { target_partitions };
        Ok(StoreScan {
            physical: physical_of(&table, &declared, &statistics.parts),
            schema: Arc::new(declared.project(&projection)?),
            partitions: divide(&statistics.parts, partitions).into(),
            ordering: table_ordering(&table, &statistics.parts).into(),
            declared,
            projection,
            filters,
            awaited: Vec::new(),
            offset: None,
            limit,
            touches: table.touches(),
            table,
            statistics,
            staleness_ms: 0,
            metrics: ExecutionPlanMetricsSet::new(),
        })
    }

    pub fn with_staleness(self, staleness_ms: u64) -> StoreScan {
        StoreScan { staleness_ms, ..self }
    }

    /// For a compaction: all rows of some parts of a table, with their ids and in any order; either in this many partitions, or with one partition per
    /// part, in the part's order.
    pub fn of_parts(table: TableSnapshot, parts: Vec<Arc<ScanPart>>, partitions: Option<usize>) -> Result<StoreScan> {
        let declared = with_row_id(table.schema());
        let divided = partitions.map_or_else(|| each_alone(&parts), |partitions| divide(&parts, partitions));
        let statistics = Arc::new(TableStatistics::unknown(parts));
        let scan = StoreScan::new(table, declared, statistics, None, Vec::new(), None, 1)?;
        Ok(StoreScan { partitions: divided.into(), ordering: Vec::new().into(), touches: Arc::default(), ..scan })
    }

    fn with_projection(&self, projection: Vec<usize>) -> Result<StoreScan> {
        let schema = Arc::new(self.declared.project(&projection)?);
        Ok(StoreScan { projection: projection.into(), schema, ..self.clone() })
    }

    /// The scan waiting for the dynamic filters that `is_awaited` selects; `None` if it has none of them.
    pub fn awaiting(&self, is_awaited: impl Fn(&DynamicFilterPhysicalExpr) -> bool) -> Result<Option<StoreScan>> {
        let mut awaited = Vec::new();
        for filter in &self.filters {
            filter.apply(|node| {
                if node.downcast_ref::<DynamicFilterPhysicalExpr>().is_some_and(&is_awaited) {
                    awaited.push(Arc::clone(node));
                }
                Ok(TreeNodeRecursion::Continue)
            })?;
        }
        Ok((!awaited.is_empty()).then(|| StoreScan { awaited, ..self.clone() }))
    }

    /// The scan without its first `skip` rows, returning at most `fetch`; `None` if it cannot determine which zones these are in.
    pub fn skipping(&self, skip: usize, fetch: usize) -> Option<StoreScan> {
        let [units] = self.partitions.as_ref() else { return None };
        let has_enough = self.limit.is_none_or(|limit| limit >= skip.saturating_add(fetch));
        if !self.filters.is_empty() || self.offset.is_some() || !has_enough {
            return None;
        }
        let (units, offset) = offset::skip(&self.statistics.parts, units, skip);
        Some(StoreScan { partitions: [units].into(), offset: Some(offset), limit: Some(fetch), ..self.clone() })
    }

    /// The scan in one partition, with its rows in the order of the table; `None` if it reads more than `rows_max` rows, or has a filter
    /// that is not cheap.
    pub fn in_order(&self, rows_max: usize, is_cheap: impl Fn(&Arc<dyn PhysicalExpr>, &Schema) -> bool) -> Option<StoreScan> {
        // With a filter, a limit may need all rows.
        let most = self.limit.filter(|_| self.filters.is_empty()).unwrap_or(usize::MAX);
        let is_small = self.unfiltered_rows(None, most) <= rows_max && self.filters.iter().all(|filter| is_cheap(filter, &self.declared));
        if !is_small {
            return None;
        }
        let partitions = if self.partitions.len() < 2 { Arc::clone(&self.partitions) } else { divide(&self.statistics.parts, 1).into() };
        Some(StoreScan { partitions, ..self.clone() })
    }

    /// Rewrites an expression over the output into one over the declared schema.
    fn declared_expr(&self, expr: &Arc<dyn PhysicalExpr>) -> Result<Arc<dyn PhysicalExpr>> {
        let rewritten = Arc::clone(expr).transform_up(|expr| {
            let Some(column) = expr.downcast_ref::<Column>() else { return Ok(Transformed::no(expr)) };
            let index = self.projection[column.index()];
            let name = self.declared.field(index).name();
            Ok(Transformed::yes(Arc::new(Column::new(name, index)) as Arc<dyn PhysicalExpr>))
        });
        Ok(rewritten?.data)
    }

    fn wait(&self) -> Option<Fetch> {
        if self.awaited.is_empty() {
            return None;
        }
        let awaited = self.awaited.clone();
        let complete = async move {
            for filter in awaited.iter().filter_map(|filter| filter.downcast_ref::<DynamicFilterPhysicalExpr>()) {
                filter.wait_complete().await;
            }
        };
        // The filter is only a hint, so the wait for it is limited.
        Some(Box::pin(async move {
            let _ = tokio::time::timeout(AWAIT_MAX, complete).await;
            Ok(Fetched::default())
        }))
    }

    fn is_row_id(&self, column: usize) -> bool {
        column >= self.table.schema().fields().len()
    }

    fn has_deletions(&self) -> bool {
        self.statistics.parts.iter().any(|part| part.deletions().is_some())
    }

    /// The rows of one partition, or of all, with at most `most` from each.
    fn unfiltered_rows(&self, partition: Option<usize>, most: usize) -> usize {
        let rows = |units: &Vec<ScanUnit>| units.iter().map(ScanUnit::rows).sum::<usize>().min(most);
        match partition {
            Some(partition) => self.partitions.get(partition).map_or(0, rows),
            None => self.partitions.iter().map(rows).sum(),
        }
    }

    /// Statistics of the filtered rows. Bounds and counts of the whole table are still bounds.
    fn filtered_statistics(&self, statistics: Statistics) -> Statistics {
        let Some(rows) = statistics.num_rows.get_value().copied().filter(|_| !self.filters.is_empty()) else {
            return statistics;
        };
        let share = conjunction_opt(self.filters.clone()).map_or(1.0, |filter| selectivity(&filter, &self.statistics));
        let left = ((rows as f64 * share).ceil() as usize).max(1);
        let mut statistics = statistics.to_inexact();
        statistics.num_rows = Precision::Inexact(left);
        statistics.total_byte_size = statistics.total_byte_size.with_estimated_selectivity(share);
        for column in &mut statistics.column_statistics {
            if let Precision::Inexact(distinct) = column.distinct_count {
                column.distinct_count = Precision::Inexact(distinct.min(left));
            }
        }
        statistics
    }
}

impl StoreScan {
    /// A partition as its rows are stored, without a limit.
    pub fn open_stored(&self, partition: usize, context: &TaskContext) -> Result<StoredStream> {
        Ok(StoredStream::new(ScanStream { decodes: false, ..self.stream(partition, context)? }))
    }

    /// Whether it returns all rows that pass its filter.
    pub fn is_whole(&self) -> bool {
        self.limit.is_none() && self.offset.is_none()
    }

    /// If the rows are in ascending order of a column of the output, and with that those of each partition: its values that several partitions may have,
    /// namely those that the last row of a unit has and also the first row of the next unit.
    pub fn shared_keys(&self, column: usize) -> Option<ArrayRef> {
        let declared = self.projection[column];
        if self.is_row_id(declared) || !self.is_whole() || !self.statistics.is_ascending(declared) {
            return None;
        }
        let mut units: Vec<ScanUnit> = self.partitions.iter().filter(|_| self.partitions.len() > 1).flatten().copied().collect();
        units.sort_unstable_by_key(|unit| (unit.part, unit.batch, unit.start));
        // The scan reports what is damaged, if it reads that.
        shared_values(&self.statistics.parts, &units, declared, self.declared.field(declared).data_type()).ok()
    }

    /// Whether most rows have codes or small integers in these columns of the output.
    pub fn has_codes(&self, columns: &[usize]) -> bool {
        let is_code = |part: &ScanPart, column: &usize| {
            use arrow::datatypes::DataType::{Dictionary, Int8, Int16, UInt8, UInt16};
            let field = part.stored().fields().get(self.projection[*column]);
            field.is_some_and(|field| matches!(field.data_type(), Dictionary(..) | Int8 | Int16 | UInt8 | UInt16))
        };
        let (mut rows, mut with_codes) = (0, 0);
        for part in &self.statistics.parts {
            rows += part.row_count();
            with_codes += if columns.iter().all(|column| is_code(part, column)) { part.row_count() } else { 0 };
        }
        with_codes * 10 >= rows * 9
    }

    fn stream(&self, partition: usize, context: &TaskContext) -> Result<ScanStream> {
        let Some(units) = self.partitions.get(partition) else {
            return internal_err!("scan of {} has no partition {partition}", self.table.record().name);
        };
        let report = context.session_config().get_extension::<ReportCollector>().unwrap_or_default();
        report.staleness_ms.fetch_max(self.staleness_ms, Ordering::Relaxed);
        let metrics = ScanMetrics::new(&self.metrics, partition, report, Arc::clone(&self.touches));
        metrics.expect(units.iter().map(ScanUnit::rows).sum(), units.iter().map(ScanUnit::zones).sum());
        let switches = switches(context.session_config().options());
        let filter = ScanFilter::new(conjunction_opt(self.filters.clone()), &self.declared, &self.physical, switches)?;
        let batch_rows = context.session_config().batch_size();
        let scan = ScanStream {
            parts: self.statistics.parts.clone().into(),
            declared: Arc::clone(&self.declared),
            physical: Arc::clone(&self.physical),
            projection: Arc::clone(&self.projection),
            stored_columns: self.projection.iter().copied().filter(|column| !self.is_row_id(*column)).collect(),
            row_id_place: self.projection.iter().position(|column| self.is_row_id(*column)),
            schema: Arc::clone(&self.schema),
            filter,
            units: units.clone(),
            metrics,
            decodes: true,
            coalescer: BatchCoalescer::new(Arc::clone(&self.schema), batch_rows),
            is_wide: is_wide(&self.schema),
            runs: Default::default(),
            skip: self.offset.map_or(0, |offset| offset.of_first_zone),
            remaining: self.limit.unwrap_or(usize::MAX),
            next_unit: 0,
            current: None,
            read_part: None,
            tier: Tier::Pmem,
            zone_mask: None,
            waiting: self.wait(),
            finished: false,
        };
        if partition == 0 {
            scan.count_segments()?;
        }
        Ok(scan)
    }
}

impl DataSource for StoreScan {
    fn open(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        Ok(Box::pin(self.stream(partition, &context)?))
    }

    fn fmt_as(&self, format: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let record = self.table.record();
        let columns: Vec<&str> = self.schema.fields().iter().map(|field| field.name().as_str()).collect();
        match format {
            DisplayFormatType::Default | DisplayFormatType::Verbose => {
                write!(f, "StoreScan table={}.{}, columns=[{}]", record.namespace, record.name, columns.join(", "))?;
                if let Some(filter) = conjunction_opt(self.filters.clone()) {
                    write!(f, ", filter={filter}")?;
                }
                if let Some(offset) = self.offset {
                    write!(f, ", offset={}", offset.rows)?;
                }
                if let Some(limit) = self.limit {
                    write!(f, ", limit={limit}")?;
                }
                write!(f, ", partitions={}, segments={}", self.partitions.len(), self.statistics.parts.len())?;
                match self.staleness_ms {
                    0 => Ok(()),
                    staleness_ms => write!(f, ", version={}, staleness_ms={staleness_ms}", self.table.version()),
                }
            }
            DisplayFormatType::TreeRender => writeln!(f, "table={}.{}", record.namespace, record.name),
        }
    }

    fn output_partitioning(&self) -> Partitioning {
        Partitioning::UnknownPartitioning(self.partitions.len())
    }

    fn eq_properties(&self) -> EquivalenceProperties {
        let ordering = project_ordering(&self.ordering, &self.projection);
        EquivalenceProperties::new_with_orderings(Arc::clone(&self.schema), ordering)
    }

    fn partition_statistics(&self, partition: Option<usize>) -> Result<Arc<Statistics>> {
        let mut statistics = self.statistics.of_columns(self.projection.iter().copied());
        if partition.is_some() || self.offset.is_some() {
            statistics = statistics.to_inexact();
            let rows = self.unfiltered_rows(partition, usize::MAX);
            statistics.num_rows =
                if self.has_deletions() || self.offset.is_some() { Precision::Inexact(rows) } else { Precision::Exact(rows) };
        }
        let mut statistics = self.filtered_statistics(statistics);
        if let Some(limit) = self.limit {
            // Each partition stops at the limit by itself.
            statistics = statistics.with_fetch(Some(self.unfiltered_rows(partition, limit)), 0, 1)?;
        }
        Ok(Arc::new(statistics))
    }

    fn with_fetch(&self, limit: Option<usize>) -> Option<Arc<dyn DataSource>> {
        Some(Arc::new(StoreScan { limit, ..self.clone() }))
    }

    fn fetch(&self) -> Option<usize> {
        self.limit
    }

    fn metrics(&self) -> ExecutionPlanMetricsSet {
        self.metrics.clone()
    }

    fn try_swapping_with_projection(&self, projection: &ProjectionExprs) -> Result<Option<Arc<dyn DataSource>>> {
        let Some(columns) = projected_columns(&self.projection, projection) else { return Ok(None) };
        Ok(Some(Arc::new(self.with_projection(columns)?)))
    }

    fn try_pushdown_filters(
        &self,
        filters: Vec<Arc<dyn PhysicalExpr>>,
        _config: &ConfigOptions,
    ) -> Result<FilterPushdownPropagation<Arc<dyn DataSource>>> {
        // Filters do not commute with a limit or an offset.
        if self.limit.is_some() || self.offset.is_some() || filters.is_empty() {
            return Ok(FilterPushdownPropagation::with_parent_pushdown_result(vec![PushedDown::No; filters.len()]));
        }
        let mut scan = self.clone();
        let mut answers = Vec::with_capacity(filters.len());
        for filter in &filters {
            if is_volatile(filter) {
                answers.push(PushedDown::No);
                continue;
            }
            let filter = self.declared_expr(filter)?;
            // The row id is computed and not stored, so it cannot be filtered.
            if collect_columns(&filter).iter().any(|column| self.is_row_id(column.index())) {
                answers.push(PushedDown::No);
                continue;
            }
            scan.filters.extend(split_conjunction(&filter).into_iter().cloned());
            answers.push(PushedDown::Yes);
        }
        let scan: Arc<dyn DataSource> = Arc::new(scan);
        Ok(FilterPushdownPropagation::with_parent_pushdown_result(answers).with_updated_node(scan))
    }

    fn apply_expressions(&self, f: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>) -> Result<TreeNodeRecursion> {
        let mut recursion = TreeNodeRecursion::Continue;
        for filter in &self.filters {
            recursion = f(filter)?;
            if recursion == TreeNodeRecursion::Stop {
                break;
            }
        }
        Ok(recursion)
    }

    fn with_new_state(&self, _state: Arc<dyn Any + Send + Sync>) -> Option<Arc<dyn DataSource>> {
        None
    }
}

/// The physical schema of the parts if the scan has all columns of its table: for 10,000 columns, building another one is slow.
fn physical_of(table: &TableSnapshot, declared: &SchemaRef, parts: &[Arc<ScanPart>]) -> SchemaRef {
    match parts.first() {
        Some(part) if part.physical().fields().len() == declared.fields().len() => Arc::clone(part.physical()),
        // The declared time zone may differ from the stored one.
        _ if declared.fields().len() > table.schema().fields().len() => physical_schema(&with_row_id(table.schema())),
        _ => physical_schema(table.schema()),
    }
}
