//! What joins tell their inputs of their keys, where names of columns stand for several. That no row is lost is in `same_names.slt`.

use super::helpers::{Db, numbers};

/// Keys of few rows, which a join tells the scan of many.
fn db() -> Db {
    let db = Db::new();
    db.load("facts", &[], &numbers(0, 30_000));
    db.script(
        "CREATE TABLE nation (number BIGINT, name VARCHAR); INSERT INTO nation VALUES (1, 'one'), (2, 'two'), (3, 'three');
         CREATE TABLE one (id BIGINT, nation BIGINT); INSERT INTO one VALUES (7, 1), (8, 2), (9, 2);
         CREATE TABLE two (k BIGINT, nation BIGINT); INSERT INTO two VALUES (7, 2), (8, 1), (9, 1)",
    );
    db
}

/// As TPC-H's Q7: a table is joined twice, and both of its names are used.
const TWO_NATIONS: &str = "SELECT m.name, n.name, count(*) FROM facts, one, two, nation m, nation n \
    WHERE facts.id = one.id AND facts.k = two.k AND one.nation = m.number AND two.nation = n.number AND m.name <> n.name GROUP BY m.name, n.name";

fn filtered_scans(db: &Db, sql: &str) -> usize {
    let plan = db.run(&format!("EXPLAIN {sql}")).text();
    plan.lines().filter(|line| line.contains("StoreScan") && line.contains("DynamicFilter")).count()
}

#[test]
fn a_name_that_is_there_twice_above_takes_no_filter_from_the_scans_below() {
    let db = db();
    assert!(filtered_scans(&db, TWO_NATIONS) > 0, "{}", db.run(&format!("EXPLAIN {TWO_NATIONS}")).text());
    let one_name = "SELECT count(*) FROM facts, one WHERE facts.id = one.id";
    assert_eq!(filtered_scans(&db, one_name), 1);
    let without = "SET datafusion.optimizer.enable_dynamic_filter_pushdown = false";
    let rows = db.sorted_rows(TWO_NATIONS);
    assert!(!rows.is_empty());
    db.run(without);
    assert_eq!(filtered_scans(&db, TWO_NATIONS), 0);
    assert_eq!(db.sorted_rows(TWO_NATIONS), rows);
}

#[test]
fn the_first_rows_of_a_join_with_a_name_twice_are_the_first_ones() {
    let db = db();
    let first = "SELECT a.k, b.k FROM facts a JOIN facts b ON a.id = b.k WHERE a.id < 10 ORDER BY b.k DESC, a.k LIMIT 3";
    let rows = db.rows(first);
    db.run("SET datafusion.optimizer.enable_dynamic_filter_pushdown = false");
    assert_eq!(db.rows(first), rows);
}

#[test]
fn no_barrier_is_left_in_a_plan() {
    let db = db();
    for sql in
        [TWO_NATIONS, "SELECT * FROM one a JOIN one b ON a.id = b.id JOIN one c ON b.id = c.id WHERE a.nation > 0 ORDER BY c.id LIMIT 2"]
    {
        let plan = db.run(&format!("EXPLAIN {sql}")).text();
        assert!(!plan.contains("Barrier"), "{plan}");
    }
}
