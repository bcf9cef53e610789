//! Calls in expressions: the body takes the place of the call.

use crate::helpers::{Db, numbers};

fn with_area() -> Db {
    let db = Db::new();
    db.script(
        "CREATE FUNCTION area(w DOUBLE, h DOUBLE) RETURNS DOUBLE RETURN w * h; CREATE TABLE boxes (name VARCHAR, w DOUBLE, h DOUBLE)",
    );
    db.run("INSERT INTO boxes VALUES ('a', 2, 3), ('b', 1, 5), ('c', NULL, 1), ('d', 4, 0.5)");
    db
}

#[test]
fn a_call_is_what_its_body_is() {
    let db = with_area();
    assert_eq!(db.rows("SELECT name, area(w, h) FROM boxes ORDER BY name"), ["a|6.0", "b|5.0", "c|NULL", "d|2.0"]);
    assert_eq!(db.rows("SELECT name FROM boxes WHERE area(w, h) > 4 ORDER BY area(h, w) DESC"), ["a", "b"]);
    assert_eq!(db.rows("SELECT sum(area(w, h)), count(*) FROM boxes GROUP BY area(w, h) > 4 HAVING sum(area(w, h)) > 3"), ["11.0|2"]);
    assert_eq!(db.rows("SELECT area(w, h), count(*) FROM boxes GROUP BY area(w, h) ORDER BY 1"), ["2.0|1", "5.0|1", "6.0|1", "NULL|1"]);
    assert_eq!(db.rows("SELECT area(2, 3), main.area(2, 3), AREA(h => 4, w => 0.5)"), ["6.0|6.0|2.0"]);
    assert_eq!(db.run("SELECT area(w, h) FROM boxes").batches[0].schema().field(0).name(), "area(w, h)");
    assert_eq!(db.rows("SELECT a.name FROM boxes a JOIN boxes b ON area(a.w, a.h) = area(b.w, b.h) ORDER BY 1"), ["a", "b", "d"]);
    assert_eq!(db.rows("SELECT sum(area(w, h)) OVER (ORDER BY name) FROM boxes ORDER BY name"), ["6.0", "11.0", "11.0", "13.0"]);
    let db = db.reopened();
    assert_eq!(db.value("SELECT area(2, 3)"), "6.0");
}

/// A filter with a call prunes as its body does.
#[test]
fn a_filter_with_a_call_prunes_zones() {
    let db = Db::new();
    db.load("t", &["id"], &numbers(0, 20_000));
    db.run("CREATE FUNCTION is_early(a BIGINT, until BIGINT) RETURNS BOOLEAN RETURN a < until");
    let report = db.run("SELECT id FROM t WHERE is_early(id, 10)").report;
    assert_eq!((report.rows_returned, report.zones_pruned), (10, 2));
}

/// Each of these is compared with its body written out.
#[test]
fn bodies_of_all_kinds_are_computed_as_if_they_were_written_there() {
    let db = Db::new();
    db.run("CREATE TABLE t AS SELECT a, a * 1.5 AS d, 'text ' || a AS s, [a, a + 1] AS l, DATE '2024-01-01' + a::INT AS day FROM range(20) AS r(a)");
    db.run("CREATE TABLE u AS SELECT a AS k, a * a AS v FROM range(10) AS r(a)");
    for (at, (parameters, returns, body, call, written)) in [
        ("x BIGINT", "BIGINT", "x * x + x", "f(a)", "a * a + a"),
        ("x DECIMAL(10,2), n INT", "DECIMAL(10,1)", "x / n", "f(d, 4)", "CAST(d::DECIMAL(10,2) / 4::INT AS DECIMAL(10,1))"),
        ("x VARCHAR", "VARCHAR", "upper(x) || '!'", "f(s)", "upper(s) || '!'"),
        ("x VARCHAR, y BIGINT", "VARCHAR", "CASE WHEN y % 2 = 0 THEN x END", "f(s, a)", "CASE WHEN a % 2 = 0 THEN s END"),
        ("x BIGINT[]", "BIGINT", "x[1] + x[2]", "f(l)", "l[1] + l[2]"),
        (
            "x DATE",
            "INTEGER",
            "extract(year FROM x) * 100 + extract(month FROM x)",
            "f(day)",
            "(extract(year FROM day) * 100 + extract(month FROM day))::INT",
        ),
        ("x TIMESTAMP", "TIMESTAMP", "date_trunc('month', x)", "f(day)", "date_trunc('month', day::TIMESTAMP)"),
        ("x BIGINT", "STRUCT(a BIGINT, b VARCHAR)", "struct(x AS a, x::VARCHAR AS b)", "f(a)", "struct(a AS a, a::VARCHAR AS b)"),
        ("x BIGINT", "BIGINT", "(SELECT sum(v) FROM u WHERE k = x)", "f(a)", "(SELECT sum(v) FROM u WHERE k = t.a)"),
        ("x BIGINT", "BOOLEAN", "x IN (SELECT v FROM u)", "f(a)", "a IN (SELECT v FROM u)"),
        (
            "x BIGINT",
            "BOOLEAN",
            "EXISTS (SELECT 1 FROM u WHERE k = x AND v > 4)",
            "f(a)",
            "EXISTS (SELECT 1 FROM u WHERE k = t.a AND v > 4)",
        ),
        ("", "BIGINT", "(SELECT max(v) FROM u)", "f()", "(SELECT max(v) FROM u)"),
    ]
    .into_iter()
    .enumerate()
    {
        let name = format!("f{at}");
        db.run(&format!("CREATE FUNCTION {name}({parameters}) RETURNS {returns} RETURN {body}"));
        let call = call.replacen('f', &name, 1);
        // EXISTS and IN are no values of a SELECT list yet.
        let is_condition = returns == "BOOLEAN";
        let query = |expr: &str| match is_condition {
            true => format!("SELECT a FROM t WHERE {expr} ORDER BY a"),
            false => format!("SELECT a, {expr} AS r FROM t ORDER BY a"),
        };
        let rows = db.rows(&query(&call));
        assert_eq!(rows, db.rows(&query(written)), "{body}");
        assert!(!rows.is_empty(), "{body}");
    }
}

#[test]
fn a_function_may_call_others_and_be_called_in_views() {
    let db = with_area();
    db.run("CREATE FUNCTION volume(w DOUBLE, h DOUBLE, d DOUBLE) RETURNS DOUBLE RETURN area(w, h) * d");
    db.run("CREATE VIEW big AS SELECT name FROM boxes WHERE volume(w, h, 2) > 11");
    assert_eq!(db.rows("SELECT volume(volume(1, 2, 3), area(1, 2), 1) FROM big"), ["12.0"]);
    db.run("CREATE OR REPLACE FUNCTION area(w DOUBLE, h DOUBLE) RETURNS DOUBLE RETURN w + h");
    assert_eq!(db.value("SELECT volume(1, 2, 3)"), "9.0");
    assert_eq!(db.rows("SELECT * FROM big ORDER BY 1"), ["b"]);
}

#[test]
fn parameters_are_meant_before_columns_and_can_be_qualified() {
    let db = Db::new();
    db.script("CREATE TABLE t (k BIGINT, x BIGINT); INSERT INTO t VALUES (1, 10), (2, 20)");
    db.run("CREATE FUNCTION of_key(k BIGINT) RETURNS BIGINT RETURN (SELECT max(t.x) FROM t WHERE t.k = k)");
    db.run("CREATE FUNCTION of_key2(k BIGINT) RETURNS BIGINT RETURN (SELECT max(t.x) FROM t WHERE t.k = of_key2.k)");
    db.run("CREATE FUNCTION of_key3(BIGINT_KEY BIGINT) RETURNS BIGINT RETURN (SELECT max(x) FROM t WHERE t.k = $1)");
    assert_eq!(db.rows("SELECT of_key(2), of_key2(1), of_key3(2), of_key(3)"), ["20|10|20|NULL"]);
    // The column of the caller is of the table that the body reads, too.
    assert_eq!(db.rows("SELECT k, of_key(k) FROM t ORDER BY k"), ["1|10", "2|20"]);
    assert_eq!(db.rows("SELECT k FROM t WHERE of_key(k) = x AND of_key(k + 0) = x ORDER BY k"), ["1", "2"]);
    db.run("CREATE FUNCTION twice(k BIGINT) RETURNS BIGINT RETURN of_key(k) + (SELECT sum(x * 2) FROM (SELECT t.x, t.k FROM t) AS t WHERE t.k = k)");
    assert_eq!(db.rows("SELECT k, twice(k) FROM t ORDER BY k"), ["1|30", "2|60"]);
}

#[test]
fn a_strict_function_is_null_if_an_argument_is() {
    let db = Db::new();
    db.run("CREATE FUNCTION shown(a BIGINT, b VARCHAR) RETURNS VARCHAR STRICT RETURN coalesce(a::VARCHAR, 'none') || coalesce(b, 'none')");
    db.run("CREATE FUNCTION told(a BIGINT, b VARCHAR) RETURNS VARCHAR CALLED ON NULL INPUT RETURN coalesce(a::VARCHAR, 'none') || coalesce(b, 'none')");
    assert_eq!(db.rows("SELECT shown(1, 'x'), shown(NULL, 'x'), shown(1, NULL)"), ["1x|NULL|NULL"]);
    assert_eq!(db.rows("SELECT told(1, 'x'), told(NULL, 'x'), told(NULL, NULL)"), ["1x|nonex|nonenone"]);
}

#[test]
fn the_types_of_the_arguments_choose_the_definition() {
    let db = Db::new();
    db.run("CREATE FUNCTION kind(a BIGINT) RETURNS VARCHAR RETURN 'bigint'");
    db.run("CREATE FUNCTION kind(a DOUBLE) RETURNS VARCHAR RETURN 'double'");
    db.run("CREATE FUNCTION kind(a VARCHAR) RETURNS VARCHAR RETURN 'varchar'");
    db.run("CREATE FUNCTION kind(a DATE) RETURNS VARCHAR RETURN 'date'");
    db.run("CREATE FUNCTION kind(a BIGINT, b BIGINT) RETURNS VARCHAR RETURN 'two'");
    db.run("CREATE FUNCTION kind() RETURNS VARCHAR RETURN 'none'");
    assert_eq!(
        db.rows("SELECT kind(1), kind(1.5), kind('a'), kind(DATE '2024-01-01'), kind(1, 2), kind(), kind(1::SMALLINT)"),
        ["bigint|double|varchar|date|two|none|bigint"]
    );
    let error = db.error("SELECT kind(true)").to_string();
    assert!(error.contains("no definition fits the call kind(BOOLEAN)"), "{error}");
    db.run("CREATE FUNCTION one(a INTEGER) RETURNS INTEGER RETURN a + 1");
    assert_eq!(db.value("SELECT one(41)"), "42");
    assert!(db.error("SELECT one(3000000000)").to_string().contains("3000000000"));
    assert!(db.error("SELECT one('x')").to_string().contains("no definition fits the call one(VARCHAR)"));
}

#[test]
fn parameters_of_statements_may_be_arguments() {
    let db = with_area();
    db.run("PREPARE p AS SELECT area($1, h) FROM boxes WHERE name = $2");
    assert_eq!(db.rows("EXECUTE p(10, 'a')"), ["30.0"]);
}

/// f(random()) with two uses would compute two numbers.
#[test]
fn an_argument_that_changes_is_used_once_or_refused() {
    let db = Db::new();
    db.run("CREATE FUNCTION twice(x DOUBLE) RETURNS DOUBLE RETURN x - x");
    db.run("CREATE FUNCTION once(x DOUBLE) RETURNS BOOLEAN RETURN x >= 0");
    assert_eq!(db.value("SELECT once(random())"), "true");
    let error = db.error("SELECT twice(random())").to_string();
    assert!(error.contains("computes its argument \"x\" several times"), "{error}");
    assert_eq!(db.rows("SELECT DISTINCT twice(x) FROM (SELECT random() AS x FROM range(100))"), ["0.0"]);
}

#[test]
fn calls_in_each_other_are_refused_before_they_are_too_large() {
    let db = Db::new();
    db.run("CREATE FUNCTION double1(x BIGINT) RETURNS BIGINT RETURN x + x");
    for level in 2..11 {
        db.run(&format!("CREATE FUNCTION double{level}(x BIGINT) RETURNS BIGINT RETURN double{0}(x) + double{0}(x)", level - 1));
    }
    assert_eq!(db.value("SELECT double8(1)"), "256");
    let error = db.error("SELECT double10(double10(1))").to_string();
    assert!(error.contains("parts"), "{error}");
}

#[test]
fn wrong_calls_and_definitions_say_what_is_wrong() {
    let db = with_area();
    for (sql, message) in [
        ("SELECT area(1)", "no definition fits the call area(BIGINT)"),
        ("SELECT area(1, 2, 3)", "no definition fits the call area(BIGINT, BIGINT, BIGINT): there is area(DOUBLE, DOUBLE)"),
        ("SELECT area(w => 1, d => 2)", "d"),
        ("SELECT * FROM area(1, 2)", "returns values"),
        ("SELECT area(DISTINCT w, h) FROM boxes", "DISTINCT of area()"),
        ("SELECT area(w, h) FILTER (WHERE w > 1) FROM boxes", "FILTER of area()"),
        ("SELECT main.area(w, h) OVER () FROM boxes", "OVER of main.area()"),
        ("SELECT areal(1, 2)", "areal"),
        ("CREATE FUNCTION area(a DOUBLE, b DOUBLE) RETURNS DOUBLE RETURN a", "is there already"),
        ("CREATE FUNCTION abs(a DOUBLE) RETURNS DOUBLE RETURN a", "built-in function \"abs\""),
        ("CREATE FUNCTION f(a DOUBLE, a DOUBLE) RETURNS DOUBLE RETURN a", "two parameters"),
        ("CREATE FUNCTION f(a DOUBLE) RETURNS DOUBLE RETURN b", "b"),
        ("CREATE FUNCTION f(a DOUBLE) RETURNS DOUBLE RETURN nothing(a)", "nothing"),
        ("CREATE FUNCTION f(a DOUBLE) RETURNS DOUBLE RETURN sum(a)", "not one expression of its parameters"),
        ("CREATE FUNCTION f(a DOUBLE) RETURNS DOUBLE RETURN f(a)", "cannot be recursive"),
        ("CREATE FUNCTION f(a DOUBLE) RETURN a", "RETURNS"),
        ("CREATE FUNCTION f(a DOUBLE) RETURNS DOUBLE", "RETURN"),
        ("CREATE FUNCTION f(a) RETURNS DOUBLE RETURN a", ")"),
        ("CREATE FUNCTION f(a DOUBLE) RETURNS DOUBLE RETURN a, a", "end of the statement"),
        ("CREATE FUNCTION f(a NOTYPE) RETURNS DOUBLE RETURN 1", "NOTYPE"),
        ("CREATE FUNCTION f(a DOUBLE) RETURNS DOUBLE LANGUAGE perl RETURN a", "LANGUAGE perl"),
        ("CREATE FUNCTION f(a DOUBLE) RETURNS DOUBLE SECURITY DEFINER RETURN a", "SECURITY DEFINER for a function"),
        ("CREATE MACRO f(a) AS a + 1", "CREATE FUNCTION f(a DOUBLE) RETURNS DOUBLE RETURN a * 2"),
        ("CREATE FUNCTION nowhere.f(a DOUBLE) RETURNS DOUBLE RETURN a", "nowhere"),
        ("CREATE FUNCTION system.f(a DOUBLE) RETURNS DOUBLE RETURN a", "system"),
        ("CALL area(1, 2)", "is a function"),
        ("DROP FUNCTION nope", "does not exist"),
        ("DROP FUNCTION area(VARCHAR)", "area(DOUBLE, DOUBLE)"),
        ("DROP PROCEDURE area", "does not exist"),
    ] {
        let error = db.error(sql);
        let shown = format!("{error} {:?}", error.hint());
        assert!(shown.contains(message), "{sql}: {shown}");
        assert!(!shown.contains("Internal"), "{sql}: {shown}");
    }
    assert_eq!(db.value("SELECT count(*) FROM system.functions"), "1");
}

#[test]
fn a_body_in_quotes_is_a_query() {
    let db = Db::new();
    db.script("CREATE TABLE t AS SELECT * FROM range(5) AS r(a)");
    db.run("CREATE FUNCTION plus(a BIGINT, b BIGINT) RETURNS BIGINT LANGUAGE SQL IMMUTABLE AS 'SELECT $1 + b;'");
    db.run("CREATE FUNCTION most() RETURNS BIGINT LANGUAGE SQL AS $$ SELECT max(a) FROM t $$");
    assert_eq!(db.rows("SELECT plus(1, 2), most()"), ["3|4"]);
}

/// The semicolon between two definitions was a part of the comment, and the text of both could not be read any more.
#[test]
fn a_comment_at_the_end_of_a_definition_is_no_part_of_it() {
    let db = Db::new();
    db.run("CREATE FUNCTION f(a BIGINT) RETURNS BIGINT RETURN a -- first\n");
    db.run("CREATE FUNCTION f(a VARCHAR) RETURNS BIGINT RETURN 7 /* second */ -- and more");
    db.run("CREATE PROCEDURE p() BEGIN SELECT 1; END -- of p");
    assert_eq!(db.rows("SELECT f(1), f('a')"), ["1|7"]);
    assert_eq!(db.value("SELECT count(*) FROM system.functions"), "3");
}

/// Both were called t#0, and the inner one was compared with itself.
#[test]
fn tables_of_the_same_name_in_two_schemas_stay_two_in_a_body() {
    let db = Db::new();
    db.script("CREATE SCHEMA s; CREATE TABLE main.t AS SELECT a FROM range(3) AS r(a); CREATE TABLE s.t AS SELECT a + 1 AS a FROM range(3) AS r(a)");
    let query = "SELECT count(*) FROM main.t WHERE EXISTS (SELECT 1 FROM s.t WHERE s.t.a = main.t.a)";
    db.run(&format!("CREATE FUNCTION f(x BIGINT) RETURNS BIGINT RETURN ({query} AND main.t.a < 10)"));
    assert_eq!(db.value("SELECT f(1)"), db.value(query));
    db.run("CREATE FUNCTION g(x BIGINT) RETURNS BIGINT RETURN (SELECT count(*) FROM (SELECT t.a, count(*) AS n FROM t GROUP BY ROLLUP(t.a)) AS q WHERE n <= x)");
    assert_eq!(db.rows("SELECT g(1), g(9)"), ["3|4"]);
}

#[test]
fn a_body_in_quotes_has_the_limits_of_a_statement() {
    let db = Db::new();
    let chain = "1+".repeat(400_000);
    for (sql, message) in [
        (format!("CREATE FUNCTION f(x BIGINT) RETURNS BIGINT AS 'SELECT {chain}x'"), "operators"),
        (format!("CREATE FUNCTION f(x BIGINT) RETURNS TABLE AS 'SELECT * FROM range(x) WHERE 5 < {chain}1'"), "operators"),
        ("CREATE FUNCTION f(x BIGINT) RETURNS BIGINT AS 'SELECT x; SELECT x + 5'".into(), "end of the statement"),
        ("CREATE FUNCTION f(x BIGINT) RETURNS BIGINT AS 'SELECT x ) junk'".into(), "end of the statement"),
    ] {
        let error = db.error(&sql).to_string();
        assert!(error.contains(message), "{error}");
    }
}

#[test]
fn functions_that_stand_for_very_much_are_refused_soon() {
    let db = Db::new();
    db.run("CREATE FUNCTION f(x BIGINT) RETURNS BIGINT RETURN (SELECT x+x+x+x+x+x+x+x+x+x)");
    assert!(db.error("SELECT f(f(f(f(f(f(f(f(f(1)))))))))").to_string().contains("parts"));
    db.run("CREATE FUNCTION e0(n BIGINT) RETURNS TABLE RETURN SELECT * FROM range(n) AS r(a)");
    for level in 1..30 {
        let below = format!("SELECT * FROM e{0}(n)", level - 1);
        db.run(&format!("CREATE FUNCTION e{level}(n BIGINT) RETURNS TABLE RETURN {below} UNION ALL {below} WHERE a >= 0"));
    }
    assert_eq!(db.value("SELECT count(*) FROM e5(1)"), "32");
    assert!(db.error("SELECT count(*) FROM e29(1)").to_string().contains("calls of functions in each other"));
}

#[test]
fn names_in_a_body_that_would_mean_something_else_are_refused() {
    let db = Db::new();
    db.run("CREATE TABLE boxes (w BIGINT)");
    for (sql, message) in [
        ("CREATE FUNCTION f(n BIGINT) RETURNS TABLE RETURN SELECT value AS n FROM range(10) ORDER BY n", "is called \"n\""),
        ("CREATE FUNCTION boxes(w BIGINT) RETURNS TABLE RETURN SELECT * FROM boxes WHERE boxes.w >= w", "reads a table of that name"),
        ("CREATE FUNCTION f(a BIGINT) RETURNS BIGINT RETURN a + $2", "$2 is no parameter"),
        ("CREATE FUNCTION unnest(a BIGINT) RETURNS BIGINT RETURN a", "built-in"),
    ] {
        let error = db.error(sql).to_string();
        assert!(error.contains(message), "{sql}: {error}");
    }
}

#[test]
fn functions_that_call_each_other_are_refused() {
    let db = Db::new();
    db.run("CREATE FUNCTION g(a BIGINT) RETURNS BIGINT RETURN a");
    db.run("CREATE FUNCTION f(a BIGINT) RETURNS BIGINT RETURN g(a)");
    assert!(db.error("CREATE OR REPLACE FUNCTION g(a BIGINT) RETURNS BIGINT RETURN f(a)").to_string().contains("recursive"));
}

/// A cast to BIGINT cuts off a fraction, which nobody has asked for here.
#[test]
fn arguments_lose_nothing_when_they_are_converted() {
    let db = Db::new();
    db.run("CREATE FUNCTION li(l BIGINT[]) RETURNS BIGINT RETURN l[1]");
    db.run("CREATE FUNCTION dd(d DECIMAL(10,0)) RETURNS DECIMAL(10,0) RETURN d");
    db.run("CREATE FUNCTION tf(n BIGINT) RETURNS TABLE RETURN SELECT n AS m");
    for sql in ["SELECT li([1.7])", "SELECT dd(1.5)", "SELECT * FROM tf(2.9)", "SELECT * FROM tf(true)", "SELECT * FROM tf('2')"] {
        let error = db.error(sql).to_string();
        assert!(error.contains("no definition fits") || error.contains("the argument n of tf(BIGINT) is"), "{sql}: {error}");
    }
    assert_eq!(db.rows("SELECT li([1, 2]), dd(3), m FROM tf(4)"), ["1|3|4"]);
}
