//! Everyday mistakes: functions of what they do not take, a FROM that was forgotten, counts and numbers that do not fit.

use super::helpers::{Db, numbers};

fn db() -> Db {
    let db = Db::new();
    db.load("flights", &[], &numbers(0, 100));
    db.run("CREATE TABLE t (a BIGINT, b VARCHAR, c DOUBLE)");
    db
}

/// The message, what stands at its place up to the next sign, and the hint.
fn error_parts(db: &Db, sql: &str) -> (String, String, String) {
    let error = db.error(sql);
    let at = error.position().map_or("", |at| &sql[at..]);
    let word = at.split(|char: char| !char.is_alphanumeric() && char != '_' && char != '\'').next().unwrap_or_default();
    (error.to_string(), word.to_string(), error.hint().unwrap_or_default().to_string())
}

#[test]
fn delete_without_from_deletes_nothing() {
    let db = db();
    for sql in ["delete flights", "DELETE flights WHERE id < 3", "EXPLAIN ANALYZE DELETE flights", "PREPARE p AS DELETE flights"] {
        let (message, place, hint) = error_parts(&db, sql);
        assert_eq!(message, "syntax error: expected: FROM, found: flights", "{sql}");
        assert_eq!((place.as_str(), hint.as_str()), ("flights", "write DELETE FROM flights"), "{sql}");
    }
    assert_eq!(db.value("SELECT count(*) FROM flights"), "100");
    db.run("DELETE FROM flights WHERE id < 3");
    assert_eq!(db.value("SELECT count(*) FROM flights"), "97");
}

#[test]
fn a_function_of_what_it_does_not_take_is_one_sentence_at_its_place() {
    let db = db();
    let number = "cast the argument to a number: CAST(x AS DOUBLE)";
    let text = "cast the argument to text: CAST(x AS VARCHAR)";
    for (sql, message, place, hint) in [
        ("SELECT k, sum(s) FROM flights GROUP BY k", "sum cannot be computed of VARCHAR", "sum", number),
        ("SELECT sum(s) OVER () FROM flights", "sum cannot be computed of VARCHAR", "sum", number),
        ("SELECT round(s) FROM flights", "round cannot be computed of VARCHAR", "round", number),
        ("SELECT avg('x')", "avg cannot be computed of VARCHAR", "avg", number),
        ("SELECT stddev(b) FROM t", "stddev cannot be computed of VARCHAR", "stddev", number),
        ("SELECT power(b, a) FROM t", "power cannot be computed of VARCHAR and BIGINT", "power", number),
        ("SELECT abs(b) FROM t", "abs cannot be computed of VARCHAR", "abs", number),
        ("SELECT lower(1)", "lower cannot be computed of BIGINT", "lower", text),
        ("SELECT trim(a) FROM t", "trim cannot be computed of BIGINT", "trim", text),
        ("SELECT bool_and(a) FROM t", "bool_and cannot be computed of BIGINT", "bool_and", "write a condition, such as x > 0"),
        ("SELECT sum(a, a) FROM t", "sum takes 1 argument, and was given 2", "sum", ""),
        ("SELECT round(1.5, 2, 3)", "round takes 1 or 2 arguments, and was given 3", "round", ""),
        ("SELECT corr(a) FROM t", "corr takes 2 arguments, and was given 1", "corr", ""),
        ("SELECT nth_value(a) FROM t", "nth_value takes 2 arguments, and was given 1", "nth_value", ""),
        ("SELECT sum() FROM t", "sum takes arguments, and was given none", "sum", ""),
        ("SELECT coalesce()", "coalesce must have at least one argument", "coalesce", ""),
    ] {
        assert_eq!(error_parts(&db, sql), (message.into(), place.into(), hint.into()), "{sql}");
    }
}

#[test]
fn a_window_function_without_a_window_is_said_to_want_one() {
    let (message, place, hint) = error_parts(&db(), "SELECT lag(a) FROM t");
    assert_eq!((message.as_str(), place.as_str()), ("lag is computed over a window", "lag"));
    assert_eq!(hint, "write lag(…) OVER (ORDER BY …)");
}

#[test]
fn no_tree_of_a_statement_and_no_name_of_a_layer_is_printed() {
    let db = db();
    db.run("INSERT INTO t VALUES (1, '(', 1)");
    for (sql, message) in [
        ("SELECT substring(b) FROM t", "substring needs a place to start, or a length"),
        ("DROP INDEX i", "DROP INDEX is not supported"),
        ("DROP DATABASE d", "DROP DATABASE is not supported"),
        ("LOCK TABLE t", "LOCK TABLE t is not supported"),
        ("SELECT regexp_match(b, '(') FROM t", "the regular expression '(' cannot be read: unclosed group"),
        ("SELECT b ~ '(x{1000}){1000}' FROM t", "the regular expression is too large"),
        ("SELECT b ~ '[' FROM t", "the regular expression '[' cannot be read: unclosed character class"),
    ] {
        assert_eq!(db.error(sql).to_string(), message, "{sql}");
    }
    for sql in [
        "SELECT {a: 1}.b",
        "SELECT date_part('x', a) FROM t",
        "SELECT range('a')",
        "SELECT median(b) FROM t",
        "SELECT array_length(a) FROM t",
        "SELECT string_agg(b) FROM t",
        "SELECT overlay(b) FROM t",
        "CREATE FUNCTION f() RETURNS INT RETURN g()",
        "DROP FUNCTION f",
    ] {
        let message = db.error(sql).to_string();
        for printed in ["Internal error", "No function matches", "Signature", "Ident", "{ ", "Error during", "\n"] {
            assert!(!message.contains(printed), "{sql}: {message}");
        }
    }
}

#[test]
fn a_text_that_is_no_number_is_pointed_at() {
    let db = db();
    let message = "Cannot cast string 'abc' to value of BIGINT type".to_string();
    for sql in ["SELECT a FROM t WHERE a = 'abc'", "UPDATE t SET a = 'abc'", "SELECT CAST('abc' AS BIGINT)"] {
        assert_eq!(error_parts(&db, sql), (message.clone(), "'abc'".into(), String::new()), "{sql}");
    }
}

#[test]
fn the_number_of_a_column_that_is_not_there_is_pointed_at() {
    let db = db();
    for (sql, message, place) in [
        ("SELECT a, 99 FROM t ORDER BY 99", "ORDER BY 99: the query has 2 columns", "99"),
        ("SELECT a FROM t ORDER BY 0", "ORDER BY 0: the columns count from 1", "0"),
        ("SELECT b FROM t GROUP BY 7", "GROUP BY 7: the query has 1 column", "7"),
    ] {
        assert_eq!(error_parts(&db, sql), (message.into(), place.into(), String::new()), "{sql}");
        assert_eq!(db.error(sql).position(), sql.rfind(place), "{sql}");
    }
}

#[test]
fn an_insert_of_too_few_columns_says_both_counts_and_the_table() {
    let db = db();
    let hint = "give a value for each column, or name the columns";
    for (sql, message) in [
        ("INSERT INTO t SELECT 1", "the query gives 1 column, and \"t\" has 3 columns"),
        ("INSERT INTO t (a, b) SELECT 1", "the query gives 1 column, and the INSERT into \"t\" names 2 columns"),
        ("INSERT INTO t SELECT 1, 2, 3, 4", "the query gives 4 columns, and \"t\" has 3 columns"),
        ("EXPLAIN INSERT INTO t SELECT 1", "the query gives 1 column, and \"t\" has 3 columns"),
    ] {
        assert_eq!(error_parts(&db, sql), (message.into(), "SELECT".into(), hint.into()), "{sql}");
    }
    assert_eq!(db.value("SELECT count(*) FROM t"), "0");
}
