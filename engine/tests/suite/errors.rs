//! Errors say what is wrong, where in the statement, and what was perhaps meant.

use engine::{EngineError, Session};

use super::helpers::{Db, numbers};

fn db() -> Db {
    let db = Db::new();
    db.load("flights", &[], &numbers(0, 1_000));
    db.run("CREATE TABLE carriers (code varchar, name varchar)");
    db
}

/// The part of the statement an error points to, up to the next blank or sign.
fn pointed<'a>(sql: &'a str, error: &EngineError) -> &'a str {
    let at = error.position().unwrap_or_else(|| panic!("{error} has no place"));
    sql[at..].split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap()
}

#[test]
fn a_misspelt_column_is_pointed_at_and_a_near_one_suggested() {
    let db = db();
    db.run("CREATE TABLE t (departure_delay int, arrival_delay int)");
    for (sql, wrong, hint) in [
        ("SELECT departure_dely FROM t", "departure_dely", "did you mean \"departure_delay\"?"),
        ("SELECT count(*) FROM t WHERE arival_delay > 3", "arival_delay", "did you mean \"arrival_delay\"?"),
        ("SELECT arrival_delay FROM t ORDER BY arrival_delai", "arrival_delai", "did you mean \"arrival_delay\"?"),
        ("SELECT 'é日本', t.arrival_delax\nFROM t", "t", "did you mean \"arrival_delay\"?"),
        ("SELECT 'é日本',\n  'ü', arrival_delax FROM t", "arrival_delax", "did you mean \"arrival_delay\"?"),
        ("INSERT INTO t (arrival_dela) VALUES (1)", "arrival_dela", "did you mean \"arrival_delay\"?"),
        ("CREATE TABLE u AS SELECT departure_dela FROM t", "departure_dela", "did you mean \"departure_delay\"?"),
        ("CREATE VIEW u AS SELECT departure_dela FROM t", "departure_dela", "did you mean \"departure_delay\"?"),
    ] {
        let error = db.error(sql);
        assert!(error.to_string().contains("does not exist"), "{sql}: {error}");
        assert_eq!(pointed(sql, &error), wrong, "{sql}: {error}");
        assert_eq!(error.hint(), Some(hint), "{sql}");
    }
}

#[test]
fn an_unknown_column_comes_with_the_columns_there_are() {
    let error = db().error("SELECT passengers FROM flights");
    assert_eq!(error.to_string(), "column \"passengers\" does not exist");
    assert_eq!(error.hint(), Some("columns there are: id, k, r, s"));
}

#[test]
fn a_misspelt_table_is_pointed_at_and_a_near_one_suggested() {
    let db = db();
    for (sql, wrong) in [
        ("SELECT * FROM flihgts", "flihgts"),
        ("SELECT 'é' FROM flights JOIN carrier ON true", "carrier"),
        ("WITH f AS (SELECT * FROM flight) SELECT * FROM f", "flight"),
        ("INSERT INTO flightss VALUES (1)", "flightss"),
        ("SELECT (SELECT max(name) FROM carries)", "carries"),
        ("DROP TABLE flihgts", "flihgts"),
        ("DESCRIBE flihgts", "flihgts"),
    ] {
        let error = db.error(sql);
        assert_eq!(error.to_string(), format!("table \"{wrong}\" does not exist"), "{sql}");
        let near = if wrong.starts_with('f') { "flights" } else { "carriers" };
        assert_eq!(error.hint(), Some(format!("did you mean \"{near}\"?").as_str()), "{sql}");
        if let Some(at) = error.position() {
            assert!(sql[at..].starts_with(wrong), "{sql}: points at {:?}", &sql[at..]);
        } else {
            assert!(sql.starts_with('D'), "{sql} has no place");
        }
    }
    let error = db.error("SELECT * FROM passengers");
    assert_eq!(error.hint(), None, "no table is near");
    let error = db.error("SELECT * FROM Delays.parquet");
    assert_eq!(error.hint(), Some("a file stands in single quotes: 'Delays.parquet'"));
}

#[test]
fn a_misspelt_function_is_pointed_at() {
    let sql = "SELECT k, smu(id) FROM flights GROUP BY k";
    let error = db().error(sql);
    assert_eq!(pointed(sql, &error), "smu", "{error}");
}

#[test]
fn a_syntax_error_is_one_sentence_with_its_place() {
    let db = db();
    for (sql, wrong) in [
        ("SELEC id FROM flights", "SELEC"),
        ("SELECT id FROM flights WHERE id = = 3", "="),
        ("SELECT 'é', id FROM flights\nGROUP id", "GROUP"),
        ("SELECT id FROM flights LIMIT 3 3", "3"),
        ("SELECT (1 + 2 FROM flights", "FROM"),
    ] {
        let error = db.error(sql);
        let text = error.to_string();
        assert!(text.starts_with("syntax error: ") && !text.contains("ParserError") && !text.contains('\n'), "{sql}: {text}");
        let at = error.position().unwrap_or_else(|| panic!("{sql}: {error} has no place"));
        assert!(sql[at..].starts_with(wrong), "{sql}: points at {:?}", &sql[at..]);
    }
}

#[test]
fn a_statement_that_ends_too_early_is_said_to_end() {
    for sql in ["SELECT id FROM flights WHERE", "SELECT", "SELECT id FROM flights WHERE id IN (1, 2", "INSERT INTO flights VALUES"] {
        let error = db().error(sql);
        let text = error.to_string();
        assert!(text.starts_with("syntax error: ") && !text.contains("\")"), "{sql}: {text}");
        assert!(error.position().is_none_or(|at| at <= sql.len()), "{sql}");
    }
}

#[test]
fn a_quote_that_is_never_closed_is_pointed_at() {
    for (sql, at) in [("SELECT 'abc", 7), ("SELECT 'é', 'it is", 13), ("SELECT \"abc FROM t", 7), ("SELECT 1 /* never", 9)] {
        let error = db().error(sql);
        assert!(error.to_string().starts_with("syntax error: "), "{sql}: {error}");
        let found = error.position().unwrap_or_else(|| panic!("{sql}: {error} has no place"));
        // The tokenizer knows of a comment only that it has no end.
        assert!(found == at || sql.contains("/*") && found == sql.len(), "{sql}: {found}, {error}");
    }
    let statements = Session::split_statements("SELECT 1; SELECT 'abc; SELECT 2");
    assert_eq!(statements.len(), 2);
    assert!(!statements[1].complete);
}

#[test]
fn no_statement_or_two_are_refused() {
    let db = db();
    for sql in ["", "   ", ";", "-- nothing", "SELECT 1; SELECT 2"] {
        let error = db.error(sql);
        assert!(matches!(error, EngineError::Sql { .. } | EngineError::Unsupported { .. }), "{sql:?}: {error}");
    }
    assert_eq!(db.rows("SELECT 1;"), ["1"]);
}

#[test]
fn an_error_in_a_row_says_what_was_in_it() {
    let db = db();
    for (sql, words) in [
        ("SELECT 1 / (id - 5) FROM flights", "ivide by zero"),
        ("SELECT cast(s AS int) FROM flights", "this is the text of row number"),
        ("SELECT cast(id * 1000 AS tinyint) FROM flights", "1000"),
        ("SELECT date 'yesterday'", "yesterday"),
        ("SELECT cast('99999' AS decimal(4,1))", "decimal"),
        ("SELECT (SELECT id FROM flights)", "one row"),
    ] {
        let error = db.error(sql);
        let text = error.to_string();
        assert!(text.to_lowercase().contains(&words.to_lowercase()) && !text.contains('\n'), "{sql}: {text}");
        assert!(!matches!(error, EngineError::Internal(_)), "{sql}: {text}");
    }
    assert_eq!(db.value("SELECT count(*) FROM flights"), "1000");
}

#[test]
fn errors_of_planning_are_not_internal_ones() {
    let db = db();
    for sql in [
        "SELECT a.id FROM flights a, flights b WHERE id = 3",
        "SELECT id FROM flights GROUP BY k",
        "SELECT sum(s) FROM flights",
        "SELECT id + s FROM flights",
        "SELECT id FROM flights WHERE sum(id) > 3",
        "SELECT * FROM flights UNION SELECT 1",
        "SELECT id, row_number() OVER (ORDER BY nothing) FROM flights",
        "SELECT abs(1, 2, 3)",
        "SELECT * FROM flights LIMIT 'x'",
        "SELECT id FROM flights WHERE s",
        "SELECT id FROM flights LIMIT -1",
        "SELECT $1",
        "SELECT id FROM flights ORDER BY 7",
        "WITH RECURSIVE x AS (SELECT 1 AS a UNION ALL SELECT 'b' FROM x) SELECT * FROM x",
        "SELECT cast(1 AS nonsense)",
        "SELECT * FROM generate_series()",
        "SELECT * FROM read_everything('x')",
        "EXECUTE nothing(1)",
        "VACUUM",
        "GRANT ALL ON flights TO me",
        "CALL nothing()",
    ] {
        let error = db.error(sql);
        assert!(!matches!(error, EngineError::Internal(_)), "{sql}: {error}");
        assert!(!error.to_string().is_empty() && !error.to_string().contains("backtrace"), "{sql}: {error}");
    }
}

#[test]
fn a_place_is_within_the_statement_and_between_characters() {
    let db = db();
    for sql in [
        "SELECT é FROM flights",
        "SELECT \"日本\" FROM flights",
        "SELECT '日本' + idd FROM flights é",
        "SELECT 日 FROM 本",
        "SÉLECT 1",
        "SELECT 1 é 2 ü",
    ] {
        let error = db.error(sql);
        assert!(error.position().is_none_or(|at| sql.is_char_boundary(at)), "{sql}: {error}");
    }
}

#[test]
fn a_message_is_short_however_long_the_value_or_the_expression_in_it_is() {
    let db = db();
    let long = "long ".repeat(200_000);
    db.run("CREATE TABLE k (a VARCHAR PRIMARY KEY, b INT CHECK (b > 0))");
    for sql in [
        format!("SELECT CAST('{long}' AS INT)"),
        format!("SELECT DATE '{long}'"),
        format!("SELECT \"{long}\" FROM flights"),
        format!("SELECT * FROM \"{long}\""),
        format!("SELECT '{long}' + id FROM flights"),
        format!("INSERT INTO k SELECT '{long}', -1"),
        format!("INSERT INTO k VALUES ('{long}', 1), ('{long}', 1)"),
        format!("SELECT * FROM flights WHERE id = 1 WHERE '{long}'"),
        format!("SET \"{long}\" = 1"),
    ] {
        let error = db.error(&sql);
        let text = error.to_string();
        let hint = error.hint().unwrap_or_default();
        assert!(text.len() < 2_000 && hint.len() < 2_000, "{}: {} and {} bytes", &sql[..40], text.len(), hint.len());
    }
}
