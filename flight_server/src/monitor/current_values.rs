//! Metrics that are computed when they are scraped.

use std::fmt;
use std::sync::Weak;
use std::time::Instant;

use engine::{Engine, StatementCounts, Usage};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;

use crate::service::{Counts, Service};

pub struct CurrentValues {
    pub engine: Engine,
    pub service: Weak<Service>,
    pub started: Instant,
}

impl fmt::Debug for CurrentValues {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Now").finish_non_exhaustive()
    }
}

impl Collector for CurrentValues {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let mut gauge = |name: &str, help: &str, value: u64| {
            let metric = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
            ConstGauge::new(i64::try_from(value).unwrap_or(i64::MAX)).encode(metric)
        };
        let StatementCounts { queued, running, unread } = self.engine.statement_counts();
        gauge("statements_running", "Statements that run", running)?;
        gauge("statements_unread", "Statements that are paused, because nobody reads their results", unread)?;
        gauge("statements_queued", "Statements that wait in the queue", queued)?;
        gauge("uptime_seconds", "Since the server began", self.started.elapsed().as_secs())?;
        if let Some(service) = self.service.upgrade() {
            of_clients(&service.counts(), &mut gauge)?;
        }
        match self.engine.usage() {
            Ok(usage) => {
                of_store(&usage, &mut gauge)?;
                compactions(&usage, &mut encoder)?;
            }
            Err(error) => tracing::warn!(%error, "the store's numbers are left out of /metrics"),
        }
        let build = encoder.encode_descriptor("build", "What this program is", None, MetricType::Gauge)?;
        let mut build = build;
        ConstGauge::new(1i64).encode(build.encode_family(&[("version", env!("CARGO_PKG_VERSION"))])?)
    }
}

type Gauge<'a> = dyn FnMut(&str, &str, u64) -> fmt::Result + 'a;

fn of_clients(counts: &Counts, gauge: &mut Gauge<'_>) -> fmt::Result {
    gauge("sessions", "Sessions that are open", counts.sessions as u64)?;
    gauge("transactions", "Transactions that clients hold", counts.transactions as u64)?;
    gauge("prepared_statements", "Prepared statements that clients hold", counts.prepared_statements as u64)?;
    gauge("results_waiting", "Results that nobody has fetched yet", counts.results_waiting as u64)?;
    gauge("results_running", "Results that are being fetched", counts.results_running as u64)?;
    gauge("results_unread_bytes", "Bytes of results that clients have not read yet", counts.unread_bytes as u64)
}

fn of_store(usage: &Usage, gauge: &mut Gauge<'_>) -> fmt::Result {
    gauge("memory_used_bytes", "Memory that the operators of all statements use", usage.memory_used_bytes)?;
    gauge("memory_limit_bytes", "Memory that they may use", usage.memory_limit_bytes)?;
    gauge("tables", "Stored tables", usage.tables)?;
    gauge("segments", "Segments of the current versions of the tables", usage.segments)?;
    gauge("log_bytes", "Bytes of small writes that are in no segment yet", usage.log_bytes)?;
    gauge("store_bytes", "Bytes of segments, of their side files and of logs", usage.store_bytes)?;
    gauge("compaction_backlog_segments", "Segments that wait for compaction in the background", usage.backlog_segments)?;
    gauge("compaction_backlog_bytes", "Bytes of the segments that wait for compaction", usage.backlog_bytes)?;
    gauge("compactions_running", "Compactions that run", usage.compactions_running)
}

fn compactions(usage: &Usage, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
    let mut family = encoder.encode_descriptor("compactions", "Compactions that have ended, by outcome", None, MetricType::Counter)?;
    for (outcome, count) in &usage.compactions {
        ConstCounter::new(*count).encode(family.encode_family(&[("outcome", *outcome)])?)?;
    }
    Ok(())
}
