//! All settings of a server. A line here is a flag, a variable of the environment, a key of the file and a row of docs/server.md.

use super::Config;
use super::field::{Field, Kind};
use crate::options::CLIENT_CERT;

pub struct Setting {
    /// The key of the file. The flag is the same with `-` for `_`, the variable is `QUIVER_` and the name in capitals.
    pub name: &'static str,
    pub field: Field,
    /// What holds where it is not set and has no value of its own.
    pub unset: &'static str,
    pub help: &'static str,
    /// `quiver` has the flag for all its commands, and not for the server alone.
    pub is_global: bool,
}

impl Setting {
    pub fn kind(&self) -> Kind {
        self.field.kind()
    }

    /// As it is shown where nothing was said.
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
    global("store", Field::Path(|c| &mut c.store), "none: it must be given", "the directory of the store, made if it is missing"),
    global("read_only", Field::Switch(|c| &mut c.engine.read_only), "", "refuse to change anything"),
    setting(
        "listen",
        Field::Address(|c| &mut c.server.listen),
        "where to listen; port 0 is any that is free. What other machines can reach needs TLS and a user",
    ),
    Setting {
        unset: "no TLS",
        ..setting(
            "tls_cert",
            Field::Path(|c| &mut c.server.tls.cert),
            "the server's certificate, and those between it and its authority, PEM",
        )
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
        "listen where other machines can reach it even without TLS or without a user",
    ),
    setting("token_lifetime", Field::Seconds(|c| &mut c.server.login.token_lifetime), "how long the token of a login is good"),
    setting("hashes_max", Field::Count(|c| &mut c.server.login.hashes_max), "passwords that are looked at in the same moment"),
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
        "a client that stops reading a result or sending rows for so long ends its call",
    ),
    Setting {
        unset: "a sixteenth of memory_limit",
        ..setting(
            "unread_bytes_max",
            Field::SizeOrNone(|c| &mut c.server.limits.unread_bytes_max),
            "what all results together may have made that their clients have not read",
        )
    },
    setting(
        "stall_timeout",
        Field::Time(|c| &mut c.server.limits.stall_timeout),
        "while so much is unread, a client that stops reading for so long is cut off",
    ),
    setting(
        "user_share_percent",
        Field::Count(|c| &mut c.server.limits.user_share_percent),
        "what one user may hold of the limits for all",
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
        ..setting(
            "otlp_endpoint",
            Field::UrlOrNone(|c| &mut c.server.otlp_endpoint),
            "the collector of OpenTelemetry that traces are sent to, by gRPC",
        )
    },
    setting("log", Field::Text(|c| &mut c.log.level), "what to log to standard error: error, warn, info, debug or trace"),
    setting("log_format", Field::Word(&["text", "json"], |c| &mut c.log.format), "how log lines are written: text or json"),
    setting("slow_query", Field::MillisecondsOrAny(|c| &mut c.server.slow_query_ms), "log statements that take so long; 0: none"),
    setting(
        "queries_max",
        Field::CountOrAny(|c| &mut c.engine.queries_max),
        "statements that run at once, others wait for their turn; 0: as many as come",
    ),
    setting(
        "queue_timeout",
        Field::MillisecondsOrAny(|c| &mut c.engine.queue_timeout_ms),
        "how long a statement waits for its turn; 0: as long as it takes",
    ),
    setting(
        "statement_timeout",
        Field::MillisecondsOrAny(|c| &mut c.engine.statement_timeout_ms),
        "how long a statement may take, unless its session says otherwise; 0: as long as it takes",
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
    global(
        "compaction_rate",
        Field::SizeOrNone(|c| &mut c.engine.maintenance.rate_bytes_per_s),
        "as much as they can",
        "what compactions in the background write in a second",
    ),
    global(
        "maintenance",
        Field::Switch(|c| &mut c.engine.maintenance.enabled),
        "",
        "seal logs, compact tables and expire versions in the background; the flag is --no-maintenance",
    ),
    setting("drain", Field::Time(|c| &mut c.server.drain), "how long running calls may go on once the server was told to end"),
    setting("session_idle", Field::Time(|c| &mut c.server.session_idle), "a session that was not used for so long ends"),
    setting(
        "transaction_idle",
        Field::Time(|c| &mut c.server.transaction_idle),
        "a transaction in which nothing was done for so long rolls back",
    ),
    setting(
        "fresh_transaction_idle",
        Field::Time(|c| &mut c.server.fresh_transaction_idle),
        "the same for one in which nothing was done yet",
    ),
    setting("prepared_idle", Field::Time(|c| &mut c.server.prepared_idle), "a prepared statement that was not used for so long is closed"),
    setting("ticket_idle", Field::Time(|c| &mut c.server.ticket_idle), "a result that nobody fetches for so long is given up"),
    setting("lease_idle", Field::Time(|c| &mut c.server.lease_idle), "a lease on files that was not renewed for so long ends"),
    Setting {
        unset: "nobody",
        ..setting(
            "hand_off",
            Field::HandOff(|c| &mut c.server.hand_off),
            "users who may have tables as files that they map on this machine, with commas between; *: everybody",
        )
    },
    setting("sessions_max", Field::Count(|c| &mut c.server.sessions_max), "sessions at once"),
    setting("transactions_max", Field::Count(|c| &mut c.server.transactions_max), "transactions at once in which something was done"),
    setting("savepoints_max", Field::Count(|c| &mut c.server.savepoints_max), "savepoints at once"),
    setting("prepared_max", Field::Count(|c| &mut c.server.prepared_max), "prepared statements at once"),
    setting(
        "tickets_max",
        Field::Count(|c| &mut c.server.tickets_max),
        "results that wait to be fetched; with one more, the oldest of who has most is given up",
    ),
    setting("message_bytes_max", Field::Size(|c| &mut c.server.message_bytes_max), "the largest message that is taken"),
    setting("unpacked_bytes_max", Field::Size64(|c| &mut c.server.unpacked_bytes_max), "what one message may hold once it is unpacked"),
    setting("parameter_bytes_max", Field::Size(|c| &mut c.server.parameter_bytes_max), "parameters of one statement"),
    setting(
        "kept_bytes_max",
        Field::Size(|c| &mut c.server.kept_bytes_max),
        "statements, settings and parameters that are kept for all clients together",
    ),
];
