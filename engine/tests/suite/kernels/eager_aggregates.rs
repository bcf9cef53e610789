//! Aggregates of a join's probe side before the join: the same with `quiver.eager_aggregates` on and off.

use crate::helpers::{Db, small_memory};

/// Sales of items of which some are not there, some have no key, and some have two rows.
fn filled(db: Db) -> Db {
    db.script(
        "CREATE TABLE sale AS SELECT CASE WHEN i % 101 > 0 THEN i % 300 END AS item, i % 3 AS shop, CAST(i % 17 AS INTEGER) AS quantity, \
             CASE WHEN i % 7 > 0 THEN CAST(i % 997 AS DECIMAL(7, 2)) / 4 END AS price, i AS id, CAST(i AS DOUBLE) / 8 AS weight \
             FROM generate_series(1, 80000) AS s (i);
         CREATE TABLE item AS SELECT i % 250 AS item, CASE WHEN i % 11 > 0 THEN 'brand ' || (i % 20) END AS brand, i % 4 AS class FROM generate_series(0, 270) AS s (i);
         INSERT INTO item VALUES (NULL, 'no brand', 1);
         CREATE TABLE offer AS SELECT i AS item, i % 3 AS shop, 'offer ' || (i % 9) AS name FROM generate_series(0, 299) AS s (i)",
    );
    db
}

fn same(db: &Db, sql: &str) -> Vec<String> {
    db.rows_either_way("eager_aggregates", "join_key_0", sql)
}

const FUNCTIONS: &str = "count(*), count(price), sum(quantity), sum(price), avg(price), min(price), max(weight), sum(weight), bool_or(quantity > 15), sum(quantity) FILTER (WHERE sale.shop = 1)";

#[test]
fn each_row_counts_for_all_rows_that_it_joins() {
    let db = filled(Db::new());
    let sql = format!("SELECT brand, {FUNCTIONS} FROM sale JOIN item ON sale.item = item.item GROUP BY brand ORDER BY brand");
    let rows = same(&db, &sql);
    assert_eq!(rows.len(), 21);
    db.run("SET datafusion.execution.target_partitions = 1");
    assert_eq!(same(&db, &sql), rows);
}

#[test]
fn groups_may_have_keys_of_both_sides() {
    let db = filled(Db::new());
    let from = "FROM sale JOIN item ON sale.item = item.item";
    assert_eq!(same(&db, &format!("SELECT brand, shop, class, {FUNCTIONS} {from} GROUP BY brand, shop, class ORDER BY 1, 2, 3")).len(), 72);
    assert_eq!(
        same(&db, &format!("SELECT shop, brand, sale.item, {FUNCTIONS} {from} GROUP BY shop, brand, sale.item ORDER BY 1, 2, 3")).len(),
        271
    );
    let two_keys = "FROM sale JOIN offer ON sale.item = offer.item AND sale.shop = offer.shop";
    assert_eq!(same(&db, &format!("SELECT name, {FUNCTIONS} {two_keys} GROUP BY name ORDER BY 1")).len(), 9);
}

#[test]
fn the_sets_of_a_rollup_come_from_states_that_were_joined() {
    let db = filled(Db::new());
    let sql = format!("SELECT class, brand, {FUNCTIONS} FROM sale JOIN item USING (item) GROUP BY ROLLUP (class, brand) ORDER BY 1, 2, 3");
    assert!(same(&db, &sql).len() > 25);
}

#[test]
fn keys_may_be_renamed_and_named_twice() {
    let db = filled(Db::new());
    let from = "FROM sale JOIN item ON sale.item = item.item";
    let renamed = format!("SELECT b, sum(q) FROM (SELECT item.brand AS b, quantity AS q {from}) AS x GROUP BY b ORDER BY b");
    assert_eq!(same(&db, &renamed).len(), 21);
    let twice = format!("SELECT sale.item AS i, sale.item AS j, brand, count(*) {from} GROUP BY sale.item, i, j, brand ORDER BY 1, 2, 3");
    assert_eq!(same(&db, &twice).len(), 271);
    let using = "SELECT item, brand, count(price) FROM sale JOIN item USING (item) GROUP BY ROLLUP (item, brand) ORDER BY 1, 2, 3";
    assert_eq!(same(&db, using).len(), 271 + 250 + 1);
    let above = format!(
        "SELECT brand, n FROM (SELECT brand, count(*) AS n {from} GROUP BY brand) AS a JOIN offer ON n > offer.item AND brand = name UNION ALL SELECT brand, sum(quantity) {from} GROUP BY brand ORDER BY 1, 2"
    );
    assert_eq!(same(&db, &above).len(), 21);
}

#[test]
fn rows_below_a_limit_are_not_grouped_before_it() {
    let db = filled(Db::new());
    for partitions in [1, 2] {
        db.run(&format!("SET datafusion.execution.target_partitions = {partitions}"));
        let sql = "SELECT sum(n) FROM (SELECT brand, count(*) AS n FROM (SELECT brand FROM sale JOIN item ON sale.item = item.item LIMIT 1000) AS x GROUP BY brand) AS y";
        assert_eq!(db.value(sql), "1000");
    }
}

#[test]
fn what_may_fail_for_a_row_that_joins_nothing_is_computed_above_the_join() {
    let db = filled(Db::new());
    let from = "FROM sale JOIN item ON sale.item = item.item GROUP BY brand ORDER BY brand";
    same(&db, &format!("SELECT brand, sum(price - price), max(price * price), count(*) FILTER (WHERE price > 10 AND quantity < 3) {from}"));
    for may_fail in
        ["sum(weight / quantity)", "sum(id)", "max(1 / quantity)", "sum(CAST(brand AS INTEGER))", "sum(class)", "count(DISTINCT shop)"]
    {
        let plan = db.run(&format!("EXPLAIN SELECT brand, {may_fail} {from}")).text();
        assert!(!plan.contains("join_key_0"), "{may_fail}");
    }
    // The sale of an item that is not there would fail.
    db.run("INSERT INTO sale SELECT 299, 0, 0, NULL, 9223372036854775807, 0 FROM generate_series(1, 2)");
    assert_eq!(db.rows(&format!("SELECT brand, sum(id), max(10 / (quantity + 1)) {from}")).len(), 21);
}

#[test]
fn other_joins_and_many_groups_are_left_as_they_are() {
    let db = filled(Db::new());
    for from in [
        "sale LEFT JOIN item ON sale.item = item.item GROUP BY brand",
        "sale JOIN item ON sale.item = item.item AND sale.quantity > item.class GROUP BY brand",
        "sale JOIN item ON sale.id = item.item GROUP BY brand",
        "sale JOIN item ON sale.item = item.item GROUP BY brand, id",
        "sale JOIN item ON sale.item = item.item GROUP BY upper(brand)",
        "sale JOIN item ON sale.item = item.item GROUP BY class",
    ] {
        let plan = db.run(&format!("EXPLAIN SELECT sum(price) FROM {from}")).text();
        assert!(!plan.contains("join_key_0"), "{from}: {plan}");
    }
}

#[test]
fn states_spill_as_groups_do() {
    let db = filled(Db::with(small_memory(24)));
    let sql = "SELECT brand, shop, count(*), sum(price), min(weight) FROM sale JOIN item ON sale.item = item.item GROUP BY brand, shop ORDER BY 1, 2";
    assert_eq!(same(&db, sql).len(), 63);
}
