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
        "(SELECT k * 2 AS a FROM facts)",
        "(SELECT id, max(k) AS a FROM facts GROUP BY id)",
        "(SELECT k AS a FROM (SELECT k, row_number() OVER (ORDER BY id) AS n FROM facts) WHERE n > 0)",
    ];
    let first = "SELECT count(*), min(x.a) FROM one JOIN (SELECT k AS a FROM facts ORDER BY id LIMIT 5000) x ON x.a = one.id";
    assert_eq!(rows_with_and_without(&db, first).len(), 1);
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

/// The plan has sets of keys, and the rows are those without them.
fn rows_with_sets(db: &Db, sql: &str) -> Vec<String> {
    let rows = db.sorted_rows(sql);
    db.run("SET quiver.integer_sets = false");
    assert_eq!(db.sorted_rows(sql), rows, "{sql}");
    assert!(!db.run(&format!("EXPLAIN {sql}")).text().contains("KeySetExec"));
    db.run("RESET quiver.integer_sets");
    rows
}

#[test]
fn sets_of_keys_leave_out_no_row_of_any_join() {
    let db = db();
    db.script(
        "CREATE TABLE few AS SELECT CASE WHEN i % 7 > 0 THEN i * 31 - 400 END AS a, i % 3 AS b, DATE '2020-01-01' + (i % 5)::INT AS day, i::TINYINT AS t, \
                                    CASE WHEN i = 5 THEN 9223372036854775807 WHEN i = 6 THEN -9223372036854775808 ELSE i END AS wide FROM generate_series(0, 49) AS s (i);
         CREATE TABLE many AS SELECT CASE WHEN i % 11 > 0 THEN i - 20000 END AS a, i % 5 AS b, DATE '2020-01-01' + (i % 50)::INT AS day, (i % 100)::TINYINT AS t, \
                                     CASE WHEN i = 7 THEN 9223372036854775807 ELSE i END AS wide, i FROM generate_series(0, 39999) AS s (i)",
    );
    for (kind, columns) in [
        ("JOIN", "count(*), sum(m.i), count(f.a)"),
        ("LEFT JOIN", "count(*), sum(m.i), count(f.a)"),
        ("RIGHT JOIN", "count(*), sum(m.i), count(f.a)"),
        ("FULL JOIN", "count(*), sum(m.i), count(f.a)"),
    ] {
        for on in [
            "f.a = m.a",
            "f.a = m.a AND f.b = m.b",
            "f.day = m.day AND f.t = m.t",
            "f.wide = m.wide",
            "f.a IS NOT DISTINCT FROM m.a",
            "f.a = m.a AND f.wide = m.wide AND m.i % 2 = 0",
        ] {
            assert_eq!(rows_with_sets(&db, &format!("SELECT {columns} FROM few f {kind} many m ON {on}")).len(), 1);
            rows_with_sets(&db, &format!("SELECT {columns} FROM many m {kind} few f ON {on} WHERE m.i > 100"));
        }
    }
    for condition in [
        "m.a IN (SELECT a FROM few)",
        "m.a NOT IN (SELECT a FROM few)",
        "EXISTS (SELECT 1 FROM few f WHERE f.a = m.a AND f.b = m.b)",
        "NOT EXISTS (SELECT 1 FROM few f WHERE f.a = m.a)",
        "m.a IN (SELECT a FROM few) OR m.i < 3",
        "m.a IN (SELECT a FROM few WHERE b > 5)",
    ] {
        rows_with_sets(&db, &format!("SELECT count(*), sum(m.i) FROM many m WHERE {condition}"));
    }
    let sql = "SELECT count(*) FROM few f JOIN many m ON f.a = m.a";
    assert!(db.run(&format!("EXPLAIN {sql}")).text().contains("KeySetExec: keys=[a@0]"));
    let ran = db.run(&format!("EXPLAIN ANALYZE {sql}")).text();
    assert!(ran.contains("IN (KEYS)"), "{ran}");
}

/// Each round has other keys, of which a scan would not hear.
#[test]
fn the_rounds_of_a_recursive_query_have_no_sets_of_keys() {
    let db = db();
    let sql = "WITH RECURSIVE path (id, step) AS (SELECT id, 1 FROM one UNION ALL SELECT f.id, p.step + 1 FROM path p JOIN facts f ON f.id = p.id * 3 WHERE p.step < 6) \
               SELECT count(*), sum(id), max(step) FROM path";
    assert!(!db.run(&format!("EXPLAIN {sql}")).text().contains("KeySetExec"));
    assert_eq!(rows_with_sets(&db, sql).len(), 1);
}

/// NULL in the list makes the answer unknown for each row that is not in it; a set of keys has no NULL, and the row was in the result.
#[test]
fn not_in_sees_the_nulls_of_its_probe_side() {
    let db = db();
    db.script(
        "CREATE TABLE t (k BIGINT NOT NULL); INSERT INTO t VALUES (1), (2); CREATE TABLE u AS SELECT CASE WHEN i > 2 THEN i END AS x FROM generate_series(1, 30000) AS s (i)",
    );
    assert!(rows_with_sets(&db, "SELECT k FROM t WHERE k NOT IN (SELECT x FROM u)").is_empty());
    assert_eq!(rows_with_sets(&db, "SELECT k FROM t WHERE k NOT IN (SELECT x FROM u WHERE x IS NOT NULL)").len(), 2);
}

/// An operator between a filter and the build side of another join that has a set of keys does not stop the filter.
#[test]
fn filters_reach_build_sides() {
    let db = db();
    let sql = "SELECT count(*) FROM one o JOIN (SELECT a.id, b.k FROM (SELECT * FROM facts WHERE k < 2) a JOIN facts b ON a.id = b.r) x ON x.id = o.id";
    let filters = filters_of_facts(&db, sql);
    assert_eq!(filters.iter().filter(|filter| filter.contains("DynamicFilter")).count(), 2, "{filters:?}");
    rows_with_sets(&db, sql);
}

#[test]
fn conditions_with_a_scalar_subquery_are_tested_in_the_scan() {
    let db = db();
    let sql = "SELECT count(*) FROM facts WHERE id = (SELECT max(id) FROM one)";
    let plan = db.run(&format!("EXPLAIN {sql}")).text();
    assert!(!plan.contains("FilterExec"), "{plan}");
    assert_eq!(db.value(sql), "1");
}
