//! What operators see of a server: its health and its metrics.
//!
//! - [`health`] — the state and its reason; [`heartbeat`] whether threads respond; [`statements`] counters of statements;
//!   [`current_values`] metrics that are computed on each scrape
//! - [`http`] — serves them, on a thread of its own

mod current_values;
mod health;
mod heartbeat;
mod http;
mod statements;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;

use engine::Engine;
use prometheus_client::encoding::text::encode;
use prometheus_client::registry::Registry;

use crate::drain::Drain;
use crate::server_error::ServerError;
use crate::service::Service;
use crate::trace::Traces;
use crate::transport::Connections;

pub use health::Health;
pub use heartbeat::Heartbeat;
pub use http::Http;

/// The monitor of one server.
pub struct Monitor {
    engine: Engine,
    drain: Drain,
    started: Instant,
    metrics: Registry,
    pub connections: Connections,
    pub pulse: Heartbeat,
    /// `None` if no collector is configured.
    pub traces: Option<Traces>,
}

impl Monitor {
    /// Counts from here on, for the server at `address`. If several servers share an engine, the first one counts its statements.
    pub fn new(engine: &Engine, service: &Arc<Service>, address: SocketAddr) -> Result<Arc<Monitor>, ServerError> {
        let (mut metrics, started) = (Registry::with_prefix("quiver"), Instant::now());
        let (options, drain) = (&service.options, service.drain.clone());
        let statements = statements::Statements::registered(&mut metrics);
        let connections = Connections::registered(&mut metrics);
        let traces = Traces::of(options.otlp_endpoint.as_deref(), address, &mut metrics)?;
        let (statement_traces, slow_query_ms) = (traces.clone(), options.slow_query_ms);
        engine.on_statement_end(move |end| {
            statements.count(end);
            statements::log_if_slow(end, slow_query_ms);
            statement_traces.iter().for_each(|traces| traces.ended(end));
        });
        metrics.register_collector(Box::new(current_values::CurrentValues {
            engine: engine.clone(),
            service: Arc::downgrade(service),
            started,
        }));
        Ok(Arc::new(Monitor { engine: engine.clone(), drain, started, metrics, connections, pulse: Heartbeat::new(), traces }))
    }

    pub fn health(&self) -> Health {
        Health::of(&self.engine, &self.drain, &self.pulse, self.started)
    }

    /// All metrics in the format of OpenMetrics, which Prometheus reads.
    pub fn metrics(&self) -> Result<String, std::fmt::Error> {
        let mut text = String::new();
        encode(&mut text, &self.metrics)?;
        Ok(text)
    }
}
