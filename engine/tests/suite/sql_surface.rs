//! What people write: names of types, clauses, and what results are called.

use engine::EngineError;

use super::helpers::{Db, Ran};

fn names(ran: &Ran) -> Vec<String> {
    ran.batches[0].schema().fields().iter().map(|field| field.name().clone()).collect()
}

#[test]
fn names_of_types_are_the_types_they_say() {
    let db = Db::new();
    for (index, (name, described)) in [
        ("BLOB", "BYTEA"),
        ("VARBINARY", "BYTEA"),
        ("BINARY", "BYTEA"),
        ("BYTES", "BYTEA"),
        ("INT1", "TINYINT"),
        ("UTINYINT", "TINYINT UNSIGNED"),
        ("UINTEGER", "INTEGER UNSIGNED"),
        ("UINT64", "BIGINT UNSIGNED"),
        ("INT(11)", "INTEGER"),
        ("LONG", "BIGINT"),
        ("FLOAT", "REAL"),
        ("FLOAT(24)", "REAL"),
        ("FLOAT(25)", "DOUBLE"),
        ("FLOAT(53)", "DOUBLE"),
        ("DOUBLE PRECISION", "DOUBLE"),
        ("NUMERIC", "DECIMAL(38,10)"),
        ("DEC(5,1)", "DECIMAL(5,1)"),
        ("DECIMAL(76,0)", "DECIMAL(76,0)"),
        ("CHARACTER VARYING(10)", "VARCHAR"),
        ("NCHAR(3)", "VARCHAR"),
        ("CLOB", "VARCHAR"),
        ("DATETIME", "TIMESTAMP"),
        ("DATETIME(3)", "TIMESTAMP(3)"),
        ("TIMESTAMP_S", "TIMESTAMP(0)"),
        ("TIMESTAMPTZ(6)", "TIMESTAMP(6) WITH TIME ZONE"),
        ("TIME(9)", "TIME"),
        ("INT[][]", "INTEGER[][]"),
        ("STRUCT(a INT, \"B c\" STRUCT(d DATE)[])", "STRUCT<a INTEGER, \"B c\" STRUCT<d DATE>[]>"),
        ("MAP(VARCHAR, INT[])", "MAP(VARCHAR, INTEGER[])"),
        ("BLOB[]", "BYTEA[]"),
    ]
    .into_iter()
    .enumerate()
    {
        db.run(&format!("CREATE TABLE t{index} (v {name})"));
        assert_eq!(db.rows(&format!("DESCRIBE t{index}")), [format!("v|{described}|YES|NULL|NULL")], "{name}");
        db.run(&format!("CREATE TABLE u{index} (v {described})"));
        assert_eq!(db.rows(&format!("DESCRIBE u{index}")), [format!("v|{described}|YES|NULL|NULL")], "{described}");
        db.run(&format!("INSERT INTO t{index} VALUES (NULL)"));
    }
}

#[test]
fn types_that_are_not_there_say_what_to_use() {
    let db = Db::new();
    for (name, instead) in [
        ("UUID", "VARCHAR"),
        ("HUGEINT", "DECIMAL(38,0)"),
        ("JSON", "VARCHAR"),
        ("ENUM('a')", "VARCHAR"),
        ("SERIAL", "row_number"),
        ("BIT(3)", "BYTEA"),
        ("VARBINARY(10)", "BYTEA"),
        ("TIMETZ", "TIMESTAMP WITH TIME ZONE"),
        ("TIME(3)", "TIME"),
        ("TIMESTAMP(4)", "0, 3, 6 or 9"),
        ("INTERVAL YEAR", "INTERVAL"),
        ("DECIMAL(77,0)", "76"),
        ("DECIMAL(5,-2)", "after the point"),
        ("DECIMAL(300,2)", "76"),
        ("FLOAT(54)", "DOUBLE"),
        ("LIST(INT)", "INTEGER[]"),
        ("INTERGER", "INTEGER"),
        ("GEOMETRY", "VARCHAR"),
        ("MAP(INT, TIMESTAMPTZ)", "TIMESTAMP"),
    ] {
        for sql in [format!("CREATE TABLE t (v {name})"), format!("SELECT CAST(NULL AS {name})")] {
            let error = db.error(&sql);
            assert!(matches!(error, EngineError::Unsupported { .. }) && error.to_string().starts_with("type "), "{sql}: {error}");
            assert!(error.hint().is_some_and(|hint| hint.contains(instead)), "{sql}: {:?}", error.hint());
        }
    }
    assert!(db.session.table_names().is_empty());
}

#[test]
fn the_catalog_says_types_as_they_are_declared() {
    let db = Db::new();
    db.run(
        "CREATE TABLE t (a int NOT NULL, b varchar, c timestamp(3), d decimal(10,2), e int[], f blob, g bigint, h map(varchar, double))",
    );
    let types = ["INTEGER", "VARCHAR", "TIMESTAMP(3)", "DECIMAL(10,2)", "INTEGER[]", "BYTEA", "BIGINT", "MAP(VARCHAR, DOUBLE)"];
    assert_eq!(db.rows("SELECT data_type FROM information_schema.columns WHERE table_name = 't' ORDER BY ordinal_position"), types);
    let shown: Vec<String> = db.rows("SHOW COLUMNS FROM t");
    assert_eq!(shown[..2], ["quiver|main|t|a|INTEGER|NO", "quiver|main|t|b|VARCHAR|YES"]);
    let digits = "SELECT column_name, ordinal_position, numeric_precision, numeric_precision_radix, numeric_scale FROM information_schema.columns WHERE numeric_precision IS NOT NULL AND table_schema <> 'system'";
    assert_eq!(db.sorted_rows(digits), ["a|1|32|2|0", "d|4|10|10|2", "g|7|64|2|0"]);
    assert_ne!(db.value("SELECT count(*) FROM information_schema.df_settings"), "0");
    assert_eq!(db.sorted_rows("SELECT schema_name FROM information_schema.schemata WHERE schema_name <> 'system'"), ["main"]);
    db.error("SELECT * FROM information_schema.nothing");
}

#[test]
fn values_that_no_column_can_hold_as_they_come_are_held_as_others() {
    let db = Db::new();
    db.run("CREATE TABLE d AS SELECT arrow_cast(value * 100, 'Decimal128(5, -2)') AS v FROM generate_series(1, 3) AS g(value)");
    assert_eq!(db.rows("DESCRIBE d"), ["v|DECIMAL(7,0)|YES|NULL|NULL"]);
    assert_eq!(db.rows("SELECT v FROM d WHERE v > 150 ORDER BY v"), ["200", "300"]);
    let views = "arrow_cast(MAP {'k': 2}, 'Map(\"entries\": non-null Struct(\"key\": non-null Utf8View, \"value\": Int64), unsorted)')";
    db.run(&format!("CREATE TABLE m AS SELECT {views} AS m"));
    assert_eq!(db.rows("SELECT m['k'], m['l'] FROM m"), ["2|NULL"]);
    db.run("CREATE TABLE n (m MAP(VARCHAR, STRUCT(x INT, y VARCHAR)))");
    db.run("INSERT INTO n VALUES (MAP {'k': named_struct('x', 1, 'y', 'one')}), (NULL), (MAP {})");
    assert_eq!(db.sorted_rows("SELECT m['k']['y'] FROM n"), ["NULL", "NULL", "one"]);
}

/// The parser takes them for the beginning of a clause behind a comma that ends the list.
#[test]
fn words_that_begin_clauses_are_names_behind_a_comma() {
    let db = Db::new();
    for word in ["cluster", "distribute", "sort", "top", "view"] {
        db.run(&format!("CREATE OR REPLACE TABLE t (a INT, {word} INT)"));
        db.run("INSERT INTO t VALUES (1, 2), (1, 3)");
        assert_eq!(db.rows(&format!("SELECT a, {word} FROM t ORDER BY a, {word} DESC")), ["1|3", "1|2"]);
        assert_eq!(
            db.rows(&format!("SELECT a, -- the second\n {word}, {word} + 1 FROM t GROUP BY a, {word} ORDER BY 2")),
            ["1|2|3", "1|3|4"]
        );
        db.run(&format!("CREATE OR REPLACE VIEW v AS SELECT a, {word} FROM t"));
        assert_eq!(db.value(&format!("SELECT count(a), {word} FROM v WHERE {word} = 3 GROUP BY a, {word}")), "1|3");
        assert_eq!(names(&db.run(&format!("SELECT a, {} FROM t", word.to_uppercase()))), ["a", word]);
        let error = db.error(&format!("SELECT a, {word}x FROM t"));
        assert_eq!(error.position(), Some(10), "{word}: {error}");
    }
    db.error("SELECT a FROM t CLUSTER BY a");
    assert_eq!(db.value("SELECT 1, FROM t LIMIT 1"), "1");
}

#[test]
fn expressions_without_a_name_are_called_as_they_are_written() {
    let db = Db::new();
    db.run("CREATE TABLE t AS SELECT value AS a, 'x' AS b FROM generate_series(1, 3) AS g(value)");
    for (sql, expected) in [
        ("SELECT 1", vec!["1"]),
        (
            "SELECT a+1, (t.a), a AS c, count(*) OVER (), 1e3, 'x', (a::int), NULL FROM t",
            vec!["a + 1", "a", "c", "count(*) OVER ()", "1e3", "'x'", "a::INT", "NULL"],
        ),
        ("SELECT count(*), max(t.a), SUM(a) FROM t", vec!["count(*)", "max(t.a)", "SUM(a)"]),
        ("SELECT a * 2, *, a * 3 FROM t", vec!["a * 2", "a", "b", "a * 3"]),
        ("SELECT a % 2, sum(a) FROM t GROUP BY a % 2 ORDER BY sum(a)", vec!["a % 2", "sum(a)"]),
        ("SELECT a + 1 FROM t UNION ALL SELECT 7 ORDER BY 1", vec!["a + 1"]),
        ("WITH c AS (SELECT 1 AS x) SELECT x + 1 FROM c LIMIT 1", vec!["x + 1"]),
        ("SELECT unnest([1, 2])", vec!["unnest([1, 2])"]),
        ("SELECT (SELECT max(a) FROM t)", vec!["(SELECT max(a) FROM t)"]),
    ] {
        assert_eq!(names(&db.run(sql)), expected, "{sql}");
    }
    db.run("PREPARE p AS SELECT a + $1 FROM t WHERE a = 1");
    assert_eq!(names(&db.run("EXECUTE p(1)")), ["a + $1"]);
}

#[test]
fn what_people_see_as_headers_is_what_files_and_tables_get() {
    let db = Db::new();
    db.run("CREATE TABLE t AS SELECT value AS a FROM generate_series(1, 3) AS g(value)");
    db.run("CREATE TABLE u AS SELECT max(a), a % 2 FROM t GROUP BY a % 2");
    assert_eq!(db.session.column_names("u"), ["max(a)", "a % 2"]);
    let path = db.file("x.csv");
    db.run(&format!("COPY (SELECT count(*), sum(a) FROM t) TO '{path}'"));
    assert_eq!(std::fs::read_to_string(path).unwrap(), "count(*),sum(a)\n3,6\n");
}

#[test]
fn names_that_something_can_refer_to_stay() {
    let db = Db::new();
    db.script("CREATE TABLE t (a int); CREATE VIEW v AS SELECT count(*), max(a) FROM t");
    assert_eq!(db.rows("SELECT \"count(*)\", \"max(t.a)\" FROM (SELECT count(*), max(a) FROM t)"), ["0|NULL"]);
    assert_eq!(db.rows("SELECT \"count(*)\", \"max(t.a)\" FROM v"), ["0|NULL"]);
    assert_eq!(names(&db.run("SELECT * FROM v")), ["count(*)", "max(t.a)"]);
}

#[test]
fn a_view_keeps_the_words_it_was_made_with() {
    let db = Db::new();
    db.script("CREATE TABLE t (a int, s varchar); INSERT INTO t VALUES (1, 'x'), (1, 'y'), (2, 'xy')");
    for (name, query, rows) in [
        ("copies", "SELECT a FROM t EXCEPT ALL SELECT 1", vec!["1", "2"]),
        ("alike", "SELECT a FROM t WHERE s SIMILAR TO 'x_?'", vec!["1", "2"]),
        ("merged", "SELECT a FROM t FULL JOIN (SELECT 3 AS a) AS u USING (a)", vec!["1", "1", "2", "3"]),
        ("most", "SELECT a FROM t WHERE a >= ALL (SELECT a FROM t)", vec!["2"]),
    ] {
        db.run(&format!("CREATE VIEW {name} AS {query}"));
        assert_eq!(db.sorted_rows(&format!("SELECT * FROM {name}")), rows, "{query}");
        let definition = db.value(&format!("SELECT definition FROM information_schema.views WHERE table_name = '{name}'"));
        let spaced = definition.replace("ALL(", "ALL (").replace("USING(", "USING (");
        assert!(spaced.ends_with(query), "{definition}");
    }
    let path = db.file("copies.csv");
    db.run(&format!("COPY (SELECT a FROM t INTERSECT ALL VALUES (1), (1), (1)) TO '{path}'"));
    assert_eq!(std::fs::read_to_string(path).unwrap(), "a\n1\n1\n");
    assert!(db.run("EXPLAIN SELECT a FROM t EXCEPT ALL SELECT 1").text().contains("Aggregate"));
}

#[test]
fn joins_whose_merged_column_is_not_clear_are_refused() {
    let db = Db::new();
    db.script("CREATE TABLE a (k int, x int); CREATE TABLE b (k int, y int); CREATE TABLE c (k int, z int)");
    for sql in [
        "SELECT * FROM (a NATURAL FULL JOIN b)",
        "SELECT * FROM (a RIGHT JOIN b USING (k))",
        "SELECT * FROM c, a FULL JOIN b USING (k)",
        "SELECT 1 FROM a FULL JOIN b USING (k) WHERE EXISTS (SELECT 1 FROM c WHERE z = k)",
        "CREATE VIEW v AS SELECT * FROM (a FULL JOIN b USING (k))",
        "SELECT x FROM a INTERSECT ALL BY NAME SELECT y AS x FROM b",
    ] {
        let error = db.error(sql);
        assert!(matches!(error, EngineError::Unsupported { .. }) && error.hint().is_some(), "{sql}: {error}");
    }
    let many = vec!["SELECT 1"; 150].join(" EXCEPT ALL ");
    assert!(db.error(&many).to_string().contains("149 INTERSECT ALL and EXCEPT ALL"));
    assert_eq!(db.rows(&vec!["SELECT 1"; 20].join(" EXCEPT ALL ")), [""; 0]);
}

#[test]
fn a_null_among_values_names_table_column_and_row() {
    let db = Db::new();
    db.run("CREATE TABLE t (a int, b bigint NOT NULL)");
    let expected = "NULL in column \"b\" of \"t\", which is NOT NULL (row 2 of the rows being written)";
    for sql in [
        "INSERT INTO t VALUES (1, 1), (2, NULL)",
        "INSERT INTO t (b) VALUES (1), (NULL)",
        "INSERT INTO t VALUES (1, 1), (2, NULL), (3, 3) LIMIT 2",
        "INSERT INTO t SELECT * FROM (VALUES (1, 1), (2, NULL)) AS v",
        "EXPLAIN ANALYZE INSERT INTO t VALUES (1, 1), (2, NULL)",
    ] {
        assert_eq!(db.error(sql).to_string(), expected, "{sql}");
    }
    db.run("PREPARE p AS INSERT INTO t VALUES (1, 1), (2, $1)");
    assert_eq!(db.error("EXECUTE p(NULL)").to_string(), expected);
    db.run("EXECUTE p(5)");
    assert_eq!(db.sorted_rows("SELECT * FROM t"), ["1|1", "2|5"]);
}

#[test]
fn values_inside_of_a_query_do_not_take_the_types_of_the_table() {
    let db = Db::new();
    db.run("CREATE TABLE t (a int)");
    db.run("INSERT INTO t SELECT x * 10 FROM (VALUES (1.5)) AS v(x)");
    db.run("INSERT INTO t SELECT x FROM (VALUES ('7', 8)) AS v(x, y) WHERE length(x) = 1");
    db.run("PREPARE p AS INSERT INTO t SELECT x * $1 FROM (VALUES (1.5)) AS v(x)");
    db.run("EXECUTE p(2)");
    assert_eq!(db.sorted_rows("SELECT * FROM t"), ["15", "3", "7"]);
    for sql in
        ["EXPLAIN INSERT INTO t SELECT x FROM (VALUES (1.5)) AS v(x)", "INSERT INTO t VALUES ((SELECT max(x) FROM (VALUES (1.5)) AS v(x)))"]
    {
        assert!(matches!(db.error(sql), EngineError::Unsupported { .. }), "{sql}");
    }
    let error = db.error("INSERT INTO t SELECT x, y FROM (VALUES (1, 2)) AS v(x, y)");
    assert_eq!(error.to_string(), db.error("INSERT INTO t SELECT 1 AS x, 2 AS y").to_string());
    let error = db.error("CREATE TABLE u (a int, b int) AS SELECT x FROM (VALUES (1)) AS v(x)");
    assert!(error.to_string().contains("2 columns"), "{error}");
}

#[test]
fn a_table_can_name_the_columns_of_its_query() {
    let db = Db::new();
    db.run(
        "CREATE TABLE t (x, \"Y\") ORDER BY (x DESC) AS SELECT value, value * 2 AS other, 'z' AS z FROM generate_series(1, 3) AS g(value)",
    );
    assert_eq!(db.session.column_names("t"), ["x", "Y", "z"]);
    assert_eq!(db.rows("SELECT x, \"Y\" FROM t"), ["3|6", "2|4", "1|2"]);
    for (sql, expected) in [
        ("CREATE TABLE u (a, b) AS SELECT 1", "names 2 columns"),
        ("CREATE TABLE u (a, a) AS SELECT 1, 2", "\"a\" is there twice"),
        ("CREATE TABLE u (z) AS SELECT x, z FROM t", "\"z\" is there twice"),
        ("CREATE TABLE u (a)", "syntax error"),
    ] {
        let error = db.error(sql).to_string();
        assert!(error.contains(expected), "{sql}: {error}");
    }
    assert_eq!(db.session.table_names(), ["t"]);
}

#[test]
fn now_is_an_instant_in_every_function_that_makes_one() {
    let db = Db::new();
    assert_eq!(db.value("SELECT arrow_typeof(now()) = arrow_typeof(current_timestamp) AND arrow_typeof(now()) LIKE '%UTC%'"), "true");
}
