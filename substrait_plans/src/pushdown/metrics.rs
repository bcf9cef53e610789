//! The counters of a remote scan for EXPLAIN ANALYZE: exact bytes, where DataFusion's counters are rounded.

use std::any::Any;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use datafusion::physical_plan::metrics::{BaselineMetrics, CustomMetricValue, ExecutionPlanMetricsSet, MetricBuilder, MetricValue};

use super::node::NodeReport;

#[derive(Debug, Default)]
struct Bytes(AtomicU64);

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0.load(Ordering::Relaxed))
    }
}

impl CustomMetricValue for Bytes {
    fn new_empty(&self) -> Arc<dyn CustomMetricValue> {
        Arc::new(Bytes::default())
    }

    fn aggregate(&self, other: Arc<dyn CustomMetricValue + 'static>) {
        if let Some(other) = other.as_any().downcast_ref::<Bytes>() {
            self.0.fetch_add(other.0.load(Ordering::Relaxed), Ordering::Relaxed);
        }
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn as_usize(&self) -> usize {
        usize::try_from(self.0.load(Ordering::Relaxed)).unwrap_or(usize::MAX)
    }

    fn is_eq(&self, other: &Arc<dyn CustomMetricValue>) -> bool {
        other.as_any().downcast_ref::<Bytes>().is_some_and(|other| other.0.load(Ordering::Relaxed) == self.0.load(Ordering::Relaxed))
    }
}

/// The metrics of one run.
pub struct RemoteMetrics {
    pub baseline: BaselineMetrics,
    touched: Arc<Bytes>,
    returned: Arc<Bytes>,
    sent: Arc<Bytes>,
    on_wire: Arc<Bytes>,
}

impl RemoteMetrics {
    pub fn new(set: &ExecutionPlanMetricsSet, partition: usize) -> RemoteMetrics {
        let bytes = |name: &'static str| {
            let value = Arc::new(Bytes::default());
            let shown: Arc<dyn CustomMetricValue> = Arc::<Bytes>::clone(&value);
            MetricBuilder::new(set).with_partition(partition).build(MetricValue::Custom { name: name.into(), value: shown });
            value
        };
        RemoteMetrics {
            baseline: BaselineMetrics::new(set, partition),
            touched: bytes("node_bytes_touched"),
            returned: bytes("node_bytes_returned"),
            sent: bytes("bytes_sent"),
            on_wire: bytes("bytes_on_wire"),
        }
    }

    /// Updates the counters from the node's report.
    pub fn update(&self, report: &NodeReport) {
        let pairs = [
            (&self.touched, &report.bytes_touched),
            (&self.returned, &report.bytes_returned),
            (&self.sent, &report.bytes_sent),
            (&self.on_wire, &report.bytes_on_wire),
        ];
        for (shown, counted) in pairs {
            shown.0.store(counted.load(Ordering::Relaxed), Ordering::Relaxed);
        }
    }
}
