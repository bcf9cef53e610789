//! The metrics of a scan, counted twice: for EXPLAIN ANALYZE and for the query's report.

use std::sync::{Arc, OnceLock};

use datafusion::physical_plan::metrics::{BaselineMetrics, Count, ExecutionPlanMetricsSet, MetricBuilder};
use pmem_store::segment::Fetched;
use pmem_store::{Segment, Tier, Touches};

use common::report::ReportCollector;

pub struct ScanMetrics {
    pub baseline: BaselineMetrics,
    bytes_touched: Count,
    /// A counter that few scans need is made for those alone: EXPLAIN ANALYZE shows each.
    bytes_on_tiers: [OnceLock<Count>; Tier::ALL.len()],
    fetched: OnceLock<[Count; 3]>,
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
            bytes_on_tiers: Default::default(),
            fetched: OnceLock::new(),
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

    /// What came from an object store: bytes, ranges of columns, and the requests that they shared.
    pub fn fetched(&self, fetched: Fetched) {
        let count = |name: &'static str| MetricBuilder::new(&self.set).counter(name, self.partition);
        let names = ["fetched_bytes", "fetched_ranges", "fetch_requests"];
        let counts = self.fetched.get_or_init(|| names.map(count));
        for (count, value) in counts.iter().zip([fetched.size_bytes, fetched.ranges, fetched.requests]) {
            count.add(value as usize);
        }
    }

    /// Counts bytes of a segment that lies, or is copied to, where `tier` says.
    pub fn touched(&self, bytes: usize, tier: Tier) {
        self.bytes_touched.add(bytes);
        match tier {
            Tier::Pmem => self.touches.add(bytes as u64),
            Tier::Memory | Tier::Disk | Tier::Object => self.touches.add_of_tier(bytes as u64),
        }
        let name = match tier {
            Tier::Pmem => None,
            Tier::Memory => Some("memory_tier_bytes"),
            Tier::Disk => Some("disk_tier_bytes"),
            Tier::Object => Some("object_tier_bytes"),
        };
        if let Some(name) = name {
            self.bytes_on_tiers[tier as usize].get_or_init(|| MetricBuilder::new(&self.set).counter(name, self.partition)).add(bytes);
        }
        ReportCollector::add(&self.report.bytes_touched, bytes);
    }
}
