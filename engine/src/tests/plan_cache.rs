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
        let before = self.engine.shared.plan_cache.counts().0;
        let rows = self.run(sql);
        (rows, self.engine.shared.plan_cache.counts().0 > before)
    }

    /// Three times: the second one keeps the plan.
    fn again(&self, sql: &str) -> (String, bool) {
        self.run(sql);
        self.run(sql);
        self.cached(sql)
    }
}

/// Statements whose operators have all kinds of state: build sides, the bounds of a TopK, rows of subplans, functions that watch a query.
/// Also whether their operators can be copied.
const STATEMENTS: &[(&str, bool)] = &[
    ("SELECT a.k, count(*) AS n FROM t a JOIN t b ON a.id = b.k GROUP BY a.k ORDER BY a.k", true),
    ("SELECT id, s FROM t WHERE k > 2 ORDER BY s DESC LIMIT 3", true),
    ("SELECT max(id) AS m FROM t", true),
    ("SELECT max(id) AS m, min(id) AS n FROM t WHERE s LIKE '%9%'", false),
    ("WITH g AS (SELECT k, sum(id) AS n FROM t GROUP BY k) SELECT a.k, a.n + b.n AS n FROM g a JOIN g b ON a.k = b.k + 1 ORDER BY 1", true),
    ("SELECT k, rank() OVER (PARTITION BY k ORDER BY id) AS r FROM t ORDER BY k, r LIMIT 3", true),
    ("SELECT k, sum(id) OVER (PARTITION BY k) AS n FROM t ORDER BY k LIMIT 3", true),
    ("SELECT k, sum(id) OVER (PARTITION BY k ORDER BY id ROWS UNBOUNDED PRECEDING) AS n FROM t ORDER BY k, n LIMIT 3", true),
    ("SELECT k, sum(id) OVER (PARTITION BY k ORDER BY id ROWS 2 PRECEDING) AS n FROM t ORDER BY k, n LIMIT 3", false),
    ("SELECT k, sum(id) FILTER (WHERE id > 3) OVER (PARTITION BY k) AS n FROM t ORDER BY k LIMIT 3", false),
    ("SELECT count(*) AS n FROM t WHERE id > (SELECT avg(id) FROM t)", true),
    (
        "SELECT (SELECT sum(id) FROM t WHERE k < (SELECT avg(k) FROM t)) AS m, id + (SELECT count(s) FROM t) AS n FROM t WHERE id < 3 ORDER BY 2",
        true,
    ),
    ("SELECT k, count(*) AS n FROM t GROUP BY k HAVING count(*) + k > (SELECT max(k) + 95 FROM t) ORDER BY k", true),
    ("SELECT count(*) AS n FROM t a LEFT JOIN t b ON a.id = b.id AND a.k + b.k > (SELECT min(id) + 1 FROM t)", false),
    ("SELECT k, s, count(*) AS n FROM t WHERE id < 4 GROUP BY ROLLUP (k, s) ORDER BY 1 NULLS LAST, 2 NULLS LAST", true),
    ("SELECT count(*) AS n FROM t a, t b WHERE a.id < 20 AND a.id + b.id < 12", true),
    ("SELECT id FROM t WHERE id < 3 UNION ALL SELECT k FROM t WHERE id IN (SELECT k FROM t WHERE id = 7) ORDER BY 1", true),
    ("SELECT count(*) AS n FROM t WHERE s || s = 'text 7text 7'", true),
    ("SELECT upper(s) AS u, substr(s, 2) || k AS v FROM t WHERE id < 3 ORDER BY 1", true),
    ("SELECT 1 AS one", true),
];

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
fn a_text_that_means_the_same_is_not_parsed_and_its_operators_are_copied() {
    let db = Db::new();
    let sql = "SELECT a.k, count(*) AS n FROM t a JOIN t b ON a.id = b.k GROUP BY a.k ORDER BY a.k LIMIT 4";
    let counts = || db.engine.shared.plan_cache.counts();
    db.run("OPTIMIZE TABLE t");
    let (rows, _) = db.again(sql);
    let (hits, repeats, copies) = counts();
    assert_eq!((db.run(sql), counts()), (rows.clone(), (hits + 1, repeats + 1, copies + 1)));
    // Another table has changed: the text is read again, and the operators are still those of the same rows.
    db.run("CREATE TABLE other AS SELECT 1 AS one");
    assert_eq!((db.run(sql), counts()), (rows.clone(), (hits + 2, repeats + 1, copies + 2)));
    db.run("DELETE FROM t WHERE id = 1");
    assert_ne!(db.run(sql), rows);
    assert_eq!(counts(), (hits + 3, repeats + 1, copies + 2));
}

#[test]
fn each_run_of_a_kept_plan_has_its_own_state() {
    let db = Db::new();
    db.run("OPTIMIZE TABLE t");
    let first: Vec<String> = STATEMENTS.iter().map(|(sql, _)| db.run(sql)).collect();
    for run in 0..3 {
        for ((sql, is_copied), first) in STATEMENTS.iter().zip(&first) {
            let before = db.engine.shared.plan_cache.counts().2;
            assert_eq!(db.run(sql), *first, "{sql}");
            let copied = db.engine.shared.plan_cache.counts().2 > before;
            assert_eq!(copied, *is_copied && run > 0, "{sql}");
        }
    }
    // Four sessions at once, each at another statement.
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let (db, first) = (&db, &first);
            scope.spawn(move || {
                let session = db.engine.session().unwrap();
                for at in (0..STATEMENTS.len() * 6).map(|at| (at + thread * 3) % STATEMENTS.len()) {
                    assert_eq!(db.run_in(&session, STATEMENTS[at].0), first[at], "{}", STATEMENTS[at].0);
                }
            });
        }
    });
    db.run("INSERT INTO t SELECT 1000 + id, k, s || '!' FROM t");
    let fresh: Vec<String> = STATEMENTS.iter().map(|(sql, _)| db.run(&format!("{sql} "))).collect();
    assert_ne!(fresh, first);
    for _ in 0..3 {
        let again: Vec<String> = STATEMENTS.iter().map(|(sql, _)| db.run(sql)).collect();
        assert_eq!(again, fresh);
    }
}

#[test]
fn functions_of_a_kept_plan_reserve_memory_of_their_own_statement() {
    let engine = Engine::open_temporary(EngineOptions { query_memory_limit_bytes: Some(64 << 20), ..EngineOptions::default() }).unwrap();
    let session = engine.session().unwrap();
    let db = Db { engine, session, runtime: Runtime::new().unwrap() };
    db.run("CREATE TABLE t AS SELECT i AS id, 'text ' || i AS s FROM generate_series(1, 1000) AS g (i)");
    db.run("OPTIMIZE TABLE t");
    for (sql, words) in [
        ("SELECT max(length(repeat(s, 10000000))) AS n FROM t WHERE id > 1", "memory"),
        ("SELECT max(length(repeat(s, 1000))) AS n FROM t WHERE id > 1", "9000"),
    ] {
        for run in 0..5 {
            let found = db.run(sql);
            assert!(found.contains(words), "{run}: {found}");
        }
    }
}

#[test]
fn constants_from_statistics_are_those_of_the_rows_of_now() {
    let db = Db::new();
    db.run("OPTIMIZE TABLE t");
    db.run("CREATE TABLE u AS SELECT 1 AS a");
    let statements = ["SELECT count(*) AS n, max(id) AS m FROM t", "SELECT a, n FROM u, (SELECT count(*) AS n FROM t) AS c"];
    for sql in statements {
        assert!(db.again(sql).0.contains("1000"), "{sql}");
    }
    db.run("INSERT INTO t VALUES (1001, 1, 'more')");
    for sql in statements {
        assert!(db.run(sql).contains("1001"), "{sql}");
    }
}

#[test]
fn a_transaction_sees_its_own_rows_and_names() {
    let db = Db::new();
    let sql = "SELECT count(*) AS n FROM t WHERE k >= 0";
    assert!(db.again(sql).0.contains("1000"));
    db.run("BEGIN");
    db.run("DELETE FROM t WHERE id = 1");
    assert!(db.run(sql).contains("999"));
    db.run("ROLLBACK");
    assert!(db.run(sql).contains("1000"));
    db.run("BEGIN");
    assert!(db.run("SELEC").contains("SELEC"));
    assert!(db.run(sql).contains("nothing more can be done"), "{}", db.run(sql));
    db.run("ROLLBACK");
    // A prepared statement is of its session, though its text is the same.
    db.run("PREPARE q AS SELECT 1 AS one");
    let other = db.engine.session().unwrap();
    db.run_in(&other, "PREPARE q AS SELECT 2 AS two");
    for _ in 0..4 {
        assert!(db.run("EXECUTE q").contains("one") && db.run_in(&other, "EXECUTE q").contains("two"));
    }
}

#[test]
fn a_kept_plan_keeps_no_files() {
    let db = Db::new();
    db.run("OPTIMIZE TABLE t");
    let sql = "SELECT sum(a.id) AS n FROM t a JOIN t b ON a.id = b.k WHERE a.k > 1";
    db.again(sql);
    let mapped = |db: &Db| {
        let store = db.engine.store().path().display().to_string();
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        maps.lines().filter(|line| line.contains(&store)).count()
    };
    let before = mapped(&db);
    assert_eq!(db.engine.shared.plan_cache.counts().2, 1);
    db.run("DROP TABLE t");
    // The statistics of tables that are gone are dropped by the next statement.
    db.run("SELECT 1");
    assert!(mapped(&db) < before);
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
    let of_view = "SELECT n FROM v";
    db.run("CREATE VIEW v AS SELECT count(*) AS n FROM t");
    db.run("GRANT SELECT ON v TO reader");
    db.run("GRANT SELECT ON t TO reader");
    for _ in 0..4 {
        assert!(db.run_in(&reader, of_view).contains("1000"), "{}", db.run_in(&reader, of_view));
    }
    db.run("REVOKE SELECT ON v FROM reader");
    assert!(!db.run_in(&reader, of_view).contains("1000"));
    db.run("CREATE FUNCTION above(x BIGINT) RETURNS TABLE (id BIGINT) RETURN SELECT id FROM t WHERE id > x");
    db.run("GRANT EXECUTE ON FUNCTION above TO reader");
    let of_function = "SELECT count(*) AS n FROM above(900)";
    for _ in 0..4 {
        assert!(db.run_in(&reader, of_function).contains("100"), "{}", db.run_in(&reader, of_function));
    }
    db.run("REVOKE EXECUTE ON FUNCTION above FROM reader");
    assert!(!db.run_in(&reader, of_function).contains("100"));
    // Statistics are rows, too.
    let of_statistics = "SELECT count(*) AS n FROM t";
    db.run("GRANT INSERT ON t TO reader");
    for _ in 0..4 {
        assert!(db.run_in(&reader, of_statistics).contains("1000"));
    }
    db.run("REVOKE SELECT ON t FROM reader");
    assert!(!db.run_in(&reader, of_statistics).contains("1000"));
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
