//! CommandStatementIngest: its modes, and that it is atomic.

use arrow::array::RecordBatch;
use arrow_flight::error::FlightError;
use arrow_flight::sql::{CommandStatementIngest, EndTransaction, TableDefinitionOptions, TableExistsOption, TableNotExistOption};
use futures::StreamExt;
use std::time::Duration;
use tonic::Code;

use crate::helpers::{Served, batch, code, eventually, numbers, status, wait};

fn command(missing: TableNotExistOption, exists: TableExistsOption) -> CommandStatementIngest {
    let options = TableDefinitionOptions { if_not_exist: missing as i32, if_exists: exists as i32 };
    CommandStatementIngest { table_definition_options: Some(options), table: "t".into(), ..CommandStatementIngest::default() }
}

fn append() -> CommandStatementIngest {
    command(TableNotExistOption::Create, TableExistsOption::Append)
}

fn rows(values: std::ops::Range<i64>) -> RecordBatch {
    batch(&[("a", numbers(values))])
}

fn ingest(served: &Served, command: CommandStatementIngest, batches: Vec<RecordBatch>) -> Result<i64, FlightError> {
    wait(served.client().execute_ingest(command, futures::stream::iter(batches.into_iter().map(Ok))))
}

#[test]
fn rows_are_appended_and_counted() {
    let served = Served::new();
    assert_eq!(ingest(&served, append(), vec![rows(0..10_000), rows(10_000..30_000)]).unwrap(), 30_000);
    assert_eq!(ingest(&served, append(), vec![rows(0..5)]).unwrap(), 5);
    assert_eq!(served.rows("SELECT count(*), min(a), max(a) FROM t"), ["30005 0 29999"]);
}

#[test]
fn the_modes_do_what_they_say_about_the_table() {
    let served = Served::new();
    let (create, fail) = (TableNotExistOption::Create, TableNotExistOption::Fail);
    assert_eq!(code(ingest(&served, command(fail, TableExistsOption::Append), vec![rows(0..1)])), Code::NotFound);
    ingest(&served, command(create, TableExistsOption::Fail), vec![rows(0..2)]).unwrap();
    assert_eq!(code(ingest(&served, command(create, TableExistsOption::Fail), vec![rows(0..2)])), Code::AlreadyExists);
    assert_eq!(served.count("t"), 2);
    ingest(&served, command(create, TableExistsOption::Replace), vec![rows(5..8)]).unwrap();
    assert_eq!(served.rows("SELECT a FROM t ORDER BY a"), ["5", "6", "7"]);
}

#[test]
fn a_stream_that_breaks_off_leaves_nothing() {
    let served = Served::new();
    served.update("CREATE TABLE t (a BIGINT)");
    let endless = futures::stream::iter((0..10).map(|part| Ok(rows(part * 1000..(part + 1) * 1000)))).chain(futures::stream::pending());
    let mut client = served.client();
    let result = wait(async { tokio::time::timeout(Duration::from_millis(500), client.execute_ingest(append(), endless)).await });
    assert!(result.is_err(), "it ended by itself");
    // The next rows come after the server has noticed.
    ingest(&served, append(), vec![rows(0..1)]).unwrap();
    std::thread::sleep(Duration::from_millis(500));
    assert_eq!(served.count("t"), 1);
}

#[test]
fn whenever_a_client_leaves_nothing_of_its_rows_is_kept() {
    let served = Served::new();
    served.update("CREATE TABLE t (a BIGINT)");
    for round in 0..40u64 {
        let parts = futures::stream::iter((0..3).map(|part| Ok(rows(part * 10..(part + 1) * 10)))).chain(futures::stream::pending());
        let mut client = served.client();
        // Dropped, the call is reset: sooner than its rows are there, while they are read, or when all of them have come.
        let result = wait(async { tokio::time::timeout(Duration::from_millis(round), client.execute_ingest(append(), parts)).await });
        assert!(result.is_err(), "it ended by itself");
    }
    eventually("no ingest runs", || served.rows("SELECT count(*) FROM system.queries WHERE statement LIKE 'INGEST%'") == ["0"]);
    assert_eq!(served.count("t"), 0);
}

#[test]
fn a_client_whose_connection_breaks_leaves_nothing() {
    let served = Served::new();
    served.update("CREATE TABLE t (a BIGINT)");
    let parts = futures::stream::iter((0..3).map(|part| Ok(rows(part * 10..(part + 1) * 10)))).chain(futures::stream::pending());
    // In a runtime of its own, whose end closes the connection.
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let address = served.address;
    runtime.spawn(async move {
        let channel = tonic::transport::Channel::from_shared(format!("http://{address}")).unwrap().connect().await.unwrap();
        arrow_flight::sql::client::FlightSqlServiceClient::new(channel).execute_ingest(append(), parts).await
    });
    eventually("the ingest runs", || served.rows("SELECT count(*) FROM system.queries WHERE statement LIKE 'INGEST%'") == ["1"]);
    runtime.shutdown_background();
    eventually("the ingest is over", || served.rows("SELECT count(*) FROM system.queries WHERE statement LIKE 'INGEST%'") == ["0"]);
    assert_eq!(served.count("t"), 0);
}

#[test]
fn rows_that_a_table_does_not_allow_leave_nothing() {
    let served = Served::new();
    served.update("CREATE TABLE t (a BIGINT, CHECK (a < 1500))");
    assert_eq!(code(ingest(&served, append(), vec![rows(0..1000), rows(1000..2000)])), Code::FailedPrecondition);
    assert_eq!(served.count("t"), 0);
}

#[test]
fn an_ingest_belongs_to_its_transaction() {
    let served = Served::new();
    served.update("CREATE TABLE t (a BIGINT)");
    let mut client = served.client();
    let transaction = wait(client.begin_transaction()).unwrap();
    let command = CommandStatementIngest { transaction_id: Some(transaction.clone()), ..append() };
    assert_eq!(ingest(&served, command, vec![rows(0..10)]).unwrap(), 10);
    assert_eq!(served.count("t"), 0);
    wait(client.end_transaction(transaction, EndTransaction::Rollback)).unwrap();
    assert_eq!(served.count("t"), 0);
}

#[test]
fn an_unsupported_ingest_is_an_error() {
    let served = Served::new();
    let temporary = CommandStatementIngest { temporary: true, ..append() };
    assert_eq!(code(ingest(&served, temporary, vec![rows(0..1)])), Code::Unimplemented);
    let elsewhere = CommandStatementIngest { catalog: Some("other".into()), ..append() };
    assert_eq!(code(ingest(&served, elsewhere, vec![rows(0..1)])), Code::NotFound);
    let unclear = CommandStatementIngest { table_definition_options: None, ..append() };
    assert_eq!(code(ingest(&served, unclear, vec![rows(0..1)])), Code::InvalidArgument);
    let mut with_option = append();
    with_option.options.insert("speed".into(), "high".into());
    assert!(status(ingest(&served, with_option, vec![rows(0..1)])).message().contains("\"speed\""));
    assert!(served.try_rows("SELECT * FROM t").is_err());
}
