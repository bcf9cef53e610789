//! The planner knows the order of a table, and EXPLAIN says what a query does.

use super::helpers::{Db, numbers};

fn sorts(db: &Db, sql: &str) -> bool {
    db.run(&format!("EXPLAIN {sql}")).text().contains("SortExec")
}

fn ordered() -> Db {
    let db = Db::new();
    db.load("t", &["id"], &numbers(0, 60_000));
    db
}

#[test]
fn an_order_by_the_cluster_key_needs_no_sort() {
    let db = ordered();
    for sql in ["SELECT id FROM t ORDER BY id", "SELECT s, id FROM t WHERE k = 3 ORDER BY id", "SELECT s FROM t ORDER BY id LIMIT 10"] {
        assert!(!sorts(&db, sql), "{sql}");
    }
    let ids: Vec<String> = (0..60_000).map(|id| id.to_string()).collect();
    assert_eq!(db.rows("SELECT id FROM t ORDER BY id"), ids);
    let thirds: Vec<String> = (0..60_000).filter(|id| id % 10 == 3).map(|id| id.to_string()).collect();
    assert_eq!(db.rows("SELECT id FROM t WHERE k = 3 ORDER BY id"), thirds);
}

#[test]
fn another_order_is_sorted() {
    let db = ordered();
    for (sql, first) in
        [("SELECT id FROM t ORDER BY id DESC", "59999"), ("SELECT id FROM t ORDER BY k, id", "0"), ("SELECT r FROM t ORDER BY r", "0")]
    {
        assert!(sorts(&db, sql), "{sql}");
        assert_eq!(db.rows(sql)[0], first);
    }
}

#[test]
fn segments_that_follow_one_another_keep_the_order() {
    let db = ordered();
    db.load("t", &[], &numbers(60_000, 90_000));
    assert!(!sorts(&db, "SELECT id FROM t ORDER BY id"));
    let ids: Vec<String> = (0..90_000).map(|id| id.to_string()).collect();
    assert_eq!(db.rows("SELECT id FROM t ORDER BY id"), ids);
}

#[test]
fn segments_that_overlap_are_still_put_in_order() {
    let db = ordered();
    db.load("t", &[], &numbers(59_999, 60_010));
    db.run("INSERT INTO t VALUES (-3, 0, 0, 'first'), (30000, 0, 0, 'again')");
    let mut ids: Vec<i64> = (0..60_000).chain(59_999..60_010).chain([-3, 30_000]).collect();
    ids.sort_unstable();
    let ids: Vec<String> = ids.into_iter().map(|id| id.to_string()).collect();
    assert_eq!(db.rows("SELECT id FROM t ORDER BY id"), ids);
    let last: Vec<String> = ids.iter().rev().take(3).cloned().collect();
    assert_eq!(db.rows("SELECT id FROM t ORDER BY id DESC LIMIT 3"), last);
}

#[test]
fn rows_are_sorted_by_the_key_on_their_way_in() {
    let db = Db::new();
    db.run("CREATE TABLE t (a int, b varchar) ORDER BY (a, b)");
    db.run("INSERT INTO t VALUES (2, 'x'), (NULL, 'n'), (1, 'b'), (1, NULL), (1, 'a')");
    // Without ORDER BY: as they lie.
    assert_eq!(db.rows("SELECT * FROM t"), ["1|a", "1|b", "1|NULL", "2|x", "NULL|n"]);
    assert_eq!(db.rows("SELECT * FROM t ORDER BY a, b"), ["1|a", "1|b", "1|NULL", "2|x", "NULL|n"]);
    assert_eq!(db.rows("SELECT * FROM t ORDER BY a NULLS FIRST, b LIMIT 2"), ["NULL|n", "1|a"]);
    db.run("CREATE TABLE u ORDER BY (v) AS SELECT 10 - value AS v FROM generate_series(1, 5) AS g(value)");
    assert_eq!(db.rows("SELECT v FROM u"), ["5", "6", "7", "8", "9"]);
}

#[test]
fn a_table_clustered_by_a_column_is_one_ordered_by_it() {
    let db = Db::new();
    db.run("CREATE TABLE t (a int, b int) CLUSTER BY (b)");
    db.run("INSERT INTO t VALUES (1, 3), (2, 1), (3, 2)");
    assert_eq!(db.rows("SELECT b FROM t"), ["1", "2", "3"]);
    db.run("OPTIMIZE TABLE t");
    assert!(!sorts(&db, "SELECT a FROM t ORDER BY b"));
}

#[test]
fn a_descending_key_is_known_as_such() {
    let db = Db::new();
    db.load("t", &["id desc"], &numbers(0, 60_000));
    assert!(!sorts(&db, "SELECT id FROM t ORDER BY id DESC"));
    assert!(sorts(&db, "SELECT id FROM t ORDER BY id"));
    assert_eq!(db.rows("SELECT id FROM t ORDER BY id DESC LIMIT 2"), ["59999", "59998"]);
    assert_eq!(db.rows("SELECT id FROM t ORDER BY id LIMIT 2"), ["0", "1"]);
}

#[test]
fn windows_and_groups_over_the_key_are_right() {
    let db = ordered();
    let running = db.rows("SELECT id, sum(k) OVER (ORDER BY id) FROM t ORDER BY id LIMIT 3");
    assert_eq!(running, ["0|0", "1|1", "2|3"]);
    assert_eq!(db.value("SELECT max(n) FROM (SELECT id, count(*) AS n FROM t GROUP BY id)"), "1");
    assert_eq!(db.value("SELECT count(*) FROM (SELECT DISTINCT id FROM t ORDER BY id)"), "60000");
    let joined = db.rows("SELECT a.id FROM t a JOIN t b ON a.id = b.id ORDER BY a.id LIMIT 3 OFFSET 30000");
    assert_eq!(joined, ["30000", "30001", "30002"]);
}

#[test]
fn a_key_without_bounds_promises_no_order_from_one_segment_to_the_next() {
    let db = Db::new();
    db.run("CREATE TABLE t (l bigint[]) ORDER BY (l)");
    db.run("INSERT INTO t SELECT [value] FROM generate_series(10, 20000) AS g(value)");
    db.run("INSERT INTO t SELECT [value] FROM generate_series(1, 20000) AS g(value)");
    assert_eq!(db.segments("t").len(), 2);
    assert_eq!(db.rows("SELECT l FROM t ORDER BY l LIMIT 3"), ["[1]", "[2]", "[3]"]);
}

#[test]
fn explain_shows_the_scan_and_its_filter() {
    let db = ordered();
    let text = db.run("EXPLAIN SELECT s FROM t WHERE id = 5").text();
    assert!(text.contains("StoreScan table=main.t") && text.contains("columns=[s]") && text.contains("id@0 = 5"), "{text}");
    assert!(!text.contains("FilterExec"), "the scan filters: {text}");
}

#[test]
fn explain_analyze_shows_bytes_touched_and_zones_pruned() {
    let db = ordered();
    let text = db.run("EXPLAIN ANALYZE SELECT id FROM t WHERE id = 5").text();
    assert!(text.contains("zones_pruned=7") && text.contains("zones_total=8"), "{text}");
    assert!(text.contains("bytes_touched=") && !text.contains("bytes_touched=0"), "{text}");
}

#[test]
fn explain_runs_nothing() {
    let db = ordered();
    let report = db.run("EXPLAIN SELECT sum(id) FROM t").report;
    assert_eq!((report.bytes_touched, report.rows_scanned), (0, 0));
    db.run("EXPLAIN INSERT INTO t VALUES (1, 1, 1, 'x')");
    assert_eq!(db.value("SELECT count(*) FROM t"), "60000");
}

#[test]
fn the_declared_order_survives_reopening() {
    let db = ordered().reopened();
    assert!(!sorts(&db, "SELECT id FROM t ORDER BY id"));
    db.run("INSERT INTO t VALUES (70001, 0, 0, 'b'), (70000, 0, 0, 'a')");
    assert!(sorts(&db, "SELECT id FROM t ORDER BY id"), "the log of small inserts has no order");
    db.run("OPTIMIZE TABLE t");
    assert!(!sorts(&db, "SELECT id FROM t ORDER BY id"));
    assert_eq!(db.rows("SELECT id FROM t ORDER BY id OFFSET 59999"), ["59999", "70000", "70001"]);
}

#[test]
fn an_optimisation_switched_off_changes_no_answer() {
    let db = Db::new();
    db.load("t", &[], &numbers(0, 50_000));
    let sql = "SELECT count(*), sum(a.id) FROM t a JOIN t b ON a.id = b.id WHERE b.k = 3 AND a.id IN (3, 13, 23, 40003)";
    let answer = db.rows(sql);
    for switch in ["zone_pruning", "integer_sets", "await_join_filters", "fast_decimals"] {
        db.run(&format!("SET quiver.{switch} = false"));
        assert_eq!(db.rows(sql), answer, "{switch}");
    }
    db.run("RESET quiver.zone_pruning");
    assert!(db.error("SET quiver.zone_prunin = false").hint().is_some_and(|hint| hint.contains("quiver.zone_pruning")));
}
