//! Histograms over any edges, beside a plain loop with numpy's bins.

use std::sync::Arc;

use arrow::array::{ArrayRef, Float64Array, Int64Array};
use engine::EngineError;

use crate::helpers::{Db, Random, nullable};

const ROWS: usize = 30_000;

/// Values around 0 with NULLs, NaNs, infinities and values on edges among them; `g` in seven groups, in three segments.
fn table() -> (Db, Vec<(i64, Option<f64>)>) {
    let mut random = Random(7);
    let mut value = || match random.below(50) {
        0 => None,
        1 => Some(f64::NAN),
        2 => Some(f64::INFINITY),
        3 => Some(f64::NEG_INFINITY),
        4 => Some(*random.of(&[-2.0, -0.5, 0.0, 0.25, 3.0])),
        _ => Some((random.next() as f64 / u64::MAX as f64 - 0.5) * 10.0),
    };
    let rows: Vec<(i64, Option<f64>)> = (0..ROWS).map(|row| (row as i64 * 7_919 % 7, value())).collect();
    let db = Db::new();
    for part in rows.chunks(ROWS / 3) {
        let columns: [(&str, ArrayRef); 2] = [
            ("g", Arc::new(Int64Array::from_iter_values(part.iter().map(|row| row.0)))),
            ("x", Arc::new(Float64Array::from_iter(part.iter().map(|row| row.1)))),
        ];
        db.load("t", &[], &nullable(columns));
    }
    (db, rows)
}

/// As a result is shown: the bins `[e0, e1), …, [eN-1, eN]`.
fn counted(values: impl Iterator<Item = Option<f64>>, edges: &[f64]) -> String {
    let mut counts = vec![0_u64; edges.len() - 1];
    let last = counts.len() - 1;
    for x in values.flatten() {
        let is_in = |bin: usize| edges[bin] <= x && (x < edges[bin + 1] || (bin == last && x == edges[bin + 1]));
        if let Some(bin) = (0..counts.len()).find(|bin| is_in(*bin)) {
            counts[bin] += 1;
        }
    }
    format!("[{}]", counts.iter().map(u64::to_string).collect::<Vec<_>>().join(", "))
}

const EDGES: [f64; 6] = [-2.0, -0.5, 0.0, 0.25, 1.0, 3.0];
const EDGES_SQL: &str = "[-2, -0.5, 0, 0.25, 1, 3]";

#[test]
fn a_histogram_counts_as_a_plain_loop_does() {
    let (db, rows) = table();
    let values = || rows.iter().map(|row| row.1);
    assert_eq!(db.value(&format!("SELECT histogram(x, {EDGES_SQL}) FROM t")), counted(values(), &EDGES));
    let outer = [f64::NEG_INFINITY, -1.0, 1.0, f64::INFINITY];
    let sql = "SELECT histogram(x, [CAST('-Infinity' AS DOUBLE), -1, 1, CAST('Infinity' AS DOUBLE)]) FROM t";
    assert_eq!(db.value(sql), counted(values(), &outer));
    let many: Vec<f64> = (0..=500).map(|edge| f64::from(edge) / 50.0 - 5.0).collect();
    let list = many.iter().map(|edge| format!("{edge:?}")).collect::<Vec<_>>().join(", ");
    assert_eq!(db.value(&format!("SELECT histogram(x, [{list}]) FROM t")), counted(values(), &many));
}

#[test]
fn values_without_null_are_counted_where_they_lie() {
    let (db, rows) = table();
    let there = rows.iter().map(|row| row.1.filter(|x| x.is_finite()));
    db.run(
        "CREATE TABLE whole AS SELECT x FROM t WHERE x IS NOT NULL AND x < CAST('Infinity' AS DOUBLE) AND x > CAST('-Infinity' AS DOUBLE)",
    );
    assert_eq!(db.value(&format!("SELECT histogram(x, {EDGES_SQL}) FROM whole")), counted(there, &EDGES));
}

#[test]
fn each_group_has_its_histogram() {
    let (db, rows) = table();
    let expected: Vec<String> =
        (0..7).map(|group| format!("{group}|{}", counted(rows.iter().filter(|row| row.0 == group).map(|row| row.1), &EDGES))).collect();
    assert_eq!(db.sorted_rows(&format!("SELECT g, histogram(x, {EDGES_SQL}) FROM t GROUP BY g")), expected);
}

#[test]
fn many_groups_have_theirs_too() {
    let (db, rows) = table();
    // A group for each row: partial counts are not gathered then, but made of the rows.
    let sql = format!("SELECT histogram(x, {EDGES_SQL}) FROM (SELECT x, row_number() OVER () AS n FROM t) GROUP BY n");
    let mut expected: Vec<String> = rows.iter().map(|row| counted([row.1].into_iter(), &EDGES)).collect();
    expected.sort_unstable();
    assert_eq!(db.sorted_rows(&sql), expected);
}

#[test]
fn edges_may_come_from_a_table() {
    let (db, rows) = table();
    db.run("CREATE TABLE bins (edge DOUBLE)");
    db.run("INSERT INTO bins VALUES (3), (0), (-2), (0.25), (1), (-0.5)");
    let expected = counted(rows.iter().map(|row| row.1), &EDGES);
    assert_eq!(db.value("SELECT histogram(x, (SELECT array_agg(edge ORDER BY edge) FROM bins)) FROM t"), expected);
    let joined = "SELECT histogram(x, edges) FROM t, (SELECT array_agg(edge ORDER BY edge) AS edges FROM bins)";
    assert_eq!(db.value(joined), expected);
    let by_group = db.sorted_rows("SELECT g, histogram(x, (SELECT array_agg(edge ORDER BY edge) FROM bins)) FROM t GROUP BY g");
    assert_eq!(by_group, db.sorted_rows(&format!("SELECT g, histogram(x, {EDGES_SQL}) FROM t GROUP BY g")));
    let by_group =
        db.sorted_rows("SELECT g, histogram(x, edges) FROM t, (SELECT array_agg(edge ORDER BY edge) AS edges FROM bins) GROUP BY g");
    assert_eq!(by_group, db.sorted_rows(&format!("SELECT g, histogram(x, {EDGES_SQL}) FROM t GROUP BY g")));
}

#[test]
fn a_filter_leaves_rows_out() {
    let (db, rows) = table();
    let even = |group: i64| group % 2 == 0;
    let expected = counted(rows.iter().filter(|row| even(row.0)).map(|row| row.1), &EDGES);
    assert_eq!(db.value(&format!("SELECT histogram(x, {EDGES_SQL}) FILTER (WHERE g % 2 = 0) FROM t")), expected);
    let by_group = db.sorted_rows(&format!("SELECT g, histogram(x, {EDGES_SQL}) FILTER (WHERE x > 0) FROM t GROUP BY g"));
    let positive = |group: i64| rows.iter().filter(move |row| row.0 == group).map(|row| row.1.filter(|x| *x > 0.0));
    let expected: Vec<String> = (0..7).map(|group| format!("{group}|{}", counted(positive(group), &EDGES))).collect();
    assert_eq!(by_group, expected);
}

#[test]
fn frames_of_windows_have_histograms() {
    let db = Db::new();
    db.run("CREATE TABLE t (id INT, x DOUBLE)");
    db.run("INSERT INTO t VALUES (1, 0.5), (2, 1.5), (3, NULL), (4, 0.5), (5, 9)");
    let running = db.rows("SELECT histogram(x, [0, 1, 2]) OVER (ORDER BY id) FROM t ORDER BY id");
    assert_eq!(running, ["[1, 0]", "[1, 1]", "[1, 1]", "[2, 1]", "[2, 1]"]);
    let sliding = db.rows("SELECT histogram(x, [0, 1, 2]) OVER (ORDER BY id ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) FROM t ORDER BY id");
    assert_eq!(sliding, ["[1, 0]", "[1, 1]", "[0, 1]", "[1, 0]", "[1, 0]"]);
}

#[test]
fn no_rows_are_counts_of_zero_where_the_edges_are_known() {
    let db = Db::new();
    db.run("CREATE TABLE t (x DOUBLE, edges DOUBLE[])");
    assert_eq!(db.value("SELECT histogram(x, [0, 1, 2]) FROM t"), "[0, 0]");
    assert_eq!(db.value("SELECT histogram(x, edges) FROM t"), "NULL");
    assert_eq!(db.value("SELECT histogram(NULL, [0, 1])"), "[0]");
}

#[test]
fn other_numbers_are_counted_as_doubles() {
    let db = Db::new();
    for number in ["i", "CAST(i AS DECIMAL(9, 2))", "CAST(i AS REAL)", "CAST(i AS SMALLINT)"] {
        let sql = format!("SELECT histogram({number}, [1, 3.5, 10]) FROM (SELECT value AS i FROM range(0, 12))");
        assert_eq!(db.value(&sql), "[3, 7]", "{number}");
    }
}

#[test]
fn edges_that_make_no_bins_are_refused() {
    let db = Db::new();
    db.run("CREATE TABLE t (x DOUBLE, edges DOUBLE[])");
    db.run("INSERT INTO t VALUES (1, [0, 1]), (2, [0, 2])");
    let error = |edges: &str| db.error(&format!("SELECT histogram(x, {edges}) FROM t")).to_string();
    assert_eq!(error("[0, 2, 1]"), "histogram: edges must increase: edge 3 is 1, after 2");
    assert_eq!(error("[0, 0]"), "histogram: edges must increase: edge 2 is 0, after 0");
    assert_eq!(error("[1]"), "histogram: one edge makes no bin: at least 2 are needed");
    assert_eq!(error("[0, CAST('NaN' AS DOUBLE)]"), "histogram: edge 2 is NaN: edges must be numbers");
    assert_eq!(error("NULL"), "the edges of histogram are NULL, or one of them is");
    assert_eq!(error("[0, NULL]"), "the edges of histogram are NULL, or one of them is");
    assert_eq!(error("edges"), "the edges of histogram are to be the same for all rows, and differ between two rows");
    assert_eq!(error("1"), "the edges of histogram are a list of numbers, and not BIGINT");
    assert_eq!(
        db.error("SELECT histogram('a', [0, 1]) FROM t").to_string(),
        "the first argument of histogram is a number, and not VARCHAR"
    );
    assert_eq!(
        db.error("SELECT histogram(x) FROM t").to_string(),
        "histogram takes a number and a list of edges, and was given 1 argument"
    );
}

#[test]
fn edges_that_only_rounding_makes_equal_are_refused_with_what_to_do() {
    let db = Db::new();
    let error = |edges: &str| db.error(&format!("SELECT histogram(value, {edges}) FROM range(0, 5)"));
    let beyond = error("[9007199254740992, 9007199254740993]");
    assert_eq!(beyond.to_string(), "histogram: edges must increase: edge 2 is 9007199254740992, after 9007199254740992");
    let hint = beyond.hint().unwrap_or_default().to_string();
    assert!(hint.contains("2^53") && hint.contains("subtract the first edge"), "{hint}");
    assert!(error("[-9007199254740993, -9007199254740992]").hint().unwrap_or_default().contains("2^53"));
    assert!(!error("[1, 1]").hint().unwrap_or_default().contains("2^53"));
}

#[test]
fn edges_are_not_written_out_for_each_row() {
    let (db, rows) = table();
    // In a column of 8,192 rows they would be more numbers than a list has room for.
    let edges = "(SELECT array_agg(CAST(value AS DOUBLE) / 1e5 ORDER BY value) FROM range(0, 300001))";
    let inside = rows.iter().filter(|row| row.1.is_some_and(|x| (0.0..=3.0).contains(&x))).count();
    let sql = format!("SELECT array_length(h), array_sum(h) FROM (SELECT histogram(x, {edges}) AS h FROM t)");
    assert_eq!(db.value(&sql), format!("300000|{inside}.0"));
}

#[test]
fn distinct_values_are_refused_with_what_to_do() {
    let db = Db::new();
    let error = db.error("SELECT histogram(DISTINCT value, [0, 1]) FROM range(0, 5)");
    assert!(matches!(&error, EngineError::Unsupported { hint: Some(_), .. }), "{error:?}");
    assert_eq!(error.to_string(), "DISTINCT in histogram is not supported");
}
