//! What the server allows from outside, and how long it keeps what clients forget.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use flight_wire::DEFAULT_PORT;

/// Who may have tables as files to map. As text: nothing, `*`, or names with commas between.
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
    /// Port 0: any that is free.
    pub listen: SocketAddr,
    pub tls: TlsOptions,
    /// Listen where other machines can reach it although there is no TLS or no user.
    pub insecure: bool,
    pub login: LoginOptions,
    pub limits: Limits,
    /// Where `/health` and `/metrics` are answered; nowhere if not given.
    pub http: Option<SocketAddr>,
    /// The collector that traces are sent to by OTLP; none if not given.
    pub otlp_endpoint: Option<String>,
    /// The largest message that is taken; a longer one ends its call.
    pub message_bytes_max: usize,
    /// What one message may hold once it is unpacked.
    pub unpacked_bytes_max: u64,
    /// Parameters bound to one prepared statement.
    pub parameter_bytes_max: usize,
    /// Texts of statements and settings, and bound parameters, that are kept for all clients together.
    pub kept_bytes_max: usize,
    pub sessions_max: usize,
    pub transactions_max: usize,
    pub savepoints_max: usize,
    pub prepared_max: usize,
    /// Results that nobody has fetched yet.
    pub tickets_max: usize,
    pub session_idle: Duration,
    /// An open transaction keeps old versions of rows, so it has less time than a session.
    pub transaction_idle: Duration,
    /// Of one in which nothing was done yet.
    pub fresh_transaction_idle: Duration,
    pub prepared_idle: Duration,
    pub ticket_idle: Duration,
    /// Statements that take so long are logged; None: none is.
    pub slow_query_ms: Option<u64>,
    pub hand_off: HandOff,
    /// A lease keeps the files of old versions.
    pub lease_idle: Duration,
    /// A table of at least twice as much is offered in parts of about this size.
    pub part_bytes_min: u64,
    /// How long running calls may go on once the server was told to end.
    pub drain: Duration,
}

/// Of what comes at once, from all clients and from one.
#[derive(Debug, Clone)]
pub struct Limits {
    pub connections_max: usize,
    pub calls_per_connection_max: usize,
    /// Results that are being read, and rows that are being sent.
    pub streams_max: usize,
    /// How long a client may stop reading a result, or sending its rows, before the call is ended.
    pub call_idle: Duration,
    /// Of results that are made and not read, for all together; None: a sixteenth of the memory for queries, and 16 MiB at least.
    pub unread_bytes_max: Option<u64>,
    /// How long a client may stop reading while so many bytes are not read.
    pub stall_timeout: Duration,
    /// What one user may hold of each of the limits for all, so that none keeps the others out.
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
    /// Of `max` for all.
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
    /// How long the token of a handshake is good.
    pub token_lifetime: Duration,
    /// Passwords that are looked at in the same moment: each takes about 20 MiB and most of a core.
    pub hashes_max: usize,
}

impl Default for LoginOptions {
    fn default() -> Self {
        LoginOptions { token_lifetime: Duration::from_secs(12 * 3600), hashes_max: 4 }
    }
}

/// How long a client may say nothing before it is taken for gone.
#[derive(Debug, Clone)]
pub struct IdleTimeouts {
    /// From connecting to the first bytes of HTTP/2, with TLS's handshake: who does not get so far would hold a place for nothing.
    pub greeting: Duration,
    /// On a connection where nothing came for so long it is asked whether somebody is there.
    pub ping_every: Duration,
    /// How long an answer to that may take. Clients answer by themselves, whether or not they have anything to do.
    pub ping_wait: Duration,
    /// Between two pieces of a request that is one message.
    pub request: Duration,
    /// For all pieces of it.
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
    /// PEM: the server's certificate, and after it those between it and its authority.
    pub cert: Option<PathBuf>,
    /// PEM: its private key.
    pub key: Option<PathBuf>,
    /// PEM: the authorities of client certificates. With it clients show certificates too.
    pub client_ca: Option<PathBuf>,
    /// One of [`CLIENT_CERT`].
    pub client_cert: String,
}

/// Whether a connection without a client certificate is refused; if not, its calls need another way to say who calls.
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
