//! Which scans get the filters that operators make while a query runs. That no row is lost is in `same_names.slt`.

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
fn a_name_that_is_there_twice_takes_no_filter_from_the_scans_below() {
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

/// The rows, which are the same without such filters.
fn rows_with_and_without(db: &Db, sql: &str) -> Vec<String> {
    let rows = db.sorted_rows(sql);
    db.run("SET datafusion.optimizer.enable_dynamic_filter_pushdown = false");
    assert_eq!(db.sorted_rows(sql), rows, "{sql}");
    db.run("RESET datafusion.optimizer.enable_dynamic_filter_pushdown");
    rows
}

/// The filters of the scans of `facts`.
fn filters_of_facts(db: &Db, sql: &str) -> Vec<String> {
    let plan = db.run(&format!("EXPLAIN {sql}")).text();
    let scans = plan.lines().filter(|line| line.contains("StoreScan") && line.contains(".facts"));
    scans.map(|line| line.split_once("filter=").map_or("", |(_, filter)| filter).to_owned()).collect()
}

#[test]
fn a_key_passes_operators_that_do_not_change_it() {
    let db = db();
    let inputs = [
        "(SELECT k AS a FROM facts)",
        "(SELECT id AS a, count(*) FROM facts GROUP BY id)",
        "(SELECT k AS a, row_number() OVER (PARTITION BY k ORDER BY id) FROM facts)",
        "(SELECT f.k AS a FROM facts f WHERE f.id IN (SELECT id FROM facts))",
        "(SELECT f.k AS a FROM facts f LEFT JOIN nation n ON f.id = n.number)",
        "(SELECT f.k AS a FROM facts f WHERE NOT EXISTS (SELECT 1 FROM nation n WHERE n.number = f.id))",
        "(SELECT k AS a FROM facts UNION ALL SELECT id FROM facts)",
    ];
    for input in inputs {
        let sql = format!("SELECT count(*), min(x.a) FROM one JOIN {input} x ON x.a = one.id");
        assert!(filters_of_facts(&db, &sql).iter().any(|filter| filter.contains("DynamicFilter")), "{input}");
        assert_eq!(rows_with_and_without(&db, &sql).len(), 1);
    }
    let blind = [
        "(SELECT k AS a FROM facts ORDER BY id LIMIT 5000)",
        "(SELECT k * 2 AS a FROM facts)",
        "(SELECT id, max(k) AS a FROM facts GROUP BY id)",
        "(SELECT k AS a, row_number() OVER (ORDER BY id) FROM facts)",
    ];
    for input in blind {
        let sql = format!("SELECT count(*), min(x.a) FROM one JOIN {input} x ON x.a = one.id");
        assert!(filters_of_facts(&db, &sql).iter().all(|filter| !filter.contains("DynamicFilter")), "{input}");
        rows_with_and_without(&db, &sql);
    }
}

/// As TPC-H's Q2: the least cost is no key of the groups, the part is.
#[test]
fn one_of_two_keys_passes_an_aggregate() {
    let db = db();
    let sql = "SELECT o.id, o.nation FROM one o WHERE o.nation < (SELECT max(f.k) FROM facts f WHERE f.id = o.id AND f.k > 0)";
    rows_with_and_without(&db, sql);
    let both = "SELECT o.id FROM one o JOIN (SELECT id, min(k) AS least FROM facts GROUP BY id) f ON f.id = o.id AND f.least >= o.nation AND f.least = o.nation * 1";
    rows_with_and_without(&db, both);
    db.script("CREATE TABLE least AS SELECT id, min(k) AS k FROM facts WHERE id % 10000 = 7 GROUP BY id");
    let sql = "SELECT l.id, l.k FROM least l WHERE l.k = (SELECT min(f.k) FROM facts f WHERE f.id = l.id)";
    let filters = filters_of_facts(&db, sql);
    assert!(filters.iter().any(|filter| filter.contains("DynamicFilter")), "{filters:?}");
    assert_eq!(rows_with_and_without(&db, sql).len(), 3);
}
