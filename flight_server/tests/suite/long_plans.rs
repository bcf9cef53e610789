//! Statements that take long to plan on a server.

use engine::EngineOptions;
use flight_server::ServerOptions;
use tonic::Code;

use crate::helpers::{Served, code, eventually, options, status, wait};
use crate::http::get;

fn served(engine: EngineOptions) -> Served {
    let served = Served::over(ServerOptions { http: Some("127.0.0.1:0".parse().unwrap()), ..options() }, engine);
    served.update("CREATE TABLE t (a BIGINT)");
    served
}

/// Planning this takes a second or more.
fn long() -> String {
    let columns: Vec<String> = (0..12_000).map(|column| format!("a AS x{column}")).collect();
    format!("SELECT {} FROM t", columns.join(", "))
}

#[test]
fn health_and_other_statements_are_answered_while_statements_plan() {
    let served = served(EngineOptions::default());
    let planning: Vec<_> = (0..4)
        .map(|_| {
            let mut client = served.client();
            served.spawn(async move { client.execute(long(), None).await.map(|_| ()) })
        })
        .collect();
    eventually("they are being planned", || served.engine.statement_counts().running >= 4);
    assert_eq!(served.rows("SELECT 1"), ["1"]);
    assert_eq!(get(&served, "/health").status, 200);
    assert!(planning.iter().any(|planned| !planned.is_finished()), "they were planned before anything else was answered");
    planning.iter().for_each(|planned| planned.abort());
    eventually("those whose clients have gone are not planned", || served.engine.statement_counts().running == 0);
    assert_eq!(served.rows("SELECT count(*) FROM t"), ["0"]);
}

#[test]
fn a_statement_that_takes_too_long_to_plan_is_answered_at_its_limit() {
    let served = served(EngineOptions { statement_timeout_ms: Some(200), ..EngineOptions::default() });
    assert_eq!(code(wait(served.client().execute(long(), None))), Code::DeadlineExceeded);
    assert_eq!(served.rows("SELECT 1"), ["1"]);
}

#[test]
fn a_list_of_very_many_columns_is_refused() {
    let served = served(EngineOptions::default());
    let refused = status(wait(served.client().execute(format!("SELECT {} FROM t", vec!["a"; 60_000].join(",")), None)));
    assert_eq!((refused.code(), refused.message().contains("60000 columns, more than 16384")), (Code::InvalidArgument, true), "{refused}");
}
