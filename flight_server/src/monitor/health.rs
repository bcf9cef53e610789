//! Whether the server accepts statements.

use std::time::Instant;

use engine::Engine;
use serde::Serialize;

use super::Heartbeat;
use crate::drain::Drain;

#[derive(Debug, Serialize)]
pub struct Health {
    /// `ok`, `draining`, `stuck`: calls are not answered, or `poisoned`: a write to the disk failed, and nothing more is written until
    /// the store is opened again.
    pub status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    pub version: &'static str,
    pub uptime_s: u64,
}

impl Health {
    pub fn of(engine: &Engine, drain: &Drain, pulse: &Heartbeat, started: Instant) -> Health {
        let (status, reason) = match engine.poisoned() {
            Some(reason) => ("poisoned", Some(reason)),
            None if drain.has_begun() => ("draining", None),
            None => match pulse.silence(Instant::now()) {
                Some(silence) => ("stuck", Some(format!("no thread has come round to a call for {} s", silence.as_secs()))),
                None => ("ok", None),
            },
        };
        Health { status, reason, version: env!("CARGO_PKG_VERSION"), uptime_s: started.elapsed().as_secs() }
    }

    pub fn takes_statements(&self) -> bool {
        self.status == "ok"
    }
}
