//! Counters of statements that have ended.

use engine::StatementEnd;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::{Family, MetricConstructor};
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

type Labels<const N: usize> = [(&'static str, &'static str); N];

/// The buckets reach from a point query to a report.
const SECONDS: [f64; 14] = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0, 30.0, 120.0, 600.0];

#[derive(Clone)]
struct Buckets;

impl MetricConstructor<Histogram> for Buckets {
    fn new_metric(&self) -> Histogram {
        Histogram::new(SECONDS)
    }
}

pub struct Statements {
    ended: Family<Labels<2>, Counter>,
    seconds: Family<Labels<1>, Histogram, Buckets>,
    queued_ms: Counter,
    rows: Counter,
    bytes_touched: Counter,
    bytes_returned: Counter,
}

impl Statements {
    pub fn registered(registry: &mut Registry) -> Statements {
        let statements = Statements {
            ended: Family::default(),
            seconds: Family::new_with_constructor(Buckets),
            queued_ms: Counter::default(),
            rows: Counter::default(),
            bytes_touched: Counter::default(),
            bytes_returned: Counter::default(),
        };
        registry.register("statements", "Statements that have ended, by kind and outcome", statements.ended.clone());
        registry.register(
            "statement_duration_seconds",
            "From the start of a statement to the end of its result",
            statements.seconds.clone(),
        );
        registry.register("queue_wait_milliseconds", "Time that statements waited in the queue", statements.queued_ms.clone());
        registry.register("rows_returned", "Rows that left the engine", statements.rows.clone());
        registry.register("bytes_touched", "Bytes of tables that were read in place", statements.bytes_touched.clone());
        registry.register("bytes_returned", "Bytes that left the engine", statements.bytes_returned.clone());
        statements
    }

    pub fn count(&self, end: &StatementEnd<'_>) {
        let kind = end.kind.map_or("unknown", |kind| kind.name());
        self.ended.get_or_create(&[("kind", kind), ("outcome", end.outcome.name())]).inc();
        self.seconds.get_or_create(&[("kind", kind)]).observe(end.elapsed_ms / 1e3);
        self.queued_ms.inc_by(end.queued_ms);
        self.rows.inc_by(end.rows_returned);
        self.bytes_touched.inc_by(end.bytes_touched);
        self.bytes_returned.inc_by(end.bytes_returned);
    }
}

pub fn log_if_slow(end: &StatementEnd<'_>, slow_query_ms: Option<u64>) {
    if slow_query_ms.is_none_or(|slow_ms| end.elapsed_ms < slow_ms as f64) {
        return;
    }
    tracing::warn!(
        query_id = end.query_id,
        session_id = end.session_id,
        user = end.user,
        outcome = end.outcome.name(),
        elapsed_ms = end.elapsed_ms,
        queued_ms = end.queued_ms,
        rows_returned = end.rows_returned,
        bytes_touched = end.bytes_touched,
        bytes_returned = end.bytes_returned,
        peak_memory_bytes = end.peak_memory_bytes,
        "slow statement: {}",
        end.text
    );
}
