//! When a plan comes from the cache, and that it shows the rows of its own statement.

use tokio::runtime::Runtime;

use crate::{Engine, EngineOptions, Session};

struct Db {
    engine: Engine,
    session: Session,
    runtime: Runtime,
}

impl Db {
    fn new() -> Db {
        let engine = Engine::open_temporary(EngineOptions::default()).unwrap();
        let session = engine.session().unwrap();
        let db = Db { engine, session, runtime: Runtime::new().unwrap() };
        db.run("CREATE TABLE t AS SELECT i AS id, i % 10 AS k, 'text ' || i AS s FROM generate_series(1, 1000) AS g (i)");
        db
    }

    fn run(&self, sql: &str) -> String {
        self.run_in(&self.session, sql)
    }

    fn run_in(&self, session: &Session, sql: &str) -> String {
        let batches = self.runtime.block_on(async { session.execute(sql).await?.collect().await });
        batches.map_or_else(|error| error.to_string(), |(batches, _)| text_of(&batches))
    }

    /// The rows, and whether the plan is from the cache.
    fn cached(&self, sql: &str) -> (String, bool) {
        let before = self.engine.shared.plan_cache.hits();
        let rows = self.run(sql);
        (rows, self.engine.shared.plan_cache.hits() > before)
    }

    /// Three times: the second one keeps the plan.
    fn again(&self, sql: &str) -> (String, bool) {
        self.run(sql);
        self.run(sql);
        self.cached(sql)
    }
}

fn text_of(batches: &[arrow::array::RecordBatch]) -> String {
    arrow::util::pretty::pretty_format_batches(batches).unwrap().to_string()
}

#[test]
fn a_statement_is_optimised_once_and_sees_new_rows() {
    let db = Db::new();
    let sql = "SELECT count(*) AS n, max(a.s) AS s FROM t a JOIN t b ON a.id = b.k WHERE a.k > 2 AND b.s LIKE 'text%'";
    let (before, is_cached) = db.again(sql);
    assert!(is_cached);
    db.run("INSERT INTO t VALUES (3, 7, 'zebra')");
    let (after, is_cached) = db.cached(sql);
    assert!(is_cached && after != before && after.contains("zebra"), "{after}");
    // Other settings may give another plan, and other users have their own.
    db.run("SET quiver.join_order = false");
    assert_eq!(db.cached(sql), (after.clone(), false));
    assert_eq!(db.again(sql), (after, true));
}

#[test]
fn the_plan_of_a_long_text_is_kept_too() {
    let db = Db::new();
    let many = (0..600).map(|i| format!("sum(id + {i}) AS s{i}")).collect::<Vec<_>>().join(", ");
    let (rows, is_cached) = db.again(&format!("SELECT {many} FROM t"));
    assert!(is_cached && rows.contains("500500"), "{rows}");
}

#[test]
fn what_a_statement_means_may_change() {
    let db = Db::new();
    let sql = "SELECT * FROM t WHERE id = 5";
    assert!(db.again(sql).1);
    db.run("ALTER TABLE t ADD COLUMN added BIGINT DEFAULT 9");
    let (rows, is_cached) = db.cached(sql);
    assert!(!is_cached && rows.contains("added"), "{rows}");
    db.run("CREATE TEMPORARY TABLE t AS SELECT 5 AS id, 'temporary' AS s");
    assert!(db.again(sql).0.contains("temporary"));
    db.run("DROP TABLE t");
    assert!(db.cached(sql).0.contains("text 5"));
    db.run("CREATE VIEW v AS SELECT k FROM t WHERE id = 7");
    let of_view = "SELECT k FROM v WHERE k > 0";
    assert!(db.again(of_view).1);
    db.run("CREATE OR REPLACE VIEW v AS SELECT k FROM t WHERE id = 8");
    let (rows, is_cached) = db.cached(of_view);
    assert!(!is_cached && rows.contains('8'), "{rows}");
    db.run("DROP VIEW v");
    db.run("DROP TABLE t");
    assert!(db.cached(sql).0.contains("does not exist") || db.cached(sql).0.contains("there is no"), "{}", db.cached(sql).0);
}

#[test]
fn what_depends_on_more_is_planned_each_time() {
    let db = Db::new();
    db.run("CREATE FUNCTION twice(x BIGINT) RETURNS BIGINT RETURN x * 2");
    for sql in [
        "SELECT count(*) AS n FROM t WHERE now() > TIMESTAMP '2020-01-01' AND k > 1",
        "SELECT count(*) AS n FROM t WHERE random() >= 0",
        "SELECT twice(id) AS n FROM t WHERE id = 3",
        "SELECT count(*) AS n FROM generate_series(1, 5) AS s (i)",
        "SELECT k, sum(id) OVER (PARTITION BY k) AS n FROM t ORDER BY k LIMIT 3",
        "EXPLAIN SELECT count(*) FROM t WHERE k > 1",
    ] {
        assert!(!db.again(sql).1, "{sql}");
    }
    db.run("CREATE OR REPLACE FUNCTION twice(x BIGINT) RETURNS BIGINT RETURN x + x + 1000");
    assert!(db.cached("SELECT twice(id) AS n FROM t WHERE id = 3").0.contains("1006"));
}

#[test]
fn a_user_reads_only_what_the_user_may_read() {
    let db = Db::new();
    let sql = "SELECT count(*) AS n FROM t WHERE k = 1";
    assert!(db.again(sql).1);
    db.run("CREATE USER reader PASSWORD 'secret-of-reader'");
    let reader = db.engine.session_as(&db.engine.identity("reader").unwrap()).unwrap();
    let refused = db.run_in(&reader, sql);
    assert!(refused.contains("does not exist"), "{refused}");
    db.run("GRANT SELECT ON t TO reader");
    for _ in 0..3 {
        assert!(db.run_in(&reader, sql).contains("100"), "{}", db.run_in(&reader, sql));
    }
    db.run("REVOKE SELECT ON t FROM reader");
    assert!(!db.run_in(&reader, sql).contains("100"));
}

#[test]
fn the_cache_is_bounded() {
    let db = Db::new();
    for value in 0..300 {
        let sql = format!("SELECT count(*) AS n FROM t WHERE id = {value}");
        db.run(&sql);
        db.run(&sql);
    }
    assert!(!db.cached("SELECT count(*) AS n FROM t WHERE id = 0").1);
    assert!(db.cached("SELECT count(*) AS n FROM t WHERE id = 299").1);
}
