//! Hand-off on one machine: a table as files and offsets in them, under a lease that keeps the files. No row crosses the socket,
//! except those that are in no sealed file; for these the answer has tickets.
//!
//! ```json
//! {"lease": "7f…", "expires_ms": 300000, "version": 41, "parts": [
//!   {"file": "/stores/mine/segments/3/12.arrow", "size_bytes": 1048576, "columns": [0, 2], "batches": [
//!     {"index": 0, "offset": 576, "metadata_bytes": 320, "body_bytes": 131072, "rows": [[0, 8192]]}]},
//!   {"ticket": "{\"table\":\"flights\",\"rows\":[8192,8200],\"lease\":\"7f…\"}"}]}
//! ```

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use engine::{MappedPart, MappedTable, QueryOutput};
use flight_wire::{TableCommand, WireTypes, wire_schema};
use futures::StreamExt;
use serde::Serialize;
use tokio_util::sync::CancellationToken;
use tonic::{Code, Status};

use crate::auth::Principal;
use crate::error::{status, status_by_path};
use crate::handles::{Handle, Handles};
use crate::options::{HandOff, ServerOptions};
use crate::sessions::{CallContext, Connection, SessionLock};
use crate::stream::{FlightStream, schema_bytes};

const LEASES_MAX: usize = 1_000;
/// The types that the columns have in the files.
const VIEWS: WireTypes = WireTypes { views: true, jdbc: false, brief: false };

/// **Invariant:** a lease is an open transaction, so the store keeps every file of the version that it sees.
pub struct Lease {
    connection: Arc<Connection>,
    stop: CancellationToken,
    /// If files were handed off.
    _files: Option<engine::HandOff>,
}

pub struct Leases {
    open: Handles<Lease>,
    allowed: HandOff,
    idle: Duration,
    stop: CancellationToken,
}

impl Lease {
    /// Queries the version that the lease holds. If one query fails, also later while it is read, the others go on.
    pub async fn read(&self, command: &TableCommand) -> Result<QueryOutput, Status> {
        let turn = self.connection.turn().await?;
        // Right before the query, because one that is still being read may have failed a moment ago.
        begin_again(&turn).await?;
        turn.session().execute(&command.to_sql()).await.map_err(|error| status_by_path(error, command, turn.session()))
    }

    /// The messages, which end with an error when the lease is cancelled.
    pub fn guarded(&self, messages: FlightStream) -> FlightStream {
        let (stop, stopped) = (self.stop.clone(), self.stop.clone().cancelled_owned());
        let end = futures::stream::once(async move { stop.is_cancelled().then(|| Err(Status::cancelled("the lease was cancelled"))) });
        Box::pin(messages.take_until(stopped).chain(end.filter_map(|end| async { end })))
    }
}

#[derive(Serialize)]
struct LeaseInfo {
    lease: String,
    expires_ms: u64,
    version: u64,
    parts: Vec<PartInfo>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum PartInfo {
    File { file: String, size_bytes: u64, columns: Vec<usize>, batches: Vec<BatchInfo> },
    Ticket { ticket: String },
}

#[derive(Serialize)]
struct BatchInfo {
    index: usize,
    offset: u64,
    metadata_bytes: u64,
    body_bytes: u64,
    rows: Vec<(u64, u64)>,
}

/// The savepoint to which the transaction of a lease rolls back when one of its queries has failed.
const SAVEPOINT: &str = "held";

/// Begins the transaction, which from here on keeps the version that it sees.
pub async fn hold(turn: &SessionLock<'_>) -> Result<(), Status> {
    // Rows of a ticket are counted in the order in which they lie, and one reader at a time keeps to it.
    turn.run_own("SET threads = 1").await.map_err(status)?;
    turn.run_own(&format!("SAVEPOINT {SAVEPOINT}")).await.map_err(status)
}

/// A transaction in which a query has failed refuses others until it rolls back.
async fn begin_again(turn: &SessionLock<'_>) -> Result<(), Status> {
    match turn.session().is_transaction_failed() {
        true => turn.run_own(&format!("ROLLBACK TO SAVEPOINT {SAVEPOINT}")).await.map_err(status),
        false => Ok(()),
    }
}

impl Leases {
    pub fn new(options: &ServerOptions, stop: CancellationToken) -> Leases {
        let open = Handles::new("leases", LEASES_MAX, options.limits.of_user(LEASES_MAX), options.lease_idle);
        Leases { open, allowed: options.hand_off.clone(), idle: options.lease_idle, stop }
    }

    /// A lease hands out files of this machine, so the call must come from this machine.
    pub fn check_allowed(&self, caller: &CallContext) -> Result<(), Status> {
        let is_allowed = match &self.allowed {
            HandOff::Nobody => false,
            HandOff::Everybody => true,
            HandOff::Users(names) => caller.identity.as_ref().is_some_and(|identity| names.iter().any(|name| name == identity.name())),
        };
        if !is_allowed {
            return Err(Status::permission_denied("you may not have tables as files here; the operator names who may with --hand-off"));
        }
        match caller.peer {
            // A listener for both address families shows an IPv4 address as an IPv4-mapped IPv6 one.
            Some(peer) if peer.ip().to_canonical().is_loopback() => Ok(()),
            _ => Err(Status::permission_denied("files are handed off to clients of this machine alone; fetch the table by DoGet")),
        }
    }

    /// Two answers: JSON, and the schema as an IPC message.
    pub async fn lease(
        &self,
        caller: &CallContext,
        connection: Arc<Connection>,
        command: &TableCommand,
        can_decode: bool,
    ) -> Result<[Bytes; 2], Status> {
        if command.version.is_some() || command.lease.is_some() {
            return Err(Status::invalid_argument("a lease is of the table as it is now; leave out version and lease"));
        }
        let (files, mapped) = {
            let turn = connection.turn().await?;
            hold(&turn).await?;
            let files = turn.session().hand_off();
            let sql = command.to_sql();
            // Planning it reports wrong names.
            turn.session().describe_to_run(&sql).await.map_err(|error| status_by_path(error, command, turn.session()))?;
            let rows = command.rows.map(|(from, to)| from..to);
            let session = turn.session();
            let columns = command.columns.as_deref();
            (files, session.mapped_table(&command.schema, &command.table, columns, rows, can_decode).map_err(status)?)
        };
        if let Some((from, to)) = command.rows.filter(|_| mapped.parts.is_empty()) {
            return Err(Status::invalid_argument(format!("the table has no rows from {from} to {to}; ask for some that it has")));
        }
        let schema = schema_bytes(&wire_schema(&mapped.schema, VIEWS))?;
        let handle = self.keep(caller, connection, Some(files))?;
        match self.lease_info(&handle, command, mapped) {
            Ok(json) => Ok([json, schema]),
            Err(error) => {
                self.open.remove(&caller.principal, &handle);
                Err(error)
            }
        }
    }

    pub fn keep(&self, caller: &CallContext, connection: Arc<Connection>, files: Option<engine::HandOff>) -> Result<Handle, Status> {
        self.open.insert(&caller.principal, Lease { connection, stop: self.stop.child_token(), _files: files })
    }

    pub fn idle(&self) -> Duration {
        self.idle
    }

    pub fn expires_ms(&self) -> u64 {
        u64::try_from(self.idle.as_millis()).unwrap_or(u64::MAX)
    }

    fn lease_info(&self, handle: &Handle, command: &TableCommand, mapped: MappedTable) -> Result<Bytes, Status> {
        let lease = String::from_utf8_lossy(handle).into_owned();
        let parts = mapped.parts.into_iter().map(|part| part_info(part, &lease, command)).collect::<Result<_, Status>>()?;
        let info = LeaseInfo { lease, expires_ms: self.expires_ms(), version: mapped.version, parts };
        let json = serde_json::to_vec(&info).map_err(|error| Status::new(Code::Internal, error.to_string()))?;
        Ok(json.into())
    }

    /// Renewing counts as a use.
    pub fn get(&self, caller: &CallContext, lease: &str) -> Result<Arc<Lease>, Status> {
        self.open.get(&caller.principal, lease.as_bytes())
    }

    pub fn release(&self, caller: &CallContext, lease: &[u8]) -> Result<(), Status> {
        self.open.take(&caller.principal, lease).map(|_| ())
    }

    /// Like [`Leases::release`], and the streams under it end. False if there is no such lease.
    pub fn cancel(&self, caller: &CallContext, lease: &[u8]) -> bool {
        let lease = self.open.take(&caller.principal, lease);
        lease.is_ok_and(|lease| {
            lease.stop.cancel();
            true
        })
    }

    pub fn renew(&self, caller: &CallContext, lease: &[u8]) -> Result<(), Status> {
        self.open.get(&caller.principal, lease).map(|_| ())
    }

    pub fn retain(&self, keep: impl Fn(&Principal) -> bool) {
        self.open.retain(|principal, _| keep(principal));
    }

    pub fn sweep(&self) {
        self.open.sweep();
    }

    pub fn count(&self) -> usize {
        self.open.len()
    }
}

fn part_info(part: MappedPart, lease: &str, command: &TableCommand) -> Result<PartInfo, Status> {
    let file = match part {
        MappedPart::File(file) => file,
        MappedPart::Rows(rows) => {
            let ticket = TableCommand { rows: Some((rows.start, rows.end)), lease: Some(lease.to_string()), ..command.clone() };
            return Ok(PartInfo::Ticket { ticket: String::from_utf8_lossy(&ticket.to_json()).into_owned() });
        }
    };
    let path = utf8_path(&file.path)?;
    let pair = |rows: Range<u64>| (rows.start, rows.end);
    let batches = file.batches.into_iter().map(|batch| BatchInfo {
        index: batch.index,
        offset: batch.offset,
        metadata_bytes: batch.metadata_bytes,
        body_bytes: batch.body_bytes,
        rows: batch.rows.into_iter().map(pair).collect(),
    });
    Ok(PartInfo::File { file: path.to_string(), size_bytes: file.size_bytes, columns: file.columns, batches: batches.collect() })
}

pub fn utf8_path(path: &Path) -> Result<&str, Status> {
    path.to_str()
        .ok_or_else(|| Status::failed_precondition("the path of the store is not UTF-8, so no file can be handed off; run a query"))
}
