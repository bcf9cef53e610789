//! Traces for an OpenTelemetry collector, by OTLP over gRPC: a span for each call, with the spans of its statements as children.
//!
//! - [`call`] — the span of a call; [`statement`] that of a statement
//! - [`context`] — the trace of a span
//! - [`sender`] — sends spans from a bounded queue: nothing waits for a collector
//! - [`messages`] — the messages of OTLP
//!
//! This does not use the crates of OpenTelemetry: they read a dozen environment variables, do not report how many spans they
//! have dropped, and would change the features with which the dependencies of DataFusion are compiled.

mod call;
mod context;
mod messages;
mod sender;
mod statement;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use engine::StatementEnd;
use parking_lot::Mutex;
use prometheus_client::registry::Registry;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::server_error::ServerError;
use messages::Span;
use sender::{Counts, Sender};

pub use call::traced;
pub use context::CallTrace;

/// The limit for spans that wait for the collector. Further ones are dropped.
const SPANS_MAX: usize = 8_192;
/// The time for sending the remaining spans when the server ends.
const LAST_WORDS: Duration = Duration::from_secs(3);

/// The handle for exporting spans. Its clones share one collector.
#[derive(Clone)]
pub struct Traces {
    spans: mpsc::Sender<Span>,
    counts: Counts,
    end: CancellationToken,
    sender: Arc<Mutex<Option<JoinHandle<()>>>>,
}

impl Traces {
    /// Traces of the server at `address`; `None` if no collector is configured.
    pub fn of(endpoint: Option<&str>, address: SocketAddr, metrics: &mut Registry) -> Result<Option<Traces>, ServerError> {
        let Some(endpoint) = endpoint else { return Ok(None) };
        let (spans, waiting) = mpsc::channel(SPANS_MAX);
        let (counts, end) = (Counts::registered(metrics), CancellationToken::new());
        let sender = Sender::to(endpoint, address, counts.clone(), end.clone())?;
        let sender = Arc::new(Mutex::new(Some(tokio::spawn(sender.run(waiting)))));
        Ok(Some(Traces { spans, counts, end, sender }))
    }

    pub fn ended(&self, end: &StatementEnd<'_>) {
        if let Some(span) = statement::span(end) {
            self.send(span);
        }
    }

    fn send(&self, span: Span) {
        if self.spans.try_send(span).is_err() {
            self.counts.dropped(1);
        }
    }

    /// Sends the remaining spans, within a time limit.
    pub async fn finish(&self) {
        self.end.cancel();
        let Some(mut sender) = self.sender.lock().take() else { return };
        if tokio::time::timeout(LAST_WORDS, &mut sender).await.is_err() {
            sender.abort();
            tracing::warn!("the last traces are dropped: the collector has not taken them in {} s", LAST_WORDS.as_secs());
        }
    }
}

fn nanoseconds(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH).map_or(0, |since| u64::try_from(since.as_nanos()).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_over_the_limit_is_dropped_and_counted() {
        let (mut metrics, (spans, _waiting)) = (Registry::default(), mpsc::channel(2));
        let traces = Traces { spans, counts: Counts::registered(&mut metrics), end: CancellationToken::new(), sender: Arc::default() };
        (0..5).for_each(|_| traces.send(Span::default()));
        let mut text = String::new();
        prometheus_client::encoding::text::encode(&mut text, &metrics).unwrap();
        assert!(text.contains("spans_dropped_total 3\n"), "{text}");
    }
}
