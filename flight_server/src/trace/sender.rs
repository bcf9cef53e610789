//! Sends spans to the collector in batches. While it is unavailable, they wait in a bounded queue.

use std::net::SocketAddr;
use std::time::Duration;

use prometheus_client::metrics::counter::Counter;
use prometheus_client::registry::Registry;
use tokio::sync::mpsc::Receiver;
use tokio::time::{Instant, timeout, timeout_at};
use tokio_util::sync::CancellationToken;
use tonic::client::Grpc;
use tonic::codegen::http::uri::PathAndQuery;
use tonic::transport::{Channel, ClientTlsConfig, Endpoint};
use tonic::{Code, Request, Status};
use tonic_prost::ProstCodec;

use super::messages::{EXPORT, ExportRequest, ExportResponse, KeyValue, Resource, ResourceSpans, Scope, ScopeSpans, Span};
use crate::server_error::ServerError;

/// The number of spans in one message.
const BATCH_SPANS_MAX: usize = 512;
/// How long the first span of a message waits for more.
const BATCH_EVERY: Duration = Duration::from_secs(1);
/// The timeout for connecting, and for an answer.
const PATIENCE: Duration = Duration::from_secs(10);
/// The pause between attempts while the collector is unavailable. It doubles each time.
const PAUSE_FIRST: Duration = Duration::from_secs(1);
const PAUSE_MAX: Duration = Duration::from_secs(30);

#[derive(Clone, Default)]
pub struct Counts {
    sent: Counter,
    dropped: Counter,
}

impl Counts {
    pub fn registered(metrics: &mut Registry) -> Counts {
        let counts = Counts::default();
        metrics.register("spans_sent", "Spans that the collector has taken", counts.sent.clone());
        metrics.register(
            "spans_dropped",
            "Spans that were not sent: there was no room for them, or the collector refused them",
            counts.dropped.clone(),
        );
        counts
    }

    pub fn dropped(&self, spans: u64) {
        self.dropped.inc_by(spans);
    }
}

pub struct Sender {
    collector: Grpc<Channel>,
    endpoint: String,
    resource: Resource,
    counts: Counts,
    /// The server ends: the remaining spans are sent once, without retries.
    end: CancellationToken,
    /// Logged once, until the collector answers again.
    is_away: bool,
}

impl Sender {
    /// A sender for the server at `address`. It connects when there is something to send.
    pub fn to(endpoint: &str, address: SocketAddr, counts: Counts, end: CancellationToken) -> Result<Sender, ServerError> {
        let unusable = |error: tonic::transport::Error| ServerError::Otlp { endpoint: endpoint.to_string(), reason: error.to_string() };
        let channel = Endpoint::from_shared(endpoint.to_string()).map_err(unusable)?.connect_timeout(PATIENCE);
        // Keepalive detects a connection whose peer has vanished silently, and it is made anew.
        let mut channel = channel.http2_keep_alive_interval(PATIENCE).keep_alive_timeout(PATIENCE);
        if channel.uri().scheme_str() == Some("https") {
            channel = channel.tls_config(ClientTlsConfig::new().with_native_roots()).map_err(unusable)?;
        }
        let resource = Resource {
            attributes: vec![
                KeyValue::text("service.name", "quiver"),
                KeyValue::text("service.version", env!("CARGO_PKG_VERSION")),
                KeyValue::text("service.instance.id", address.to_string()),
            ],
        };
        Ok(Sender { collector: Grpc::new(channel.connect_lazy()), endpoint: endpoint.to_string(), resource, counts, end, is_away: false })
    }

    pub async fn run(mut self, mut spans: Receiver<Span>) {
        loop {
            let batch = self.batch(&mut spans).await;
            if !batch.is_empty() {
                self.deliver(batch).await;
            } else if self.end.is_cancelled() || spans.is_closed() {
                return;
            }
        }
    }

    /// Empty if the server ends or has been dropped, and nothing is left.
    async fn batch(&self, spans: &mut Receiver<Span>) -> Vec<Span> {
        let mut batch = Vec::new();
        let first = tokio::select! {
            biased;
            first = spans.recv() => first,
            () = self.end.cancelled() => spans.try_recv().ok(),
        };
        batch.extend(first);
        let until = Instant::now() + BATCH_EVERY;
        while !batch.is_empty() && batch.len() < BATCH_SPANS_MAX {
            let room = BATCH_SPANS_MAX - batch.len();
            let more = tokio::select! {
                biased;
                more = timeout_at(until, spans.recv_many(&mut batch, room)) => more.unwrap_or(0),
                () = self.end.cancelled() => 0,
            };
            if more == 0 {
                break;
            }
        }
        batch
    }

    /// Retries until the collector has accepted them, or has refused them for good.
    async fn deliver(&mut self, spans: Vec<Span>) {
        let count = spans.len() as u64;
        let scope = Scope { name: "quiver".to_string(), version: env!("CARGO_PKG_VERSION").to_string() };
        let resource_spans =
            ResourceSpans { resource: Some(self.resource.clone()), scope_spans: vec![ScopeSpans { scope: Some(scope), spans }] };
        let request = ExportRequest { resource_spans: vec![resource_spans] };
        let mut pause = PAUSE_FIRST;
        loop {
            let is_last = self.end.is_cancelled();
            let refused = match self.export(request.clone()).await {
                Ok(answer) => return self.record_answer(count, answer),
                Err(refused) => refused,
            };
            if !is_transient(&refused) || is_last {
                tracing::warn!(endpoint = self.endpoint, "{count} spans are dropped: the collector says: {}", refused.message());
                return self.counts.dropped(count);
            }
            if !std::mem::replace(&mut self.is_away, true) {
                tracing::warn!(
                    endpoint = self.endpoint,
                    "the collector takes no traces; they wait while there is room: {}",
                    refused.message()
                );
            }
            // Interrupted by the end of the server. One more attempt follows.
            let _ = timeout(pause, self.end.cancelled()).await;
            pause = (pause * 2).min(PAUSE_MAX);
        }
    }

    fn record_answer(&mut self, count: u64, answer: ExportResponse) {
        if std::mem::replace(&mut self.is_away, false) {
            tracing::warn!(endpoint = self.endpoint, "the collector takes traces again");
        }
        let partial = answer.partial_success.unwrap_or_default();
        let rejected = u64::try_from(partial.rejected_spans).unwrap_or(0).min(count);
        if rejected > 0 {
            tracing::warn!(endpoint = self.endpoint, "the collector has dropped {rejected} spans: {}", partial.error_message);
        }
        self.counts.sent.inc_by(count - rejected);
        self.counts.dropped(rejected);
    }

    async fn export(&mut self, request: ExportRequest) -> Result<ExportResponse, Status> {
        let attempt = async {
            self.collector.ready().await.map_err(|error| Status::unavailable(error.to_string()))?;
            let codec = ProstCodec::<ExportRequest, ExportResponse>::default();
            self.collector.unary(Request::new(request), PathAndQuery::from_static(EXPORT), codec).await
        };
        let silent = || Status::unavailable(format!("no answer in {} s", PATIENCE.as_secs()));
        timeout(PATIENCE, attempt).await.unwrap_or_else(|_| Err(silent())).map(tonic::Response::into_inner)
    }
}

/// The retryable codes of OTLP. RESOURCE_EXHAUSTED would be retryable only if the collector names a delay,
/// which is ignored here. Without it the error is final, as for a message that is too large.
fn is_transient(status: &Status) -> bool {
    matches!(
        status.code(),
        Code::Cancelled | Code::DeadlineExceeded | Code::Aborted | Code::OutOfRange | Code::Unavailable | Code::DataLoss
    )
}
