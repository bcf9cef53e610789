//! Functions in FROM.

use crate::helpers::{Db, numbers};

fn with_numbers() -> Db {
    let db = Db::new();
    db.load("t", &["id"], &numbers(0, 20_000));
    db.run("CREATE FUNCTION first_ids(n BIGINT) RETURNS TABLE RETURN SELECT id, k FROM t WHERE id < n ORDER BY id");
    db
}

#[test]
fn a_call_in_from_is_its_query() {
    let db = with_numbers();
    assert_eq!(db.rows("SELECT * FROM first_ids(2)"), ["0|0", "1|1"]);
    assert_eq!(db.rows("SELECT f.id FROM first_ids(3) AS f WHERE f.k > 0"), ["1", "2"]);
    assert_eq!(
        db.rows("SELECT a.id, first_ids.k FROM first_ids(2) JOIN first_ids(3) AS a ON a.id = first_ids.id ORDER BY 1"),
        ["0|0", "1|1"]
    );
    assert_eq!(db.rows("SELECT x, y FROM main.first_ids(n => 1 + 0) AS f(x, y)"), ["0|0"]);
    assert_eq!(db.rows("WITH w AS (SELECT * FROM first_ids(4)) SELECT count(*) FROM w, first_ids(2)"), ["8"]);
    db.run("CREATE TABLE few AS SELECT * FROM first_ids(5)");
    db.run("INSERT INTO few SELECT * FROM first_ids(2)");
    assert_eq!(db.value("SELECT count(*) FROM few"), "7");
    let report = db.run("SELECT id FROM first_ids(10)").report;
    assert_eq!((report.rows_returned, report.zones_pruned), (10, 2));
}

#[test]
fn arguments_reach_limits_files_and_other_functions() {
    let db = with_numbers();
    let path = db.file("rows.csv");
    std::fs::write(&path, "a,b\n1,x\n2,y\n").unwrap();
    db.run("CREATE FUNCTION some_ids(n BIGINT, skip BIGINT) RETURNS TABLE RETURN SELECT id FROM t ORDER BY id LIMIT n OFFSET skip");
    db.run("CREATE FUNCTION rows_of(path VARCHAR) RETURNS TABLE (a INTEGER, b VARCHAR) RETURN SELECT * FROM read_csv(path)");
    db.run("CREATE FUNCTION evens(n BIGINT) RETURNS TABLE RETURN SELECT id FROM first_ids(n) WHERE id % 2 = 0");
    assert_eq!(db.rows("SELECT * FROM some_ids(2, 3)"), ["3", "4"]);
    assert_eq!(db.rows(&format!("SELECT sum(a), max(b) FROM rows_of('{path}')")), ["3|y"]);
    assert_eq!(db.rows("DESCRIBE SELECT * FROM some_ids(1, 1)"), ["id|BIGINT|YES|NULL|NULL"]);
    assert_eq!(db.rows("SELECT * FROM evens(5)"), ["0", "2", "4"]);
    db.run("PREPARE p AS SELECT count(*) FROM first_ids($1)");
    assert_eq!(db.rows("EXECUTE p(7)"), ["7"]);
}

#[test]
fn declared_columns_have_their_names_and_types() {
    let db = with_numbers();
    db.run("CREATE FUNCTION pairs(n INT) RETURNS TABLE (number SMALLINT, text VARCHAR) RETURN SELECT id, id + n FROM t WHERE id < 2 ORDER BY id");
    assert_eq!(db.rows("SELECT text || number FROM pairs(5)"), ["50", "61"]);
    let error = db.error("CREATE FUNCTION wrong() RETURNS TABLE (a INT, b INT) RETURN SELECT id FROM t");
    assert!(error.to_string().contains('2'), "{error}");
}

#[test]
fn definitions_differ_in_the_number_of_their_parameters() {
    let db = with_numbers();
    db.run("CREATE FUNCTION first_ids(n BIGINT, step BIGINT) RETURNS TABLE RETURN SELECT id FROM t WHERE id < n AND id % step = 0");
    assert_eq!(db.rows("SELECT count(*), min(k) FROM first_ids(4)"), ["4|0"]);
    assert_eq!(db.rows("SELECT * FROM first_ids(5, 2) ORDER BY 1"), ["0", "2", "4"]);
}

#[test]
fn wrong_calls_in_from_say_what_is_wrong() {
    let db = with_numbers();
    for (sql, message) in [
        ("SELECT * FROM first_ids()", "there is first_ids(BIGINT)"),
        ("SELECT * FROM first_ids(1, 2)", "there is first_ids(BIGINT)"),
        ("SELECT * FROM t, first_ids(t.id)", "is not constant"),
        ("SELECT * FROM first_ids(m => 1)", "no argument of first_ids"),
        ("SELECT * FROM first_ids((SELECT max(a.id) FROM first_ids(3) AS a))", "is not constant"),
        ("SELECT * FROM first_ids((random() * 5)::BIGINT)", "is not constant"),
        ("CREATE OR REPLACE FUNCTION first_ids(a VARCHAR) RETURNS TABLE RETURN SELECT 1 AS b", "takes as many arguments"),
        ("SELECT first_ids(1)", "first_ids"),
        ("SELECT * FROM nothing(1)", "nothing"),
        ("CREATE FUNCTION first_ids(a VARCHAR) RETURNS TABLE RETURN SELECT 1 AS b", "is there already"),
        ("CREATE FUNCTION first_ids(a VARCHAR) RETURNS INT RETURN 1", "is called in FROM"),
        ("CREATE FUNCTION f(a BIGINT) RETURNS TABLE RETURN SELECT * FROM f(a)", "recursive"),
        ("CREATE FUNCTION f(a BIGINT) RETURNS TABLE RETURN SELECT b FROM t", "b"),
        ("CREATE FUNCTION f(a BIGINT) RETURNS TABLE RETURN DELETE FROM t", "DELETE"),
    ] {
        let error = db.error(sql);
        let shown = format!("{error} {:?}", error.hint());
        assert!(shown.contains(message), "{sql}: {shown}");
    }
}
