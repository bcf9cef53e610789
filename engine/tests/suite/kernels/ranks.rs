//! `row_number`, `rank` and `dense_rank`: the same with `quiver.rank_windows` on and off.

use crate::helpers::{Db, numbers};

fn same(db: &Db, sql: &str) -> Vec<String> {
    db.rows_either_way("rank_windows", "RankExec", sql)
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

#[test]
fn windows_with_other_functions_are_computed_as_before() {
    let db = filled();
    let w = "OVER (PARTITION BY a ORDER BY id)";
    for columns in [
        format!("row_number() {w}, lead(id) {w}"),
        format!("sum(id) {w}"),
        format!("rank() {w}, rank() OVER (PARTITION BY a ORDER BY id DESC)"),
        format!("ntile(4) {w}, percent_rank() {w}"),
    ] {
        let sql = format!("SELECT id, {columns} FROM t ORDER BY id");
        db.run("SET quiver.rank_windows = false");
        let expected = db.rows(&sql);
        db.run("SET quiver.rank_windows = true");
        assert_eq!(db.rows(&sql), expected, "{columns}");
    }
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
