//! Objects of one user do not exist for others, and objects that a user may not read are invisible.

use arrow_flight::sql::{
    ActionBeginSavepointRequest, ActionCreatePreparedStatementRequest, ActionCreatePreparedStatementResult, Any, CommandGetTables,
    CommandPreparedStatementQuery, EndTransaction, ProstMessageExt,
};
use arrow_flight::{Action, CancelFlightInfoRequest, Criteria, FlightDescriptor};
use bytes::Bytes;
use futures::TryStreamExt;
use prost::Message;
use tonic::{Code, Request, Status};

use crate::helpers::{Client, Served, code, fetch, options, query, shown, wait};

fn served() -> Served {
    let served = Served::with_users(options(), &["ada", "bob"]);
    served.embedded("CREATE TABLE t AS SELECT 7 AS a");
    served
}

fn of<T>(client: &Client, message: T) -> Request<T> {
    let mut request = Request::new(message);
    request.metadata_mut().insert("authorization", format!("Bearer {}", client.token().unwrap()).parse().unwrap());
    request
}

fn act(client: &mut Client, name: &str, body: impl Into<Bytes>) -> Result<Vec<Bytes>, Status> {
    let request = of(client, Action::new(name, body));
    wait(async {
        let answers: Vec<_> = client.inner_mut().do_action(request).await?.into_inner().try_collect().await?;
        Ok(answers.into_iter().map(|answer| answer.body).collect())
    })
}

#[test]
fn a_ticket_is_of_use_to_its_owner_alone() {
    let served = served();
    let (mut ada, mut bob) = (served.client_of("ada"), served.client_of("bob"));
    let info = wait(ada.execute("SELECT a FROM t".into(), None)).unwrap();
    assert_eq!(code(wait(fetch(&mut bob, &info))), Code::NotFound);
    let cancelled = act(&mut bob, "CancelFlightInfo", CancelFlightInfoRequest::new(info.clone()).encode_to_vec());
    assert_eq!(cancelled.unwrap_err().code(), Code::NotFound);
    assert_eq!(shown(&wait(fetch(&mut ada, &info)).unwrap()), ["7"]);
}

#[test]
fn a_transaction_is_of_use_to_its_owner_alone() {
    let served = served();
    let (mut ada, mut bob) = (served.client_of("ada"), served.client_of("bob"));
    let transaction = wait(ada.begin_transaction()).unwrap();
    wait(ada.execute_update("INSERT INTO t VALUES (8)".into(), Some(transaction.clone()))).unwrap();
    assert_eq!(code(wait(query(&mut bob, "SELECT 1", Some(transaction.clone())))), Code::NotFound);
    assert_eq!(code(wait(bob.end_transaction(transaction.clone(), EndTransaction::Rollback))), Code::NotFound);
    let savepoint = ActionBeginSavepointRequest { transaction_id: transaction.clone(), name: "s".into() };
    assert_eq!(act(&mut bob, "BeginSavepoint", savepoint.as_any().encode_to_vec()).unwrap_err().code(), Code::NotFound);
    wait(ada.end_transaction(transaction, EndTransaction::Commit)).unwrap();
    assert_eq!(served.count("t"), 2);
}

#[test]
fn a_prepared_statement_is_of_use_to_its_owner_alone() {
    let served = served();
    let (mut ada, bob) = (served.client_of("ada"), served.client_of("bob"));
    let request = ActionCreatePreparedStatementRequest { query: "SELECT a FROM t".into(), transaction_id: None };
    let answer = act(&mut ada, "CreatePreparedStatement", request.as_any().encode_to_vec()).unwrap();
    let prepared: ActionCreatePreparedStatementResult = Any::decode(answer[0].clone()).unwrap().unpack().unwrap().unwrap();
    let command = CommandPreparedStatementQuery { prepared_statement_handle: prepared.prepared_statement_handle };
    let descriptor = FlightDescriptor::new_cmd(command.as_any().encode_to_vec());
    let refused = wait(served.flight().get_flight_info(of(&bob, descriptor.clone()))).unwrap_err();
    assert_eq!(refused.code(), Code::NotFound);
    assert!(wait(served.flight().get_flight_info(of(&ada, descriptor))).is_ok());
}

#[test]
fn a_session_is_of_use_to_its_owner_alone() {
    let served = served();
    let (mut ada, mut bob) = (served.client_of("ada"), served.client_of("bob"));
    let begin = of(&ada, Action::new("SetSessionOptions", ""));
    let begun = wait(served.flight().do_action(begin)).unwrap();
    let cookie = begun.metadata().get("set-cookie").unwrap().to_str().unwrap().to_string();
    ada.set_header("cookie", cookie.as_str());
    wait(ada.execute_update("SET batch_size = 1000".into(), None)).unwrap();
    assert_eq!(shown(&wait(query(&mut ada, "SHOW batch_size", None)).unwrap()), ["batch_size 1000"]);
    bob.set_header("cookie", cookie.as_str());
    assert_eq!(code(wait(query(&mut bob, "SHOW batch_size", None))), Code::Unauthenticated);
}

#[test]
fn no_answer_contains_rows_that_the_user_may_not_read() {
    let served = served();
    let (ada, bob) = (served.client_of("ada"), served.client_of("bob"));
    let tables = |client: &Client| {
        let command = CommandGetTables { include_schema: true, ..Default::default() };
        let mut client = client.clone();
        let info = wait(client.get_tables(command)).unwrap();
        let rows = shown(&wait(fetch(&mut client, &info)).unwrap());
        rows.into_iter().filter(|row| row.contains(" main ")).count()
    };
    let flights = |client: &Client| {
        let request = of(client, Criteria::default());
        wait(async { served.flight().list_flights(request).await.unwrap().into_inner().try_collect::<Vec<_>>().await.unwrap().len() })
    };
    assert_eq!((tables(&ada), flights(&ada)), (1, 1));
    assert_eq!((tables(&bob), flights(&bob)), (0, 0));
    let path = FlightDescriptor::new_path(vec!["main".into(), "t".into()]);
    let missing = FlightDescriptor::new_path(vec!["main".into(), "t2".into()]);
    let refused = |descriptor: FlightDescriptor| {
        let status = wait(served.flight().get_schema(of(&bob, descriptor))).unwrap_err();
        (status.code(), status.message().replace("t2", "t"))
    };
    assert_eq!(refused(path), refused(missing));
    served.embedded("GRANT SELECT ON TABLE t TO bob");
    assert_eq!((tables(&bob), flights(&bob)), (1, 1));
}

#[test]
fn a_revoked_right_ends_in_open_sessions() {
    let served = served();
    served.embedded("GRANT SELECT ON TABLE t TO bob");
    let mut bob = served.client_of("bob");
    let transaction = wait(bob.begin_transaction()).unwrap();
    assert_eq!(shown(&wait(query(&mut bob, "SELECT a FROM t", Some(transaction.clone()))).unwrap()), ["7"]);
    served.embedded("REVOKE SELECT ON TABLE t FROM bob");
    assert!(wait(query(&mut bob, "SELECT a FROM t", Some(transaction))).is_err());
    assert!(wait(query(&mut bob, "SELECT a FROM t", None)).is_err());
}
