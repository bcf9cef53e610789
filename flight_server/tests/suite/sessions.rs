//! Sessions: by handshake or cookie, with settings, bounded, and ended when idle.

use std::time::Duration;

use arrow_flight::Action;
use bytes::Bytes;
use flight_server::ServerOptions;
use futures::TryStreamExt;
use tonic::Code;

use crate::helpers::{Client, Served, code, eventually, options, query, shown, status, wait, with};

fn session(served: &Served) -> Client {
    let mut client = served.client();
    wait(client.handshake("anybody", "")).unwrap();
    client
}

fn shows(client: &mut Client, setting: &str) -> String {
    let batches = wait(query(client, &format!("SHOW {setting}"), None)).unwrap();
    shown(&batches)[0].rsplit(' ').next().unwrap().to_string()
}

#[test]
fn a_setting_stays_in_its_session() {
    let served = Served::new();
    let (mut one, mut other) = (session(&served), session(&served));
    wait(one.execute_update("SET batch_size = 1000".into(), None)).unwrap();
    assert_eq!(shows(&mut one, "batch_size"), "1000");
    assert_eq!(shows(&mut other, "batch_size"), "8192");
}

#[test]
fn a_transaction_has_the_settings_of_its_session() {
    let served = Served::new();
    let mut client = session(&served);
    wait(client.execute_update("SET batch_size = 1000".into(), None)).unwrap();
    let transaction = wait(client.begin_transaction()).unwrap();
    let batches = wait(query(&mut client, "SHOW batch_size", Some(transaction))).unwrap();
    assert_eq!(shown(&batches), ["batch_size 1000"]);
}

#[test]
fn a_setting_without_a_session_is_refused() {
    let served = Served::new();
    assert_eq!(code(served.try_update("SET batch_size = 1000")), Code::FailedPrecondition);
}

#[test]
fn begin_and_commit_in_sql_work_within_a_session() {
    let served = Served::new();
    served.update("CREATE TABLE t (a BIGINT)");
    let mut client = session(&served);
    for sql in ["BEGIN", "INSERT INTO t VALUES (1)"] {
        wait(client.execute_update(sql.into(), None)).unwrap();
    }
    assert_eq!(served.count("t"), 0);
    wait(client.execute_update("COMMIT".into(), None)).unwrap();
    assert_eq!(served.count("t"), 1);
}

#[test]
fn an_unknown_session_is_refused_and_not_replaced() {
    let served = Served::new();
    let mut client = served.client();
    client.set_token("0123456789abcdef0123456789abcdef".into());
    assert_eq!(code(wait(client.execute("SELECT 1".into(), None))), Code::Unauthenticated);
    let mut client = served.client();
    client.set_header("cookie", "arrow_flight_session_id=nobody");
    assert_eq!(code(wait(client.execute("SELECT 1".into(), None))), Code::Unauthenticated);
}

#[test]
fn a_session_that_is_left_alone_is_forgotten() {
    let served = Served::with(ServerOptions { session_idle: Duration::from_millis(300), ..options() });
    let mut client = session(&served);
    assert_eq!(served.stat("sessions"), 1);
    eventually("the session is forgotten", || served.stat("sessions") == 0);
    assert_eq!(status(wait(client.execute("SELECT 1".into(), None))).code(), Code::Unauthenticated);
}

#[test]
fn there_are_so_many_sessions_and_no_more() {
    let served = Served::with(ServerOptions { sessions_max: 1, ..options() });
    let _first = session(&served);
    let refused = wait(served.client().handshake("anybody", "")).unwrap_err();
    assert!(refused.to_string().contains("1 sessions at once"), "{refused}");
}

/// Field 1: entries of name and value, where a value is a text in its field 1.
fn set_option(name: &str, value: &str) -> Bytes {
    let field = |tag: u8, bytes: &[u8]| [&[tag << 3 | 2, u8::try_from(bytes.len()).unwrap()], bytes].concat();
    let entry = [field(1, name.as_bytes()), field(2, &field(1, value.as_bytes()))].concat();
    field(1, &entry).into()
}

fn act(served: &Served, name: &str, body: Bytes, cookie: Option<&str>) -> (Option<String>, Bytes) {
    let action = Action::new(name, body);
    let request = match cookie {
        Some(cookie) => with(action, "cookie", cookie),
        None => tonic::Request::new(action),
    };
    wait(async {
        let response = served.flight().do_action(request).await.unwrap();
        let cookie = response.metadata().get("set-cookie").map(|cookie| cookie.to_str().unwrap().to_string());
        let answers: Vec<_> = response.into_inner().try_collect().await.unwrap();
        (cookie, answers[0].body.clone())
    })
}

#[test]
fn options_of_a_session_are_its_settings() {
    let served = Served::new();
    let (cookie, errors) = act(&served, "SetSessionOptions", set_option("batch_size", "500"), None);
    assert!(errors.is_empty(), "{errors:?}");
    let cookie = cookie.unwrap();
    let mut client = served.client();
    client.set_header("cookie", cookie.as_str());
    assert_eq!(shows(&mut client, "batch_size"), "500");
    let (_, shown) = act(&served, "GetSessionOptions", Bytes::new(), Some(&cookie));
    let shown = String::from_utf8_lossy(&shown).into_owned();
    assert!(shown.contains("batch_size") && shown.contains("500") && shown.contains("catalog"), "{shown}");
}

#[test]
fn an_option_that_is_not_there_has_its_error_value() {
    let served = Served::new();
    // Of a map of errors: the name, and a message with the value in field 1.
    let error = |name: &str, value: &str| act(&served, "SetSessionOptions", set_option(name, value), None).1.last().copied();
    assert_eq!(error("speed", "high"), Some(1));
    assert_eq!(error("batch_size = 1; DROP", "1"), Some(1));
    assert_eq!(error("batch_size", "many"), Some(2));
    assert_eq!(error("catalog", "other"), Some(2));
    assert_eq!(error("catalog", "quiver"), None);
}

#[test]
fn the_schema_of_a_session_can_be_read_but_not_changed() {
    let served = Served::new();
    let (_, body) = act(&served, "GetSessionOptions", Bytes::new(), None);
    let body = String::from_utf8_lossy(&body).into_owned();
    assert!(body.contains("schema") && body.contains("main"), "{body}");
    assert!(act(&served, "SetSessionOptions", set_option("schema", "main"), None).1.is_empty());
    let refused = served.act("SetSessionOptions", set_option("schema", "other")).unwrap_err();
    assert_eq!(refused.code(), Code::InvalidArgument);
    assert!(refused.message().contains("cannot be set to another; name the schema with the table"), "{}", refused.message());
}

#[test]
fn a_closed_session_takes_its_transactions_with_it() {
    let served = Served::new();
    served.update("CREATE TABLE t (a BIGINT)");
    let (cookie, _) = act(&served, "SetSessionOptions", Bytes::new(), None);
    let cookie = cookie.unwrap();
    let mut client = served.client();
    client.set_header("cookie", cookie.as_str());
    let transaction = wait(client.begin_transaction()).unwrap();
    wait(client.execute_update("INSERT INTO t VALUES (1)".into(), Some(transaction.clone()))).unwrap();
    act(&served, "CloseSession", Bytes::new(), Some(&cookie));
    assert_eq!((served.stat("sessions"), served.stat("transactions")), (0, 0));
    let end = wait(served.client().end_transaction(transaction, arrow_flight::sql::EndTransaction::Commit));
    assert_eq!(code(end), Code::NotFound);
    assert_eq!(served.count("t"), 0);
}

#[test]
fn sql_prepared_statements_exist_in_a_transaction() {
    let served = Served::new();
    served.update("CREATE TABLE t AS SELECT 7 AS a");
    let mut client = session(&served);
    let mut update = |sql: &str| wait(client.execute_update(sql.into(), None)).unwrap();
    for sql in
        ["PREPARE p AS SELECT a FROM t", "DEALLOCATE p", "PREPARE p AS SELECT a FROM t", "SET batch_size = 100", "SET batch_size = 200"]
    {
        update(sql);
    }
    let transaction = wait(client.begin_transaction()).unwrap();
    let mut rows = |sql: &str| shown(&wait(query(&mut client, sql, Some(transaction.clone()))).unwrap());
    assert_eq!(rows("EXECUTE p"), ["7"]);
    assert_eq!(rows("SHOW batch_size"), ["batch_size 200"]);
    wait(client.execute_update("DEALLOCATE p".into(), Some(transaction.clone()))).unwrap();
    assert!(wait(query(&mut client, "EXECUTE p", Some(transaction))).is_err());
}

#[test]
fn a_prepared_statement_that_became_invalid_blocks_nothing() {
    let served = Served::new();
    served.update("CREATE TABLE t AS SELECT 7 AS a");
    let mut client = session(&served);
    wait(client.execute_update("PREPARE p AS SELECT a FROM t".into(), None)).unwrap();
    served.update("DROP TABLE t");
    let transaction = wait(client.begin_transaction()).unwrap();
    assert_eq!(shown(&wait(query(&mut client, "SELECT 1", Some(transaction.clone()))).unwrap()), ["1"]);
    let refused = wait(query(&mut client, "EXECUTE p", Some(transaction)));
    assert_eq!(code(refused), Code::InvalidArgument);
}
