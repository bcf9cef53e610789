//! A large table in parts, each with a ticket of its own.

use arrow::array::RecordBatch;
use arrow_flight::decode::FlightRecordBatchStream;
use arrow_flight::error::FlightError;
use arrow_flight::{CancelFlightInfoRequest, FlightDescriptor, FlightEndpoint, FlightInfo, RenewFlightEndpointRequest, Ticket};
use flight_server::ServerOptions;
use futures::{StreamExt, TryStreamExt};
use prost::Message;
use std::time::Duration;
use tonic::{Code, Status};

use crate::helpers::{Served, eventually, options, shown, wait};

fn in_parts() -> ServerOptions {
    ServerOptions { part_bytes_min: 64 << 10, ..options() }
}

/// 60,000 rows, some of them deleted, and some in the log.
fn table(options: ServerOptions) -> Served {
    let served = Served::with(options);
    served.update("CREATE TABLE t AS SELECT value AS a, 'row ' || value AS b FROM generate_series(1, 60000) AS t (value)");
    served.update("DELETE FROM t WHERE a BETWEEN 10000 AND 19000 OR a % 1000 = 7");
    served.update("INSERT INTO t VALUES (60001, 'last')");
    served
}

fn info(served: &Served) -> FlightInfo {
    let path = FlightDescriptor::new_path(vec!["t".to_string()]);
    wait(served.flight().get_flight_info(path)).unwrap().into_inner()
}

async fn get(served: &Served, endpoint: &FlightEndpoint) -> Result<Vec<String>, Status> {
    let messages = served.flight().do_get(endpoint.ticket.clone().unwrap()).await?.into_inner();
    let batches = FlightRecordBatchStream::new_from_flight_data(messages.map_err(FlightError::from));
    let batches: Vec<RecordBatch> = batches.try_collect().await.map_err(Status::from)?;
    Ok(shown(&batches))
}

fn all(served: &Served, info: &FlightInfo) -> Vec<String> {
    info.endpoint.iter().flat_map(|endpoint| wait(get(served, endpoint)).unwrap()).collect()
}

fn in_order(served: &Served) -> Vec<String> {
    served.rows("SELECT * FROM t LIMIT 1000000")
}

#[test]
fn parts_one_after_the_other_are_the_table_in_its_order() {
    let served = table(in_parts());
    let info = info(&served);
    assert!(info.endpoint.len() > 3, "{} parts", info.endpoint.len());
    assert!(info.ordered);
    let rows = all(&served, &info);
    assert_eq!(info.total_records, rows.len() as i64);
    assert!(rows == in_order(&served), "other rows, or another order");
}

#[test]
fn parts_are_fetched_at_the_same_time() {
    let served = table(in_parts());
    let info = info(&served);
    let rows = wait(futures::future::join_all(info.endpoint.iter().map(|endpoint| get(&served, endpoint))));
    let rows: Vec<String> = rows.into_iter().flat_map(Result::unwrap).collect();
    assert!(rows == in_order(&served), "other rows, or another order");
}

#[test]
fn all_parts_are_of_one_version_whatever_happens_to_the_table() {
    let served = table(in_parts());
    let info = info(&served);
    let before = in_order(&served);
    let first = wait(get(&served, &info.endpoint[0])).unwrap();
    served.update("DELETE FROM t WHERE a < 50000");
    served.update("INSERT INTO t SELECT value, 'new' FROM generate_series(100000, 130000) AS t (value)");
    served.update("CHECKPOINT");
    served.act("compact", "t").unwrap();
    let rest = info.endpoint[1..].iter().flat_map(|endpoint| wait(get(&served, endpoint)).unwrap());
    let rows: Vec<String> = first.into_iter().chain(rest).collect();
    assert!(rows == before, "rows of two versions");
    // Tickets of parts can be used repeatedly.
    assert!(all(&served, &info) == before, "rows of two versions");
}

#[test]
fn a_table_that_is_not_large_has_one_part() {
    let served = table(options());
    let info = info(&served);
    assert_eq!(info.endpoint.len(), 1);
    assert_eq!(all(&served, &info).len(), in_order(&served).len());
    assert_eq!(served.stat("leases"), 0);
}

#[test]
fn tickets_of_parts_end_together() {
    let served = table(ServerOptions { lease_idle: Duration::from_millis(300), ..in_parts() });
    let info = info(&served);
    assert_eq!(served.stat("leases"), 1);
    assert!(info.endpoint[0].expiration_time.is_some());
    eventually("the lease has ended", || served.stat("leases") == 0);
    for endpoint in &info.endpoint {
        assert_eq!(wait(get(&served, endpoint)).unwrap_err().code(), Code::NotFound);
    }
}

#[test]
fn cancelling_the_flight_ends_all_its_parts() {
    let served = table(in_parts());
    let info = info(&served);
    let renew = RenewFlightEndpointRequest { endpoint: Some(info.endpoint[0].clone()) };
    served.act("RenewFlightEndpoint", renew.encode_to_vec()).unwrap();
    served.act("CancelFlightInfo", CancelFlightInfoRequest::new(info.clone()).encode_to_vec()).unwrap();
    assert_eq!(served.stat("leases"), 0);
    assert_eq!(wait(get(&served, &info.endpoint[1])).unwrap_err().code(), Code::NotFound);
}

#[test]
fn a_ticket_that_fails_takes_no_other_with_it() {
    let served = table(in_parts());
    let info = info(&served);
    let before = in_order(&served);
    let lease = serde_json::from_slice::<serde_json::Value>(&info.endpoint[0].ticket.as_ref().unwrap().ticket).unwrap()["lease"].clone();
    let wrong = serde_json::json!({ "table": "t", "columns": ["missing"], "lease": lease }).to_string();
    let wrong = FlightEndpoint::new().with_ticket(Ticket::new(wrong));
    for endpoint in &info.endpoint {
        assert_eq!(wait(get(&served, &wrong)).unwrap_err().code(), Code::InvalidArgument);
        wait(get(&served, endpoint)).unwrap();
    }
    assert!(all(&served, &info) == before, "other rows, or another order");
}

#[test]
fn a_ticket_that_fails_while_it_is_read_takes_no_other_with_it_and_can_be_fetched_again() {
    let served = Served::with(in_parts());
    served.update("CREATE TABLE t AS SELECT value AS a, repeat('long ', 400) || value AS b FROM generate_series(1, 30000) AS t (value)");
    let info = info(&served);
    assert!(info.endpoint.len() > 1, "{} parts", info.endpoint.len());
    let mut messages = wait(served.flight().do_get(info.endpoint[0].ticket.clone().unwrap())).unwrap().into_inner();
    wait(messages.next()).unwrap().unwrap();
    let id = served.rows("SELECT query_id FROM system.queries WHERE statement LIKE 'SELECT * FROM \"main\"%'").remove(0);
    served.update(&format!("KILL {id}"));
    let ended: Result<Vec<_>, Status> = wait(messages.try_collect());
    assert_eq!(ended.unwrap_err().code(), Code::Cancelled);
    assert_eq!(all(&served, &info).len(), 30_000);
}

#[test]
fn a_table_that_is_emptied_meanwhile_is_parts_of_nothing() {
    let served = table(in_parts());
    served.update("DELETE FROM t");
    let info = info(&served);
    assert_eq!((info.total_records, all(&served, &info).len()), (0, 0));
}

#[test]
fn an_unknown_lease_is_an_error() {
    let served = table(in_parts());
    let made_up = FlightEndpoint::new().with_ticket(Ticket::new(r#"{"table": "t", "rows": [0, 10], "lease": "7f"}"#));
    assert_eq!(wait(get(&served, &made_up)).unwrap_err().code(), Code::NotFound);
}
