//! Listening, and leaving in good order.

use std::future::Future;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::{Arc, Weak};
use std::time::Duration;

use arrow_flight::flight_service_server::FlightServiceServer;
use engine::Engine;
use tokio::net::TcpListener;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::http::Http;
use crate::listen;
use crate::monitor::Monitor;
use crate::options::ServerOptions;
use crate::service::{Calls, Service};
use crate::tls::{self, TlsError};

#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    #[error("other machines can reach {0}, and there is no TLS: give --tls-cert FILE and --tls-key FILE, or listen on 127.0.0.1, or say --insecure")]
    NoTls(SocketAddr),
    #[error("other machines can reach {0}, and the store has no user: make one with quiver user add NAME --admin --store DIR, or listen on 127.0.0.1, or say --insecure")]
    NoUsers(SocketAddr),
    #[error(
        "other machines can reach {0}, and there are no TLS and no users: give --tls-cert FILE and --tls-key FILE and make a user \
         with quiver user add NAME --admin --store DIR, or listen on 127.0.0.1, or say --insecure"
    )]
    NoTlsAndNoUsers(SocketAddr),
    #[error(transparent)]
    Tls(#[from] TlsError),
    #[error("{0} is not an address of this machine alone, and HTTP has no TLS and no users: let it listen on 127.0.0.1 or [::1]")]
    HttpNotLoopback(SocketAddr),
    #[error("cannot listen on {address}: {source}; choose another port, or 0 for any that is free")]
    Listen { address: SocketAddr, source: std::io::Error },
    #[error("the connection to the network broke: {0}")]
    Serve(#[from] tonic::transport::Error),
}

/// A server that listens, and answers once [`Server::serve`] is awaited.
pub struct Server {
    listener: TcpListener,
    address: SocketAddr,
    transport: tonic::transport::Server,
    has_tls: bool,
    service: Arc<Service>,
    stop: CancellationToken,
    http: Option<Http>,
}

/// From the end of patience with running calls to leaving whatever they do.
const LAST_WORDS: Duration = Duration::from_secs(2);
const RESULTS_LOOKED_AT_EVERY: Duration = Duration::from_millis(50);
const SWEEP_EVERY: Duration = Duration::from_secs(1);
/// A connection whose other end is gone without a word is noticed after about their sum.
const KEEPALIVE_EVERY: Duration = Duration::from_secs(30);
const KEEPALIVE_WAIT: Duration = Duration::from_secs(20);
/// What may be on its way before the other end has read it.
const STREAM_WINDOW_BYTES: u32 = 4 << 20;
const CONNECTION_WINDOW_BYTES: u32 = 16 << 20;

impl Server {
    pub async fn bind(engine: &Engine, options: ServerOptions) -> Result<Server, ServerError> {
        let wanted = options.listen;
        let has_tls = options.tls.is_on();
        listen::check_address(wanted, has_tls, engine.has_users(), options.insecure)?;
        let transport = tls::secured(transport(&options), &options.tls)?;
        let failed = |source| ServerError::Listen { address: wanted, source };
        let listener = TcpListener::bind(wanted).await.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let stop = CancellationToken::new();
        let (http, slow_query_ms) = (options.http, options.slow_query_ms);
        let service = Arc::new(Service::new(engine, options, stop.clone()));
        let monitor = Monitor::new(engine, Arc::downgrade(&service), service.drain.clone(), slow_query_ms);
        let http = match http {
            Some(address) if !address.ip().is_loopback() => return Err(ServerError::HttpNotLoopback(address)),
            Some(address) => Some(Http::bind(address, monitor).await.map_err(|source| ServerError::Listen { address, source })?),
            None => None,
        };
        Ok(Server { listener, address, transport, has_tls, service, stop, http })
    }

    /// With the true port, where any was asked for.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// What clients connect to.
    pub fn uri(&self) -> String {
        let scheme = if self.has_tls { "grpc+tls" } else { "grpc" };
        format!("{scheme}://{}", self.address)
    }

    /// Where `/health` and `/metrics` are.
    pub fn http_address(&self) -> Option<SocketAddr> {
        self.http.as_ref().map(Http::address)
    }

    /// Answers calls until `leave` is ready. Then none are taken any more, and those that run have
    /// [`ServerOptions::drain`] to end by themselves; true if they did.
    pub async fn serve(self, leave: impl Future<Output = ()>) -> Result<bool, ServerError> {
        let Server { listener, mut transport, service, stop, http, .. } = self;
        let sweeping = tokio::spawn(sweep(Arc::downgrade(&service)));
        let watched = http.map(|http| tokio::spawn(http.serve()));
        let leaving = CancellationToken::new();
        let calls = FlightServiceServer::new(Calls(Arc::clone(&service))).max_decoding_message_size(service.options.message_bytes_max);
        let incoming = listen::incoming(listener, service.options.limits.connections_max);
        let serving = transport.add_service(calls).serve_with_incoming_shutdown(incoming, leaving.clone().cancelled_owned());
        tokio::pin!(serving);
        let done = tokio::select! {
            ended = &mut serving => ended.map(|()| true).map_err(ServerError::from),
            () = leave => {
                service.drain.begin();
                drained(&service, serving.as_mut(), &leaving, &stop).await
            }
        };
        sweeping.abort();
        if let Some(watched) = watched {
            watched.abort();
        }
        done
    }
}

fn transport(options: &ServerOptions) -> tonic::transport::Server {
    tonic::transport::Server::builder()
        .http2_keepalive_interval(Some(KEEPALIVE_EVERY))
        .http2_keepalive_timeout(Some(KEEPALIVE_WAIT))
        .initial_stream_window_size(STREAM_WINDOW_BYTES)
        .initial_connection_window_size(CONNECTION_WINDOW_BYTES)
        .max_concurrent_streams(u32::try_from(options.limits.calls_per_connection_max).unwrap_or(u32::MAX))
}

/// Lets running calls end, and cuts off those that have not in time; true if they did.
async fn drained(
    service: &Service,
    mut serving: Pin<&mut impl Future<Output = Result<(), tonic::transport::Error>>>,
    leaving: &CancellationToken,
    stop: &CancellationToken,
) -> Result<bool, ServerError> {
    let until = Instant::now() + service.options.drain;
    // While results are read, who asks for something new is told why not; afterwards there is nobody to ask.
    tokio::select! {
        ended = &mut serving => return ended.map(|()| true).map_err(ServerError::from),
        _ = tokio::time::timeout_at(until, results_end(service)) => leaving.cancel(),
    }
    match tokio::time::timeout_at(until, &mut serving).await {
        Ok(ended) => ended.map(|()| true).map_err(ServerError::from),
        Err(_) => {
            stop.cancel();
            // Those that were cut off are told so, if they listen.
            let _ = tokio::time::timeout(LAST_WORDS, serving).await;
            Ok(false)
        }
    }
}

async fn results_end(service: &Service) {
    let mut ticks = tokio::time::interval(RESULTS_LOOKED_AT_EVERY);
    while service.counts().results_running > 0 {
        ticks.tick().await;
    }
}

async fn sweep(service: Weak<Service>) {
    let mut ticks = tokio::time::interval(SWEEP_EVERY);
    loop {
        ticks.tick().await;
        let Some(service) = service.upgrade() else { return };
        service.sweep();
    }
}
