//! Splits a large table into parts that a client may fetch in parallel: ranges of rows of one version, under one lease. The
//! tickets expire together, when none of them was used for long.

use std::sync::Arc;
use std::time::SystemTime;

use arrow_flight::{FlightEndpoint, Ticket};
use engine::TableListing;
use flight_wire::{TableCommand, is_json};
use tonic::Status;

use super::lease::{Leases, hold};
use crate::error::status;
use crate::options::ServerOptions;
use crate::sessions::{CallContext, Connection};

/// More streams than this do not speed up a machine.
const PARTS_MAX: u64 = 16;
/// The rows of a zone. Parts end at the bounds of zones, so that no two scans read the same one.
const ZONE_ROWS: u64 = 8_192;

/// Whether the table is large enough for parts. A range of rows or an older version is one part.
pub fn are_for(listed: &TableListing, command: &TableCommand, options: &ServerOptions) -> bool {
    let is_whole = command.rows.is_none() && command.version.is_none() && command.lease.is_none();
    is_whole && listed.kind == "table" && count(listed, options) > 1
}

fn count(listed: &TableListing, options: &ServerOptions) -> u64 {
    let by_size = listed.size_bytes.unwrap_or(0) / options.part_bytes_min.max(1);
    by_size.min(listed.rows.unwrap_or(0) / ZONE_ROWS).min(PARTS_MAX)
}

/// An endpoint for each part, in the order of the rows, and the number of rows. `connection` belongs to them alone. `None`
/// if there is no room for another lease: then the table is fetched as a whole.
pub async fn endpoints(
    leases: &Leases,
    caller: &CallContext,
    connection: Arc<Connection>,
    command: &TableCommand,
    options: &ServerOptions,
) -> Result<Option<(Vec<FlightEndpoint>, u64)>, Status> {
    let listed = {
        let turn = connection.turn().await?;
        hold(&turn).await?;
        // Read in the version that the lease holds from now on.
        turn.session().table(&command.schema, &command.table).map_err(status)?
    };
    let Some(listed) = listed else { return Ok(None) };
    let Ok(handle) = leases.keep(caller, connection, None) else { return Ok(None) };
    let rows = listed.rows.unwrap_or(0);
    let lease = String::from_utf8_lossy(&handle).into_owned();
    let expires = SystemTime::now() + leases.idle();
    let since_epoch = expires.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let part = |rows: (u64, u64)| {
        let command = TableCommand { rows: Some(rows), lease: Some(lease.clone()), ..command.clone() };
        let mut endpoint = FlightEndpoint::new().with_ticket(Ticket::new(command.to_json()));
        endpoint.expiration_time.get_or_insert_default().seconds = i64::try_from(since_epoch.as_secs()).unwrap_or(i64::MAX);
        endpoint
    };
    Ok(Some((ranges(rows, count(&listed, options)).map(part).collect(), rows)))
}

/// Splits all rows into at most `parts` ranges of whole zones. If the table was emptied since it was found to be large,
/// there is one empty range.
fn ranges(rows: u64, parts: u64) -> impl Iterator<Item = (u64, u64)> {
    let part_rows = rows.div_ceil(parts.max(1)).next_multiple_of(ZONE_ROWS).max(ZONE_ROWS);
    (0..rows.div_ceil(part_rows).max(1)).map(move |part| (part * part_rows, rows.min((part + 1) * part_rows)))
}

/// The lease in the ticket of a part.
pub fn lease_of(ticket: &[u8]) -> Option<String> {
    if !is_json(ticket) {
        return None;
    }
    TableCommand::of_json(ticket).ok()?.lease
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_follow_each_other_and_have_all_rows() {
        for rows in [1, ZONE_ROWS - 1, ZONE_ROWS, ZONE_ROWS + 1, 60_000, 1_000_000_007] {
            for parts in [0, 1, 2, 3, 7, PARTS_MAX] {
                let ranges: Vec<(u64, u64)> = ranges(rows, parts).collect();
                assert!(ranges.len() as u64 <= parts.max(1), "{rows} rows in {parts} parts: {ranges:?}");
                assert_eq!((ranges[0].0, ranges[ranges.len() - 1].1), (0, rows));
                assert!(ranges.windows(2).all(|pair| pair[0].1 == pair[1].0 && pair[0].1 % ZONE_ROWS == 0), "{ranges:?}");
                assert!(ranges.iter().all(|(from, to)| from < to), "{ranges:?}");
            }
        }
    }

    #[test]
    fn a_table_without_rows_is_one_range_of_none() {
        for parts in [0, 1, PARTS_MAX] {
            assert_eq!(ranges(0, parts).collect::<Vec<_>>(), [(0, 0)]);
        }
    }
}
