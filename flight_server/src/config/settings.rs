//! All settings of a server. Each line here is a flag, an environment variable, a key of the file and a row of docs/server.md.

use super::Config;
use super::field::{Field, Kind};
use crate::options::CLIENT_CERT;

pub struct Setting {
    /// The key of the file. The flag has `-` in place of `_`, and the variable is `QUIVER_` and the name in capitals.
    pub name: &'static str,
    pub field: Field,
    /// Describes the default of a setting without a default value.
    pub unset: &'static str,
    pub help: &'static str,
    /// The flag is one of `quiver` itself, and not of `serve` alone.
    pub is_global: bool,
}

impl Setting {
    pub fn kind(&self) -> Kind {
        self.field.kind()
    }

    /// The default as it is shown.
    pub fn default(&self) -> String {
        self.field.shown(&mut Config::default()).unwrap_or_else(|| self.unset.to_string())
    }

    pub fn flag(&self) -> String {
        self.name.replace('_', "-")
    }
}

const fn setting(name: &'static str, field: Field, help: &'static str) -> Setting {
    Setting { name, field, unset: "", help, is_global: false }
}

const fn global(name: &'static str, field: Field, unset: &'static str, help: &'static str) -> Setting {
    Setting { name, field, unset, help, is_global: true }
}

pub const SETTINGS: &[Setting] = &[
    global("store", Field::Path(|c| &mut c.store), "none: it is required", "the directory of the store, made if it is missing"),
    global("read_only", Field::Switch(|c| &mut c.engine.read_only), "", "refuse to change anything"),
    setting(
        "listen",
        Field::Address(|c| &mut c.server.listen),
        "where to listen; port 0 means any free port. An address that other machines can reach needs TLS and a user",
    ),
    Setting {
        unset: "no TLS",
        ..setting("tls_cert", Field::Path(|c| &mut c.server.tls.cert), "the server's certificate and the intermediate ones, PEM")
    },
    Setting { unset: "no TLS", ..setting("tls_key", Field::Path(|c| &mut c.server.tls.key), "the private key of the certificate, PEM") },
    Setting {
        unset: "none",
        ..setting(
            "tls_client_ca",
            Field::Path(|c| &mut c.server.tls.client_ca),
            "authorities of client certificates, PEM; the common name of such a certificate is the user",
        )
    },
    setting(
        "tls_client_cert",
        Field::Word(CLIENT_CERT, |c| &mut c.server.tls.client_cert),
        "whether a client must show a certificate: required or optional",
    ),
    setting(
        "insecure",
        Field::Switch(|c| &mut c.server.insecure),
        "listen on an address that other machines can reach, even without TLS or a user",
    ),
    setting("token_lifetime", Field::Seconds(|c| &mut c.server.login.token_lifetime), "how long the token of a login is valid"),
    setting("hashes_max", Field::Count(|c| &mut c.server.login.hashes_max), "passwords that are verified at once"),
    setting("connections_max", Field::Count(|c| &mut c.server.limits.connections_max), "connections at once"),
    setting("connection_calls_max", Field::Count(|c| &mut c.server.limits.calls_per_connection_max), "calls at once on one connection"),
    setting(
        "streams_max",
        Field::Count(|c| &mut c.server.limits.streams_max),
        "results that are read at once, and as many streams of rows that are sent",
    ),
    setting(
        "call_idle",
        Field::Time(|c| &mut c.server.limits.call_idle),
        "the call of a client that stops reading a result or sending rows for this long ends",
    ),
    Setting {
        unset: "a sixteenth of memory_limit",
        ..setting(
            "unread_bytes_max",
            Field::SizeOrNone(|c| &mut c.server.limits.unread_bytes_max),
            "bytes of all results together that clients have not read yet",
        )
    },
    setting(
        "stall_timeout",
        Field::Time(|c| &mut c.server.limits.stall_timeout),
        "while that limit is reached, a client that stops reading for this long is cut off",
    ),
    setting(
        "user_share_percent",
        Field::Count(|c| &mut c.server.limits.user_share_percent),
        "the share of each limit that one user may use",
    ),
    Setting {
        unset: "off",
        ..setting(
            "http",
            Field::AddressOrNone(|c| &mut c.server.http),
            "where to answer /health and /metrics over HTTP; an address of this machine alone",
        )
    },
    Setting {
        unset: "off",
        ..setting("otlp_endpoint", Field::UrlOrNone(|c| &mut c.server.otlp_endpoint), "the OpenTelemetry collector for traces, by gRPC")
    },
    setting("log", Field::Text(|c| &mut c.log.level), "what to log to standard error: error, warn, info, debug or trace"),
    setting("log_format", Field::Word(&["text", "json"], |c| &mut c.log.format), "how log lines are written: text or json"),
    setting(
        "slow_query",
        Field::MillisecondsOrAny(|c| &mut c.server.slow_query_ms),
        "log statements that take at least this long; 0: none",
    ),
    setting(
        "queries_max",
        Field::CountOrAny(|c| &mut c.engine.queries_max),
        "statements that run at once, others wait in the queue; 0: no limit",
    ),
    setting(
        "queue_timeout",
        Field::MillisecondsOrAny(|c| &mut c.engine.queue_timeout_ms),
        "how long a statement waits in the queue; 0: no limit",
    ),
    setting(
        "statement_timeout",
        Field::MillisecondsOrAny(|c| &mut c.engine.statement_timeout_ms),
        "how long a statement may take, unless its session sets another timeout; 0: no limit",
    ),
    global(
        "memory_limit",
        Field::SizeOrNone(|c| &mut c.engine.memory_limit_bytes),
        "70 % of the machine's memory",
        "memory for all queries together",
    ),
    global(
        "query_memory_limit",
        Field::SizeOrNone(|c| &mut c.engine.query_memory_limit_bytes),
        "as for all together",
        "memory for one query; over it the query spills to disk or fails",
    ),
    global("threads", Field::CountOrNone(|c| &mut c.engine.threads), "one per core", "threads that work on queries"),
    global("spill_dir", Field::Path(|c| &mut c.engine.spill_dir), "inside the store", "where queries spill"),
    Setting {
        unset: "all",
        ..setting(
            "file_dirs",
            Field::Path(|c| &mut c.engine.file_dirs),
            "directories, with colons between them, in which statements of users with the privilege FILES may read and write files",
        )
    },
    Setting {
        unset: "none: there are no functions in Python",
        ..setting("python", Field::Path(|c| &mut c.engine.python), "the interpreter for functions in Python; it needs the package pyarrow")
    },
    Setting {
        unset: "none",
        ..setting(
            "python_imports",
            Field::Text(|c| &mut c.engine.python_imports),
            "modules that functions in Python may import besides numpy, pyarrow and what computes of the standard library, with commas; *: any",
        )
    },
    global(
        "compaction_rate",
        Field::SizeOrNone(|c| &mut c.engine.maintenance.rate_bytes_per_s),
        "as much as they can",
        "bytes that background compaction writes per second",
    ),
    global(
        "maintenance",
        Field::Switch(|c| &mut c.engine.maintenance.enabled),
        "",
        "seal logs, compact tables and expire versions in the background; the flag is --no-maintenance",
    ),
    setting("drain", Field::Time(|c| &mut c.server.drain), "how long running calls may go on once the server shuts down"),
    setting("session_idle", Field::Time(|c| &mut c.server.session_idle), "a session that is idle for this long ends"),
    setting("transaction_idle", Field::Time(|c| &mut c.server.transaction_idle), "a transaction that is idle for this long rolls back"),
    setting(
        "fresh_transaction_idle",
        Field::Time(|c| &mut c.server.fresh_transaction_idle),
        "the same for a transaction without a statement yet",
    ),
    setting("prepared_idle", Field::Time(|c| &mut c.server.prepared_idle), "a prepared statement that is idle for this long is closed"),
    setting("ticket_idle", Field::Time(|c| &mut c.server.ticket_idle), "a result that is not fetched for this long is dropped"),
    setting("lease_idle", Field::Time(|c| &mut c.server.lease_idle), "a lease on files that is not renewed for this long ends"),
    Setting {
        unset: "nobody",
        ..setting(
            "hand_off",
            Field::HandOff(|c| &mut c.server.hand_off),
            "users who may map the files of tables on this machine, separated by commas; *: everybody",
        )
    },
    setting("sessions_max", Field::Count(|c| &mut c.server.sessions_max), "sessions at once"),
    setting("transactions_max", Field::Count(|c| &mut c.server.transactions_max), "transactions at once that have run a statement"),
    setting("savepoints_max", Field::Count(|c| &mut c.server.savepoints_max), "savepoints at once"),
    setting("prepared_max", Field::Count(|c| &mut c.server.prepared_max), "prepared statements at once"),
    setting(
        "tickets_max",
        Field::Count(|c| &mut c.server.tickets_max),
        "results that wait to be fetched; one more drops the oldest result of the user who has most",
    ),
    setting("message_bytes_max", Field::Size(|c| &mut c.server.message_bytes_max), "the largest message that is accepted"),
    setting("unpacked_bytes_max", Field::Size64(|c| &mut c.server.unpacked_bytes_max), "the largest size of a message after decompression"),
    setting("parameter_bytes_max", Field::Size(|c| &mut c.server.parameter_bytes_max), "parameters of one statement"),
    setting(
        "kept_bytes_max",
        Field::Size(|c| &mut c.server.kept_bytes_max),
        "bytes of statements, settings and parameters that the server keeps for all clients together",
    ),
];
