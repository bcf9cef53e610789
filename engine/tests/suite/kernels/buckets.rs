//! `width_bucket`, as PostgreSQL has it.

use crate::helpers::Db;

fn bucket(db: &Db, arguments: &str) -> String {
    db.value(&format!("SELECT width_bucket({arguments})"))
}

#[test]
fn buckets_of_one_width_are_those_of_postgresql() {
    let db = Db::new();
    // Of its documentation and its regression tests.
    for (arguments, expected) in [
        ("5.35, 0.024, 10.06, 5", "3"),
        ("5.35, 10.06, 0.024, 5", "3"),
        ("0, 0, 10, 5", "1"),
        ("-0.1, 0, 10, 5", "0"),
        ("9.999, 0, 10, 5", "5"),
        ("10, 0, 10, 5", "6"),
        ("10, 10, 0, 5", "1"),
        ("0, 10, 0, 5", "6"),
        ("11, 10, 0, 5", "0"),
        ("CAST('Infinity' AS DOUBLE), 0, 10, 5", "6"),
        ("CAST('-Infinity' AS DOUBLE), 0, 10, 5", "0"),
        ("1e308, -1.7e308, 1.7e308, 4", "4"),
        ("NULL, 0, 10, 5", "NULL"),
        ("5, 0, 10, NULL", "NULL"),
    ] {
        assert_eq!(bucket(&db, arguments), expected, "{arguments}");
    }
}

#[test]
fn every_value_is_in_the_bucket_between_its_bounds() {
    let db = Db::new();
    let rows = db.rows("SELECT x, width_bucket(x, -3, 4, 13) FROM (SELECT CAST(value AS DOUBLE) / 100 AS x FROM range(-400, 500))");
    assert_eq!(rows.len(), 900);
    for row in rows {
        let (x, found) = row.split_once('|').unwrap();
        let (x, found): (f64, i64) = (x.parse().unwrap(), found.parse().unwrap());
        let expected = match x {
            x if x < -3.0 => 0,
            x if x >= 4.0 => 14,
            x => ((x + 3.0) / 7.0 * 13.0).floor() as i64 + 1,
        };
        assert_eq!(found, expected, "{x}");
    }
}

#[test]
fn buckets_between_edges_are_counted_from_nothing_before_the_first() {
    let db = Db::new();
    db.run("CREATE TABLE t (x DOUBLE)");
    db.run("INSERT INTO t VALUES (0.5), (1), (2.9), (3), (10), (11), ('NaN'), (NULL)");
    let expected = ["0", "1", "1", "2", "4", "4", "4", "NULL"];
    assert_eq!(db.rows("SELECT width_bucket(x, [1, 3, 5, 10]) FROM t"), expected);
    assert_eq!(bucket(&db, "5, []"), "0");
    assert_eq!(bucket(&db, "5, [1.5, NULL]"), "NULL");
    assert_eq!(bucket(&db, "2, [1, 2, 2, 3]"), "3");
}

#[test]
fn edges_may_be_those_of_the_row() {
    let db = Db::new();
    db.run("CREATE TABLE t (x DOUBLE, edges REAL[])");
    db.run("INSERT INTO t VALUES (5, [1, 6]), (5, [1, 2, 3]), (5, NULL)");
    assert_eq!(db.rows("SELECT width_bucket(x, edges) FROM t"), ["1", "3", "NULL"]);
}

#[test]
fn bounds_and_edges_that_make_no_buckets_are_refused() {
    let db = Db::new();
    let error = |arguments: &str| db.error(&format!("SELECT width_bucket({arguments})")).to_string();
    assert_eq!(error("1, 0, 10, 0"), "width_bucket takes at least one bucket, and not 0");
    let equal = db.error("SELECT width_bucket(1, 5, 5, 3)");
    assert_eq!(equal.to_string(), "width_bucket takes two different bounds, and both are 5");
    assert!(equal.hint().is_some_and(|hint| !hint.contains("NaN")), "{:?}", equal.hint());
    assert_eq!(error("1, 0, CAST('Infinity' AS DOUBLE), 3"), "width_bucket takes two finite bounds, and not 0 and inf");
    let nan = db.error("SELECT width_bucket(CAST('NaN' AS DOUBLE), 0, 5, 3)");
    assert_eq!(nan.to_string(), "width_bucket takes a number, and not NaN");
    assert!(nan.hint().is_some_and(|hint| hint.contains("leave NaN out")), "{:?}", nan.hint());
    assert_eq!(error("1, [3, 2]"), "the edges of width_bucket must increase, but 2 at position 2 follows 3");
    assert_eq!(error("1, 0, 10, 2.5"), "the number of buckets of width_bucket is an integer, and not DECIMAL(2,1)");
    assert_eq!(error("11, 0, 10, 9223372036854775807"), "width_bucket takes less than 9223372036854775807 buckets");
    let counted = error("1, 2, 3");
    assert_eq!(
        counted,
        "width_bucket takes a number with low, high and the number of buckets, or with a list of edges, and was given 3 arguments"
    );
}
