//! Temporary tables belong to a session.

use std::time::Duration;

use arrow_flight::sql::{CommandStatementIngest, EndTransaction, TableDefinitionOptions, TableExistsOption, TableNotExistOption};
use flight_server::ServerOptions;
use tonic::Code;

use crate::helpers::{Client, Served, batch, code, eventually, numbers, options, query, shown, wait};

fn session(served: &Served) -> Client {
    let mut client = served.client();
    wait(client.handshake("anybody", "")).unwrap();
    client
}

fn rows(client: &mut Client, sql: &str) -> Vec<String> {
    shown(&wait(query(client, sql, None)).unwrap())
}

#[test]
fn a_temporary_table_is_seen_by_the_calls_of_its_session_alone() {
    let served = Served::new();
    let (mut one, mut other) = (session(&served), session(&served));
    assert_eq!(wait(one.execute_update("SELECT 7 AS a INTO VOLATILE c".into(), None)).unwrap(), 1);
    assert_eq!(wait(one.execute_update("INSERT INTO c VALUES (8)".into(), None)).unwrap(), 1);
    assert_eq!(rows(&mut one, "SELECT sum(a) FROM c"), ["15"]);
    assert_eq!(code(wait(query(&mut other, "SELECT * FROM c", None))), Code::InvalidArgument);
    assert_eq!(rows(&mut other, "SELECT table_name FROM system.tables"), [""; 0]);
    wait(other.execute_update("CREATE VOLATILE TABLE c AS SELECT 'mine' AS b".into(), None)).unwrap();
    assert_eq!(
        (rows(&mut other, "SELECT * FROM c"), rows(&mut one, "SELECT count(*) FROM c")),
        (vec!["mine".to_string()], vec!["2".to_string()])
    );
}

#[test]
fn a_transaction_has_the_temporary_tables_of_its_session() {
    let served = Served::new();
    served.update("CREATE TABLE t (a BIGINT)");
    let mut client = session(&served);
    wait(client.execute_update("SELECT 7 AS a INTO VOLATILE c".into(), None)).unwrap();
    let transaction = wait(client.begin_transaction()).unwrap();
    for sql in ["INSERT INTO t SELECT a FROM c", "SELECT a + 1 AS a INTO VOLATILE d FROM t"] {
        wait(client.execute_update(sql.into(), Some(transaction.clone()))).unwrap();
    }
    wait(client.end_transaction(transaction, EndTransaction::Rollback)).unwrap();
    assert_eq!(rows(&mut client, "SELECT a FROM d"), ["8"]);
    assert_eq!(served.count("t"), 0);
}

#[test]
fn a_temporary_table_ends_with_its_session() {
    let served = Served::with(ServerOptions { session_idle: Duration::from_millis(300), ..options() });
    let mut client = session(&served);
    wait(client.execute_update("SELECT 7 AS a INTO VOLATILE c".into(), None)).unwrap();
    eventually("the session is forgotten", || served.stat("sessions") == 0);
    let mut client = session(&served);
    assert_eq!(code(wait(query(&mut client, "SELECT * FROM c", None))), Code::InvalidArgument);
}

#[test]
fn a_call_without_a_session_makes_no_temporary_table() {
    let served = Served::new();
    for sql in ["SELECT 7 AS a INTO VOLATILE c", "CREATE TEMP TABLE c (a BIGINT)"] {
        assert_eq!(code(served.try_update(sql)), Code::FailedPrecondition, "{sql}");
    }
}

#[test]
fn rows_that_are_sent_to_the_schema_temp_are_a_table_of_the_session() {
    let served = Served::new();
    let (mut one, mut other) = (session(&served), session(&served));
    let definition = TableDefinitionOptions { if_not_exist: TableNotExistOption::Create as i32, if_exists: TableExistsOption::Fail as i32 };
    let command = CommandStatementIngest {
        table_definition_options: Some(definition),
        table: "c".into(),
        schema: Some("temp".into()),
        ..CommandStatementIngest::default()
    };
    let rows_sent = || futures::stream::iter([Ok(batch(&[("a", numbers(0..3))]))]);
    let transaction = wait(one.begin_transaction()).unwrap();
    let in_transaction = CommandStatementIngest { transaction_id: Some(transaction.clone()), ..command.clone() };
    assert_eq!(wait(one.execute_ingest(in_transaction, rows_sent())).unwrap(), 3);
    wait(one.end_transaction(transaction, EndTransaction::Commit)).unwrap();
    assert_eq!(rows(&mut one, "SELECT sum(a) FROM c"), ["3"]);
    assert_eq!(code(wait(query(&mut other, "SELECT * FROM c", None))), Code::InvalidArgument);
    assert_eq!(code(wait(served.client().execute_ingest(command, rows_sent()))), Code::FailedPrecondition);
}
