//! What a plan that is kept has in the place of a scan: all of it except for the table, so that the plan keeps no files.

use std::fmt;
use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{Result, internal_err};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::{PhysicalExpr, PhysicalSortExpr};
use datafusion::physical_plan::metrics::ExecutionPlanMetricsSet;
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties, ReplaceChildrenOptions};
use pmem_store::{TableId, TableSnapshot};

use super::partition::ScanUnit;
use super::source::StoreScan;
use super::statistics::TableStatistics;

/// It cannot be executed: [`ScanTemplateExec::scan`] makes the scan.
#[derive(Debug)]
pub struct ScanTemplateExec {
    table: TableId,
    declared: SchemaRef,
    physical: SchemaRef,
    projection: Arc<[usize]>,
    schema: SchemaRef,
    filters: Vec<Arc<dyn PhysicalExpr>>,
    limit: Option<usize>,
    partitions: Arc<[Vec<ScanUnit>]>,
    ordering: Arc<[PhysicalSortExpr]>,
    properties: Arc<PlanProperties>,
}

impl ScanTemplateExec {
    /// `None` for a scan that waits for a join, or skips rows. `properties` are those of its operator.
    pub fn of(scan: &StoreScan, properties: &Arc<PlanProperties>) -> Option<ScanTemplateExec> {
        (scan.awaited.is_empty() && scan.offset.is_none()).then(|| ScanTemplateExec {
            table: scan.table.record().id,
            declared: Arc::clone(&scan.declared),
            physical: Arc::clone(&scan.physical),
            projection: Arc::clone(&scan.projection),
            schema: Arc::clone(&scan.schema),
            filters: scan.filters.clone(),
            limit: scan.limit,
            partitions: Arc::clone(&scan.partitions),
            ordering: Arc::clone(&scan.ordering),
            properties: Arc::clone(properties),
        })
    }

    pub fn table(&self) -> TableId {
        self.table
    }

    pub fn filters(&self) -> &[Arc<dyn PhysicalExpr>] {
        &self.filters
    }

    /// The scan of `table`, which has the rows of the template's table. `filters` are those of the template for another statement.
    pub(crate) fn scan(&self, table: &TableSnapshot, statistics: Arc<TableStatistics>, filters: Vec<Arc<dyn PhysicalExpr>>) -> StoreScan {
        StoreScan {
            touches: table.touches(),
            table: table.clone(),
            statistics,
            declared: Arc::clone(&self.declared),
            physical: Arc::clone(&self.physical),
            projection: Arc::clone(&self.projection),
            schema: Arc::clone(&self.schema),
            filters,
            awaited: Vec::new(),
            offset: None,
            limit: self.limit,
            partitions: Arc::clone(&self.partitions),
            ordering: Arc::clone(&self.ordering),
            staleness_ms: 0,
            metrics: ExecutionPlanMetricsSet::new(),
        }
    }
}

impl DisplayAs for ScanTemplateExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ScanTemplateExec")
    }
}

impl ExecutionPlan for ScanTemplateExec {
    fn name(&self) -> &str {
        "ScanTemplateExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        Vec::new()
    }

    fn apply_expressions(&self, _f: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn replace_children(self: Arc<Self>, _: Vec<Arc<dyn ExecutionPlan>>, _: ReplaceChildrenOptions) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(self)
    }

    fn with_new_children(self: Arc<Self>, _: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(self)
    }

    fn execute(&self, _: usize, _: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        internal_err!("the scan of a kept plan has no table")
    }
}
