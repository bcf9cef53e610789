//! SQL over the network gives the same results as in process, and a write runs once.

use arrow::array::Array;
use arrow::datatypes::DataType;
use arrow_flight::sql::{CommandStatementQuery, ProstMessageExt};
use arrow_flight::{FlightData, FlightDescriptor};
use futures::TryStreamExt;
use prost::Message;
use tonic::Code;

use crate::helpers::{Served, as_type, code, fetch, query, ticket, wait, with};

const TYPES: &str = "CREATE TABLE types AS SELECT * FROM (VALUES \
    (1, true, CAST(7 AS SMALLINT), CAST(-5 AS INTEGER), 1.5e0, CAST(12.34 AS DECIMAL(10, 2)), 'a text that is longer than a view holds', \
     DATE '2026-11-20', TIMESTAMP '2026-11-20 14:00:00.123456', CAST('x' AS BYTEA), [1, 2, 3], ['a', NULL], INTERVAL '1 day'), \
    (2, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)) \
    AS t (id, flag, small, number, ratio, price, words, day, moment, bytes, list, texts, pause)";

#[test]
fn a_select_gives_its_rows() {
    let served = Served::new();
    assert_eq!(served.rows("SELECT 1 AS one, 'two' AS two"), ["1 two"]);
    assert_eq!(served.rows("SELECT 1 WHERE false"), [""; 0]);
}

#[test]
fn every_type_arrives_as_the_embedded_session_gives_it() {
    let served = Served::new();
    served.update(TYPES);
    let sql = "SELECT *, CAST(moment AS TIMESTAMP WITH TIME ZONE) AS instant, {'a': words} AS pair FROM types ORDER BY id";
    let expected = served.embedded(sql);
    let batches = wait(query(&mut served.client(), sql, None)).unwrap();
    let actual = arrow::compute::concat_batches(&batches[0].schema(), &batches).unwrap();
    assert_eq!(actual.num_rows(), 2);
    for (column, field) in actual.columns().iter().zip(expected.schema().fields()) {
        let expected_column = as_type(expected.column_by_name(field.name()).unwrap(), column.data_type());
        assert_eq!(expected_column.as_ref(), column.as_ref(), "{}", field.name());
        assert!(!format!("{:?}", column.data_type()).contains("View"), "{}", column.data_type());
    }
}

#[test]
fn flight_info_has_the_schema_of_the_result() {
    let served = Served::new();
    served.update(TYPES);
    let mut client = served.client();
    let info = wait(client.execute("SELECT * FROM types".into(), None)).unwrap();
    let schema = info.clone().try_decode_schema().unwrap();
    let batches = wait(fetch(&mut client, &info)).unwrap();
    assert_eq!(schema, *batches[0].schema());
    assert!(schema.field(6).metadata().contains_key("ARROW:FLIGHT:SQL:TYPE_NAME"));
}

#[test]
fn view_types_are_sent_on_request() {
    let served = Served::new();
    served.update(TYPES);
    let mut client = served.client();
    client.set_header("x-quiver-view-types", "true");
    let batches = wait(query(&mut client, "SELECT words, texts FROM types ORDER BY id", None)).unwrap();
    assert_eq!(*batches[0].schema().field(0).data_type(), DataType::Utf8View);
    // So are computed columns, also in the announced schema.
    let computed = "SELECT CAST(words AS BYTEA), words || '!', 'a' FROM types ORDER BY id";
    let info = wait(client.execute(computed.into(), None)).unwrap();
    let types: Vec<DataType> = info.try_decode_schema().unwrap().fields().iter().map(|field| field.data_type().clone()).collect();
    assert_eq!(types, [DataType::BinaryView, DataType::Utf8View, DataType::Utf8View]);
    let got: Vec<DataType> =
        wait(query(&mut client, computed, None)).unwrap()[0].columns().iter().map(|column| column.data_type().clone()).collect();
    assert_eq!(got, types);
    // Inside of nested types they are plain nevertheless.
    assert_eq!(*batches[0].schema().field(1).data_type(), DataType::new_list(DataType::Utf8, true));
    let words = as_type(batches[0].column(0), &DataType::Utf8);
    assert_eq!(words.as_ref(), as_type(served.embedded("SELECT words FROM types ORDER BY id").column(0), &DataType::Utf8).as_ref());
}

#[test]
fn compressed_results_are_the_same_and_smaller() {
    let served = Served::new();
    let sql = "SELECT value % 10 AS digit, 'the same words in every row' AS words FROM generate_series(1, 20000) AS t (value)";
    let bytes = |compression: &'static str| {
        let mut client = served.client();
        let info = wait(client.execute(sql.into(), None)).unwrap();
        let request = with(ticket(&info), "x-quiver-compression", compression);
        let messages: Vec<FlightData> =
            wait(async { served.flight().do_get(request).await.unwrap().into_inner().try_collect().await.unwrap() });
        let batches = arrow_flight::utils::flight_data_to_batches(&messages).unwrap();
        let rows = batches.iter().map(|batch| batch.num_rows()).sum::<usize>();
        assert_eq!(rows, 20_000, "{compression}");
        messages.iter().map(|message| message.data_body.len()).sum::<usize>()
    };
    let plain = bytes("none");
    assert!(bytes("lz4") < plain / 2);
    assert!(bytes("zstd") < plain / 2);
    let mut client = served.client();
    client.set_header("x-quiver-compression", "rar");
    assert_eq!(code(wait(client.execute(sql.into(), None))), Code::InvalidArgument);
}

#[test]
fn the_last_message_and_flight_info_carry_the_report() {
    let served = Served::new();
    served.update("CREATE TABLE n AS SELECT value AS n FROM generate_series(1, 30000) AS t (value)");
    let info = wait(served.client().execute("SELECT n FROM n".into(), None)).unwrap();
    let planned: serde_json::Value = serde_json::from_slice(&info.app_metadata).unwrap();
    assert_eq!(planned["bytes_returned"], 0);
    let messages: Vec<FlightData> =
        wait(async { served.flight().do_get(ticket(&info)).await.unwrap().into_inner().try_collect().await.unwrap() });
    let (last, others) = messages.split_last().unwrap();
    assert!(others.iter().all(|message| message.app_metadata.is_empty()));
    let report: serde_json::Value = serde_json::from_slice(&last.app_metadata).unwrap();
    assert_eq!(report["rows_returned"], 30_000);
    assert_eq!(report["bytes_returned"], 8 * 30_000);
    assert!(report["bytes_touched"].as_u64().unwrap() > 0, "{report}");
}

#[test]
fn an_update_runs_once_and_says_how_many_rows() {
    let served = Served::new();
    assert_eq!(served.update("CREATE TABLE t (a BIGINT)"), 0);
    assert_eq!(served.update("INSERT INTO t VALUES (1), (2), (3)"), 3);
    assert_eq!(served.update("INSERT INTO t SELECT a + 10 FROM t"), 3);
    assert_eq!(served.update("UPDATE t SET a = 0 WHERE a > 10"), 3);
    assert_eq!(served.update("DELETE FROM t WHERE a = 0"), 3);
    assert_eq!(served.rows("SELECT a FROM t ORDER BY a"), ["1", "2", "3"]);
}

#[test]
fn a_write_by_get_flight_info_runs_once_however_often_it_is_fetched() {
    let served = Served::new();
    served.update("CREATE TABLE t (a BIGINT)");
    let mut client = served.client();
    let info = wait(client.execute("INSERT INTO t VALUES (1), (2)".into(), None)).unwrap();
    assert_eq!(info.total_records, 2);
    assert_eq!(served.count("t"), 2);
    for _ in 0..3 {
        let batches = wait(fetch(&mut client, &info)).unwrap();
        assert_eq!(batches.iter().map(|batch| batch.num_rows()).sum::<usize>(), 0);
    }
    assert_eq!(served.count("t"), 2);
    // Nothing is kept for results that are not fetched.
    wait(client.execute("INSERT INTO t VALUES (3)".into(), None)).unwrap();
    assert_eq!(served.stat("results_waiting"), 0);
}

#[test]
fn get_schema_runs_nothing() {
    let served = Served::new();
    served.update("CREATE TABLE t (a BIGINT, b VARCHAR)");
    let schema = |sql: &str| {
        let command = CommandStatementQuery { query: sql.into(), transaction_id: None };
        let descriptor = FlightDescriptor::new_cmd(command.as_any().encode_to_vec());
        let answer = wait(served.flight().get_schema(descriptor)).unwrap().into_inner();
        arrow::datatypes::Schema::try_from(&answer).unwrap()
    };
    assert!(schema("INSERT INTO t VALUES (1, 'x')").fields().is_empty());
    assert_eq!(served.count("t"), 0);
    let schema = schema("SELECT b, a FROM t");
    assert_eq!(schema.fields().iter().map(|field| field.name().as_str()).collect::<Vec<_>>(), ["b", "a"]);
    assert_eq!(*schema.field(0).data_type(), DataType::Utf8);
}
