//! What operators see of a server: whether it takes statements, and numbers.
//!
//! - [`health`] — one word and why; [`statements`] what is counted of every statement that ends; [`now`] what is looked up when
//!   somebody asks
//! - [`drain`] — whether the server is leaving

mod drain;
mod health;
mod now;
mod statements;

use std::sync::{Arc, Weak};
use std::time::Instant;

use engine::Engine;
use prometheus_client::encoding::text::encode;
use prometheus_client::registry::Registry;

use crate::service::Service;

pub use drain::Drain;
pub use health::Health;

/// Of one server.
pub struct Monitor {
    engine: Engine,
    drain: Drain,
    started: Instant,
    metrics: Registry,
}

impl Monitor {
    /// Counts from here on. Statements of an engine are counted by the first server on it.
    pub fn new(engine: &Engine, service: Weak<Service>, drain: Drain, slow_query_ms: Option<u64>) -> Arc<Monitor> {
        let (mut metrics, started) = (Registry::with_prefix("quiver"), Instant::now());
        let statements = statements::Statements::registered(&mut metrics);
        engine.on_statement_end(move |end| {
            statements.count(end);
            statements::log_if_slow(end, slow_query_ms);
        });
        metrics.register_collector(Box::new(now::Now { engine: engine.clone(), service, started }));
        Arc::new(Monitor { engine: engine.clone(), drain, started, metrics })
    }

    pub fn health(&self) -> Health {
        Health::of(&self.engine, &self.drain, self.started)
    }

    /// All numbers, as OpenMetrics writes them, which Prometheus reads.
    pub fn metrics(&self) -> Result<String, std::fmt::Error> {
        let mut text = String::new();
        encode(&mut text, &self.metrics)?;
        Ok(text)
    }
}
