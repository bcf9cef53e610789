//! Plans that were made elsewhere: what their names mean, what they are about, and that they are statements as all others.

use std::collections::BTreeMap;
use std::future::pending;

use arrow::array::{ArrayRef, Int64Array, RecordBatch};
use datafusion::datasource::provider_as_source;
use datafusion::functions_aggregate::expr_fn::count;
use datafusion::logical_expr::dml::InsertOp;
use datafusion::logical_expr::{LogicalPlan, LogicalPlanBuilder, col, lit, placeholder};
use engine::{Binding, EngineError, ErrorKind, PlanContext, Session, StatementKind};
use futures::StreamExt;
use std::sync::Arc;

use super::helpers::{Db, Ran, Random, numbers, wait};

/// All rows of a table.
pub async fn scan(context: &PlanContext, name: &str) -> Result<LogicalPlan, EngineError> {
    let names: Vec<String> = name.split('.').map(str::to_string).collect();
    match context.table(&names).await? {
        Some((name, table)) => Ok(LogicalPlanBuilder::scan(name, provider_as_source(table), None)?.build()?),
        None => Err(EngineError::Plan { message: format!("no table {name}"), hint: Some("make it".into()), kind: ErrorKind::NotFound }),
    }
}

/// The rows of a plan that reads a table.
pub fn read(session: &Session, name: &str, binding: &Binding) -> Result<Ran, EngineError> {
    wait(async {
        let output = session
            .execute_plan_of(&format!("a plan over {name}"), 0, binding, |context| async move { scan(&context, name).await })
            .await?;
        let kind = output.kind();
        let (batches, report) = output.collect().await?;
        Ok(Ran { batches, report, kind })
    })
}

impl Db {
    fn read(&self, name: &str) -> Vec<String> {
        self.read_in(name, &Binding::default()).unwrap()
    }

    fn read_in(&self, name: &str, binding: &Binding) -> Result<Vec<String>, EngineError> {
        let mut rows = read(&self.session, name, binding)?.rows();
        rows.sort_unstable();
        Ok(rows)
    }

    /// How many rows there are by statistics, which need no row to be read.
    fn counted_in(&self, name: &str, binding: &Binding) -> String {
        wait(async {
            let build = |context: Arc<PlanContext>| async move {
                let plan = LogicalPlanBuilder::from(scan(&context, name).await?);
                Ok::<_, EngineError>(plan.aggregate(Vec::<datafusion::logical_expr::Expr>::new(), vec![count(lit(1))])?.build()?)
            };
            let (batches, report) = self.session.execute_plan_of("a count", 0, binding, build).await.unwrap().collect().await.unwrap();
            Ran { batches, report, kind: StatementKind::Query }.rows().remove(0)
        })
    }
}

fn segments(name: &str, ids: &[u64]) -> Binding {
    Binding { version: None, segments: BTreeMap::from([(name.to_string(), ids.to_vec())]) }
}

fn at(version: u64) -> Binding {
    Binding { version: Some(version), ..Binding::default() }
}

#[test]
fn a_plan_gives_its_rows_and_a_report_and_is_listed_by_its_text() {
    let db = Db::new();
    db.load("t", &[], &numbers(0, 20_000));
    let ran = read(&db.session, "t", &Binding::default()).unwrap();
    assert_eq!((ran.row_count(), ran.kind), (20_000, StatementKind::Query));
    assert!(ran.report.bytes_touched > 0 && ran.report.bytes_returned > 0 && ran.report.rows_scanned == 20_000, "{:?}", ran.report);
    let mut output =
        wait(db.session.execute_plan_of("a plan of somebody", 0, &Binding::default(), |context| async move { scan(&context, "t").await }))
            .unwrap();
    wait(output.next()).unwrap().unwrap();
    let other = db.engine.session().unwrap();
    let shown = wait(super::helpers::run(&other, "SELECT statement, kind FROM system.queries ORDER BY query_id LIMIT 1")).unwrap().rows();
    assert_eq!(shown, ["a plan of somebody|query"]);
}

#[test]
fn a_name_is_found_in_letters_of_any_case_where_one_table_is_meant() {
    let db = Db::new();
    db.script("CREATE TABLE flights (a INT); INSERT INTO flights VALUES (1); CREATE SCHEMA other; CREATE TABLE other.\"Flights\" (a INT); CREATE VIEW v AS SELECT 7 AS a");
    for name in ["flights", "FLIGHTS", "main.Flights", "MAIN.flights", "quiver.main.flights", "QUIVER.MAIN.FLIGHTS"] {
        assert_eq!(db.read(name), ["1"], "{name}");
    }
    assert!(db.read("OTHER.FLIGHTS").is_empty());
    assert_eq!(db.read("V"), ["7"]);
    assert!(!db.read("SYSTEM.Tables").is_empty() && !db.read("information_schema.tables").is_empty());
    for name in ["nothing", "nowhere.flights", "elsewhere.main.flights", "a.b.c.d", "main.v.x"] {
        let error = db.read_in(name, &Binding::default()).unwrap_err();
        assert_eq!((error.kind(), error.to_string(), error.hint()), (ErrorKind::NotFound, format!("no table {name}"), Some("make it")));
    }
    db.script("CREATE TABLE \"Flights\" (a INT); INSERT INTO \"Flights\" VALUES (2)");
    assert_eq!((db.read("flights"), db.read("Flights")), (vec!["1".to_string()], vec!["2".to_string()]));
    let error = db.read_in("FLIGHTS", &Binding::default()).unwrap_err();
    assert!(error.to_string().contains("main.flights") && error.to_string().contains("main.Flights"), "{error}");
}

#[test]
fn the_shares_of_any_division_of_the_segments_are_the_whole_table() {
    let db = Db::new();
    for part in 0..8 {
        db.load("t", &[], &numbers(part * 9_000, part * 9_000 + 9_000));
    }
    db.script("DELETE FROM t WHERE k = 3 AND id < 50000; INSERT INTO t VALUES (-1, 0, 0, 'in the log'), (-2, 0, 0, 'too')");
    let ids: Vec<u64> =
        db.rows("SELECT segment_id FROM system.segments WHERE table_name = 't'").iter().map(|id| id.parse().unwrap()).collect();
    assert!(ids.len() >= 9, "{ids:?}");
    let whole = db.read("t");
    assert_eq!(whole.len().to_string(), db.value("SELECT count(*) FROM t"));
    let mut random = Random(5);
    for nodes in [1, 2, 3, 20] {
        let mut shares = vec![Vec::new(); nodes];
        ids.iter().for_each(|id| shares[random.below(nodes)].push(*id));
        let mut rows = Vec::new();
        for share in &shares {
            let binding = segments("main.t", share);
            let of_share = db.read_in("t", &binding).unwrap();
            assert_eq!(db.counted_in("t", &binding), of_share.len().to_string());
            rows.extend(of_share);
        }
        rows.sort_unstable();
        assert!(rows == whole, "{nodes} shares are {} rows of {}", rows.len(), whole.len());
    }
    assert_eq!(
        db.read_in("T", &segments("main.t", &[ids[0], ids[0]])).unwrap().len(),
        db.read_in("t", &segments("main.t", &ids[..1])).unwrap().len()
    );
}

#[test]
fn a_plan_is_of_the_version_that_it_is_bound_to() {
    let db = Db::new();
    db.load("t", &[], &numbers(0, 100));
    db.load("t", &[], &numbers(100, 200));
    let version = db.engine.store().snapshot().unwrap().version();
    let ids: Vec<u64> = db.table("t").segments().iter().map(|segment| segment.id()).collect();
    db.script("DELETE FROM t WHERE id < 50; OPTIMIZE TABLE t; ALTER TABLE t ADD c INT");
    assert_eq!(db.read("t").len(), 150);
    assert_eq!(db.read_in("t", &at(version)).unwrap().len(), 200);
    let of_first = Binding { version: Some(version), ..segments("main.t", &ids[..1]) };
    assert_eq!(db.read_in("t", &of_first).unwrap(), db.sorted_rows(&format!("SELECT * FROM t FOR VERSION AS OF {version} WHERE id < 100")));
    let error = db.read_in("t", &segments("main.t", &ids)).unwrap_err();
    assert!(error.to_string().starts_with(&format!("there is no segment {} in t at version", ids[0])), "{error}");
    let to_come = db.read_in("t", &at(1_000_000)).unwrap_err();
    assert_eq!(to_come.kind(), db.error("SELECT * FROM t FOR VERSION AS OF 1000000").kind(), "{to_come}");
}

#[test]
fn a_version_in_a_name_says_more_than_the_one_beside_the_plan() {
    let db = Db::new();
    db.script("CREATE TABLE t (a INT); INSERT INTO t VALUES (1)");
    let version = db.engine.store().snapshot().unwrap().version();
    db.run("INSERT INTO t VALUES (2)");
    let now = db.engine.store().snapshot().unwrap().version();
    let name = format!("main.T\u{a0}FOR VERSION AS OF {version}");
    assert_eq!(db.read_in(&name, &at(now)).unwrap(), ["1"]);
}

#[test]
fn what_is_bound_wrongly_is_refused_and_not_read_whole() {
    let db = Db::new();
    db.script("CREATE TABLE t (a INT); CREATE VIEW v AS SELECT * FROM t; INSERT INTO t VALUES (1)");
    let version = db.engine.store().snapshot().unwrap().version();
    for (name, binding, words) in [
        ("t", segments("main.u", &[1]), "\"main.u\" are named beside the plan"),
        ("t", segments("t", &[1]), "\"t\" are named beside the plan"),
        ("t", segments("main.T", &[1]), "\"main.T\" are named beside the plan"),
        ("t", segments("main.t", &[77]), "there is no segment 77 in t"),
        ("v", segments("main.t", &[1]), "the view \"main.v\""),
        ("v", segments("main.v", &[1]), "which is not a stored table"),
        ("v", at(version), "which is not a stored table"),
        ("system.tables", at(version), "a version of the system table"),
        ("system.tables", segments("system.tables", &[1]), "which is not a stored table"),
    ] {
        let error = db.read_in(name, &binding).unwrap_err();
        assert!(error.to_string().contains(words), "{name} in {binding:?}: {error}");
    }
    assert!(db.read_in("t", &segments("main.t", &[])).unwrap().is_empty());
}

#[test]
fn a_plan_that_does_more_than_to_read_is_refused() {
    let db = Db::new();
    db.script("CREATE TABLE t (a INT); INSERT INTO t VALUES (1)");
    let build = |context: Arc<PlanContext>| async move {
        let Some((name, table)) = context.table(&["t".to_string()]).await? else { panic!("it is there") };
        let input = scan(&context, "t").await?;
        Ok::<_, EngineError>(LogicalPlanBuilder::insert_into(input, name, provider_as_source(table), InsertOp::Append)?.build()?)
    };
    let Err(error) = wait(db.session.execute_plan_of("a write", 0, &Binding::default(), build)) else { panic!("it was taken") };
    assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
    let explain = |context: Arc<PlanContext>| async move {
        Ok::<_, EngineError>(LogicalPlanBuilder::from(scan(&context, "t").await?).explain(false, false)?.build()?)
    };
    assert!(wait(db.session.execute_plan_of("an explanation", 0, &Binding::default(), explain)).is_err());
    assert_eq!(db.value("SELECT count(*) FROM t"), "1");
}

#[test]
fn a_plan_is_in_the_transaction_of_its_session() {
    let db = Db::new();
    db.script("CREATE TABLE t (a INT); BEGIN; INSERT INTO t VALUES (1)");
    assert_eq!(db.read("t"), ["1"]);
    let pending = db.value("SELECT segment_id FROM system.segments WHERE table_name = 't'").parse().unwrap();
    assert_eq!(db.read_in("t", &segments("main.t", &[pending])).unwrap(), ["1"]);
    assert!(db.read_in("nothing", &Binding::default()).is_err());
    assert!(db.session.is_transaction_failed());
    let error = db.read_in("t", &Binding::default()).unwrap_err();
    assert!(error.hint().is_some_and(|hint| hint.contains("ROLLBACK")), "{error}");
    db.run("ROLLBACK");
    assert!(db.read("t").is_empty());
}

#[test]
fn a_plan_has_the_limits_of_a_statement() {
    let db = Db::new();
    db.load("t", &[], &numbers(0, 1_000));
    db.run("SET quiver.statement_timeout_ms = 200");
    let never = |_: Arc<PlanContext>| pending::<Result<LogicalPlan, EngineError>>();
    let Err(error) = wait(db.session.execute_plan_of("never", 0, &Binding::default(), never)) else { panic!("it had a plan") };
    assert_eq!(error.kind(), ErrorKind::TimedOut);
    let Err(error) = wait(db.session.describe_plan_of("a plan", &Binding::default(), never)) else { panic!("it had a plan") };
    assert_eq!(error.kind(), ErrorKind::TimedOut);
    db.run("SET quiver.statement_timeout_ms = 0");
    assert_eq!(db.read("t").len(), 1_000);
}

#[test]
fn a_panic_while_a_plan_is_made_is_an_error_of_whoever_asked() {
    fn fault() -> Result<LogicalPlan, EngineError> {
        panic!("a fault in a rule of the planner")
    }
    let db = Db::new();
    db.load("t", &[], &numbers(0, 1_000));
    let broken = |_: Arc<PlanContext>| async { fault() };
    let Err(error) = wait(db.session.with_plans("a plan", &Binding::default(), broken)) else { panic!("it was made") };
    assert!(matches!(error, EngineError::Internal(_)), "{error}");
    let Err(error) = wait(db.session.describe_plan_of("a plan", &Binding::default(), broken)) else { panic!("it had a plan") };
    assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
    assert!(error.to_string().contains("this plan cannot be run"), "{error}");
    assert_eq!(db.read("t").len(), 1_000);
}

#[test]
fn a_plan_takes_parameters() {
    let db = Db::new();
    db.load("t", &[], &numbers(0, 100));
    let build = |context: Arc<PlanContext>| async move {
        let plan = LogicalPlanBuilder::from(scan(&context, "t").await?);
        Ok::<_, EngineError>(plan.filter(col("id").eq(placeholder("$1")))?.project(vec![col("k")])?.build()?)
    };
    let described = wait(db.session.describe_plan_of("a plan", &Binding::default(), build)).unwrap();
    assert_eq!((described.kind, described.schema.field(0).name().as_str()), (StatementKind::Query, "k"));
    assert_eq!(described.parameters.fields().len(), 1);
    let values = |values: Vec<i64>| RecordBatch::try_from_iter([("$1", Arc::new(Int64Array::from(values)) as ArrayRef)]).unwrap();
    let run = |batch: RecordBatch, row: usize| {
        wait(async {
            let (batches, report) =
                db.session.execute_plan_with("with 17", 0, &Binding::default(), build, &batch, row).await?.collect().await?;
            Ok::<_, EngineError>(Ran { batches, report, kind: StatementKind::Query }.rows())
        })
    };
    assert_eq!(run(values(vec![3, 17]), 1).unwrap(), ["7"]);
    assert!(run(values(vec![]), 0).is_err());
    let two =
        RecordBatch::try_from_iter([("$1", Arc::new(Int64Array::from(vec![1])) as ArrayRef), ("$2", Arc::new(Int64Array::from(vec![2])))])
            .unwrap();
    assert!(run(two, 0).is_err());
    let many = |context: Arc<PlanContext>| async move {
        let plan = LogicalPlanBuilder::from(scan(&context, "t").await?);
        Ok::<_, EngineError>(plan.filter(col("id").eq(placeholder("$4294967295")))?.build()?)
    };
    assert!(wait(db.session.describe_plan_of("a plan", &Binding::default(), many)).is_err());
}

#[test]
fn sql_becomes_an_optimised_plan_and_only_queries_do() {
    let db = Db::new();
    db.load("t", &[], &numbers(0, 100));
    let optimised = |sql: &'static str| {
        wait(db.session.with_plans("a plan", &Binding::default(), |context| async move {
            Ok(context.optimised(sql).await?.display_indent().to_string())
        }))
    };
    let plan = optimised("SELECT id FROM t WHERE 1 + 1 = 2 AND k = 3").unwrap();
    assert!(plan.starts_with("Projection: t.id") || plan.starts_with("TableScan: t"), "{plan}");
    assert!(plan.contains("k = Int64(3)") && !plan.contains("1 + 1"), "{plan}");
    for sql in [
        "INSERT INTO t VALUES (1, 1, 1, 'x')",
        "EXPLAIN SELECT 1",
        "BEGIN",
        "DROP TABLE t",
        "COPY t TO 'x.csv'",
        "WITH x AS (SELECT 1) DELETE FROM t",
    ] {
        assert!(optimised(sql).is_err(), "{sql}");
    }
    let error = optimised("SELECT orign FROM t").unwrap_err();
    assert_eq!(error.position(), Some(7), "{error}");
    assert_eq!(db.value("SELECT count(*) FROM t"), "100");
}
