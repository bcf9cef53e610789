//! ROLLUP, CUBE and GROUPING SETS of which one set has all keys: the same with `quiver.grouping_set_states` on and off.

use crate::cancel;
use crate::helpers::{Db, numbers, small_memory};

fn same(db: &Db, sql: &str) -> Vec<String> {
    db.rows_either_way("grouping_set_states", "GroupingSetsExec", sql)
}

fn plan(db: &Db, sql: &str) -> String {
    db.run(&format!("EXPLAIN {sql}")).text()
}

/// Rows in two segments, with NULL in keys and in values. Sums of the floats are exact.
fn filled() -> Db {
    let db = Db::new();
    for start in [0, 20_000] {
        let keys = "CASE WHEN value % 7 > 0 THEN value % 7 END AS a, CASE WHEN value % 11 > 0 THEN 'text ' || (value * 31 % 13) END AS b, value % 3 AS c";
        let values = "CASE WHEN value % 5 > 0 THEN value * 7919 % 10007 END AS v, CAST(value % 997 AS DECIMAL(12, 2)) AS m, CAST(value AS DOUBLE) / 8 AS f, value % 2 = 0 AS even";
        let rows = format!("SELECT value AS id, {keys}, {values} FROM generate_series({start} + 1, {start} + 20000) AS s (value)");
        db.run(&if start == 0 { format!("CREATE TABLE t AS {rows}") } else { format!("INSERT INTO t {rows}") });
    }
    db.run("DELETE FROM t WHERE id % 17 = 3");
    db
}

const EXACT: &str = "count(*), count(v), sum(v), min(v), max(v), min(b), max(m), sum(m), avg(m), avg(v), sum(f), regr_count(v, f), bool_and(even), \
     bool_or(v > 10000), bit_and(v), bit_or(v), bit_xor(v)";

/// Functions whose last digits depend on the order of the rows, each with the digits behind the point that do not.
const ROUNDED: [(&str, usize); 5] =
    [("stddev(v)", 3), ("var_pop(v)", 0), ("corr(v, f)", 6), ("covar_pop(v, f)", 0), ("regr_slope(v, f)", 6)];

fn functions() -> String {
    // The factor keeps results away from the middle between two numbers, and the sum has one zero.
    let rounded = ROUNDED.map(|(function, digits)| format!("round({function} * 0.73105857863, {digits}) + 0"));
    format!("{EXACT}, {}", rounded.join(", "))
}

#[test]
fn the_groups_of_each_set_are_those_of_all_rows() {
    let (db, functions) = (filled(), functions());
    for threads in ["3", "1"] {
        db.run(&format!("SET threads = {threads}"));
        for (keys, sets) in [
            ("a", "ROLLUP (a)"),
            ("a, b", "ROLLUP (a, b)"),
            ("a, b", "CUBE (a, b)"),
            ("a, b", "a, ROLLUP (b)"),
            ("a, b, c", "CUBE (c, b, a)"),
            ("a, b, c", "ROLLUP ((a, b), c)"),
            ("a, b, c", "GROUPING SETS ((c), (b, a), (a, b, c))"),
            ("a, b", "GROUPING SETS ((a, b), (a), (a, b), (), (a), ())"),
            ("a, even", "CUBE (a, even)"),
            ("m, a", "ROLLUP (m, a)"),
            ("f, c", "CUBE (f, c)"),
        ] {
            let groupings = keys.split(", ").map(|key| format!("grouping({key})")).collect::<Vec<_>>().join(", ");
            let order = (1..=2 * keys.split(", ").count()).map(|at| at.to_string()).collect::<Vec<_>>().join(", ");
            let rows = same(&db, &format!("SELECT {keys}, {groupings}, {functions} FROM t GROUP BY {sets} ORDER BY {order}"));
            assert!(!rows.is_empty());
        }
    }
}

#[test]
fn keys_may_be_computed_or_nested_or_without_functions() {
    let db = filled();
    for sql in [
        "SELECT a + c, b || '!', count(*), grouping(a + c) FROM t GROUP BY ROLLUP (a + c, b || '!') ORDER BY 1, 2, 3",
        "SELECT l, b, sum(v) FROM (SELECT [a, c] AS l, b, v FROM t) AS q GROUP BY CUBE (l, b) ORDER BY 1, 2, 3",
        "SELECT a, count(*) FROM t GROUP BY ROLLUP (a, 'x') ORDER BY 1, 2",
        "SELECT a, b FROM t GROUP BY CUBE (a, b) ORDER BY 1, 2",
        "SELECT count(*) FROM (SELECT a, id FROM t GROUP BY ROLLUP (a, id)) AS q",
    ] {
        same(&db, sql);
    }
}

#[test]
fn conditions_on_rows_and_on_groups_are_kept() {
    let db = filled();
    for sql in [
        "SELECT a, b, count(*) FILTER (WHERE v > 5000), sum(v) FILTER (WHERE c = 1), sum(v) FROM t GROUP BY ROLLUP (a, b) ORDER BY 1, 2, 3, 5",
        "SELECT a, c, sum(v) FROM t WHERE a = 1 GROUP BY CUBE (a, c) ORDER BY 1, 2, 3",
        "SELECT a, b, sum(v) FROM t GROUP BY CUBE (a, b) HAVING sum(v) > 5000000 OR grouping(a, b) = 3 ORDER BY 1, 2, 3",
        "SELECT a, b, sum(v) FROM t GROUP BY GROUPING SETS ((a, b), (a)) HAVING a = 2 ORDER BY 1, 2, 3",
        "SELECT a, b, sum(v) FROM t GROUP BY CUBE (a, b) ORDER BY 3 DESC, 1, 2 LIMIT 5",
    ] {
        same(&db, sql);
    }
}

#[test]
fn sets_of_groups_may_be_read_joined_and_made_of_groups() {
    let db = filled();
    for sql in [
        "SELECT q.a, q.b, q.n, t.id FROM (SELECT a, b, count(*) AS n FROM t GROUP BY CUBE (a, b)) AS q JOIN t ON t.id = q.n ORDER BY 1, 2, 3, 4",
        "SELECT b, sum(n), grouping(b) FROM (SELECT a, b, count(*) AS n FROM t GROUP BY a, b) AS q GROUP BY ROLLUP (b) ORDER BY 1, 2",
        "SELECT a, sum(n), max(s) FROM (SELECT a, b, count(*) AS n, sum(v) AS s FROM t GROUP BY CUBE (a, b)) AS q GROUP BY CUBE (a) ORDER BY 1, 2",
        "SELECT x.a, sum(y.v), count(*) FROM t AS x JOIN t AS y ON x.id = y.v GROUP BY ROLLUP (x.a, y.c) ORDER BY 1, 2, 3",
        "SELECT a, count(*), row_number() OVER (ORDER BY count(*), a) FROM t GROUP BY ROLLUP (a) ORDER BY 3",
    ] {
        same(&db, sql);
    }
}

#[test]
fn without_rows_there_is_a_row_of_each_set_without_keys() {
    let db = filled();
    db.run("CREATE TABLE no_rows AS SELECT * FROM t WHERE id < 0");
    for table in ["no_rows", "(SELECT * FROM t WHERE v < -1) AS q"] {
        let counts = |sets: &str| same(&db, &format!("SELECT a, count(*), sum(v), avg(m), min(b) FROM {table} GROUP BY {sets}"));
        assert_eq!(counts("ROLLUP (a, b)"), ["NULL|0|NULL|NULL|NULL"]);
        assert_eq!(counts("GROUPING SETS ((a, b), (), (a), ())"), ["NULL|0|NULL|NULL|NULL"; 2]);
        assert!(counts("GROUPING SETS ((a, b), (a))").is_empty());
        assert_eq!(same(&db, &format!("SELECT {} FROM {table} GROUP BY CUBE (a, c)", functions())).len(), 1);
    }
}

/// Only one of the partitions has a row.
#[test]
fn a_partition_without_rows_changes_nothing() {
    let (db, functions) = (filled(), functions());
    for id in ["1", "30000"] {
        let rows = same(&db, &format!("SELECT a, c, {functions} FROM t WHERE id = {id} GROUP BY CUBE (a, c) ORDER BY 1, 2"));
        assert_eq!(rows.len(), 4);
    }
}

#[test]
fn sets_without_all_keys_and_states_that_grow_are_grouped_row_by_row() {
    let db = filled();
    for (functions, sets) in [
        ("sum(v)", "GROUPING SETS ((a), (b))"),
        ("sum(v)", "GROUPING SETS ((a), (b), ())"),
        ("sum(v)", "GROUPING SETS ((a, b), (b, c))"),
        ("sum(v)", "GROUPING SETS ((a, b))"),
        ("sum(v)", "a, b"),
        ("count(DISTINCT v), sum(v)", "ROLLUP (a, b)"),
        ("sum(DISTINCT c)", "CUBE (a, b)"),
        ("median(v)", "ROLLUP (a, b)"),
        ("sum(v), quantile_cont(v, 0.5)", "ROLLUP (a, b)"),
        ("array_agg(id ORDER BY id)", "ROLLUP (a, b)"),
        ("string_agg(b, ',' ORDER BY id)", "ROLLUP (a, c)"),
        ("last_value(v ORDER BY id)", "ROLLUP (a, b)"),
        ("approx_distinct(v)", "ROLLUP (a, b)"),
        ("histogram(v, [0, 5000, 10000])", "ROLLUP (a, b)"),
    ] {
        let sql = format!("SELECT {functions} FROM t GROUP BY {sets}");
        assert!(!plan(&db, &sql).contains("GroupingSetsExec"), "{sql}: {}", plan(&db, &sql));
        let found = db.sorted_rows(&sql);
        db.run("SET quiver.grouping_set_states = false");
        assert_eq!(found, db.sorted_rows(&sql), "{sql}");
        db.run("SET quiver.grouping_set_states = true");
    }
}

#[test]
fn only_one_operator_reads_rows() {
    let db = filled();
    let sql = "SELECT a, b, sum(v) FROM t GROUP BY GROUPING SETS ((a, b), (a), ())";
    for threads in [4, 1] {
        db.run(&format!("SET threads = {threads}"));
        let found = plan(&db, sql);
        let readers = found.matches("mode=Partial,").count() + found.matches("StoreAggregateExec").count();
        assert!(found.contains("GroupingSetsExec: sets=[(a, b), (a), ()]") && readers == 1, "{found}");
    }
}

#[test]
fn a_sum_that_leaves_its_type_is_an_error_in_the_coarse_sets_too() {
    let db = Db::new();
    db.run("CREATE TABLE t (a BIGINT, v BIGINT)");
    db.run(&format!("INSERT INTO t VALUES (1, {0}), (2, {0})", i64::MAX));
    let sql = "SELECT a, sum(v) FROM t GROUP BY ROLLUP (a)";
    let found = db.error(sql).to_string();
    db.run("SET quiver.grouping_set_states = false");
    assert_eq!(found, db.error(sql).to_string());
}

#[test]
fn states_larger_than_the_memory_are_spilled_and_right() {
    let db = Db::with(small_memory(96));
    db.load("t", &[], &numbers(0, 600_000));
    // As many groups as rows, so that rows soon become states without being grouped.
    let groups = "SELECT s, k, grouping(s) AS g, count(*) AS n, sum(id) AS total, avg(id) AS mean FROM t GROUP BY ROLLUP (s, k)";
    let sql = format!("SELECT count(*), sum(n), sum(total), max(n), sum(g) FROM ({groups}) AS q");
    assert_eq!(same(&db, &sql), ["1200001|1800000|539999100000|600000|1"]);
    assert!(db.run(&sql).report.spilled_bytes > 0);
}

#[test]
fn sets_of_groups_that_nobody_waits_for_stop() {
    let db = cancel::filled();
    cancel::stops(&db, "q-sets", "SELECT a.r + b.r AS g, a.k, count(*) FROM t a JOIN t b ON a.k = b.k GROUP BY ROLLUP (a.r + b.r, a.k)");
}

#[test]
fn many_sets_share_the_memory_that_there_is() {
    let db = Db::with(small_memory(96));
    db.load("t", &[], &numbers(0, 200_000));
    let groups = |sets: &str| {
        format!("SELECT count(*), sum(n), sum(total) FROM (SELECT count(*) AS n, sum(id) AS total FROM t GROUP BY {sets}) AS q")
    };
    same(&db, &groups("CUBE (id, s)"));
    same(&db, &groups("CUBE (id, s, k, id % 7, id % 1000, id / 3)"));
}
