//! The first rows of each group, `row_number() OVER (PARTITION BY g ORDER BY x) <= k`: the same with `quiver.rank_limits` on and off.

use std::sync::Arc;

use arrow::array::{ArrayRef, Date32Array, Decimal128Array, Float64Array, Int32Array, Int64Array, StringArray, UInt64Array};

use crate::cancel::{filled, stops};
use crate::helpers::{Db, Random, nullable, small_memory};

/// A table in two segments with groups of a few rows and of many, and with columns of which some values are the same, some NULL, and some at
/// the ends of their type.
fn hard(rows: usize) -> Db {
    let db = Db::new();
    for part in 0..2 {
        let mut random = Random(part + 1);
        let mut some = |kinds: usize, odd: &[i64]| -> Vec<Option<i64>> {
            let mut value = || match random.below(12) {
                0 => None,
                1 => Some(*random.of(odd)),
                _ => Some(random.below(kinds) as i64 - kinds as i64 / 2),
            };
            (0..rows).map(|_| value()).collect()
        };
        let (few, many) = (some(7, &[-1]), some(rows / 4, &[-1]));
        let (i, n) = (some(300, &[i64::MIN, i64::MAX, i64::MIN + 1, i64::MAX - 1]), some(9, &[i64::from(i32::MIN), i64::from(i32::MAX)]));
        let floats = [f64::NAN, f64::NEG_INFINITY, f64::INFINITY, -0.0];
        let f = some(100, &[1000, 1001, 1002, 1003])
            .into_iter()
            .map(|value| value.map(|value| if value >= 1000 { floats[(value - 1000) as usize] } else { value as f64 / 4.0 }));
        let texts = some(50, &[0]).into_iter().map(|value| value.map(|value| format!("a text {}", value * value % 97)));
        let decimals = some(50, &[i64::MAX]).into_iter().map(|value| value.map(|value| i128::from(value) * 1_000_000_000_000));
        let first = part as i64 * rows as i64;
        db.load(
            "t",
            &[],
            &nullable([
                ("id", Arc::new(Int64Array::from_iter_values(first..first + rows as i64)) as ArrayRef),
                ("few", Arc::new(Int64Array::from(few))),
                ("many", Arc::new(Int64Array::from(many))),
                ("i", Arc::new(Int64Array::from(i.clone()))),
                ("n", Arc::new(n.iter().map(|value| value.map(|value| value as i32)).collect::<Int32Array>())),
                ("u", Arc::new(i.into_iter().map(|value| value.map(i64::cast_unsigned)).collect::<UInt64Array>())),
                ("f", Arc::new(f.collect::<Float64Array>())),
                ("s", Arc::new(texts.collect::<StringArray>())),
                ("d", Arc::new(n.into_iter().map(|value| value.map(|value| value.clamp(-90_000, 90_000) as i32)).collect::<Date32Array>())),
                ("m", Arc::new(decimals.collect::<Decimal128Array>().with_precision_and_scale(38, 2).unwrap())),
            ]),
        );
    }
    db.run("DELETE FROM t WHERE id % 11 = 3");
    db.run("INSERT INTO t SELECT id + 1000000, few, many, i, n, u, f, s, d, m FROM t WHERE id < 30");
    db
}

fn plan(db: &Db, sql: &str) -> String {
    db.run(&format!("EXPLAIN {sql}")).text()
}

fn same(db: &Db, sql: &str) -> Vec<String> {
    db.rows_either_way("rank_limits", "RankLimitExec", sql)
}

#[test]
fn the_first_rows_of_each_group_are_those_of_a_sort() {
    let db = hard(6_000);
    let directions = ["", "DESC", "NULLS FIRST", "DESC NULLS LAST"];
    for (at, column) in ["i", "n", "u", "f", "s", "d", "m"].into_iter().enumerate() {
        for (number, groups) in ["few", "many", "few, s", "s, d"].into_iter().enumerate() {
            let direction = directions[(at + number) % 4];
            for (rank, k) in [("row_number", 1), ("rank", 2), ("dense_rank", 3), ("row_number", 20)] {
                let ranked = format!(
                    "SELECT {groups}, {column} AS x, {rank}() OVER (PARTITION BY {groups} ORDER BY {column} {direction}) AS r FROM t"
                );
                let order = if groups.contains(',') { "1, 2, 3, 4" } else { "1, 2, 3" };
                let rows = same(&db, &format!("SELECT * FROM ({ranked}) AS ranked WHERE r <= {k} ORDER BY {order}"));
                assert!(!rows.is_empty());
            }
        }
    }
}

#[test]
fn rows_that_are_as_good_as_the_last_are_chosen_by_the_other_keys() {
    let db = hard(6_000);
    for k in [1, 3, 50] {
        for (rank, order) in [("row_number", "n, id"), ("row_number", "s DESC, i, id"), ("rank", "d DESC, n"), ("dense_rank", "s, n")] {
            let ranked = format!("SELECT id, {rank}() OVER (PARTITION BY few ORDER BY {order}) AS r FROM t");
            same(&db, &format!("SELECT * FROM ({ranked}) AS ranked WHERE r <= {k} ORDER BY r, id"));
        }
    }
}

#[test]
fn a_condition_may_be_written_in_other_ways() {
    let db = hard(2_000);
    for condition in ["r = 1", "r < 3", "4 > r", "r BETWEEN 2 AND 3", "r <= 3 AND i > 0", "2 >= r AND r <= 100"] {
        let ranked = "SELECT id, i, rank() OVER (PARTITION BY few ORDER BY id DESC) AS r FROM t WHERE n IS NOT NULL";
        same(&db, &format!("SELECT * FROM ({ranked}) AS ranked WHERE {condition} ORDER BY r, id"));
    }
    same(&db, "SELECT id FROM t QUALIFY row_number() OVER (PARTITION BY few, many ORDER BY id) = 1 ORDER BY id");
    let both = "SELECT id, rank() OVER w AS a, row_number() OVER w AS b FROM t WINDOW w AS (PARTITION BY many ORDER BY id)";
    same(&db, &format!("SELECT * FROM ({both}) AS ranked WHERE a <= 2 AND b <= 2 ORDER BY id"));
    let computed =
        "SELECT id, rank() OVER (PARTITION BY k ORDER BY v DESC, id) AS r FROM (SELECT id, few * 2 AS k, i / 2 AS v FROM t) AS c";
    same(&db, &format!("SELECT * FROM ({computed}) AS ranked WHERE r <= 2 ORDER BY id"));
    db.run("SET threads = 1");
    same(&db, &format!("SELECT * FROM ({computed}) AS ranked WHERE r <= 2 ORDER BY id"));
}

#[test]
fn functions_that_see_all_rows_of_a_group_still_do() {
    let db = hard(2_000);
    let w = "OVER (PARTITION BY few ORDER BY id)";
    for (columns, condition) in [
        (format!("row_number() {w} AS r, count(*) OVER (PARTITION BY few) AS n"), "r <= 2"),
        (format!("row_number() {w} AS r, lead(id) {w} AS n"), "r <= 2"),
        (format!("row_number() {w} AS r, rank() OVER (PARTITION BY few ORDER BY i) AS n"), "r <= 2"),
        (format!("row_number() {w} AS r, row_number() OVER (PARTITION BY many ORDER BY id) AS n"), "r <= 2"),
        (format!("percent_rank() {w} AS r, 1 AS n"), "r <= 1"),
        ("row_number() OVER (ORDER BY id) AS r, 1 AS n".to_owned(), "r <= 2"),
        ("row_number() OVER (PARTITION BY f ORDER BY id) AS r, 1 AS n".to_owned(), "r <= 2"),
        (format!("row_number() {w} AS r, 1 AS n"), "r <= 2 OR id < 3"),
        (format!("row_number() {w} AS r, 1 AS n"), "r >= 2"),
        (format!("row_number() {w} AS r, 1 AS n"), "r <= id"),
        (format!("row_number() {w} AS r, 1 AS n"), "u > 9223372036854775808"),
    ] {
        let sql = format!("SELECT * FROM (SELECT id, u, {columns} FROM t) AS ranked WHERE {condition}");
        assert!(!plan(&db, &sql).contains("RankLimitExec"), "{sql}: {}", plan(&db, &sql));
    }
}

/// The names of the keys of both windows are the same, and mean other columns.
#[test]
fn a_window_above_a_projection_has_other_keys() {
    let db = hard(2_000);
    for (columns, limits) in [("few, -id AS id, r", false), ("n AS few, id, r", false), ("few, id, r", true)] {
        let below = "SELECT few, n, id, rank() OVER (PARTITION BY few ORDER BY id) AS r FROM t";
        let above = format!("SELECT *, rank() OVER (PARTITION BY few ORDER BY id) AS r2 FROM (SELECT {columns} FROM ({below}) AS a) AS b");
        let sql = format!("SELECT r, r2, id FROM ({above}) AS c WHERE r <= 2 ORDER BY 1, 2, 3");
        let found = db.rows(&sql);
        assert!(!plan(&db, &sql).contains("RankLimitExec") || limits, "{sql}: {}", plan(&db, &sql));
        db.run("SET quiver.rank_limits = false");
        assert_eq!(found, db.rows(&sql), "{sql}");
        db.run("SET quiver.rank_limits = true");
    }
}

#[test]
fn the_smaller_of_two_limits_holds() {
    let db = hard(2_000);
    let w = "OVER (PARTITION BY few ORDER BY id)";
    let sql = format!(
        "SELECT id FROM (SELECT id, rank() {w} AS a, row_number() {w} AS b FROM t) AS ranked WHERE a <= 900 AND b <= 1 ORDER BY id"
    );
    same(&db, &sql);
    assert!(plan(&db, &sql).contains("row_number <= 1"), "{}", plan(&db, &sql));
}

#[test]
fn most_rows_are_not_sorted() {
    let db = Db::new();
    db.run("CREATE TABLE t AS SELECT value % 100 AS g, value * 7919 % 1000003 AS x FROM generate_series(1, 200000) AS s (value)");
    let ranked = "SELECT g, x, row_number() OVER (PARTITION BY g ORDER BY x) AS r FROM t";
    let analyzed = db.run(&format!("EXPLAIN ANALYZE SELECT * FROM ({ranked}) AS ranked WHERE r <= 2")).text();
    let operator = analyzed.lines().find(|line| line.contains("RankLimitExec")).unwrap();
    assert!(operator.contains("row_number <= 2, groups=[g@0], order=x@1 ASC"), "{operator}");
    let rows = operator.split("output_rows=").nth(1).unwrap().split([',', ']']).next().unwrap();
    let rows = rows.trim_end_matches(" K").parse::<f64>().unwrap() * if rows.ends_with('K') { 1e3 } else { 1.0 };
    assert!((200.0..10_000.0).contains(&rows), "{operator}");
}

#[test]
fn without_memory_for_the_groups_all_rows_are_sorted() {
    let db = Db::with(small_memory(64));
    db.run("CREATE TABLE t AS SELECT value % 300000 AS g, value AS x FROM generate_series(1, 600000) AS s (value)");
    let ranked = "SELECT g, x, row_number() OVER (PARTITION BY g ORDER BY x) AS r FROM t";
    let rows = same(&db, &format!("SELECT count(*), min(x), max(x) FROM (SELECT * FROM ({ranked}) AS a WHERE r = 1) AS b"));
    assert_eq!(rows, ["300000|1|300000"]);
}

#[test]
fn a_search_that_nobody_waits_for_stops() {
    let db = filled();
    let ranked = "SELECT a.k, row_number() OVER (PARTITION BY a.k ORDER BY b.r) AS n FROM t a, t b";
    stops(&db, "q-ranks", &format!("SELECT * FROM ({ranked}) AS ranked WHERE n <= 2"));
}
