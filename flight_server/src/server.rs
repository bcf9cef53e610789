//! Listening, serving, and shutting down gracefully.

use std::future::Future;
use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::sync::{Arc, Weak};
use std::time::Duration;

use engine::Engine;
use tokio::net::TcpListener;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::monitor::{Http, Monitor};
use crate::options::ServerOptions;
use crate::server_error::ServerError;
use crate::service::{Calls, Downloads, Service};
use crate::trace::traced;
use crate::transport::{self, AcceptOptions, Certificates, RequestTimeoutService};

/// A server that is bound to its port, and answers once [`Server::serve`] is awaited.
pub struct Server {
    listener: TcpListener,
    address: SocketAddr,
    certificates: Option<Certificates>,
    service: Arc<Service>,
    monitor: Arc<Monitor>,
    stop: CancellationToken,
    http: Option<Http>,
}

/// How long calls that were cut off may take to end.
const LAST_WORDS: Duration = Duration::from_secs(2);
const RESULTS_LOOKED_AT_EVERY: Duration = Duration::from_millis(50);
const SWEEP_EVERY: Duration = Duration::from_secs(1);

impl Server {
    pub async fn bind(engine: &Engine, options: ServerOptions) -> Result<Server, ServerError> {
        let requested = options.listen;
        check_address(requested, options.tls.is_on(), engine.has_users(), options.insecure)?;
        let certificates = Certificates::of(&options.tls)?;
        let failed = |source| ServerError::Listen { address: requested, source };
        let listener = TcpListener::bind(requested).await.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let stop = CancellationToken::new();
        let service = Arc::new(Service::new(engine, options, stop.clone()));
        let monitor = Monitor::new(engine, &service, address)?;
        let http = match service.options.http {
            Some(address) if !address.ip().is_loopback() => return Err(ServerError::HttpNotLoopback(address)),
            Some(address) => {
                Some(Http::bind(address, Arc::clone(&monitor)).await.map_err(|source| ServerError::Listen { address, source })?)
            }
            None => None,
        };
        let server = Server { listener, address, certificates, service, monitor, stop, http };
        engine.store().announce(&server.uri());
        Ok(server)
    }

    /// The address with the actual port, if any free one was requested.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The URI that clients connect to.
    pub fn uri(&self) -> String {
        let scheme = if self.certificates.is_some() { "grpc+tls" } else { "grpc" };
        format!("{scheme}://{}", self.address)
    }

    /// The address of `/health` and `/metrics`.
    pub fn http_address(&self) -> Option<SocketAddr> {
        self.http.as_ref().map(Http::address)
    }

    /// The certificates of the server; `None` without TLS.
    pub fn certificates(&self) -> Option<Certificates> {
        self.certificates.clone()
    }

    /// Answers calls until `leave` is ready. Then no more are accepted, and those that run have
    /// [`ServerOptions::drain`] to end. Returns true if they did.
    pub async fn serve(self, leave: impl Future<Output = ()>) -> bool {
        let Server { listener, certificates, service, monitor, stop, http, .. } = self;
        let sweeping = tokio::spawn(sweep(Arc::downgrade(&service), Arc::downgrade(&monitor)));
        let _watched = http.map(Http::serve);
        let leaving = CancellationToken::new();
        let ServerOptions { message_bytes_max, limits, .. } = &service.options;
        let calls = Downloads::new(Calls(Arc::clone(&service)), *message_bytes_max, certificates.is_none());
        let calls = RequestTimeoutService { service: calls, silence: limits.silence.request, longest: limits.silence.whole_request };
        let calls = traced(calls, monitor.traces.clone());
        let (connections_max, greeting, counts) = (limits.connections_max, limits.silence.greeting, monitor.connections.clone());
        let incoming = transport::incoming(listener, AcceptOptions { connections_max, greeting, certificates, counts });
        let mut serving = pin!(transport::serve(incoming, calls, limits, leaving.clone()));
        let done = tokio::select! {
            () = &mut serving => true,
            () = leave => {
                service.drain.begin();
                drained(&service, serving.as_mut(), &leaving, &stop).await
            }
        };
        sweeping.abort();
        service.executors.end(LAST_WORDS).await;
        if let Some(traces) = &monitor.traces {
            traces.finish().await;
        }
        done
    }
}

/// Lets running calls end, and cuts off those that do not end in time. Returns true if all ended.
async fn drained(
    service: &Service,
    mut serving: Pin<&mut impl Future<Output = ()>>,
    leaving: &CancellationToken,
    stop: &CancellationToken,
) -> bool {
    let until = Instant::now() + service.options.drain;
    // While results are still read, new calls are answered with a refusal. Afterwards no connection is left.
    tokio::select! {
        () = &mut serving => return true,
        _ = tokio::time::timeout_at(until, results_end(service)) => leaving.cancel(),
    }
    match tokio::time::timeout_at(until, &mut serving).await {
        Ok(()) => true,
        Err(_) => {
            stop.cancel();
            // Calls that were cut off still get their error, if their clients read.
            let _ = tokio::time::timeout(LAST_WORDS, serving).await;
            false
        }
    }
}

async fn results_end(service: &Service) {
    let mut ticks = tokio::time::interval(RESULTS_LOOKED_AT_EVERY);
    while service.counts().results_running > 0 {
        ticks.tick().await;
    }
}

async fn sweep(service: Weak<Service>, monitor: Weak<Monitor>) {
    let mut ticks = tokio::time::interval(SWEEP_EVERY);
    loop {
        ticks.tick().await;
        let (Some(service), Some(monitor)) = (service.upgrade(), monitor.upgrade()) else { return };
        monitor.pulse.beat();
        service.sweep();
    }
}

/// An address that other machines can reach needs TLS and logins, unless the operator explicitly asks for an open server.
fn check_address(address: SocketAddr, has_tls: bool, has_users: bool, insecure: bool) -> Result<(), ServerError> {
    let is_reachable = !address.ip().to_canonical().is_loopback();
    match (has_tls, has_users) {
        _ if !is_reachable || insecure => Ok(()),
        (true, true) => Ok(()),
        (false, true) => Err(ServerError::NoTls(address)),
        (true, false) => Err(ServerError::NoUsers(address)),
        (false, false) => Err(ServerError::NoTlsAndNoUsers(address)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_secured_server_is_reachable_from_other_machines() {
        let (inside, outside) = ("127.0.0.1:1".parse().unwrap(), "0.0.0.0:1".parse().unwrap());
        check_address(inside, false, false, false).unwrap();
        check_address("[::1]:1".parse().unwrap(), false, true, false).unwrap();
        check_address("[::ffff:127.0.0.1]:1".parse().unwrap(), false, true, false).unwrap();
        check_address(outside, true, true, false).unwrap();
        check_address(outside, false, false, true).unwrap();
        assert!(matches!(check_address(outside, false, true, false), Err(ServerError::NoTls(_))));
        assert!(matches!(check_address(outside, true, false, false), Err(ServerError::NoUsers(_))));
        assert!(matches!(check_address("[::]:1".parse().unwrap(), false, false, false), Err(ServerError::NoTlsAndNoUsers(_))));
    }
}
