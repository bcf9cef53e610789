//! The limits of the server, and how long it keeps what clients abandon.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use flight_wire::DEFAULT_PORT;

/// The users that may map tables as files. Its text is empty, `*`, or names separated by commas.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum HandOff {
    #[default]
    Nobody,
    Everybody,
    Users(Vec<String>),
}

impl HandOff {
    pub fn parse(text: &str) -> HandOff {
        match text.trim() {
            "" => HandOff::Nobody,
            "*" => HandOff::Everybody,
            names => HandOff::Users(names.split(',').map(|name| name.trim().to_string()).collect()),
        }
    }
}

impl fmt::Display for HandOff {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            HandOff::Nobody => Ok(()),
            HandOff::Everybody => f.write_str("*"),
            HandOff::Users(names) => f.write_str(&names.join(",")),
        }
    }
}

#[derive(Debug, Clone)]
pub struct ServerOptions {
    /// Port 0 means any free port.
    pub listen: SocketAddr,
    pub tls: TlsOptions,
    /// Listen on an address that other machines can reach, although there is no TLS or no user.
    pub insecure: bool,
    pub login: LoginOptions,
    pub limits: Limits,
    /// The address of `/health` and `/metrics`; they are off if not given.
    pub http: Option<SocketAddr>,
    /// The collector that traces are sent to by OTLP; none if not given.
    pub otlp_endpoint: Option<String>,
    /// The largest accepted message; a longer one ends its call.
    pub message_bytes_max: usize,
    /// The largest size of a message after decompression.
    pub unpacked_bytes_max: u64,
    /// The limit for parameters bound to one prepared statement.
    pub parameter_bytes_max: usize,
    /// The limit for texts of statements and settings, and bound parameters, of all clients together.
    pub kept_bytes_max: usize,
    pub sessions_max: usize,
    pub transactions_max: usize,
    pub savepoints_max: usize,
    pub prepared_max: usize,
    /// The limit for results that were not fetched yet.
    pub tickets_max: usize,
    pub session_idle: Duration,
    /// An open transaction keeps old versions of rows, so it expires sooner than a session.
    pub transaction_idle: Duration,
    /// The same for a transaction without a statement yet.
    pub fresh_transaction_idle: Duration,
    pub prepared_idle: Duration,
    pub ticket_idle: Duration,
    /// Statements that take at least this long are logged; `None`: none is.
    pub slow_query_ms: Option<u64>,
    pub hand_off: HandOff,
    /// A lease expires, because it keeps the files of old versions.
    pub lease_idle: Duration,
    /// A table of at least twice this size is offered in parts of about this size.
    pub part_bytes_min: u64,
    /// How long running calls may go on once the server shuts down.
    pub drain: Duration,
}

/// Limits of concurrent work, for all clients and for one.
#[derive(Debug, Clone)]
pub struct Limits {
    pub connections_max: usize,
    pub calls_per_connection_max: usize,
    /// Results that are being read, and as many streams of rows that are being sent.
    pub streams_max: usize,
    /// How long a client may stop reading a result, or sending its rows, before the call is ended.
    pub call_idle: Duration,
    /// The limit for bytes of results that are made and not read; `None`: a sixteenth of the memory for queries, at least 16 MiB.
    pub unread_bytes_max: Option<u64>,
    /// How long a client may stop reading while that limit is reached.
    pub stall_timeout: Duration,
    /// The share of each limit that one user may use, so that none locks the others out.
    pub user_share_percent: usize,
    pub silence: IdleTimeouts,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            connections_max: 20_000,
            calls_per_connection_max: 1_000,
            streams_max: 2_000,
            call_idle: Duration::from_secs(10 * 60),
            unread_bytes_max: None,
            stall_timeout: Duration::from_secs(60),
            user_share_percent: 25,
            silence: IdleTimeouts::default(),
        }
    }
}

impl Limits {
    /// One user's share of `max`.
    pub fn of_user(&self, max: usize) -> usize {
        (max.saturating_mul(self.user_share_percent.min(100)) / 100).max(1)
    }
}

impl Default for ServerOptions {
    fn default() -> Self {
        ServerOptions {
            listen: SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), DEFAULT_PORT),
            tls: TlsOptions::default(),
            insecure: false,
            login: LoginOptions::default(),
            limits: Limits::default(),
            http: None,
            otlp_endpoint: None,
            message_bytes_max: 256 << 20,
            unpacked_bytes_max: 1 << 30,
            parameter_bytes_max: 64 << 20,
            kept_bytes_max: 1 << 30,
            sessions_max: 10_000,
            transactions_max: 1_000,
            savepoints_max: 10_000,
            prepared_max: 10_000,
            tickets_max: 1_000,
            session_idle: Duration::from_secs(30 * 60),
            transaction_idle: Duration::from_secs(30 * 60),
            fresh_transaction_idle: Duration::from_secs(24 * 3600),
            prepared_idle: Duration::from_secs(30 * 60),
            ticket_idle: Duration::from_secs(5 * 60),
            slow_query_ms: None,
            hand_off: HandOff::default(),
            lease_idle: Duration::from_secs(5 * 60),
            part_bytes_min: 64 << 20,
            drain: Duration::from_secs(30),
        }
    }
}

#[derive(Debug, Clone)]
pub struct LoginOptions {
    /// How long the token of a handshake is valid.
    pub token_lifetime: Duration,
    /// Passwords that are hashed at once: each takes about 20 MiB and most of a core.
    pub hashes_max: usize,
}

impl Default for LoginOptions {
    fn default() -> Self {
        LoginOptions { token_lifetime: Duration::from_secs(12 * 3600), hashes_max: 4 }
    }
}

/// How long a client may be silent before it counts as gone.
#[derive(Debug, Clone)]
pub struct IdleTimeouts {
    /// From connecting to the first bytes of HTTP/2, with the TLS handshake. A connection that stops before would occupy a permit.
    pub greeting: Duration,
    /// A connection that is silent for this long is sent a ping.
    pub ping_every: Duration,
    /// How long the answer to a ping may take. HTTP/2 libraries answer by themselves, even if the client is idle.
    pub ping_wait: Duration,
    /// The limit between two pieces of a request that is one message.
    pub request: Duration,
    /// The limit for all pieces of it.
    pub whole_request: Duration,
}

impl Default for IdleTimeouts {
    fn default() -> Self {
        IdleTimeouts {
            greeting: Duration::from_secs(20),
            ping_every: Duration::from_secs(30),
            ping_wait: Duration::from_secs(20),
            request: Duration::from_secs(30),
            whole_request: Duration::from_secs(10 * 60),
        }
    }
}

#[derive(Debug, Clone)]
pub struct TlsOptions {
    /// PEM: the server's certificate, followed by its intermediate certificates.
    pub cert: Option<PathBuf>,
    /// PEM: its private key.
    pub key: Option<PathBuf>,
    /// PEM: the authorities of client certificates. Setting it makes the server request client certificates.
    pub client_ca: Option<PathBuf>,
    /// One of [`CLIENT_CERT`].
    pub client_cert: String,
}

/// Whether a connection without a client certificate is refused. If not, its calls authenticate in another way.
pub const CLIENT_CERT: &[&str] = &[CLIENT_CERT_REQUIRED, "optional"];
pub const CLIENT_CERT_REQUIRED: &str = "required";

impl Default for TlsOptions {
    fn default() -> Self {
        TlsOptions { cert: None, key: None, client_ca: None, client_cert: CLIENT_CERT_REQUIRED.to_string() }
    }
}

impl TlsOptions {
    pub fn is_on(&self) -> bool {
        self.cert.is_some() || self.key.is_some() || self.client_ca.is_some()
    }
}
