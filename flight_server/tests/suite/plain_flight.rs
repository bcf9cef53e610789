//! Flight without SQL: tables by path.

use arrow::array::RecordBatch;
use arrow_flight::decode::FlightRecordBatchStream;
use arrow_flight::encode::FlightDataEncoderBuilder;
use arrow_flight::error::FlightError;
use arrow_flight::{Criteria, Empty, FlightData, FlightDescriptor, FlightInfo, Ticket};
use futures::TryStreamExt;
use tonic::{Code, Status};

use crate::helpers::{Served, batch, numbers, shown, ticket, wait};

fn path(names: &[&str]) -> FlightDescriptor {
    FlightDescriptor::new_path(names.iter().map(|name| name.to_string()).collect())
}

fn info(served: &Served, descriptor: FlightDescriptor) -> Result<FlightInfo, Status> {
    wait(served.flight().get_flight_info(descriptor)).map(|answer| answer.into_inner())
}

fn get(served: &Served, ticket: Ticket) -> Result<Vec<String>, Status> {
    wait(async {
        let messages = served.flight().do_get(ticket).await?.into_inner();
        let batches: Vec<RecordBatch> =
            FlightRecordBatchStream::new_from_flight_data(messages.map_err(FlightError::from)).try_collect().await.map_err(Status::from)?;
        Ok(shown(&batches))
    })
}

fn put(served: &Served, descriptor: FlightDescriptor, batches: Vec<RecordBatch>) -> Result<String, Status> {
    wait(async {
        let messages: Vec<_> = FlightDataEncoderBuilder::new()
            .with_flight_descriptor(Some(descriptor))
            .build(futures::stream::iter(batches.into_iter().map(Ok)))
            .try_collect()
            .await
            .unwrap();
        let answers: Vec<_> = served.flight().do_put(futures::stream::iter(messages)).await?.into_inner().try_collect().await?;
        Ok(String::from_utf8(answers[0].app_metadata.to_vec()).unwrap())
    })
}

fn table() -> Served {
    let served = Served::new();
    served.update("CREATE TABLE t AS SELECT value AS a, 'row ' || value AS b FROM generate_series(1, 20000) AS t (value)");
    served
}

#[test]
fn tables_are_listed_with_their_columns_and_rows() {
    let served = table();
    served.update("CREATE SCHEMA other");
    served.update("CREATE TABLE other.u (x BIGINT)");
    let list = |schema: &'static str| -> Vec<FlightInfo> {
        let criteria = Criteria { expression: schema.into() };
        wait(async { served.flight().list_flights(criteria).await.unwrap().into_inner().try_collect().await.unwrap() })
    };
    let names = |flights: &[FlightInfo]| -> Vec<String> {
        flights.iter().map(|flight| flight.flight_descriptor.as_ref().unwrap().path.join(".")).collect()
    };
    let all = list("");
    assert_eq!(names(&all), ["main.t", "other.u"]);
    assert_eq!(all[0].total_records, 20_000);
    assert_eq!(all[0].clone().try_decode_schema().unwrap().field(1).name(), "b");
    assert_eq!(names(&list("other")), ["other.u"]);
}

#[test]
fn a_table_is_read_by_its_path_any_number_of_times() {
    let served = table();
    for descriptor in [path(&["t"]), path(&["main", "t"])] {
        let info = info(&served, descriptor).unwrap();
        assert_eq!(info.total_records, 20_000);
        for _ in 0..2 {
            assert_eq!(get(&served, ticket(&info)).unwrap().len(), 20_000);
        }
    }
    assert!(info(&served, path(&["missing"])).is_err());
    assert_eq!(info(&served, path(&["a", "b", "c"])).unwrap_err().code(), Code::InvalidArgument);
}

#[test]
fn columns_and_a_range_of_rows_are_asked_for_by_json() {
    let served = Served::new();
    let create = FlightDescriptor::new_cmd(r#"{"table": "t", "mode": "create"}"#);
    put(&served, create, vec![batch(&[("a", numbers(0..20_000)), ("b", numbers(100_000..120_000))])]).unwrap();
    let rows = get(&served, Ticket::new(r#"{"table": "t", "columns": ["b"], "rows": [9998, 10001]}"#)).unwrap();
    assert_eq!(rows, ["109998", "109999", "110000"]);
    let info = info(&served, FlightDescriptor::new_cmd(r#"{"table": "t", "columns": ["b", "a"], "rows": [19999, 30000]}"#)).unwrap();
    assert_eq!(info.total_records, 1);
    assert_eq!(get(&served, ticket(&info)).unwrap(), ["119999 19999"]);
    assert_eq!(get(&served, Ticket::new("{\"table\": 7}")).unwrap_err().code(), Code::InvalidArgument);
}

#[test]
fn ranges_of_rows_of_one_version_are_the_table() {
    let served = table();
    served.update("INSERT INTO t SELECT value, 'more' FROM generate_series(20001, 50000) AS t (value)");
    served.update("INSERT INTO t VALUES (50001, 'last')");
    let in_steps = |step: usize| -> Vec<i64> {
        let ticket = |from| format!("{{\"table\": \"t\", \"columns\": [\"a\"], \"rows\": [{from}, {}]}}", from + step);
        let rows = (0..60_000).step_by(step).flat_map(|from| get(&served, Ticket::new(ticket(from))).unwrap());
        rows.map(|row| row.parse().unwrap()).collect()
    };
    let mut rows = in_steps(7_000);
    assert!(rows == in_steps(20_000), "the order depends on the ranges");
    rows.sort_unstable();
    assert!(rows.into_iter().eq(1..=50_001), "rows are missing or come twice");
}

#[test]
fn an_older_version_is_read_by_its_number() {
    let served = table();
    let version = served.rows("SELECT max(version) FROM system.snapshots").remove(0);
    served.update("DELETE FROM t WHERE a > 1");
    let now = get(&served, Ticket::new(r#"{"table": "t", "columns": ["a"]}"#)).unwrap();
    assert_eq!(now, ["1"]);
    let before = get(&served, Ticket::new(format!("{{\"table\": \"t\", \"version\": {version}}}"))).unwrap();
    assert_eq!(before.len(), 20_000);
}

#[test]
fn rows_are_put_into_a_table_by_its_path() {
    let served = Served::new();
    served.update("CREATE TABLE t (a BIGINT)");
    let rows = || vec![batch(&[("a", numbers(0..10))]), batch(&[("a", numbers(10..15))])];
    assert_eq!(put(&served, path(&["t"]), rows()).unwrap(), r#"{"rows_written":15}"#);
    assert_eq!(served.count("t"), 15);
    assert_eq!(put(&served, path(&["missing"]), rows()).unwrap_err().code(), Code::NotFound);
    let create = || FlightDescriptor::new_cmd(r#"{"table": "new", "mode": "create"}"#);
    put(&served, create(), rows()).unwrap();
    assert_eq!(served.count("new"), 15);
    assert_eq!(put(&served, create(), rows()).unwrap_err().code(), Code::AlreadyExists);
}

#[test]
fn actions_are_listed_and_work_as_described() {
    let served = table();
    let names: Vec<String> = wait(async {
        let actions = served.flight().list_actions(Empty {}).await.unwrap().into_inner();
        actions.map_ok(|action| action.r#type).try_collect().await.unwrap()
    });
    for name in ["checkpoint", "compact", "progress", "stats", "CreatePreparedStatement", "CancelFlightInfo", "SetSessionOptions"] {
        assert!(names.iter().any(|listed| listed == name), "{name}");
    }
    served.act("checkpoint", "").unwrap();
    served.act("compact", "t").unwrap();
    served.act("compact", r#"{"schema": "main", "table": "t"}"#).unwrap();
    assert!(served.act("compact", "missing").is_err());
    assert_eq!(served.act("dance", "").unwrap_err().code(), Code::Unimplemented);
    assert_eq!(served.count("t"), 20_000);
}

#[test]
fn a_table_that_is_not_there_is_not_found_by_any_call() {
    let served = table();
    served.update("CREATE TABLE measured (a BIGINT)");
    let refused = [
        info(&served, path(&["mesured"])).map(|_| ()).unwrap_err(),
        wait(served.flight().get_schema(path(&["mesured"]))).map(|_| ()).unwrap_err(),
        get(&served, Ticket::new(r#"{"table": "mesured"}"#)).map(|_| ()).unwrap_err(),
        get(&served, Ticket::new(r#"{"table": "mesured", "rows": [0, 7]}"#)).map(|_| ()).unwrap_err(),
    ];
    for refused in refused {
        assert_eq!(refused.code(), Code::NotFound);
        // There is no position, because the client has sent no statement.
        assert_eq!(refused.message(), "table \"mesured\" does not exist; did you mean \"measured\"?");
    }
    assert_eq!(put(&served, path(&["mesured"]), vec![batch(&[("a", numbers([1]))])]).unwrap_err().code(), Code::NotFound);
    let refused = get(&served, Ticket::new(r#"{"table": "measured", "columns": ["b"]}"#)).unwrap_err();
    assert_eq!(refused.code(), Code::InvalidArgument);
    assert!(refused.message().contains("column \"b\" does not exist") && !refused.message().contains("at line"), "{}", refused.message());
}

#[test]
fn a_table_without_a_name_is_refused() {
    let served = table();
    let rows = || vec![batch(&[("a", numbers([1]))])];
    let refused = [
        info(&served, path(&[""])).map(|_| ()).unwrap_err(),
        info(&served, path(&["main", ""])).map(|_| ()).unwrap_err(),
        get(&served, Ticket::new(r#"{"table": ""}"#)).map(|_| ()).unwrap_err(),
        put(&served, path(&[""]), rows()).map(|_| ()).unwrap_err(),
        put(&served, FlightDescriptor::new_cmd(r#"{"table": "", "mode": "create"}"#), rows()).map(|_| ()).unwrap_err(),
    ];
    for refused in refused {
        assert_eq!((refused.code(), refused.message()), (Code::InvalidArgument, "the name of the table is empty; give the name of one"));
    }
}

#[test]
fn rows_are_put_into_no_view() {
    let served = table();
    served.update("CREATE VIEW v AS SELECT a FROM t");
    for mode in ["append", "create_append"] {
        let command = FlightDescriptor::new_cmd(format!(r#"{{"table": "v", "mode": "{mode}"}}"#));
        let refused = put(&served, command, vec![batch(&[("a", numbers([1]))])]).unwrap_err();
        assert_eq!(refused.code(), Code::Unimplemented, "{mode}");
        assert!(refused.message().starts_with("writing to the view \"v\" is not supported; write to a table"), "{}", refused.message());
    }
    assert_eq!(served.count("t"), 20_000);
}

#[test]
fn a_column_that_comes_twice_is_named() {
    let served = table();
    let twice = |one: &str, other: &str| batch(&[(one, numbers([1])), (other, numbers([2])), ("b", numbers([3]))]);
    for (one, other) in [("a", "a"), ("a", "A")] {
        let refused = put(&served, path(&["t"]), vec![twice(one, other)]).unwrap_err();
        assert_eq!(refused.code(), Code::InvalidArgument);
        let expected = format!("what was sent has the column \"{other}\" more than once");
        assert!(refused.message().starts_with(&expected), "{}", refused.message());
    }
    assert_eq!(served.count("t"), 20_000);
}

#[test]
fn poll_flight_info_answers_at_once() {
    let served = table();
    let expected = info(&served, path(&["t"])).unwrap();
    let polled = wait(served.flight().poll_flight_info(path(&["t"]))).unwrap().into_inner();
    assert_eq!((polled.info.as_ref(), polled.flight_descriptor, polled.progress), (Some(&expected), None, Some(1.0)));
    assert_eq!(get(&served, ticket(&polled.info.unwrap())).unwrap().len(), 20_000);
    assert_eq!(wait(served.flight().poll_flight_info(path(&["missing"]))).unwrap_err().code(), Code::NotFound);
}

#[test]
fn an_exchange_is_not_answered() {
    let served = Served::new();
    let message = FlightData::new().with_descriptor(path(&["t"]));
    let refused = wait(served.flight().do_exchange(futures::stream::iter([message]))).map(|_| ()).unwrap_err();
    assert_eq!(refused.code(), Code::Unimplemented);
    assert!(refused.message().contains("send rows by DoPut and fetch them by DoGet"), "{}", refused.message());
}
