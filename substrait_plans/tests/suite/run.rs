//! Runs plans as front ends do: bytes in, rows out, with everything that applies to every statement.

use std::collections::BTreeMap;
use std::future::Future;

use arrow::array::RecordBatch;
use arrow::util::display::{ArrayFormatter, FormatOptions};
use engine::{Binding, Engine, EngineError, EngineOptions, ErrorKind, MaintenanceOptions, Session};
use substrait_plans::{PlanError, PlanFormat, describe, format_plan, from_sql, read, run};
use tokio::runtime::Builder;

/// On a separate runtime, with the stack size of the binary's threads.
fn wait<F: Future>(future: F) -> F::Output {
    Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap().block_on(future)
}

fn engine() -> (Engine, Session) {
    let maintenance = MaintenanceOptions { enabled: false, ..MaintenanceOptions::default() };
    let engine = Engine::open_temporary(EngineOptions { threads: Some(2), maintenance, ..EngineOptions::default() }).unwrap();
    let session = engine.session().unwrap();
    (engine, session)
}

fn rows_of(batches: &[RecordBatch]) -> Vec<String> {
    let options = FormatOptions::default().with_null("NULL");
    let mut rows = Vec::new();
    for batch in batches {
        let columns: Vec<_> = batch.columns().iter().map(|column| ArrayFormatter::try_new(column, &options).unwrap()).collect();
        rows.extend(
            (0..batch.num_rows()).map(|row| columns.iter().map(|column| column.value(row).to_string()).collect::<Vec<_>>().join("|")),
        );
    }
    rows
}

async fn sql(session: &Session, statement: &str) -> Result<Vec<String>, EngineError> {
    let (batches, _) = session.execute(statement).await?.collect().await?;
    Ok(rows_of(&batches))
}

async fn of_plan(session: &Session, plan: &[u8], binding: &Binding) -> Result<Vec<String>, PlanError> {
    let (batches, _) = run(session, plan, binding).await?.collect().await?;
    Ok(rows_of(&batches))
}

async fn script(session: &Session, statements: &[&str]) {
    for statement in statements {
        sql(session, statement).await.unwrap();
    }
}

const TABLE: [&str; 3] = [
    "CREATE TABLE t (a BIGINT, b VARCHAR)",
    "INSERT INTO t SELECT value, 'row ' || value FROM generate_series(1, 30000) AS g (value)",
    "INSERT INTO t VALUES (-1, 'in the log'), (-2, NULL)",
];

#[test]
fn a_plan_of_sql_gives_what_the_sql_gives() {
    wait(async {
        let (_engine, session) = engine();
        script(&session, &TABLE).await;
        for query in [
            "SELECT count(*) AS n, sum(a) AS s, min(b) AS least FROM t",
            "SELECT a, b FROM t WHERE a > 29990 OR b IS NULL ORDER BY a",
            "SELECT a % 3 AS third, count(*) AS n FROM t WHERE b LIKE 'row 1%' GROUP BY 1 ORDER BY 1",
        ] {
            let plan = from_sql(&session, query).await.unwrap();
            assert_eq!(of_plan(&session, &plan, &Binding::default()).await.unwrap(), sql(&session, query).await.unwrap(), "{query}");
            let described = describe(&session, &plan, &Binding::default()).await.unwrap();
            assert_eq!(described.schema.fields().len(), session.describe(query).await.unwrap().schema.fields().len());
            let json = format_plan(&plan, PlanFormat::Json).unwrap();
            let again = read(&json).unwrap();
            assert_eq!(of_plan(&session, &again, &Binding::default()).await.unwrap(), sql(&session, query).await.unwrap(), "{query}");
        }
    });
}

#[test]
fn the_shares_of_a_division_of_the_segments_add_up() {
    wait(async {
        let (engine, session) = engine();
        script(&session, &TABLE).await;
        for part in 1..6 {
            let insert = format!("INSERT INTO t SELECT value, 'more' FROM generate_series({part}00000, {part}20000) AS g (value)");
            script(&session, &[&insert, "DELETE FROM t WHERE a % 7 = 3"]).await;
        }
        let ids = sql(&session, "SELECT segment_id FROM system.segments WHERE table_name = 't'").await.unwrap();
        let ids: Vec<u64> = ids.iter().map(|id| id.parse().unwrap()).collect();
        assert!(ids.len() > 5, "{ids:?}");
        let version = engine.store().snapshot().unwrap().version();
        script(&session, &["OPTIMIZE TABLE t"]).await;
        let plan = from_sql(&session, "SELECT count(*) AS n, sum(a) AS s FROM t WHERE a > 5").await.unwrap();
        let number = |row: &str, at: usize| row.split('|').nth(at).unwrap().parse::<i64>().unwrap_or(0);
        let whole = of_plan(&session, &plan, &Binding::default()).await.unwrap();
        let (mut count, mut sum) = (0, 0);
        for share in ids.chunks(2) {
            let binding = Binding { version: Some(version), segments: BTreeMap::from([("main.t".to_string(), share.to_vec())]) };
            let row = of_plan(&session, &plan, &binding).await.unwrap().remove(0);
            (count, sum) = (count + number(&row, 0), sum + number(&row, 1));
        }
        assert_eq!((count, sum), (number(&whole[0], 0), number(&whole[0], 1)));
    });
}

#[test]
fn a_plan_is_listed_by_the_tables_it_names() {
    wait(async {
        let (engine, session) = engine();
        script(&session, &TABLE).await;
        let plan = from_sql(&session, "SELECT x.a FROM t AS x JOIN t AS y ON x.a = y.a + 1").await.unwrap();
        let output = run(&session, &plan, &Binding::default()).await.unwrap();
        let other = engine.session().unwrap();
        let listed = sql(&other, "SELECT statement FROM system.queries ORDER BY query_id LIMIT 1").await.unwrap();
        assert!(listed[0].starts_with("substrait plan over ") && listed[0].ends_with('t') && !listed[0].contains(','), "{listed:?}");
        drop(output);
    });
}

#[test]
fn what_is_wrong_keeps_its_sentence_and_its_kind() {
    wait(async {
        let (_engine, session) = engine();
        let nothing = Binding::default();
        let refused = of_plan(&session, b"SELECT 1", &nothing).await.unwrap_err();
        assert!(!matches!(refused, PlanError::Engine(_)), "{refused}");
        let (words, kind) = (refused.to_string(), refused.kind());
        let error = EngineError::from(refused);
        assert_eq!((error.to_string(), error.kind(), kind), (words, ErrorKind::Invalid, ErrorKind::Invalid));
        assert!(describe(&session, b"SELECT 1", &nothing).await.is_err());
        script(&session, &["CREATE TABLE t (a BIGINT)"]).await;
        let plan = from_sql(&session, "SELECT a FROM t").await.unwrap();
        script(&session, &["DROP TABLE t"]).await;
        let error = of_plan(&session, &plan, &nothing).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
        assert!(error.to_string().contains("t\""), "{error}");
        let wrong = from_sql(&session, "SELECT orign FROM nowhere").await.unwrap_err();
        assert!(EngineError::from(wrong).to_string().contains("\"nowhere\" does not exist"));
        assert!(from_sql(&session, "CREATE TABLE u (a INT)").await.is_err());
        assert!(read(b"no plan").is_err() && read(b"{\"no\": \"plan\"}").is_err());
    });
}
