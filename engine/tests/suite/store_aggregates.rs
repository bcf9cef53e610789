//! Aggregates that run in the scan: the same with `quiver.store_aggregates` on and off.

use crate::helpers::{Db, small_memory};

fn same(db: &Db, sql: &str) -> Vec<String> {
    db.rows_either_way("store_aggregates", "StoreAggregateExec", sql)
}

/// Rows in two segments whose columns are stored in different widths, and some in the table's log.
fn filled() -> Db {
    let db = Db::new();
    for (start, factor) in [(0, 1), (110_000, 100_000)] {
        let keys = "CASE WHEN i % 13 > 0 THEN 'kind ' || (i % 5) END AS few, (i % 40)::SMALLINT - 20 AS n, DATE '1992-01-01' + (i % 20)::INT AS day";
        let values = format!(
            "CASE WHEN i % 5 > 0 THEN (i % 101 - 50) * {factor} END AS v, CASE WHEN i % 7 > 0 THEN ((i % 900 - 450) * {factor})::DECIMAL(15, 2) / 4 END AS price, \
             (i % 11)::DECIMAL(15, 2) / 100 AS discount, (i % 97)::DOUBLE AS f, 'text ' || i AS every"
        );
        let rows = format!("SELECT i AS id, {keys}, {values} FROM generate_series({start}, {start} + 109999) AS s (i)");
        db.run(&if start == 0 { format!("CREATE TABLE t AS {rows}") } else { format!("INSERT INTO t {rows}") });
    }
    db.run("INSERT INTO t VALUES (1000000, 'new', 30000, '2200-01-01', 1, 0.25, 0.5, 0.5, 'x'), (1000001, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)");
    db.run("DELETE FROM t WHERE id % 17 = 3");
    db
}

#[test]
fn groups_and_sums_are_those_of_all_rows() {
    let db = filled();
    for threads in ["3", "1"] {
        db.run(&format!("SET threads = {threads}"));
        for keys in ["few", "n", "day", "few, n", "n, day", "few, day, n"] {
            let functions = "count(*), count(v), sum(v), sum(price), avg(price), sum(price * (1 - discount)), sum(price * (1 - discount) * (1 + discount)), \
                 avg(discount), sum(f), avg(v), min(every), max(price), min(day)";
            same(&db, &format!("SELECT {keys}, {functions} FROM t GROUP BY {keys} ORDER BY {keys}"));
            same(&db, &format!("SELECT {keys}, {functions} FROM t WHERE price > 10 AND id > 50000 GROUP BY {keys} ORDER BY {keys}"));
            assert!(same(&db, &format!("SELECT {keys}, {functions} FROM t WHERE id < 0 GROUP BY {keys}")).is_empty());
        }
        for condition in ["true", "price > 10", "price IS NULL", "id < 0", "id = 1000000", "id = 5"] {
            same(
                &db,
                &format!("SELECT sum(price), avg(price), count(*), count(v), sum(v), sum(price * discount) FROM t WHERE {condition}"),
            );
        }
    }
}

/// Without keys an accumulator that saw no row of its partition had no state, and the statement failed.
#[test]
fn functions_without_a_shortcut_may_see_no_row() {
    let db = filled();
    for condition in ["id = 6", "id < 0"] {
        let rows = |switch: &str| {
            db.run(&format!("SET quiver.store_aggregates = {switch}"));
            db.rows(&format!("SELECT sum(price), min(v), max(every) FROM t WHERE {condition}"))
        };
        assert_eq!(rows("true"), rows("false"));
    }
    same(&db, "SELECT few, sum(price), min(v), max(every) FROM t WHERE id = 5 GROUP BY few");
}

/// A zone that was left to DataFusion's accumulator, which took it that every group has a row, gave a sum of 0 and divided by no rows.
#[test]
fn a_group_without_values_has_no_sum_where_other_zones_took_another_way() {
    let db = Db::new();
    db.run(
        "CREATE TABLE t AS SELECT CASE WHEN i % 2 = 0 THEN 'a' ELSE 'b' END AS k, CASE WHEN i % 2 = 1 THEN CAST(i AS DECIMAL(20, 2)) END AS d \
         FROM generate_series(0, 199999) AS s (i)",
    );
    db.run("INSERT INTO t VALUES ('b', 1.00)");
    for threads in ["4", "1"] {
        db.run(&format!("SET threads = {threads}"));
        let rows = same(&db, "SELECT k, sum(d), avg(d), count(d) FROM t GROUP BY k ORDER BY k");
        assert_eq!(rows[0], "a|NULL|NULL|0");
    }
}

#[test]
fn a_sum_that_exceeds_its_type_is_an_error() {
    let db = Db::new();
    db.run("CREATE TABLE t AS SELECT (i % 3)::SMALLINT AS g, 1120000000000000 AS v FROM generate_series(0, 199999) AS s (i)");
    for sql in ["SELECT sum(v) FROM t", "SELECT g, sum(v) FROM t GROUP BY g"] {
        assert!(db.run(&format!("EXPLAIN {sql}")).text().contains("StoreAggregateExec"));
        assert!(db.error(sql).to_string().contains("out of range"), "{}", db.error(sql));
    }
    assert_eq!(same(&db, "SELECT g, sum(v) FROM t WHERE g = 1 AND v < 0 GROUP BY g").len(), 0);
    same(&db, "SELECT g, sum(CAST(v AS DECIMAL(38, 0))), sum(CAST(v AS DECIMAL(19, 0)) * v) FROM t GROUP BY g ORDER BY g");
}

#[test]
fn grouping_sets_start_from_groups_of_the_scan() {
    let db = filled();
    same(&db, "SELECT few, n, count(*), sum(price) FROM t GROUP BY CUBE (few, n) ORDER BY few, n, count(*)");
}

#[test]
fn what_would_gain_nothing_or_take_long_stays_with_datafusion() {
    let db = filled();
    for sql in [
        "SELECT every, count(*) FROM t GROUP BY every",
        "SELECT id, count(*) FROM t GROUP BY id",
        "SELECT sum(f), min(v) FROM t",
        "SELECT few, sum(DISTINCT v) FROM t GROUP BY few",
        "SELECT few, sum(v) FILTER (WHERE v > 0) FROM t GROUP BY few",
        "SELECT few, max(regexp_replace(every, 't', repeat('x', 1000))) FROM t GROUP BY few",
        "SELECT few, sum(v) FROM (SELECT * FROM t LIMIT 1000) AS q GROUP BY few",
    ] {
        let plan = db.run(&format!("EXPLAIN {sql}")).text();
        assert!(!plan.contains("StoreAggregateExec"), "{sql}: {plan}");
    }
}

#[test]
fn little_memory_is_enough() {
    let db = Db::with(small_memory(48));
    db.run("CREATE TABLE t AS SELECT 'group ' || (i % 4000) AS g, i::DECIMAL(12, 0) AS v, 'another text ' || i AS x FROM generate_series(0, 199999) AS s (i)");
    same(&db, "SELECT count(*), sum(s), max(m) FROM (SELECT g, sum(v) AS s, max(x) AS m FROM t GROUP BY g) AS q");
}
