//! Hand-off of tables, chunks of arrays and blobs as files that a program of the same machine maps: a lease describes them, and keeps the files.

use std::fs::File;
use std::time::Duration;

use arrow::array::{AsArray, RecordBatch};
use arrow::compute::{cast, concat_batches};
use arrow::datatypes::{Int64Type, SchemaRef};
use arrow_flight::decode::FlightRecordBatchStream;
use arrow_flight::error::FlightError;
use arrow_flight::{Action, IpcMessage, Ticket};
use arrow_ipc::reader::FileReader;
use bytes::Bytes;
use flight_server::{HandOff, ServerOptions};
use futures::TryStreamExt;
use serde_json::Value;
use tonic::Code;

use crate::helpers::{Served, eventually, options, shown, wait, with};

fn served() -> Served {
    Served::with(ServerOptions { hand_off: HandOff::Everybody, ..options() })
}

struct Leased {
    answer: Value,
    schema: SchemaRef,
}

impl Leased {
    fn of(served: &Served, body: &str) -> Leased {
        let answers = served.act("lease", body.to_string()).unwrap();
        let schema = arrow::datatypes::Schema::try_from(IpcMessage(answers[1].clone())).unwrap();
        Leased { answer: serde_json::from_slice(&answers[0]).unwrap(), schema: schema.into() }
    }

    fn parts(&self) -> &Vec<Value> {
        self.answer["parts"].as_array().unwrap()
    }

    fn files(&self) -> Vec<&str> {
        self.parts().iter().filter_map(|part| part["file"].as_str()).collect()
    }

    fn id(&self) -> Bytes {
        self.answer["lease"].as_str().unwrap().to_string().into()
    }

    /// Reads a lease as a client does: batches of files, sliced to the listed rows, and fetched tickets.
    fn read(&self, served: &Served) -> RecordBatch {
        let batches: Vec<RecordBatch> = self.parts().iter().flat_map(|part| self.read_part(served, part)).collect();
        let batches: Vec<RecordBatch> = batches.iter().map(|batch| self.declared(batch)).collect();
        concat_batches(&self.schema, &batches).unwrap()
    }

    fn read_part(&self, served: &Served, part: &Value) -> Vec<RecordBatch> {
        if let Some(ticket) = part["ticket"].as_str() {
            return get(served, ticket).unwrap();
        }
        let columns = numbers(&part["columns"]);
        let mut file = FileReader::try_new(File::open(part["file"].as_str().unwrap()).unwrap(), None).unwrap();
        let mut cut = Vec::new();
        for entry in part["batches"].as_array().unwrap() {
            file.set_index(entry["index"].as_u64().unwrap() as usize).unwrap();
            let batch = file.next().unwrap().unwrap().project(&columns).unwrap();
            for rows in entry["rows"].as_array().unwrap() {
                let rows = numbers(rows);
                cut.push(batch.slice(rows[0], rows[1] - rows[0]));
            }
        }
        cut
    }

    fn declared(&self, batch: &RecordBatch) -> RecordBatch {
        let columns = batch.columns().iter().zip(self.schema.fields());
        let columns = columns.map(|(column, field)| cast(column, field.data_type()).unwrap()).collect();
        RecordBatch::try_new(self.schema.clone(), columns).unwrap()
    }
}

fn numbers(list: &Value) -> Vec<usize> {
    list.as_array().unwrap().iter().map(|number| number.as_u64().unwrap() as usize).collect()
}

fn get(served: &Served, ticket: &str) -> Result<Vec<RecordBatch>, tonic::Status> {
    wait(async {
        let messages = served.flight().do_get(Ticket::new(ticket.to_string())).await?.into_inner();
        FlightRecordBatchStream::new_from_flight_data(messages.map_err(FlightError::from)).try_collect().await.map_err(tonic::Status::from)
    })
}

/// Fetches the same rows over the socket.
fn got(served: &Served, ticket: &str) -> RecordBatch {
    let batches = get(served, ticket).unwrap();
    concat_batches(&batches[0].schema(), &batches).unwrap()
}

/// Compares rows without printing tens of thousands of them.
fn same_rows(actual: &RecordBatch, expected: &RecordBatch) {
    let (actual, expected) = (shown(std::slice::from_ref(actual)), shown(std::slice::from_ref(expected)));
    let differ = actual.iter().zip(&expected).find(|(actual, expected)| actual != expected);
    assert_eq!((actual.len(), differ), (expected.len(), None));
}

fn filled(served: &Served) {
    served.update("CREATE TABLE t (a BIGINT, price DECIMAL(10, 2), b VARCHAR) WITH (encoding = 'plain')");
    served.update("ALTER SYSTEM SET retention = '0'");
    served.update("INSERT INTO t SELECT value, value / 4.0, 'row ' || value FROM generate_series(0, 49999) AS g (value)");
}

#[test]
fn a_lease_has_the_rows_of_the_table() {
    let served = served();
    filled(&served);
    served.update("DELETE FROM t WHERE a % 7000 = 3");
    served.update("INSERT INTO t VALUES (50000, 1.25, 'in the log'), (50001, NULL, NULL)");
    let leased = Leased::of(&served, "t");
    assert_eq!((leased.files().len(), leased.parts().len()), (1, 2), "{}", leased.answer);
    same_rows(&leased.read(&served), &got(&served, r#"{"table": "t", "rows": [0, 100000]}"#));
    let part = r#"{"table": "t", "columns": ["b", "a"], "rows": [20000, 49999]}"#;
    same_rows(&Leased::of(&served, part).read(&served), &got(&served, part));
}

#[test]
fn a_place_in_the_file_is_where_its_batch_lies() {
    let served = served();
    filled(&served);
    let leased = Leased::of(&served, "t");
    let bytes = std::fs::read(leased.files()[0]).unwrap();
    assert_eq!(bytes.len() as u64, leased.parts()[0]["size_bytes"]);
    for batch in leased.parts()[0]["batches"].as_array().unwrap() {
        let offset = batch["offset"].as_u64().unwrap() as usize;
        let message_bytes = u32::from_le_bytes(bytes[offset + 4..offset + 8].try_into().unwrap()) as u64;
        assert_eq!(bytes[offset..offset + 4], [0xff; 4], "an encapsulated message begins here");
        assert_eq!(message_bytes + 8, batch["metadata_bytes"].as_u64().unwrap());
        let end = offset as u64 + message_bytes + 8 + batch["body_bytes"].as_u64().unwrap();
        assert!(end <= bytes.len() as u64);
    }
}

#[test]
fn rows_that_no_file_has_as_they_are_come_by_ticket() {
    let served = served();
    filled(&served);
    served.update("ALTER TABLE t ADD COLUMN added BIGINT DEFAULT 7");
    let leased = Leased::of(&served, "t");
    assert!(leased.files().is_empty(), "{}", leased.answer);
    same_rows(&leased.read(&served), &got(&served, r#"{"table": "t", "rows": [0, 100000]}"#));
    let without = Leased::of(&served, r#"{"table": "t", "columns": ["a"]}"#);
    assert_eq!(without.files().len(), 1);
}

#[test]
fn a_file_with_encoded_columns_is_only_for_clients_that_decode_them() {
    let served = served();
    served.update("CREATE TABLE t AS SELECT value AS a, value::DOUBLE / 2 AS x FROM generate_series(0, 49999) AS g (value)");
    let leased = Leased::of(&served, "t");
    assert!(leased.files().is_empty(), "{}", leased.answer);
    assert_eq!(leased.read(&served).num_rows(), 50_000);
    let plain = Leased::of(&served, r#"{"table": "t", "columns": ["x"]}"#);
    assert_eq!(plain.files().len(), 1, "{}", plain.answer);
    let decoded = Leased::of(&served, r#"{"table": "t", "encodings": true}"#);
    assert_eq!(decoded.files().len(), 1, "{}", decoded.answer);
    let file = FileReader::try_new(File::open(decoded.files()[0]).unwrap(), None).unwrap();
    assert_eq!(file.schema().field(0).metadata()["quiver.type"], "Int64");
    let error = served.act("lease", r#"{"table": "t", "encodings": 1}"#).unwrap_err();
    assert!(error.message().contains("true or false"), "{error}");
}

#[test]
fn a_lease_keeps_its_files_until_it_is_released() {
    let served = served();
    filled(&served);
    served.update("INSERT INTO t VALUES (50000, 1.25, 'in the log')");
    let leased = Leased::of(&served, "t");
    let file = leased.files()[0].to_string();
    served.update("DELETE FROM t WHERE a > 10");
    served.update("OPTIMIZE TABLE t FULL");
    served.update("CHECKPOINT");
    let rows = leased.read(&served);
    assert_eq!(rows.num_rows(), 50_001);
    assert_eq!(rows.column(0).as_primitive::<Int64Type>().value(50_000), 50_000);
    assert_eq!(served.stat("leases"), 1);
    served.act("renew_lease", leased.id()).unwrap();
    served.act("release_lease", leased.id()).unwrap();
    assert_eq!(served.act("renew_lease", leased.id()).unwrap_err().code(), Code::NotFound);
    let ticket = leased.parts()[1]["ticket"].as_str().unwrap();
    assert_eq!(get(&served, ticket).unwrap_err().code(), Code::NotFound);
    eventually("the file of the old version is removed", || {
        served.embedded("SELECT count(*) FROM t");
        served.update("INSERT INTO t VALUES (1, 1, '')");
        !std::path::Path::new(&file).exists()
    });
}

#[test]
fn a_lease_that_is_not_renewed_ends() {
    let served = Served::with(ServerOptions { hand_off: HandOff::Everybody, lease_idle: Duration::from_millis(50), ..options() });
    filled(&served);
    let leased = Leased::of(&served, "t");
    eventually("it is forgotten", || served.stat("leases") == 0);
    assert_eq!(served.act("renew_lease", leased.id()).unwrap_err().code(), Code::NotFound);
}

#[test]
fn hand_off_is_off_unless_the_operator_allows_it() {
    let served = Served::new();
    filled(&served);
    assert_eq!(served.act("lease", "t").unwrap_err().code(), Code::PermissionDenied);
}

#[test]
fn the_users_that_the_operator_names_have_files_of_what_they_may_read() {
    let served = Served::with_users(ServerOptions { hand_off: HandOff::parse("ada, eve"), ..options() }, &["root", "ada", "bob"]);
    served.embedded("CREATE TABLE t AS SELECT 7 AS a");
    let lease_of = |password: &str| {
        let action = with(Action::new("lease", "t"), "authorization", password);
        wait(served.flight().do_action(action)).map(|_| ()).map_err(|status| status.code())
    };
    // ada:secret and bob:secret
    let (ada, bob) = ("Basic YWRhOnNlY3JldA==", "Basic Ym9iOnNlY3JldA==");
    assert_eq!(lease_of(ada), Err(Code::NotFound), "a table that she may not read is not there");
    served.embedded("GRANT SELECT ON t TO ada");
    served.embedded("GRANT SELECT ON t TO bob");
    assert_eq!(lease_of(ada), Ok(()));
    assert_eq!(lease_of(bob), Err(Code::PermissionDenied));
}

#[test]
fn only_tables_can_be_leased() {
    let served = served();
    filled(&served);
    served.update("CREATE VIEW v AS SELECT a FROM t");
    let refused = |body: &'static str| served.act("lease", body).unwrap_err().code();
    assert_eq!(refused("v"), Code::Unimplemented);
    assert_eq!(refused("missing"), Code::NotFound);
    assert_eq!(refused(r#"{"table": "t", "columns": ["missing"]}"#), Code::InvalidArgument);
    assert_eq!(refused(r#"{"table": "t", "version": 1}"#), Code::InvalidArgument);
    assert_eq!(refused(""), Code::InvalidArgument);
    assert_eq!(served.stat("leases"), 0);
}

/// Reads the values of a lease as a client does: ranges of bytes of files.
fn values(answer: &Value) -> Vec<Option<Vec<u8>>> {
    let read = |range: &Value| {
        let file = &answer["files"][range["file"].as_u64()? as usize];
        let bytes = std::fs::read(file["file"].as_str().unwrap()).unwrap();
        assert_eq!(bytes.len() as u64, file["size_bytes"]);
        let (offset, length) = (range["offset"].as_u64().unwrap() as usize, range["length"].as_u64().unwrap() as usize);
        Some(bytes[offset..offset + length].to_vec())
    };
    answer["ranges"].as_array().unwrap().iter().map(read).collect()
}

fn lease_of_values(served: &Served, action: &str, body: &str) -> Value {
    serde_json::from_slice(&served.act(action, body.to_string()).unwrap()[0]).unwrap()
}

#[test]
fn chunks_of_an_array_are_ranges_of_files_which_a_lease_keeps() {
    let served = served();
    served.update("ALTER SYSTEM SET retention = '0'");
    served.update("CREATE ARRAY grid (y 300, x 300) OF DOUBLE CHUNK (100, 100)");
    served.update("UPDATE ARRAY grid SET REGION [0:200, 0:100] = 7");
    served.update("CHECKPOINT");
    let answer = lease_of_values(&served, "lease_chunks", r#"{"array": "grid", "chunks": [[1, 0], [2, 2], [0, 0], [1, 0]]}"#);
    assert_eq!((&answer["cell_type"], &answer["chunk"]), (&"DOUBLE".into(), &serde_json::json!([100, 100])));
    served.update("DROP ARRAY grid");
    let sevens: Vec<u8> = std::iter::repeat_n(7_f64.to_le_bytes(), 10_000).flatten().collect();
    assert_eq!(values(&answer), [Some(sevens.clone()), None, Some(sevens.clone()), Some(sevens)]);
    assert_eq!(answer["ranges"][1], Value::Null, "it was never written");
    served.act("release_lease", answer["lease"].as_str().unwrap().to_string()).unwrap();
    assert_eq!(served.stat("leases"), 0);
}

#[test]
fn blobs_are_ranges_of_files_and_those_in_the_log_are_not() {
    let served = served();
    let content = |letter: &str| format!("SELECT 'blob {letter}' AS name, CAST(repeat('{letter}', 400000) AS BYTEA) AS content");
    served.update(&format!("COPY BLOBS FROM ({} UNION ALL {})", content("a"), content("b")));
    served.update("COPY BLOBS FROM (SELECT 'small' AS name, CAST('few' AS BYTEA) AS content)");
    let answer = lease_of_values(&served, "lease_blobs", r#"{"blobs": ["blob b", "none", "small", "blob a"]}"#);
    assert_eq!(values(&answer), [Some(vec![b'b'; 400_000]), None, None, Some(vec![b'a'; 400_000])]);
    assert_eq!((&answer["ranges"][1], &answer["ranges"][2]), (&Value::Null, &serde_json::json!({})));
    assert_eq!(answer["files"].as_array().unwrap().len(), 1);
}

#[test]
fn a_wrong_request_for_values_keeps_no_lease() {
    let served = served();
    served.update("CREATE ARRAY grid (y 300, x 300) OF DOUBLE");
    served.update("CREATE TABLE t AS SELECT 1 AS a");
    let refused = |action: &str, body: &str| served.act(action, body.to_string()).unwrap_err().code();
    assert_eq!(refused("lease_chunks", r#"{"array": "none", "chunks": [[0, 0]]}"#), Code::NotFound);
    assert_eq!(refused("lease_chunks", r#"{"array": "t", "chunks": [[0]]}"#), Code::NotFound);
    assert_eq!(refused("lease_chunks", r#"{"array": "grid", "chunks": [[0]]}"#), Code::InvalidArgument);
    assert_eq!(refused("lease_chunks", r#"{"array": "grid"}"#), Code::InvalidArgument);
    assert_eq!(refused("lease_blobs", r#"{"blobs": "a"}"#), Code::InvalidArgument);
    assert_eq!(refused("lease_blobs", ""), Code::InvalidArgument);
    assert_eq!(served.stat("leases"), 0);
}

#[test]
fn a_client_of_this_machine_is_one_by_the_address_of_ipv4_in_ipv6() {
    let served = Served::with(ServerOptions { hand_off: HandOff::Everybody, listen: "[::ffff:127.0.0.1]:0".parse().unwrap(), ..options() });
    served.update("CREATE TABLE t AS SELECT 1 AS a");
    assert_eq!(Leased::of(&served, r#"{"table": "t"}"#).read(&served).num_rows(), 1);
}

#[test]
fn a_range_that_the_table_does_not_have_keeps_no_lease() {
    let served = served();
    served.update("CREATE TABLE t AS SELECT value AS a FROM generate_series(1, 10) AS t (value)");
    let refused = served.act("lease", r#"{"table": "t", "rows": [10, 20]}"#).unwrap_err();
    assert!(refused.code() == Code::InvalidArgument && refused.message().contains("no rows from 10 to 20"), "{refused}");
    assert_eq!(served.stat("leases"), 0);
    assert_eq!(Leased::of(&served, r#"{"table": "t", "rows": [9, 20]}"#).read(&served).num_rows(), 1);
}
