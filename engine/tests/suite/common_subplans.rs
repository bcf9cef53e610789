//! Subplans that a statement has several times: they run once, and the rows are the same as when they run apart.

use crate::helpers::{Db, numbers, small_memory, soon};

/// Sales with NULLs, and what is sold.
fn db() -> Db {
    let db = Db::new();
    db.script(
        "CREATE TABLE item AS SELECT i AS item, i % 20 AS class, 'brand ' || (i % 50) AS brand FROM generate_series(0, 499) AS s (i);
         CREATE TABLE sale AS SELECT i * 7 % 500 AS item, i % 365 AS d, CASE WHEN i % 11 > 0 THEN i % 10 END AS shop, i % 13 AS quantity, (i % 100) / 4.0 AS price FROM generate_series(0, 19999) AS s (i)",
    );
    db
}

/// How many subplans run once, and how often their rows are read.
fn shared(db: &Db, sql: &str) -> (usize, usize) {
    let plan = db.run(&format!("EXPLAIN {sql}")).text();
    let subplans =
        plan.lines().find_map(|line| line.split_once("CommonSubplansExec: subplans=[")).map_or(0, |(_, list)| list.split(',').count());
    (subplans, plan.matches("SubplanScanExec").count())
}

fn either_way(db: &Db, sql: &str) -> Vec<String> {
    db.run("SET quiver.common_subplans = false");
    assert_eq!(shared(db, sql), (0, 0), "{sql}");
    let expected = db.sorted_rows(sql);
    db.run("SET quiver.common_subplans = true");
    assert_eq!(db.sorted_rows(sql), expected, "{sql}");
    expected
}

#[test]
fn a_query_that_is_named_twice_runs_once() {
    let db = db();
    let of_shops = "WITH v AS (SELECT shop, d, sum(quantity) AS q, avg(price) AS p FROM sale JOIN item ON sale.item = item.item WHERE class < 5 GROUP BY shop, d)";
    let sql = format!("{of_shops} SELECT a.shop, a.d, a.q, b.q FROM v a JOIN v b ON a.shop = b.shop AND a.d = b.d + 5 WHERE a.q > 10");
    assert_eq!(shared(&db, &sql), (1, 2));
    assert!(!either_way(&db, &sql).is_empty());
    // Each needs other columns, and one has a condition of its own.
    let sql = format!("{of_shops} SELECT (SELECT sum(q) FROM v WHERE shop IS NULL), (SELECT max(p) FROM v), (SELECT min(q) FROM v)");
    assert_eq!(shared(&db, &sql), (1, 2));
    assert_eq!(either_way(&db, &sql).len(), 1);
    let sql = format!(
        "{of_shops} SELECT count(*) FROM v WHERE shop IN (SELECT shop FROM v WHERE q > 40) AND d NOT IN (SELECT d FROM v WHERE q > 60)"
    );
    assert_eq!(shared(&db, &sql).0, 1);
    assert_eq!(either_way(&db, &sql).len(), 1);
}

#[test]
fn equal_subqueries_run_once() {
    let db = db();
    // As TPC-H's Q11: the condition needs one column fewer of the same rows.
    let rows = "FROM sale, item WHERE sale.item = item.item AND brand = 'brand 7'";
    let sql = format!(
        "SELECT shop, sum(price * quantity) AS v {rows} GROUP BY shop HAVING sum(price * quantity) > (SELECT sum(v) * 0.1 FROM (SELECT shop, sum(price * quantity) AS v {rows} GROUP BY shop) AS s)"
    );
    assert_eq!(shared(&db, &sql), (1, 2));
    assert!(!either_way(&db, &sql).is_empty());
    db.run("CREATE VIEW best AS SELECT item, max(quantity) AS most FROM sale GROUP BY item");
    let sql = "SELECT count(*) FROM best WHERE most = (SELECT max(most) FROM best)";
    assert_eq!(shared(&db, sql), (1, 2));
    assert_eq!(either_way(&db, sql).len(), 1);
}

#[test]
fn a_subplan_of_a_subplan_runs_once() {
    let db = db();
    let sql = "WITH v AS (SELECT item, sum(quantity) AS q FROM sale GROUP BY item), w AS (SELECT class, sum(q) AS q FROM v JOIN item ON v.item = item.item GROUP BY class) \
               SELECT a.class, a.q, b.q, (SELECT max(q) FROM v) FROM w a JOIN w b ON a.class = b.class + 1";
    assert_eq!(shared(&db, sql), (2, 4));
    assert!(!either_way(&db, sql).is_empty());
    let plan = db.run(&format!("EXPLAIN ANALYZE {sql}")).text();
    assert_eq!(plan.matches("SubplanScanExec: subplan=2, metrics=[output_rows=500").count(), 2, "{plan}");
    assert_eq!(plan.matches("StoreScan table=main.sale").count(), 1, "{plan}");
}

#[test]
fn what_differs_runs_apart() {
    let db = db();
    for sql in [
        // A condition goes into one of them.
        "WITH v AS (SELECT shop, d, sum(quantity) AS q FROM sale GROUP BY shop, d) SELECT a.q, b.q FROM v a JOIN v b ON a.shop = b.shop WHERE a.d = 3 AND b.d = 8",
        "SELECT (SELECT sum(q) FROM (SELECT d, max(quantity) AS q FROM sale WHERE shop = 1 GROUP BY d) s), (SELECT sum(q) FROM (SELECT d, max(quantity) AS q FROM sale WHERE shop = 2 GROUP BY d) s)",
        // Two calls of a function have one name.
        "SELECT * FROM (SELECT sum(value) AS s FROM range(1, 5)) AS a, (SELECT sum(value) AS s FROM range(1, 7)) AS b",
        // Filters go through joins, and their rows may be more than those of their inputs.
        "WITH v AS (SELECT sale.item, shop, class FROM sale JOIN item ON sale.item = item.item) SELECT count(*) FROM v a JOIN v b ON a.item = b.item WHERE a.shop < b.shop",
        "WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT n + (SELECT count(*) FROM (SELECT shop FROM sale GROUP BY shop) s) - (SELECT count(*) FROM (SELECT shop FROM sale GROUP BY shop) s) + 1 FROM r WHERE n < 5) SELECT * FROM r",
    ] {
        assert_eq!(shared(&db, sql), (0, 0), "{sql}");
        assert!(!either_way(&db, sql).is_empty());
    }
    let random = "SELECT shop, max(random()) AS r FROM sale GROUP BY shop";
    let sql = format!("SELECT count(*) FROM ({random}) a JOIN ({random}) b ON a.shop = b.shop WHERE a.r <> b.r");
    assert_eq!(shared(&db, &sql), (0, 0));
    assert_eq!(db.value(&sql), "10");
}

#[test]
fn a_statement_that_writes_runs_them_once_too() {
    let db = db();
    let query = "WITH v AS (SELECT shop, sum(quantity) AS q FROM sale GROUP BY shop) SELECT a.shop, a.q, b.q AS next FROM v a JOIN v b ON a.shop = b.shop + 1";
    db.run(&format!("CREATE TABLE made AS {query}"));
    db.run(&format!("INSERT INTO made {query}"));
    assert_eq!(db.value("SELECT count(*) FROM made"), "18");
    let sql = "UPDATE made SET q = 0 WHERE q = (SELECT max(q) FROM (SELECT shop, sum(quantity) AS q FROM sale GROUP BY shop) s) \
               OR q = (SELECT min(q) FROM (SELECT shop, sum(quantity) AS q FROM sale GROUP BY shop) s)";
    db.run(sql);
    assert!(db.value("SELECT count(*) FROM made WHERE q = 0").parse::<usize>().unwrap() >= 2);
}

#[test]
fn an_error_of_a_subplan_is_the_statement_s() {
    let db = db();
    let sql =
        "WITH v AS (SELECT shop, sum(100 / (quantity - 5)) AS q FROM sale GROUP BY shop) SELECT count(*) FROM v a JOIN v b ON a.q = b.q";
    assert_eq!(shared(&db, sql), (1, 2));
    assert!(db.error(sql).to_string().contains("Divide by zero"), "{}", db.error(sql));
}

#[test]
fn a_reader_that_stops_early_stops_nobody() {
    let db = db();
    let v = "WITH v AS (SELECT item, d, sum(quantity) AS q FROM sale GROUP BY item, d)";
    let sql = format!("{v} SELECT count(*) FROM v WHERE q >= (SELECT q FROM v ORDER BY q DESC, item, d LIMIT 1) - 5");
    assert_eq!(either_way(&db, &sql).len(), 1);
    let sql = format!("{v} SELECT count(*) FROM (SELECT * FROM v LIMIT 3) a, (SELECT count(*) AS n FROM v) b");
    assert_eq!(db.value(&sql), "3");
    let sql = format!("{v} SELECT count(*) FROM (SELECT item FROM v WHERE false) a JOIN v b ON a.item = b.item");
    assert_eq!(db.value(&sql), "0");
    // A nested loop may run its build side for each piece of the other one.
    let sql = format!("{v} SELECT count(*) FROM v a JOIN v b ON a.q < b.q - 130 LEFT JOIN v c ON c.q > a.q + b.q");
    assert_eq!(either_way(&db, &sql).len(), 1);
}

#[test]
fn rows_that_do_not_fit_are_spilled() {
    let db = Db::with(small_memory(96));
    db.load("t", &[], &numbers(0, 400_000));
    let sql = "WITH v AS (SELECT DISTINCT r, s FROM t) SELECT count(*), count(DISTINCT a.r), max(a.s), min(a.s) FROM (SELECT * FROM v UNION ALL SELECT * FROM v) a";
    assert_eq!(shared(&db, sql), (1, 2));
    let ran = db.run(sql);
    assert!(ran.report.spilled_bytes > 0, "{:?}", ran.report);
    assert_eq!(ran.rows(), ["800000|400000|this is the text of row number 00399999|this is the text of row number 00000000"]);
    assert!(soon(|| db.spill_files().is_empty()), "{:?}", db.spill_files());
}

#[test]
fn rows_come_in_the_order_of_the_statement() {
    let db = db();
    let v = "WITH v AS (SELECT shop, sum(quantity) AS q FROM sale GROUP BY shop)";
    for sql in [
        // By a column that is not selected.
        format!("{v} SELECT a.shop FROM v a JOIN v b ON a.shop = b.shop + 1 ORDER BY a.q DESC, b.q"),
        format!(
            "{v} SELECT a.shop FROM v a JOIN v b ON a.shop = b.shop + 1 WHERE a.q > (SELECT min(q) FROM v) ORDER BY a.q * -1, b.q LIMIT 5"
        ),
        format!("{v} SELECT shop, q FROM v UNION ALL SELECT shop, -q FROM v ORDER BY 2, 1"),
    ] {
        let rows = db.rows_either_way("common_subplans", "CommonSubplansExec", &sql);
        assert!(!rows.is_empty());
    }
    db.run(&format!("CREATE TABLE sorted AS {v} SELECT a.shop FROM v a JOIN v b ON a.shop = b.shop + 1 ORDER BY a.q DESC, b.q"));
    assert_eq!(
        db.rows("SELECT shop FROM sorted"),
        db.rows(&format!("{v} SELECT a.shop FROM v a JOIN v b ON a.shop = b.shop + 1 ORDER BY a.q DESC, b.q"))
    );
}

#[test]
fn a_subquery_in_a_subplan_has_run_before_its_rows_are_read() {
    let db = db();
    // The plan runs all subqueries first, at the same time: one that reads the subplan would need the one inside it.
    let v = "WITH v AS (SELECT shop, sum(quantity) AS q FROM sale GROUP BY shop HAVING sum(quantity) > (SELECT avg(a.price) FROM sale a, item b WHERE b.item < 50))";
    let rows = either_way(&db, &format!("{v} SELECT shop, q * 100 / (SELECT max(q) FROM v) FROM v"));
    assert!(!rows.is_empty());
    let sql = format!("{v} SELECT a.shop, b.q FROM v a JOIN v b ON a.shop = b.shop + 1");
    assert_eq!(shared(&db, &sql), (1, 2));
    assert!(!either_way(&db, &sql).is_empty());
}

#[test]
fn the_groups_of_a_subplan_keep_all_their_keys() {
    let db = db();
    db.script(
        "CREATE TABLE visits AS SELECT i % 4 AS cid FROM generate_series(1, 100) AS s (i);
         CREATE TABLE orders AS SELECT i % 4 AS cid, i % 3 AS m, i AS q FROM generate_series(1, 100) AS s (i)",
    );
    let sql = "WITH per AS (SELECT c.cid, o.m, sum(o.q) AS x FROM (SELECT cid, count(*) AS n FROM visits GROUP BY cid) c JOIN orders o ON o.cid = c.cid GROUP BY c.cid, o.m), \
               v AS (SELECT cid, count(*) AS months FROM (SELECT DISTINCT cid, m FROM per) d GROUP BY cid) \
               SELECT a.cid, a.months, b.months FROM v a JOIN v b ON a.cid = b.cid";
    assert_eq!(either_way(&db, sql), ["0|3|3", "1|3|3", "2|3|3", "3|3|3"]);
}

#[test]
fn every_operator_may_be_in_a_subplan() {
    let db = db();
    for v in [
        "SELECT shop, d, sum(quantity) AS q FROM sale GROUP BY ROLLUP (shop, d)",
        "SELECT shop, 0 AS d, q FROM (SELECT shop, q, row_number() OVER (ORDER BY q, shop) AS n FROM (SELECT shop, sum(quantity) AS q FROM sale GROUP BY shop) s) r WHERE n < 5",
        "SELECT shop, d, sum(q) AS q FROM (SELECT shop, d, quantity AS q FROM sale UNION ALL SELECT item, class, 1 FROM item) u GROUP BY shop, d",
        "SELECT DISTINCT shop, 1 AS d, quantity AS q FROM sale",
        "SELECT shop, max(d) AS d, count(DISTINCT quantity) AS q FROM sale WHERE item IN (SELECT item FROM item WHERE class = 3) GROUP BY shop",
        "SELECT shop, max(d) AS d, sum(quantity) AS q FROM (SELECT * FROM sale ORDER BY item, d, price LIMIT 500) s GROUP BY shop",
        "SELECT s.shop, i.class AS d, count(*) AS q FROM sale s LEFT JOIN item i ON s.item = i.item AND i.class < 4 GROUP BY s.shop, i.class",
    ] {
        let sql = format!(
            "WITH v AS ({v}) SELECT a.shop, a.d, a.q, b.q FROM v a JOIN v b ON a.shop IS NOT DISTINCT FROM b.shop AND a.d IS NOT DISTINCT FROM b.d"
        );
        assert!(!either_way(&db, &sql).is_empty(), "{sql}");
    }
}

#[test]
fn a_branch_that_is_never_true_is_not_run() {
    let db = db();
    db.run("CREATE VIEW both_kinds AS SELECT 'sale' AS kind, shop, sum(quantity) AS q FROM sale GROUP BY shop UNION ALL SELECT 'item', class, count(*) FROM item GROUP BY class");
    let sql = "SELECT shop, q FROM both_kinds WHERE kind = 'item'";
    let plan = db.run(&format!("EXPLAIN {sql}")).text();
    assert!(!plan.contains("main.sale") && plan.contains("main.item"), "{plan}");
    assert_eq!(db.rows(sql).len(), 20);
    assert_eq!(db.value("SELECT count(*) FROM both_kinds WHERE kind = 'other'"), "0");
}
