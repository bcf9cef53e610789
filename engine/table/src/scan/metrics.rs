//! The metrics of a scan, counted twice: for EXPLAIN ANALYZE and for the query's report.

use std::sync::Arc;

use datafusion::physical_plan::metrics::{BaselineMetrics, Count, ExecutionPlanMetricsSet, MetricBuilder};
use pmem_store::Segment;

use common::report::ReportCollector;

pub struct ScanMetrics {
    pub baseline: BaselineMetrics,
    bytes_touched: Count,
    zones_total: Count,
    zones_pruned: Count,
    segments_total: Count,
    segments_pruned: Count,
    report: Arc<ReportCollector>,
}

impl ScanMetrics {
    pub fn new(set: &ExecutionPlanMetricsSet, partition: usize, report: Arc<ReportCollector>) -> Self {
        let count = |name: &'static str| MetricBuilder::new(set).counter(name, partition);
        ScanMetrics {
            baseline: BaselineMetrics::new(set, partition),
            bytes_touched: count("bytes_touched"),
            zones_total: count("zones_total"),
            zones_pruned: count("zones_pruned"),
            segments_total: count("segments_total"),
            segments_pruned: count("segments_pruned"),
            report,
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

    pub fn touched(&self, bytes: usize) {
        self.bytes_touched.add(bytes);
        ReportCollector::add(&self.report.bytes_touched, bytes);
    }
}
