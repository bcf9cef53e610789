//! A large table in parts that a client may fetch at the same time: ranges of rows of one version, held by one lease. The
//! tickets end together, when nobody has used any of them for long.

use std::sync::Arc;
use std::time::SystemTime;

use arrow_flight::{FlightEndpoint, Ticket};
use engine::TableListing;
use tonic::Status;

use super::command::{TableCommand, is_json};
use super::lease::Leases;
use crate::connection::Connection;
use crate::error::status;
use crate::options::ServerOptions;
use crate::sessions::Caller;

/// More streams than this are more than a machine has work for.
const PARTS_MAX: u64 = 16;
/// What a scan reads at once: no two parts share any.
const ZONE_ROWS: u64 = 8_192;

/// Whether the table is worth more than one part. Ranges and older versions of it are fetched as they are asked for.
pub fn are_for(listed: &TableListing, command: &TableCommand, options: &ServerOptions) -> bool {
    let is_whole = command.rows.is_none() && command.version.is_none() && command.lease.is_none();
    is_whole && listed.kind == "table" && count(listed, options) > 1
}

fn count(listed: &TableListing, options: &ServerOptions) -> u64 {
    let by_size = listed.size_bytes.unwrap_or(0) / options.part_bytes_min.max(1);
    by_size.min(listed.rows.unwrap_or(0) / ZONE_ROWS).min(PARTS_MAX)
}

/// An endpoint for each part, in the order of the rows; and how many rows there are. `connection` is for them alone. None
/// where there are as many leases as there may be: the table can be fetched as a whole.
pub async fn endpoints(
    leases: &Leases,
    caller: &Caller,
    connection: Arc<Connection>,
    command: &TableCommand,
    options: &ServerOptions,
) -> Result<Option<(Vec<FlightEndpoint>, u64)>, Status> {
    let tables = {
        let turn = connection.turn().await?;
        // Rows are counted in the order in which they lie, and one reader at a time keeps to it.
        turn.run("SET threads = 1").await.map_err(status)?;
        // As of the version that is held from now on.
        turn.session().tables().map_err(status)?
    };
    let listed = tables.into_iter().find(|listed| listed.schema == command.schema && listed.name == command.table);
    let (Some(listed), Ok(handle)) = (listed, leases.keep(caller, connection)) else { return Ok(None) };
    let rows = listed.rows.unwrap_or(0);
    let part_rows = rows.div_ceil(count(&listed, options).max(1)).next_multiple_of(ZONE_ROWS);
    let lease = String::from_utf8_lossy(&handle).into_owned();
    let expires = SystemTime::now() + leases.idle();
    let since_epoch = expires.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let part = |from: u64| {
        let rows = Some((from, rows.min(from + part_rows)));
        let command = TableCommand { rows, lease: Some(lease.clone()), ..command.clone() };
        let mut endpoint = FlightEndpoint::new().with_ticket(Ticket::new(command.to_json()));
        endpoint.expiration_time.get_or_insert_default().seconds = i64::try_from(since_epoch.as_secs()).unwrap_or(i64::MAX);
        endpoint
    };
    let step = usize::try_from(part_rows).unwrap_or(usize::MAX);
    Ok(Some(((0..rows.max(1)).step_by(step).map(part).collect(), rows)))
}

/// The lease that a ticket of a part names.
pub fn lease_of(ticket: &[u8]) -> Option<String> {
    if !is_json(ticket) {
        return None;
    }
    TableCommand::of_json(ticket).ok()?.lease
}
