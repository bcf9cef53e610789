//! Other statements are answered while some keep the processors busy for long.

use arrow_flight::error::FlightError;
use arrow_flight::sql::CommandGetTables;
use engine::{EngineOptions, RecordBatch};
use futures::{StreamExt, TryStreamExt};
use tokio::task::JoinHandle;
use tonic::Code;

use crate::helpers::{Client, Served, code, eventually, options, query, shown, ticket, wait};

const ENDLESS: &str = "SELECT count(*) FROM generate_series(1, 1000000) a (x), generate_series(1, 1000000) b (y) WHERE x + y < 0";
/// The first batch takes minutes in one step of an operator.
const STEPS: &str = "SELECT max(levenshtein(repeat(s, 5000), repeat('y', 5001))) FROM texts";
/// A planning step of seconds that nothing can interrupt.
const FOLDED: &str = "SELECT levenshtein(repeat('x', 30000), repeat('y', 30001)) AS folded";

fn served() -> Served {
    Served::set_up(
        options(),
        &["CREATE TABLE texts AS SELECT chr(CAST(value % 26 AS INT) + 97) AS s FROM generate_series(1, 10000) AS t (value)"],
    )
}

fn begun(served: &Served, sql: &'static str) -> JoinHandle<Result<Vec<RecordBatch>, FlightError>> {
    let mut client = served.client();
    served.spawn(async move { query(&mut client, sql, None).await })
}

fn ids(served: &Served, sql: &str) -> Vec<String> {
    served.rows(&format!("SELECT query_id FROM system.queries WHERE statement LIKE '{}%'", &sql[..25].replace('\'', "''")))
}

/// Runs in a session of another client.
fn is_answered(served: &Served) {
    let mut client = Client::new(served.another_channel());
    wait(async {
        assert_eq!(shown(&query(&mut client, "SELECT count(*) FROM texts", None).await.unwrap()), ["10000"]);
        let info = client.get_tables(CommandGetTables { include_schema: true, ..CommandGetTables::default() }).await.unwrap();
        let tables: Vec<_> = client.do_get(ticket(&info)).await.unwrap().try_collect().await.unwrap();
        assert!(tables.iter().map(RecordBatch::num_rows).sum::<usize>() > 1);
    });
}

#[test]
fn statements_whose_steps_take_long_keep_no_other_client_waiting() {
    let served = served();
    let busy: Vec<_> = (0..3).map(|_| begun(&served, STEPS)).collect();
    let running = format!("SELECT count(*) FROM system.queries WHERE state = 'running' AND statement LIKE '{}%'", &STEPS[..25]);
    eventually("they run", || served.rows(&running) == ["3"]);
    is_answered(&served);
    assert!(busy.iter().all(|statement| !statement.is_finished()));
    for id in ids(&served, STEPS) {
        served.update(&format!("KILL {id}"));
    }
    for statement in busy {
        assert_eq!(code(wait(statement).unwrap()), Code::Cancelled);
    }
}

#[test]
fn a_user_with_more_statements_than_may_run_keeps_no_other_user_waiting() {
    let users = ["CREATE USER ada PASSWORD 'secret' ADMIN", "CREATE USER bob PASSWORD 'secret'"];
    let engine = EngineOptions { queries_max: Some(2), ..EngineOptions::default() };
    let served = Served::at(tempfile::tempdir().unwrap(), options(), engine, &users);
    let busy: Vec<_> = (0..3)
        .map(|_| {
            let mut ada = served.client_of("ada");
            served.spawn(async move { query(&mut ada, ENDLESS, None).await })
        })
        .collect();
    let listed = |what: &str| {
        let sql = format!("SELECT {what} FROM system.queries WHERE statement LIKE '{}%' AND state <> 'planned'", &ENDLESS[..25]);
        shown(&[served.embedded(&sql)])
    };
    eventually("one runs and two wait", || {
        listed("count(*) FILTER (WHERE state = 'running') * 10 + count(*) FILTER (WHERE state = 'queued')") == ["12"]
    });
    let answer = wait(query(&mut served.client_of("bob"), "SELECT count(*) FROM generate_series(1, 10)", None)).unwrap();
    assert_eq!(shown(&answer), ["10"]);
    for id in listed("query_id") {
        served.embedded(&format!("KILL {id}"));
    }
    for statement in busy {
        assert_eq!(code(wait(statement).unwrap()), Code::Cancelled);
    }
}

#[test]
fn planning_whose_steps_take_long_keeps_no_other_client_waiting() {
    let served = served();
    let planned: Vec<_> = (0..3).map(|_| begun(&served, FOLDED)).collect();
    eventually("they are planned", || ids(&served, FOLDED).len() == 3);
    is_answered(&served);
    assert!(planned.iter().any(|statement| !statement.is_finished()), "all were planned before anybody else was answered");
    for statement in planned {
        assert_eq!(shown(&wait(statement).unwrap().unwrap()), ["30001"]);
    }
}

#[test]
fn a_statement_that_its_client_prepared_is_ended_too() {
    let served = served();
    let mut client = served.client();
    let mut kill = wait(client.prepare("KILL 4711".into(), None)).unwrap();
    assert_eq!(code(wait(kill.execute())), Code::NotFound);
    let info = wait(served.client().execute(STEPS.into(), None)).unwrap();
    let mut rows = wait(served.client().do_get(ticket(&info))).unwrap();
    let id = ids(&served, STEPS).remove(0);
    let mut kill = wait(client.prepare(format!("KILL {id}"), None)).unwrap();
    wait(kill.execute_update()).unwrap();
    assert!(wait(rows.next()).unwrap().is_err());
}
