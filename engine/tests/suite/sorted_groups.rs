//! Groups of columns whose rows are in order: the same with `quiver.store_aggregates` on and off.

use crate::helpers::Db;

fn same(db: &Db, sql: &str) -> Vec<String> {
    db.rows_either_way("store_aggregates", "SortedGroupsExec", sql)
}

fn plan(db: &Db, sql: &str) -> String {
    db.run(&format!("EXPLAIN {sql}")).text()
}

/// Keys in order, in two segments: most of few rows, which no power of two divides, so that they lie across the ends of zones; some larger than what a
/// scan reads in one piece.
fn filled() -> Db {
    let db = Db::new();
    // Other statements have the threads that they have.
    db.run("SET threads = 1");
    for (start, end) in [(0, 299_999), (300_000, 599_999)] {
        let keys = "i / 3 AS few, i / 70000 * 1000000 - 3000000 AS many, i AS id, DATE '1992-01-01' + (i / 20)::INT AS day, to_timestamp(i / 7) AS at, \
             ((i / 5)::DECIMAL(15, 2)) AS price";
        let values = "CASE WHEN i % 5 > 0 THEN i % 101 - 50 END AS v, (i % 900)::DECIMAL(15, 2) / 4 AS d, (i % 97)::DOUBLE AS f, 'text ' || (i % 7) AS s";
        let rows = format!("SELECT {keys}, {values}, (i * 7919) % 1000003 AS mixed FROM generate_series({start}, {end}) AS g (i)");
        db.run(&if start == 0 { format!("CREATE TABLE t AS {rows}") } else { format!("INSERT INTO t {rows}") });
    }
    db.run("OPTIMIZE TABLE t");
    db.run("RESET threads");
    db
}

const FUNCTIONS: &str = "count(*), count(v), sum(v), sum(d), avg(d), avg(v), min(s), max(d), min(f), sum(v + id), avg(f)";

#[test]
fn groups_are_those_of_all_rows() {
    let db = filled();
    for threads in ["1", "2", "5"] {
        db.run(&format!("SET threads = {threads}"));
        for key in ["few", "many", "day", "at", "price"] {
            same(&db, &format!("SELECT {key}, {FUNCTIONS} FROM t GROUP BY {key} ORDER BY {key}"));
            same(&db, &format!("SELECT {key}, {FUNCTIONS} FROM t WHERE d > 100 AND id % 3 = 1 GROUP BY {key} ORDER BY {key}"));
        }
        same(&db, "SELECT few, sum(d) AS n FROM t GROUP BY few HAVING sum(d) > 890 ORDER BY few");
        assert!(same(&db, "SELECT few, sum(d) FROM t WHERE id < 0 GROUP BY few").is_empty());
    }
}

#[test]
fn deleted_rows_are_in_no_group() {
    let db = filled();
    db.run("DELETE FROM t WHERE id % 4 = 2 OR id BETWEEN 65000 AND 66000");
    same(&db, &format!("SELECT few, {FUNCTIONS} FROM t GROUP BY few ORDER BY few"));
    same(&db, &format!("SELECT many, {FUNCTIONS} FROM t GROUP BY many ORDER BY many"));
}

#[test]
fn what_is_above_may_rely_on_partitions_by_hash() {
    let db = filled();
    // Otherwise both sides of a join are one subplan.
    db.run("SET quiver.common_subplans = false");
    db.run("SET datafusion.optimizer.hash_join_single_partition_threshold = 0");
    db.run("SET datafusion.optimizer.hash_join_single_partition_threshold_rows = 0");
    let groups = |function: &str| format!("(SELECT few, {function} AS n FROM t GROUP BY few)");
    let (sums, counts) = (groups("sum(d)"), groups("count(v)"));
    let rows = |switch: &str, sql: &str| {
        db.run(&format!("SET quiver.store_aggregates = {switch}"));
        db.rows(sql)
    };
    let above = |sql: &str, is_sorted: bool| {
        assert_eq!(rows("true", sql), rows("false", sql), "{sql}");
        db.run("SET quiver.store_aggregates = true");
        assert_eq!(plan(&db, sql).contains("SortedGroupsExec"), is_sorted, "{sql}: {}", plan(&db, sql));
    };
    above(&format!("SELECT count(*), sum(a.n), sum(b.n) FROM {sums} a JOIN {counts} b ON a.few = b.few"), false);
    above(&format!("SELECT count(*), max(r) FROM (SELECT row_number() OVER (PARTITION BY few ORDER BY n) AS r FROM {sums})"), false);
    above(&format!("SELECT few, n FROM {sums} WHERE few < 9 UNION ALL SELECT few, n FROM {counts} WHERE few > 99990 ORDER BY 1, 2"), false);
    above(&format!("SELECT count(*), sum(n) FROM {sums}"), true);
    above(&format!("SELECT few, n FROM {sums} ORDER BY n DESC, few LIMIT 5"), true);
    for sql in [
        format!("SELECT count(*), sum(a.n) FROM {sums} a JOIN t b ON a.few = b.mixed"),
        format!("SELECT count(*), sum(n) FROM (SELECT few, n, count(*) FROM {sums} GROUP BY few, n)"),
        format!("SELECT count(*) FROM (SELECT DISTINCT few FROM {sums})"),
        format!("SELECT * FROM {sums} WHERE few < 9 UNION SELECT * FROM {counts} WHERE few < 7 ORDER BY 1, 2"),
        format!("SELECT few, n FROM {sums} UNION ALL SELECT few, n FROM {counts} ORDER BY 1, 2 LIMIT 20"),
    ] {
        assert_eq!(rows("true", &sql), rows("false", &sql), "{sql}");
    }
}

#[test]
fn rows_in_another_order_are_grouped_by_hash() {
    let db = filled();
    let refused = |sql: &str| assert!(!plan(&db, sql).contains("SortedGroupsExec"), "{sql}");
    refused("SELECT mixed, count(*) FROM t GROUP BY mixed");
    refused("SELECT v, count(*) FROM t GROUP BY v");
    refused("SELECT few, day, count(*) FROM t GROUP BY few, day");
    refused("SELECT few, count(DISTINCT v) FROM t GROUP BY few");
    refused("SELECT few, string_agg(s, ',') FROM t GROUP BY few");
    refused("SELECT few, sum(d) FROM (SELECT few, d FROM t LIMIT 1000) GROUP BY few");
    let sql = "SELECT few, count(*) AS n FROM t WHERE few < 3 GROUP BY few ORDER BY few";
    assert_eq!(same(&db, sql), ["0|3", "1|3", "2|3"]);
    // Rows in the log are in any order, and so are those of a segment that comes after others with greater keys.
    db.run("INSERT INTO t (few, id) VALUES (1, -1)");
    refused(sql);
    assert_eq!(db.rows(sql), ["0|3", "1|4", "2|3"]);
    db.run("OPTIMIZE TABLE t");
    refused(sql);
    assert_eq!(db.rows(sql), ["0|3", "1|4", "2|3"]);
}

#[test]
fn a_sum_that_exceeds_its_type_is_an_error_here_too() {
    let db = Db::new();
    db.run("SET threads = 1");
    db.run("CREATE TABLE big AS SELECT i / 4 AS k, 9223372036854775807 AS v FROM generate_series(0, 99999) AS g (i)");
    assert!(plan(&db, "SELECT k, sum(v) FROM big GROUP BY k").contains("SortedGroupsExec"));
    let message = |switch: &str| {
        db.run(&format!("SET quiver.store_aggregates = {switch}"));
        db.error("SELECT k, sum(v) FROM big GROUP BY k").to_string()
    };
    assert_eq!(message("true"), message("false"));
}
