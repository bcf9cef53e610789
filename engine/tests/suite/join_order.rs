//! The order of inner joins: the rows are the same in the order of the statement and in that of `quiver.join_order`.

use crate::helpers::Db;

/// A star: few days and shops, many sales, and stock of each item on each day.
fn db() -> Db {
    let db = Db::new();
    db.script(
        "CREATE TABLE day AS SELECT i AS d, i / 7 AS week, 'month ' || (i / 30) AS month FROM generate_series(0, 364) AS s (i);
         CREATE TABLE item AS SELECT i AS item, i % 20 AS class, CASE WHEN i % 9 > 0 THEN i % 50 END AS brand FROM generate_series(0, 499) AS s (i);
         CREATE TABLE shop AS SELECT i AS shop, i % 3 AS region FROM generate_series(0, 9) AS s (i);
         CREATE TABLE region AS SELECT i AS region, 'region ' || i AS name FROM generate_series(0, 2) AS s (i);
         CREATE TABLE sale AS SELECT i % 365 AS d, i * 7 % 500 AS item, CASE WHEN i % 11 > 0 THEN i % 10 END AS shop, i % 13 AS quantity FROM generate_series(0, 19999) AS s (i);
         CREATE TABLE stock AS SELECT d.d, i.item, (d.d + i.item) % 17 AS quantity FROM day d, item i WHERE d.d % 5 = 0",
    );
    db
}

/// The tables in the order of the plan's scans.
fn scans(db: &Db, sql: &str) -> Vec<String> {
    let plan = db.run(&format!("EXPLAIN {sql}")).text();
    let name = |line: &str| Some(line.split_once("table=main.")?.1.split(',').next()?.to_owned());
    plan.lines().filter_map(name).collect()
}

fn either_way(db: &Db, sql: &str) -> Vec<String> {
    db.run("SET quiver.join_order = false");
    let expected = db.sorted_rows(sql);
    db.run("SET quiver.join_order = true");
    assert_eq!(db.sorted_rows(sql), expected, "{sql}");
    expected
}

#[test]
fn tables_that_are_only_joined_by_a_key_of_many_rows_come_last() {
    let db = db();
    // As TPC-DS's Q72: the stock of an item has a row for each day, and only the week makes them few.
    let sql = "SELECT count(*), sum(t.quantity) FROM stock t JOIN sale s ON s.item = t.item JOIN day sold ON sold.d = s.d \
               JOIN day kept ON kept.d = t.d JOIN item i ON i.item = s.item WHERE sold.week = kept.week AND sold.month = 'month 3' AND i.class = 4";
    assert_eq!(either_way(&db, sql).len(), 1);
    db.run("SET quiver.join_order = false");
    let written = scans(&db, sql);
    db.run("SET quiver.join_order = true");
    assert_ne!(scans(&db, sql), written);
}

#[test]
fn every_kind_of_condition_is_kept() {
    let db = db();
    let from = "FROM sale s JOIN item i ON s.item = i.item JOIN day d ON d.d = s.d JOIN shop h ON h.shop = s.shop JOIN region r ON r.region = h.region";
    for (columns, condition) in [
        ("count(*), sum(s.quantity)", "r.name = 'region 1'"),
        ("count(*), sum(s.quantity)", "i.class + 1 = d.week AND r.name <> 'region 0'"),
        ("count(*), sum(s.quantity)", "(r.name = 'region 1' AND i.class = 3) OR (r.name = 'region 2' AND i.class = 4)"),
        ("count(*), min(d.month)", "s.quantity > h.region + i.class"),
        ("count(*), count(i.brand)", "i.brand = d.week AND i.brand = s.quantity"),
        ("count(*)", "s.item = s.d AND i.item = d.d"),
        ("count(*)", "i.class = h.region AND i.brand = h.region"),
        ("count(*)", "random() >= 0 AND d.d < 30"),
        ("d.month, r.name, count(*), sum(s.quantity)", "i.class < 3 GROUP BY d.month, r.name"),
    ] {
        either_way(&db, &format!("SELECT {columns} {from} WHERE {condition}"));
    }
    let columns = "SELECT r.*, h.*, d.*, i.*, s.*";
    assert!(!either_way(&db, &format!("{columns} {from} WHERE d.d = 7 AND i.class < 5")).is_empty());
}

#[test]
fn other_joins_stay_where_they_are() {
    let db = db();
    for sql in [
        "SELECT count(*), count(d.d) FROM sale s LEFT JOIN day d ON d.d = s.d AND d.week = 4 JOIN item i ON i.item = s.item JOIN shop h ON h.shop = s.shop WHERE i.class = 1",
        "SELECT count(*) FROM sale s JOIN item i ON i.item = s.item JOIN shop h ON h.shop = s.shop WHERE i.class = 1 AND s.d NOT IN (SELECT d FROM day WHERE week = 2)",
        "SELECT count(*) FROM (SELECT DISTINCT item, shop FROM sale) s JOIN item i ON i.item = s.item JOIN shop h ON h.shop = s.shop JOIN region r ON r.region = h.region WHERE i.class = 1",
        "SELECT count(*) FROM sale s JOIN shop h ON s.shop IS NOT DISTINCT FROM h.shop JOIN item i ON i.item = s.item JOIN region r ON r.region = h.region",
        "SELECT a.item, b.item, c.item FROM item a JOIN item b ON a.item = b.item + 1 JOIN item c ON b.item = c.item + 1 WHERE c.class = 3",
        "SELECT count(*) FROM sale s, shop h, region r, (SELECT max(d) AS last FROM day) m WHERE s.shop = h.shop AND h.region = r.region AND s.d = m.last",
    ] {
        assert!(!either_way(&db, sql).is_empty());
    }
}

#[test]
fn more_tables_than_all_orders_can_be_tried_for_are_joined() {
    let db = db();
    let tables: Vec<String> = (0..14).map(|number| format!("JOIN day d{number} ON d{number}.d = s.d")).collect();
    let sql = format!("SELECT count(*) FROM sale s JOIN item i ON i.item = s.item {} WHERE d13.week = 3 AND i.class = 2", tables.join(" "));
    either_way(&db, &sql);
}

/// A key that a projection below has renamed: the join was refused.
#[test]
fn keys_may_have_another_name_below() {
    let db = db();
    db.script("CREATE TABLE a AS SELECT item AS id, (item % 40)::DOUBLE AS f FROM item; CREATE TABLE c AS SELECT i::DOUBLE AS f, i AS k FROM generate_series(0, 39) AS s (i)");
    for condition in ["x.g = c.f", "x.g = c.f AND x.i > c.k", "x.g + 1 = c.f"] {
        let inner = "SELECT a.id AS i, a.f AS g, s.quantity AS q FROM sale s JOIN a ON a.id = s.item";
        either_way(&db, &format!("SELECT count(*), sum(x.q) FROM ({inner}) x JOIN c ON {condition} WHERE c.k = 1"));
    }
}

#[test]
fn an_outer_join_is_an_inner_join_where_a_key_above_drops_its_filled_rows() {
    let db = db();
    // As TPC-DS's Q93: only items that are returned have a reason.
    let joined = "FROM sale s LEFT JOIN stock t ON s.item = t.item AND s.d = t.d, day k";
    let is_outer = |condition: &str| {
        let plan = db.run(&format!("EXPLAIN SELECT count(*) {joined} WHERE {condition}")).text();
        plan.contains("join_type=Left,") || plan.contains("join_type=Right,")
    };
    assert!(is_outer("s.d = k.d AND k.month = 'month 3'"));
    assert!(!is_outer("t.d = k.d AND k.month = 'month 3'"));
    assert_eq!(either_way(&db, &format!("SELECT count(*), sum(t.quantity) {joined} WHERE t.d = k.d")).len(), 1);
}
