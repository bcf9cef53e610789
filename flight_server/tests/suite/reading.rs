//! The right to read is checked for every answer, and reads are audited.

use arrow_flight::sql::{
    ActionCreatePreparedStatementRequest, ActionCreatePreparedStatementResult, Any, CommandPreparedStatementQuery, ProstMessageExt,
};
use arrow_flight::{Action, Criteria, FlightDescriptor, Ticket};
use flight_server::{HandOff, ServerOptions};
use prost::Message;
use tonic::{Code, Request, Status};

use crate::helpers::{Client, Served, fetch, options, shown, status, wait};

/// A server with a table `t` that bob may read.
fn served() -> Served {
    let served = Served::with_users(ServerOptions { hand_off: HandOff::Everybody, ..options() }, &["ada", "bob"]);
    served.embedded("CREATE TABLE t AS SELECT * FROM generate_series(1, 3) AS g (a)");
    served.embedded("GRANT SELECT ON t TO bob");
    served
}

fn as_caller<T>(client: &Client, message: T) -> Request<T> {
    let mut request = Request::new(message);
    request.metadata_mut().insert("authorization", format!("Bearer {}", client.token().unwrap()).parse().unwrap());
    request
}

fn audited(served: &Served, columns: &str) -> Vec<String> {
    shown(&[served.embedded(&format!("SELECT {columns} FROM system.audit WHERE user_name = 'bob' AND kind IS DISTINCT FROM 'login'"))])
}

#[test]
fn a_statement_that_is_refused_when_it_is_prepared_is_written_down() {
    let served = served();
    let mut bob = served.client_of("bob");
    assert_eq!(status(wait(bob.prepare("DELETE FROM t WHERE a = ?".into(), None))).code(), Code::PermissionDenied);
    assert_eq!(status(wait(bob.prepare("SELECT * FROM hidden".into(), None))).code(), Code::InvalidArgument);
    let mut prepared = wait(bob.prepare("SELECT count(*) FROM t".into(), None)).unwrap();
    assert_eq!(audited(&served, "statement, outcome"), ["DELETE FROM t WHERE a = ? denied", "SELECT * FROM hidden invalid"]);
    let info = wait(prepared.execute()).unwrap();
    assert_eq!(shown(&wait(fetch(&mut bob, &info)).unwrap()), ["3"]);
    assert_eq!(audited(&served, "statement, outcome")[2..], ["SELECT count(*) FROM t ok"]);
}

#[test]
fn the_columns_of_a_prepared_query_need_the_right_to_read_it() {
    let served = served();
    let bob = served.client_of("bob");
    let action = ActionCreatePreparedStatementRequest { query: "SELECT a FROM t".into(), transaction_id: None };
    let action = as_caller(&bob, Action::new("CreatePreparedStatement", action.as_any().encode_to_vec()));
    let answer = wait(async { served.flight().do_action(action).await.unwrap().into_inner().message().await.unwrap().unwrap() });
    let answer: ActionCreatePreparedStatementResult = Any::decode(answer.body).unwrap().unpack().unwrap().unwrap();
    let query = CommandPreparedStatementQuery { prepared_statement_handle: answer.prepared_statement_handle };
    let descriptor = FlightDescriptor::new_cmd(query.as_any().encode_to_vec());
    let schema = || wait(served.flight().get_schema(as_caller(&bob, descriptor.clone()))).map(|_| ());
    schema().unwrap();
    served.embedded("REVOKE SELECT ON t FROM bob");
    assert!(schema().unwrap_err().message().contains("table \"t\" does not exist"));
}

#[test]
fn a_result_that_was_promised_before_a_revoke_is_not_given_after_it() {
    let served = served();
    let mut bob = served.client_of("bob");
    let infos = ["SELECT a FROM t", "SELECT count(*) FROM t"].map(|sql| wait(bob.execute(sql.into(), None)).unwrap());
    served.embedded("REVOKE SELECT ON t FROM bob");
    for info in &infos {
        let refused = status(wait(fetch(&mut bob, info)));
        assert_eq!(refused.code(), Code::PermissionDenied);
        assert!(refused.message().contains("revoked since it was planned"), "{}", refused.message());
    }
    assert_eq!(audited(&served, "outcome"), ["denied", "denied"]);
}

fn get(served: &Served, client: &Client, json: &str) -> Result<(), Status> {
    wait(async {
        let mut messages = served.flight().do_get(as_caller(client, Ticket::new(json.to_string()))).await?.into_inner();
        while messages.message().await?.is_some() {}
        Ok(())
    })
}

#[test]
fn internal_statements_of_the_server_are_not_audited() {
    let served = served();
    let bob = served.client_of("bob");
    get(&served, &bob, r#"{"table": "t", "rows": [0, 2]}"#).unwrap();
    let lease = || {
        let action = as_caller(&bob, Action::new("lease", r#"{"table": "t"}"#));
        wait(async { served.flight().do_action(action).await?.into_inner().message().await })
    };
    lease().unwrap();
    let statements = ["SELECT * FROM \"main\".\"t\" LIMIT 2 OFFSET 0", "MAP main.t"];
    assert_eq!(audited(&served, "statement"), statements);
    // Listing a table is not an attempt to read it.
    served.embedded("CREATE VIEW v AS SELECT a FROM t");
    served.embedded("GRANT SELECT ON v TO bob");
    served.embedded("REVOKE SELECT ON t FROM bob");
    let listed = as_caller(&bob, Criteria::default());
    wait(async {
        let mut flights = served.flight().list_flights(listed).await.unwrap().into_inner();
        while flights.message().await.unwrap().is_some() {}
    });
    assert_eq!(audited(&served, "statement"), statements);
    assert!(lease().is_err());
    assert_eq!(audited(&served, "outcome")[2..], ["invalid"]);
}

#[test]
fn a_view_does_not_name_a_table_that_its_reader_may_not_see() {
    let served = served();
    served.embedded("CREATE VIEW v AS SELECT a FROM t");
    served.embedded("GRANT SELECT ON v TO bob");
    served.embedded("DROP TABLE t");
    let mut bob = served.client_of("bob");
    let refused = status(wait(bob.execute("SELECT * FROM v".into(), None)));
    assert!(refused.message().contains("view \"v\"") && !refused.message().contains("\"t\""), "{}", refused.message());
}
