//! Ranks and aggregates from the start of a group: the same with `quiver.running_windows` on and off.

use crate::helpers::{Db, numbers, small_memory};

fn same(db: &Db, sql: &str) -> Vec<String> {
    db.rows_either_way("running_windows", "RunningWindowExec", sql)
}

/// Rows of which many are equal in some columns, with NULL, both zeros and NaN.
fn filled() -> Db {
    let db = Db::new();
    for start in [0, 20_000] {
        let columns = "value AS id, CASE WHEN value % 5 > 0 THEN value % 5 END AS a, 'text ' || (value * 31 % 40) AS b";
        let floats = "CASE value % 6 WHEN 0 THEN 'NaN'::DOUBLE WHEN 1 THEN -0.0 WHEN 2 THEN 0.0 WHEN 3 THEN NULL ELSE value % 9 END AS f";
        let rows = format!(
            "SELECT {columns}, {floats}, value / 2 AS half, [value % 3, NULL] AS l, CASE value % 3 WHEN 0 THEN interval '1 day' WHEN 1 THEN interval '2 months' END AS i FROM generate_series({start} + 1, {start} + 20000) AS s (value)"
        );
        db.run(&if start == 0 { format!("CREATE TABLE t AS {rows}") } else { format!("INSERT INTO t {rows}") });
    }
    db
}

#[test]
fn ranks_are_those_of_the_window() {
    let db = filled();
    let all = "row_number() OVER w AS n, rank() OVER w AS r, dense_rank() OVER w AS d";
    for window in [
        "PARTITION BY a ORDER BY id",
        "PARTITION BY a, b ORDER BY half DESC, id",
        "PARTITION BY half ORDER BY b, id",
        "PARTITION BY id ORDER BY a",
        "PARTITION BY f ORDER BY a NULLS FIRST, id",
        "PARTITION BY l ORDER BY f, id",
        "PARTITION BY a ORDER BY i, id",
        "ORDER BY b DESC, id",
        "PARTITION BY f, l, i ORDER BY half, id",
    ] {
        let rows = same(&db, &format!("SELECT id, {all} FROM t WINDOW w AS ({window}) ORDER BY id"));
        assert_eq!(rows.len(), 40_000);
    }
    // Which of equal rows comes first is open.
    for window in ["PARTITION BY a ORDER BY b", "PARTITION BY a ORDER BY f", "PARTITION BY b ORDER BY l", "ORDER BY f"] {
        same(&db, &format!("SELECT id, rank() OVER w AS r, dense_rank() OVER w AS d FROM t WINDOW w AS ({window}) ORDER BY id"));
        same(&db, &format!("SELECT r, count(*) FROM (SELECT row_number() OVER ({window}) AS r FROM t) AS q GROUP BY r ORDER BY r"));
    }
    same(&db, "SELECT a, max(n), count(*) FROM (SELECT a, row_number() OVER (PARTITION BY a) AS n FROM t) AS q GROUP BY a ORDER BY a");
    assert!(same(&db, "SELECT row_number() OVER (PARTITION BY a ORDER BY id) FROM t WHERE id < 0").is_empty());
}

const FRAMES: [&str; 5] = [
    "ROWS UNBOUNDED PRECEDING",
    "RANGE UNBOUNDED PRECEDING",
    "ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW",
    "ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING",
    "RANGE BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING",
];

/// Rows with values of every type that is computed in one pass, some of them NULL.
fn numbered() -> Db {
    let db = Db::new();
    let columns = "value AS id, value % 7 AS a, CASE WHEN value % 11 > 0 THEN value % 11 END AS b, CASE WHEN value % 5 > 0 THEN value * 37 % 1000 END AS n";
    let numbers = "((value * 91 % 2000) - 900)::DECIMAL(15,2) / 100 AS d, (value % 300)::SMALLINT AS small, (value % 1000)::UBIGINT AS u, CASE value % 4 WHEN 0 THEN NULL ELSE value * 0.25 END AS f";
    let others = "DATE '2020-01-01' + (value * 13 % 500)::INTEGER AS day, TIMESTAMPTZ '2020-01-01 00:00:00+00' + ((value % 77) || ' hours')::INTERVAL AS at, 'text ' || (value % 3) AS s";
    db.run(&format!("CREATE TABLE t AS SELECT {columns}, {numbers}, {others} FROM generate_series(1, 30000) AS s (value)"));
    db
}

#[test]
fn aggregates_from_the_start_of_a_group_are_those_of_the_window() {
    let db = numbered();
    let functions = [
        "count(*) OVER w, count(n) OVER w, sum(n) OVER w, min(n) OVER w, max(n) OVER w, avg(n) OVER w",
        "sum(d) OVER w, avg(d) OVER w, min(d) OVER w, max(d) OVER w",
        "sum(small) OVER w, max(small) OVER w, sum(u) OVER w, min(u) OVER w, sum(f) OVER w, avg(f) OVER w, min(f) OVER w, max(f) OVER w",
        "min(day) OVER w, max(at) OVER w, count(s) OVER w, sum(n + id) OVER w, sum(d * 2) OVER w",
    ];
    for functions in functions {
        for keys in ["PARTITION BY a ORDER BY b, id", "PARTITION BY b ORDER BY id DESC", "ORDER BY id", "PARTITION BY id ORDER BY a"] {
            for frame in FRAMES {
                same(&db, &format!("SELECT id, {functions} FROM t WINDOW w AS ({keys} {frame}) ORDER BY id"));
            }
        }
    }
}

#[test]
fn rows_that_are_equal_in_the_order_have_one_result() {
    let db = numbered();
    let functions = "count(*) OVER w, sum(n) OVER w, avg(d) OVER w, max(day) OVER w";
    // With one group of all rows, with groups that batches cut, and with equal rows that fill batches.
    for keys in [
        "ORDER BY a",
        "PARTITION BY a ORDER BY b",
        "PARTITION BY s ORDER BY a",
        "PARTITION BY a",
        "PARTITION BY id % 3000",
        "ORDER BY id / 20000",
        "",
    ] {
        same(&db, &format!("SELECT id, {functions} FROM t WINDOW w AS ({keys}) ORDER BY id"));
        db.run("SET threads = 1");
        same(&db, &format!("SELECT id, {functions} FROM t WINDOW w AS ({keys}) ORDER BY id"));
        db.run("SET threads = 4");
    }
    // Ranks are complete at their row, sums at the last of equal rows.
    let ranked = "SELECT id, rank() OVER w, sum(n) OVER w, sum(n) OVER (w ROWS UNBOUNDED PRECEDING), dense_rank() OVER w FROM t WINDOW w AS (PARTITION BY a ORDER BY b, id) ORDER BY id";
    same(&db, ranked);
    assert!(same(&db, "SELECT sum(n) OVER (PARTITION BY a) FROM t WHERE id < 0").is_empty());
}

#[test]
fn a_running_sum_that_leaves_its_type_is_an_error() {
    let db = Db::new();
    // Twice the first decimal has too many bits, twice the second one too many digits.
    let row = |id: i32| format!("({id}, {}, '9{zeros}'::DECIMAL(38,0), '6{zeros}'::DECIMAL(38,0))", i64::MAX, zeros = "0".repeat(37));
    db.run(&format!("CREATE TABLE t AS SELECT * FROM (VALUES {}, {}) AS v (id, n, d, e)", row(1), row(2)));
    for column in ["n", "d", "e"] {
        for frame in FRAMES {
            let sql = format!("SELECT sum({column}) OVER (ORDER BY id {frame}) FROM t");
            let found = db.error(&sql).to_string();
            db.run("SET quiver.running_windows = false");
            assert_eq!(found, db.error(&sql).to_string(), "{sql}");
            db.run("SET quiver.running_windows = true");
        }
    }
}

#[test]
fn windows_with_other_functions_are_computed_as_before() {
    let db = numbered();
    let w = "OVER (PARTITION BY a ORDER BY id)";
    for columns in [
        format!("row_number() {w}, lead(id) {w}"),
        format!("sum(id) FILTER (WHERE id % 2 = 0) {w}"),
        format!("count(DISTINCT b) {w}"),
        format!("max(s) {w}, max((id || ' days')::INTERVAL) {w}"),
        "sum(id) OVER (PARTITION BY a ORDER BY id ROWS 3 PRECEDING)".to_string(),
        "sum(id) OVER (PARTITION BY a ORDER BY id ROWS BETWEEN UNBOUNDED PRECEDING AND 2 FOLLOWING)".to_string(),
        "sum(id) OVER (PARTITION BY a ORDER BY id ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING)".to_string(),
        format!("rank() {w}, rank() OVER (PARTITION BY a ORDER BY id DESC, b)"),
        format!("ntile(4) {w}, percent_rank() {w}"),
    ] {
        let sql = format!("SELECT id, {columns} FROM t ORDER BY id");
        db.run("SET quiver.running_windows = false");
        let expected = db.rows(&sql);
        db.run("SET quiver.running_windows = true");
        assert_eq!(db.rows(&sql), expected, "{columns}");
    }
}

#[test]
fn rows_that_wait_for_the_end_of_their_group_are_counted_as_memory() {
    let db = Db::with(small_memory(8));
    db.load("t", &[], &numbers(0, 600_000));
    let error = db.error("SELECT count(*), max(s) FROM (SELECT sum(id) OVER () AS total, id, s FROM t) AS q WHERE total <> id").to_string();
    assert!(error.contains("memory"), "{error}");
}

#[test]
fn texts_that_rows_share_are_counted_once() {
    let db = Db::with(small_memory(256));
    db.load("t", &[], &numbers(0, 600_000));
    let windows = "SELECT s, sum(id) OVER () AS total, row_number() OVER (ORDER BY k, id) AS n FROM t";
    let rows = same(&db, &format!("SELECT max(s), max(total), max(n) FROM ({windows}) AS q"));
    assert!(rows[0].ends_with("|179999700000|600000"), "{rows:?}");
}

#[test]
fn rows_in_the_order_of_their_table_are_ranked_where_they_lie() {
    let db = Db::new();
    db.load("t", &["k"], &numbers(0, 60_000));
    let sql = "SELECT count(*), sum(n), max(n) FROM (SELECT row_number() OVER (PARTITION BY k ORDER BY id) AS n FROM t) AS q";
    same(&db, sql);
    db.run("SET threads = 1");
    same(&db, sql);
}
