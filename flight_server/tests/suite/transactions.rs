//! Transactions and savepoints by handle.

use std::time::Duration;

use arrow_flight::error::FlightError;
use arrow_flight::sql::{
    ActionCreatePreparedStatementRequest, ActionCreatePreparedStatementResult, Any, CommandPreparedStatementQuery,
    CommandPreparedStatementUpdate, CommandStatementIngest, EndTransaction, ProstMessageExt, TableDefinitionOptions, TableExistsOption,
    TableNotExistOption,
};
use arrow_flight::{Action, FlightData, FlightDescriptor};
use bytes::Bytes;
use flight_server::ServerOptions;
use futures::{FutureExt, StreamExt};
use prost::Message;
use tonic::Code;

use crate::helpers::{Client, Served, batch, code, eventually, numbers, options, query, shown, status, wait, with};

pub fn table() -> Served {
    let served = Served::new();
    served.update("CREATE TABLE t (a BIGINT)");
    served
}

pub fn begin(client: &mut Client) -> Bytes {
    wait(client.begin_transaction()).unwrap()
}

pub fn update(client: &mut Client, sql: &str, transaction: &Bytes) -> i64 {
    wait(client.execute_update(sql.to_string(), Some(transaction.clone()))).unwrap()
}

pub fn rows(client: &mut Client, sql: &str, transaction: &Bytes) -> Vec<String> {
    shown(&wait(query(client, sql, Some(transaction.clone()))).unwrap())
}

#[test]
fn a_transaction_is_seen_by_nobody_else_until_it_commits() {
    let served = table();
    let mut client = served.client();
    let transaction = begin(&mut client);
    update(&mut client, "INSERT INTO t VALUES (1)", &transaction);
    assert_eq!(rows(&mut client, "SELECT a FROM t", &transaction), ["1"]);
    assert_eq!(served.rows("SELECT a FROM t"), [""; 0]);
    wait(client.end_transaction(transaction.clone(), EndTransaction::Commit)).unwrap();
    assert_eq!(served.rows("SELECT a FROM t"), ["1"]);
    assert_eq!(code(wait(client.execute_update("DELETE FROM t".into(), Some(transaction)))), Code::NotFound);
    assert_eq!(served.count("t"), 1);
}

#[test]
fn a_rolled_back_transaction_leaves_nothing() {
    let served = table();
    let mut client = served.client();
    let transaction = begin(&mut client);
    update(&mut client, "INSERT INTO t VALUES (1)", &transaction);
    update(&mut client, "CREATE TABLE other AS SELECT * FROM t", &transaction);
    wait(client.end_transaction(transaction, EndTransaction::Rollback)).unwrap();
    assert_eq!(served.count("t"), 0);
    assert!(served.try_rows("SELECT * FROM other").is_err());
}

#[test]
fn statements_without_the_id_commit_by_themselves() {
    let served = table();
    let mut client = served.client();
    let transaction = begin(&mut client);
    served.update("INSERT INTO t VALUES (7)");
    wait(client.end_transaction(transaction, EndTransaction::Rollback)).unwrap();
    assert_eq!(served.rows("SELECT a FROM t"), ["7"]);
}

#[test]
fn the_second_of_two_that_change_a_row_is_aborted() {
    let served = table();
    served.update("INSERT INTO t VALUES (1)");
    let mut client = served.client();
    let (first, second) = (begin(&mut client), begin(&mut client));
    update(&mut client, "UPDATE t SET a = 10", &first);
    update(&mut client, "UPDATE t SET a = 20", &second);
    wait(client.end_transaction(first, EndTransaction::Commit)).unwrap();
    let refused = status(wait(client.end_transaction(second.clone(), EndTransaction::Commit)));
    assert_eq!(refused.code(), Code::Aborted);
    assert!(refused.message().contains("run the statement or transaction again"), "{}", refused.message());
    assert_eq!(served.rows("SELECT a FROM t"), ["10"]);
    assert_eq!(code(wait(client.end_transaction(second, EndTransaction::Rollback))), Code::NotFound);
}

#[test]
fn a_transaction_whose_statement_failed_does_not_commit() {
    let served = table();
    let mut client = served.client();
    let transaction = begin(&mut client);
    update(&mut client, "INSERT INTO t VALUES (1)", &transaction);
    assert!(wait(client.execute_update("INSERT INTO missing VALUES (1)".into(), Some(transaction.clone()))).is_err());
    let refused = status(wait(client.end_transaction(transaction, EndTransaction::Commit)));
    assert!(refused.message().contains("begin another one"), "{}", refused.message());
    assert_eq!(served.count("t"), 0);
}

#[test]
fn commit_in_sql_ends_the_transaction_for_good() {
    let served = table();
    let mut client = served.client();
    let transaction = begin(&mut client);
    update(&mut client, "INSERT INTO t VALUES (1)", &transaction);
    update(&mut client, "COMMIT", &transaction);
    let after = wait(client.execute_update("INSERT INTO t VALUES (2)".into(), Some(transaction)));
    assert_eq!(code(after), Code::NotFound);
    assert_eq!(served.rows("SELECT a FROM t"), ["1"]);
}

#[test]
fn begin_in_sql_without_a_session_is_refused() {
    let served = table();
    let refused = status(served.try_update("BEGIN"));
    assert_eq!(refused.code(), Code::FailedPrecondition);
    assert!(refused.message().contains("BeginTransaction"), "{}", refused.message());
}

fn in_session(served: &Served) -> Client {
    let mut client = served.client();
    wait(client.handshake("anybody", "")).unwrap();
    client
}

fn in_sql(client: &mut Client, sql: &str) -> Result<i64, FlightError> {
    wait(client.execute_update(sql.to_string(), None))
}

#[test]
fn a_session_has_one_transaction_when_sql_was_first() {
    let served = table();
    let mut client = in_session(&served);
    in_sql(&mut client, "BEGIN").unwrap();
    in_sql(&mut client, "INSERT INTO t VALUES (1)").unwrap();
    let refused = status(wait(client.begin_transaction()));
    assert_eq!(refused.code(), Code::FailedPrecondition);
    assert!(refused.message().contains("COMMIT or ROLLBACK"), "{}", refused.message());
    // Another session is not affected.
    begin(&mut in_session(&served));
    in_sql(&mut client, "COMMIT").unwrap();
    let transaction = begin(&mut client);
    update(&mut client, "INSERT INTO t VALUES (2)", &transaction);
    wait(client.end_transaction(transaction, EndTransaction::Commit)).unwrap();
    assert_eq!(served.rows("SELECT a FROM t ORDER BY a"), ["1", "2"]);
}

#[test]
fn a_session_has_one_transaction_when_begin_transaction_was_first() {
    let served = table();
    let mut client = in_session(&served);
    let transaction = begin(&mut client);
    let mut prepared = wait(client.prepare("BEGIN".into(), None)).unwrap();
    for is_used in [false, true] {
        if is_used {
            update(&mut client, "INSERT INTO t VALUES (1)", &transaction);
        }
        for refused in [in_sql(&mut client, "BEGIN"), wait(prepared.execute_update())] {
            let refused = status(refused);
            assert_eq!(refused.code(), Code::FailedPrecondition);
            assert!(refused.message().contains("EndTransaction"), "{}", refused.message());
        }
    }
    // The refused call has begun nothing, so this does not wait.
    in_sql(&mut client, "INSERT INTO t VALUES (2)").unwrap();
    assert_eq!(served.rows("SELECT a FROM t"), ["2"]);
    wait(client.end_transaction(transaction, EndTransaction::Rollback)).unwrap();
    in_sql(&mut client, "BEGIN").unwrap();
    in_sql(&mut client, "ROLLBACK").unwrap();
}

#[test]
fn a_transaction_that_ended_in_sql_is_in_the_way_of_none() {
    let served = table();
    let mut client = in_session(&served);
    for end in ["COMMIT", "ROLLBACK"] {
        let transaction = begin(&mut client);
        update(&mut client, "INSERT INTO t VALUES (1)", &transaction);
        update(&mut client, end, &transaction);
        in_sql(&mut client, "BEGIN").unwrap();
        in_sql(&mut client, "INSERT INTO t VALUES (2)").unwrap();
        in_sql(&mut client, "COMMIT").unwrap();
    }
    assert_eq!(served.rows("SELECT a FROM t ORDER BY a"), ["1", "2", "2"]);
}

#[test]
fn a_prepared_begin_is_refused_from_outside_of_its_session_too() {
    let served = table();
    let mut client = in_session(&served);
    let request = ActionCreatePreparedStatementRequest { query: "BEGIN".into(), transaction_id: None };
    let action = Action::new("CreatePreparedStatement", request.as_any().encode_to_vec());
    let action = with(action, "authorization", &format!("Bearer {}", client.token().unwrap()));
    let mut flight = served.flight();
    let answer = wait(async { flight.do_action(action).await.unwrap().into_inner().message().await.unwrap().unwrap() });
    let prepared: ActionCreatePreparedStatementResult = Any::decode(answer.body).unwrap().unpack().unwrap().unwrap();
    let prepared_statement_handle = prepared.prepared_statement_handle;
    let transaction = begin(&mut client);
    let query = CommandPreparedStatementQuery { prepared_statement_handle: prepared_statement_handle.clone() };
    let query = FlightDescriptor::new_cmd(query.as_any().encode_to_vec());
    assert_eq!(wait(flight.get_flight_info(query)).unwrap_err().code(), Code::FailedPrecondition);
    let update = CommandPreparedStatementUpdate { prepared_statement_handle };
    let update = FlightData::new().with_descriptor(FlightDescriptor::new_cmd(update.as_any().encode_to_vec()));
    let refused = wait(async { flight.do_put(futures::stream::iter([update])).await?.into_inner().message().await }).unwrap_err();
    assert_eq!(refused.code(), Code::FailedPrecondition);
    wait(client.end_transaction(transaction, EndTransaction::Rollback)).unwrap();
    in_sql(&mut client, "INSERT INTO t VALUES (1)").unwrap();
    assert_eq!(served.count("t"), 1);
}

#[test]
fn begin_transaction_does_not_wait_for_rows_that_are_being_sent() {
    let served = table();
    let mut client = in_session(&served);
    let mut other = client.clone();
    let (go_on, rest) = tokio::sync::oneshot::channel::<()>();
    let part = |a| Ok(batch(&[("a", numbers([a]))]));
    let rows = futures::stream::iter([part(1)]).chain(rest.map(move |_| part(2)).into_stream());
    let table_definition_options =
        Some(TableDefinitionOptions { if_not_exist: TableNotExistOption::Fail as i32, if_exists: TableExistsOption::Append as i32 });
    let command = CommandStatementIngest { table_definition_options, table: "t".into(), ..CommandStatementIngest::default() };
    let (sent, begun) = wait(async {
        let begin = async {
            tokio::time::sleep(Duration::from_millis(500)).await;
            let begun = other.begin_transaction().await;
            go_on.send(()).unwrap();
            begun
        };
        tokio::join!(client.execute_ingest(command, rows), begin)
    });
    assert_eq!(sent.unwrap(), 2);
    wait(client.end_transaction(begun.unwrap(), EndTransaction::Rollback)).unwrap();
}

#[test]
fn a_transaction_that_is_left_alone_rolls_back() {
    let served = Served::with(ServerOptions { transaction_idle: Duration::from_millis(500), ..options() });
    served.update("CREATE TABLE t (a BIGINT)");
    let mut client = served.client();
    let transaction = begin(&mut client);
    update(&mut client, "INSERT INTO t VALUES (1)", &transaction);
    eventually("the transaction is forgotten", || served.stat("transactions") == 0);
    assert_eq!(code(wait(client.end_transaction(transaction, EndTransaction::Commit))), Code::NotFound);
    assert_eq!(served.count("t"), 0);
}

#[test]
fn garbage_for_a_transaction_is_refused() {
    let served = table();
    let garbage = Some(Bytes::from_static(b"\xff\x00garbage"));
    assert_eq!(code(wait(served.client().execute_update("INSERT INTO t VALUES (1)".into(), garbage))), Code::NotFound);
    assert_eq!(served.count("t"), 0);
}

#[test]
fn the_end_of_a_transaction_is_not_lost_beside_its_first_statement() {
    let served = table();
    for _ in 0..100 {
        let (mut first, mut second) = (served.client(), served.client());
        let transaction = begin(&mut first);
        let (statement, end) = wait(async {
            tokio::join!(
                first.execute_update("INSERT INTO t VALUES (1)".to_string(), Some(transaction.clone())),
                second.end_transaction(transaction.clone(), EndTransaction::Rollback)
            )
        });
        end.unwrap();
        assert!(statement.is_ok() || code(statement) == Code::NotFound);
    }
    assert_eq!((served.count("t"), served.stat("transactions")), (0, 0));
}
