//! Statements as people type them in a hurry: what is said, where it points, and what is suggested.

use super::helpers::Db;

fn db() -> Db {
    let db = Db::new();
    db.run("CREATE TABLE t (a INT, b VARCHAR, c DOUBLE, d DATE, e BOOLEAN)");
    db.run("INSERT INTO t VALUES (1, 'one', 1.5, DATE '2024-01-01', true), (2, 'two', 2.5, DATE '2024-02-01', false)");
    db.run("CREATE TABLE u (a INT, name VARCHAR)");
    db
}

/// Each statement with its message, what stands at its place (empty where it has none), and a part of its hint.
fn check(cases: &[(&str, &str, &str, &str)]) {
    let db = db();
    for (sql, message, place, hint) in cases {
        let error = db.error(sql);
        assert_eq!(error.to_string(), *message, "{sql}");
        match error.position() {
            Some(at) => assert!(!place.is_empty() && sql[at..].starts_with(place), "{sql}: points at {:?}", &sql[at..]),
            None => assert_eq!(*place, "", "{sql} has no place"),
        }
        let text = error.hint().unwrap_or_default();
        assert!(text.contains(hint) && text.is_empty() == hint.is_empty(), "{sql}: {text:?}");
    }
}

#[test]
fn what_is_no_condition_is_pointed_at_in_its_clause() {
    let to_be = |found: &str| format!("the condition is {found}, where it is to be BOOLEAN");
    let (int, bigint, text) = (to_be("INTEGER"), to_be("BIGINT"), to_be("VARCHAR"));
    let (number, texts) = ("compare it with something, such as x > 0", "compare it with a text, such as x = 'abc'");
    check(&[
        ("SELECT 1 WHERE 5", &bigint, "5", number),
        ("SELECT *\nFROM t\nWHERE b", &text, "b", texts),
        ("SELECT * FROM t WHERE a + 1", &bigint, "a + 1", number),
        ("SELECT * FROM (SELECT * FROM t WHERE e) AS s WHERE upper(b)", &text, "upper", texts),
        ("EXPLAIN SELECT * FROM t WHERE (a)", &int, "a)", number),
        ("CREATE TABLE v AS SELECT * FROM t WHERE a", &int, "a", number),
        ("SELECT b FROM t GROUP BY b HAVING b", &text, "b", texts),
        ("SELECT b, count(*) FROM t WHERE e GROUP BY b HAVING count(*)", &bigint, "count(*)", number),
        ("SELECT * FROM t JOIN u ON t.a", &int, "t.a", number),
        ("SELECT * FROM t JOIN u ON t.a = u.a LEFT JOIN u AS w ON w.name", &text, "w.name", texts),
        ("DELETE FROM t WHERE b", &text, "b", texts),
        ("UPDATE t SET a = 1 WHERE a", &int, "a", number),
        ("SELECT * FROM t WHERE e AND b", "AND takes two conditions, and was given BOOLEAN AND VARCHAR", "b", "compare"),
        ("SELECT * FROM t WHERE b OR a = 1", "OR takes two conditions, and was given VARCHAR OR BOOLEAN", "b OR", "compare"),
        ("SELECT * FROM t WHERE e = 'maybe'", "BOOLEAN = VARCHAR cannot be compared", "e =", "cast one of them"),
    ]);
}

#[test]
fn aggregates_and_columns_in_the_wrong_clause_are_pointed_at() {
    let aggregate = "WHERE has no aggregates: it looks at one row at a time";
    check(&[
        ("SELECT a FROM t WHERE sum(a) > 1", aggregate, "sum(a)", "HAVING"),
        ("SELECT a FROM t WHERE a > (SELECT max(a) FROM u) AND 1 < Count(*)", aggregate, "Count(*)", "HAVING"),
        (
            "SELECT a FROM t HAVING a > 1",
            "HAVING without GROUP BY takes aggregates, and no columns by themselves",
            "a > 1",
            "WHERE filters rows",
        ),
        ("SELECT b, count(*) FROM t GROUP BY b HAVING a > 1", "column \"t.a\" must be in GROUP BY or in an aggregate", "a > 1", ""),
        ("SELECT a, count(*) FROM t", "column \"t.a\" must be in GROUP BY or in an aggregate", "a,", ""),
    ]);
}

#[test]
fn texts_that_are_no_values_are_pointed_at() {
    let units =
        "'mnth' is no unit of date_trunc: there are microsecond, millisecond, second, minute, hour, day, week, month, quarter, year";
    check(&[
        ("SELECT INTERVAL '1 foo'", "'1 foo' is no interval", "'1 foo'", "'3 days'"),
        ("SELECT d + INTERVAL 'x' FROM t", "'x' is no interval", "'x'", "'3 days'"),
        ("SELECT a FROM t WHERE b ~ '('", "the regular expression '(' cannot be read: unclosed group", "'('", ""),
        ("SELECT regexp_replace(b, '[', 'x') FROM t", "the regular expression '[' cannot be read: unclosed character class", "'['", ""),
        (
            "CREATE TABLE v AS SELECT regexp_replace(b, '[', 'x') AS b FROM t",
            "the regular expression '[' cannot be read: unclosed character class",
            "'['",
            "",
        ),
        ("SELECT CAST('abc' AS INT)", "Cannot cast string 'abc' to value of INTEGER type", "'abc'", ""),
        ("SELECT DATE '2024-02-30'", "there is no day '2024-02-30'", "'2024-02-30'", "28 to 31 days"),
        ("SELECT DATE '2024-13-45'", "there is no month 13 in '2024-13-45'", "'2024-13-45'", "'2024-12-31'"),
        (
            "SELECT a FROM t WHERE d > '01.02.2024'",
            "Cannot cast string '01.02.2024' to value of DATE type",
            "'01.02.2024'",
            "to_date(x, '%d.%m.%Y')",
        ),
        ("SELECT date_trunc('mnth', d) FROM t", units, "'mnth'", ""),
        ("SELECT date_part('quater', d) FROM t", "'quater' is no part of a time", "'quater'", "quarter"),
        ("SELECT CAST(300 AS TINYINT)", "300 is out of range for TINYINT", "300", "wider type"),
        ("INSERT INTO u VALUES (99999999999, 'x')", "99999999999 is out of range for INTEGER", "99999999999", "wider type"),
        ("SELECT a FROM t LIMIT -1", "LIMIT -1: a number of rows is 0 or more", "1", ""),
        ("SELECT a FROM t OFFSET -1", "OFFSET -1: a number of rows is 0 or more", "1", ""),
    ]);
}

#[test]
fn values_of_rows_are_said_with_what_they_are_no_values_of() {
    check(&[
        ("SELECT CAST(b AS INT) FROM t", "Cannot cast string 'one' to value of INTEGER type", "b AS", "TRY_CAST"),
        (
            "SELECT CAST(b AS INT) FROM t WHERE b <> 'two' OR b = 'one'",
            "Cannot cast string 'one' to value of INTEGER type",
            "b AS",
            "TRY_CAST",
        ),
        ("SELECT CAST(b AS INT), b::INT + 1 FROM t", "Cannot cast string 'one' to value of INTEGER type", "", "TRY_CAST"),
        ("SELECT CAST(c * 1e300 AS INT) FROM t", "1.5e300 is out of range for INTEGER", "", "wider type"),
        ("SELECT to_date(b) FROM t", "Cannot cast string 'one' to value of DATE type", "", "to_date(x, '%d.%m.%Y')"),
        ("SELECT a / (a - a) FROM t", "Divide by zero error", "a - a", "NULLIF"),
        ("SELECT a / 2 / (a - a) FROM t", "Divide by zero error", "a - a", "NULLIF"),
        ("SELECT a / (a - a), a % (a - a) FROM t", "Divide by zero error", "", "NULLIF"),
        ("SELECT (SELECT a FROM t)", "the subquery gives more than one row where one value is expected", "", "LIMIT 1"),
    ]);
}

#[test]
fn what_comes_from_rows_and_views_is_pointed_at_nowhere() {
    let db = db();
    db.run("CREATE TABLE pats (p VARCHAR, name VARCHAR)");
    db.run("INSERT INTO pats VALUES ('(', '(')");
    let error = db.error("SELECT 'abc' ~ p FROM pats WHERE name = '('");
    assert_eq!((error.to_string().as_str(), error.position()), ("the regular expression '(' cannot be read: unclosed group", None));
    db.run("CREATE TABLE changed (a BOOLEAN)");
    db.run("PREPARE p AS SELECT 1 FROM changed WHERE a");
    db.run("PREPARE q AS SELECT a FROM changed");
    db.run("DROP TABLE changed");
    db.run("CREATE TABLE changed (b INT)");
    for sql in ["EXECUTE p", "EXECUTE q"] {
        let error = db.error(sql);
        assert!(error.to_string().contains("\"a\"") && error.position().is_none(), "{sql}: {error:?}");
    }
}

#[test]
fn errors_of_files_and_of_the_store_are_as_long_as_people_read() {
    let (db, dir) = (db(), tempfile::tempdir().unwrap());
    let (file, long) = (dir.path().join("wrong.csv"), "x".repeat(1 << 20));
    std::fs::write(&file, format!("a,name\n{long},b\n")).unwrap();
    db.run("CREATE TABLE parted (a INT)");
    let statements = [
        format!("COPY u FROM '{}'", file.display()),
        format!("COPY u FROM '{long}.csv'"),
        format!("COPY u TO '/nowhere/{long}.csv'"),
        format!("DROP TABLE {long}"),
        format!("CREATE TABLE parted (\"{long}\" INT)"),
    ];
    for sql in statements {
        let error = db.error(&sql);
        assert!(error.to_string().len() < 1_100, "{} of {} bytes", &sql[..20], error.to_string().len());
    }
}

/// The hint looked for each word's place from the beginning of the text, and took minutes.
#[test]
fn long_statements_fail_as_fast_as_short_ones() {
    let db = db();
    let rows = "(1, 'a'), ".repeat(80_000);
    let error = db.error(&format!("INSERT INTO u VALUES {rows} (1 'b')"));
    assert!(error.to_string().starts_with("syntax error: ") && error.hint().is_none(), "{error:?}");
    assert!(error.position().is_some_and(|at| at > rows.len()), "{error:?}");
}

#[test]
fn types_that_do_not_go_together_are_said_by_name() {
    check(&[
        ("SELECT a + b FROM t", "INTEGER + VARCHAR cannot be computed", "a + b", "|| to join texts"),
        ("SELECT b * 2 FROM t", "VARCHAR * BIGINT cannot be computed", "b * 2", "CAST(x AS DOUBLE)"),
        ("SELECT d + d FROM t", "DATE + DATE cannot be computed", "d + d", "cast one of them"),
        ("SELECT a.b.c.d FROM t", "INTEGER has no fields", "", "only a STRUCT"),
        ("SELECT (SELECT a, b FROM t)", "the subquery has several columns where one is expected: t.a, t.b", "", ""),
    ]);
}

#[test]
fn names_that_are_far_from_all_others_are_not_said_to_be_near() {
    check(&[
        ("SELECT foo(a) FROM t", "there is no function \"foo\"", "foo", ""),
        ("SELECT summ(a) FROM t", "there is no function \"summ\"", "summ", "did you mean \"sum\"?"),
        ("SELECT z FROM t", "column \"z\" does not exist", "z", "columns there are: a, b, c, d, e"),
        ("SELECT a FROM t ORDER BY z", "column \"z\" does not exist", "z", "columns there are: a, b, c, d, e"),
        ("SELECT * FROM pg_tables", "table \"pg_tables\" does not exist", "pg_tables", "SHOW TABLES and DESCRIBE t list"),
        ("SELECT x.a FROM t", "column \"x.a\" does not exist", "x.a", "did you mean \"t.a\"?"),
        ("SELECT a FROM t WHERE b = \"one\"", "column \"one\" does not exist", "\"one\"", "a text stands in single quotes: 'one'"),
        ("SELECT a FROM t, u", "column \"a\" is ambiguous: more than one table has it", "a", "name the table too"),
    ]);
}

#[test]
fn misspelt_words_of_sql_are_guessed() {
    check(&[
        ("SELCT a FROM t", "syntax error: expected: an SQL statement, found: SELCT", "SELCT", "did you mean SELECT?"),
        ("SELECT a FORM t", "syntax error: expected: end of statement, found: t", "t", "did you mean FROM?"),
        ("SELECT a FROM t WHRE a = 1", "syntax error: expected: end of statement, found: a", "a = 1", "did you mean WHERE?"),
        ("SELECT a FROM t GROUP a", "syntax error: expected: end of statement, found: GROUP", "GROUP", "write GROUP BY"),
        ("SELECT a FROM t ORDER BY a DSC", "syntax error: expected: end of statement, found: DSC", "DSC", "did you mean DESC?"),
        ("SELECT a FROM t WHERE b = 'it's'", "syntax error: unterminated string literal", "'", "'it''s'"),
        ("SELECT a b c FROM t", "syntax error: expected: end of statement, found: c", "c", ""),
        ("SELECT TOP 5 a FROM t", "TOP is not supported", "", "LIMIT 5"),
    ]);
}

/// What is twice would only have needed another name.
#[test]
fn two_columns_of_one_name_hide_no_other_error() {
    check(&[
        ("SELECT abs(b), abs(b) FROM t", "abs cannot be computed of VARCHAR", "abs", "CAST(x AS DOUBLE)"),
        ("SELECT sqrt('x'), sqrt('x')", "sqrt cannot be computed of VARCHAR", "sqrt", "CAST(x AS DOUBLE)"),
        ("SELECT abs(b) AS x, a, a FROM t", "abs cannot be computed of VARCHAR", "abs", "CAST(x AS DOUBLE)"),
        ("SELECT a + b, a + b FROM t", "INTEGER + VARCHAR cannot be computed", "a + b", "||"),
    ]);
}

#[test]
fn a_table_of_another_schema_is_named_with_it() {
    let db = db();
    db.script("CREATE SCHEMA hr; CREATE TABLE hr.known (a INT)");
    for sql in [
        "DROP TABLE hr.gone",
        "ALTER TABLE hr.gone ADD x INT",
        "OPTIMIZE TABLE hr.gone",
        "RESTORE TABLE hr.gone TO VERSION 1",
        "GRANT SELECT ON hr.gone TO public",
        "TRUNCATE hr.gone",
        "SELECT * FROM hr.gone",
        "INSERT INTO hr.gone VALUES (1)",
    ] {
        assert_eq!(db.error(sql).to_string(), "table \"hr.gone\" does not exist", "{sql}");
    }
    for sql in ["CREATE TABLE hr.known (b INT)", "CREATE VIEW hr.known AS SELECT 1 AS a"] {
        assert_eq!(db.error(sql).to_string(), "table \"hr.known\" already exists", "{sql}");
    }
    assert_eq!(db.error("DROP VIEW hr.gone").to_string(), "view \"hr.gone\" does not exist");
    assert_eq!(db.error("DROP TABLE main.gone").to_string(), "table \"gone\" does not exist");
}

#[test]
fn what_is_no_number_of_a_statement_is_said_so() {
    let hint = "KILL takes the query_id of system.queries";
    check(&[
        ("KILL NULL", "syntax error: a whole number is expected, and not NULL", "NULL", hint),
        ("kill abc", "syntax error: a whole number is expected, and not abc", "abc", hint),
        ("KILL QUERY 'x'", "syntax error: a whole number is expected, and not 'x'", "'x'", hint),
    ]);
}

#[test]
fn names_of_other_systems_have_a_hint_of_what_to_write() {
    check(&[
        ("SELECT * FROM main.\"x.csv\"", "table \"x.csv\" does not exist: a file is no table by its name", "main", "COPY t TO"),
        ("SELECT * FROM read_xlsx('x.xlsx')", "there is no table function \"read_xlsx\"", "read_xlsx", "read_csv"),
        ("SELECT timestampdiff(d, d) FROM t", "there is no function \"timestampdiff\"", "timestampdiff", "a - b"),
        ("SELECT datediff(d, d) FROM t", "datediff does not take such arguments", "", "datediff('month', a, b)"),
        ("SELECT json_extract(b, '$') FROM t", "there is no function \"json_extract\"", "json_extract", "structs"),
        ("SELECT b->'a' FROM t", "the operator -> is not supported", "", "structs"),
        ("SHOW DATABASES", "SHOW DATABASES is not supported", "", "SHOW SCHEMAS"),
        ("USE x", "USE x is not supported", "", "schema.table"),
        ("VACUUM", "VACUUM is not supported", "", "OPTIMIZE TABLE"),
        ("ANALYZE t", "ANALYZE t is not supported", "", "statistics"),
        ("PRAGMA table_info('t')", "PRAGMA table_info('t') is not supported", "", "DESCRIBE"),
        ("INSERT INTO u VALUES (1, 'x') RETURNING a", "INSERT … RETURNING is not supported", "", "select the rows"),
        ("SET threads = -1", "the setting threads cannot be \"-1\"", "", "SHOW threads; shows its value"),
        ("SET threads = 0", "the setting threads cannot be 0", "", "it is 1 or more; RESET threads restores its first value"),
        ("SET quiver.zone_pruning = 'maybe'", "the setting quiver.zone_pruning cannot be \"maybe\"", "", "SHOW quiver.zone_pruning"),
        ("SET memory_limit = '1GB'", "there is no setting \"memory_limit\"", "", "--memory-limit"),
        ("SELECT * FROM \"T\"", "table \"T\" does not exist", "\"T\"", "did you mean \"t\"?"),
        ("SELECT * FROM \"a.b c\"", "table \"a.b c\" does not exist", "\"a.b c\"", ""),
        ("CREATE TABLE v (LIKE t)", "CREATE TABLE … LIKE is not supported", "", "LIMIT 0"),
    ]);
}

#[test]
fn what_a_library_calls_its_parts_is_not_said() {
    let row_to_row = "a window function with an offset, a default or a number that differs from row to row is not supported";
    check(&[
        ("SELECT u.* FROM u AS x", "there is no table \"u\" in FROM", "", "alias"),
        ("SELECT a FROM t LIMIT 'ten'", "LIMIT is VARCHAR, where it is to be a number of rows", "LIMIT 'ten'", "LIMIT 10"),
        ("SELECT DATE '2024-02-30'", "there is no day '2024-02-30'", "'2024", "28 to 31"),
        ("SELECT CAST('2024-01-01' AS TIMESTAMP) - '2013-01-01'", "TIMESTAMP - VARCHAR cannot be computed", "", "CAST(x AS TIMESTAMP)"),
        ("SELECT b + INTERVAL '1 day' FROM t", "VARCHAR + INTERVAL cannot be computed", "b", "CAST"),
        (
            "SELECT sum(a) OVER (ORDER BY d RANGE BETWEEN INTERVAL 1 DAY PRECEDING AND CURRENT ROW) FROM t",
            "the interval of a window's frame is to be written as a text",
            "",
            "INTERVAL '1 day'",
        ),
        ("SELECT ntile(a) OVER (ORDER BY a) FROM t", row_to_row, "", "constant"),
        ("SELECT 'abc' BETWEEN 20 AND true", "VARCHAR BETWEEN BOOLEAN cannot be compared", "", "cast one of them"),
        (
            "SELECT [1, 2, 3][1:5:9223372036854775807]",
            "9223372036854775807 is no step from one element of a list to the next",
            "",
            "smaller",
        ),
        ("SELECT CAST(d AS BOOLEAN) FROM t", "CAST from DATE to BOOLEAN is not supported", "", ""),
        ("SELECT a FROM t UNION SELECT a, name FROM u", "the two sides of UNION have 1 and 2 columns", "SELECT a, name", "each SELECT"),
        ("SELECT x FROM (VALUES (1)) AS v(x, y)", "the alias names 2 columns of a table, which has 1", "", "t(a, b)"),
        ("SELECT * FROM generate_series(1, 'a')", "argument 2 is VARCHAR, where it is to be a whole number", "", "number"),
        ("SELECT bar(a) FROM t", "there is no function \"bar\"", "bar", ""),
        (
            "SELECT to_char(1234.5, '9,999.99')",
            "to_char cannot be computed of DECIMAL(5,1) and VARCHAR",
            "to_char",
            "CAST(round(x, 2) AS VARCHAR)",
        ),
        ("ATTACH 'x.db'", "syntax error: expected: AS, found the end of the statement", "", "--store"),
        ("SELECT b, sum(a) AS total FROM t GROUP BY b HAVING totl > 1", "column \"totl\" does not exist", "totl", "\"total\""),
    ]);
}
