//! The metrics of a scan, counted twice: for EXPLAIN ANALYZE and for the query's report.

use std::sync::{Arc, OnceLock};

use datafusion::physical_plan::metrics::{BaselineMetrics, Count, ExecutionPlanMetricsSet, MetricBuilder};
use pmem_store::{Segment, Touches};

use common::report::ReportCollector;

pub struct ScanMetrics {
    pub baseline: BaselineMetrics,
    bytes_touched: Count,
    /// A counter that few scans need is made for those alone: EXPLAIN ANALYZE shows each.
    bytes_on_other_tiers: OnceLock<Count>,
    set: ExecutionPlanMetricsSet,
    partition: usize,
    zones_total: Count,
    zones_pruned: Count,
    segments_total: Count,
    segments_pruned: Count,
    report: Arc<ReportCollector>,
    /// Those of the table.
    touches: Arc<Touches>,
}

impl ScanMetrics {
    pub fn new(set: &ExecutionPlanMetricsSet, partition: usize, report: Arc<ReportCollector>, touches: Arc<Touches>) -> Self {
        let count = |name: &'static str| MetricBuilder::new(set).counter(name, partition);
        ScanMetrics {
            baseline: BaselineMetrics::new(set, partition),
            bytes_touched: count("bytes_touched"),
            bytes_on_other_tiers: OnceLock::new(),
            set: set.clone(),
            partition,
            zones_total: count("zones_total"),
            zones_pruned: count("zones_pruned"),
            segments_total: count("segments_total"),
            segments_pruned: count("segments_pruned"),
            report,
            touches,
        }
    }

    /// Called at the start of a stream with the rows and zones that it is responsible for.
    pub fn expect(&self, rows: usize, zones: usize) {
        self.zones_total.add(zones);
        ReportCollector::add(&self.report.rows_total, rows);
        ReportCollector::add(&self.report.zones_total, zones);
    }

    /// Called before rows of the segment are read.
    pub fn reads(&self, segment: Option<&Arc<Segment>>) {
        self.report.reads(segment.into_iter());
    }

    pub fn segments(&self, total: usize, pruned: usize) {
        self.segments_total.add(total);
        self.segments_pruned.add(pruned);
        ReportCollector::add(&self.report.segments_total, total);
        ReportCollector::add(&self.report.segments_pruned, pruned);
    }

    pub fn pruned(&self, rows: usize, zones: usize) {
        self.zones_pruned.add(zones);
        ReportCollector::add(&self.report.zones_pruned, zones);
        ReportCollector::add(&self.report.rows_scanned, rows);
    }

    pub fn scanned(&self, rows: usize) {
        ReportCollector::add(&self.report.rows_scanned, rows);
    }

    /// `is_on_other_tier`: the rows lie in no directory of the store.
    pub fn touched(&self, bytes: usize, is_on_other_tier: bool) {
        self.bytes_touched.add(bytes);
        self.touches.add(bytes as u64);
        if is_on_other_tier {
            let make = || MetricBuilder::new(&self.set).counter("disk_tier_bytes", self.partition);
            self.bytes_on_other_tiers.get_or_init(make).add(bytes);
        }
        ReportCollector::add(&self.report.bytes_touched, bytes);
    }
}
