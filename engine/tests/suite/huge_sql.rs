//! Statements of absurd size and depth: an answer or an error, never the end of the process.
//!
//! Each runs in a child with the stack the shell has, because an overflow cannot be caught.

use super::helpers::{Db, in_a_process_of_its_own};

const ROWS: usize = 1_000;

fn db() -> Db {
    let db = Db::new();
    db.run(&format!("CREATE TABLE t AS SELECT value AS id FROM generate_series(0, {}) AS g(value)", ROWS - 1));
    db
}

/// The one value, or an error that is not an internal one; the engine works on.
fn survives(db: &Db, sql: &str, answer: &str) {
    match db.try_run(sql) {
        Ok(ran) => assert_eq!(ran.rows(), [answer]),
        Err(error) => {
            let text = error.to_string();
            assert!(text.contains("nested too deeply") || text.contains("operators"), "{}", &text[..text.floor_char_boundary(300)]);
        }
    }
    assert_eq!(db.value("SELECT count(*) FROM t"), ROWS.to_string());
}

#[test]
fn ten_thousand_parentheses_are_refused_in_one_sentence() {
    in_a_process_of_its_own("huge_sql::ten_thousand_parentheses_are_refused_in_one_sentence", || {
        let db = db();
        let sql = format!("SELECT {}1{}", "(".repeat(10_000), ")".repeat(10_000));
        assert_eq!(db.error(&sql).to_string(), "the statement is nested too deeply");
        for unclosed in ["(", "((", "[", "CASE WHEN ", "abs(", "- ", "NOT ", "(SELECT * FROM ", "EXISTS (SELECT "] {
            db.error(&format!("SELECT {}", unclosed.repeat(10_000)));
        }
        survives(&db, &format!("SELECT {}1{}", "abs(".repeat(5_000), ")".repeat(5_000)), "1");
        survives(&db, &format!("SELECT count(*) FROM {}t{}", "(SELECT * FROM ".repeat(3_000), ") AS x".repeat(3_000)), "1000");
    });
}

#[test]
fn what_is_nested_too_deeply_is_called_so_and_other_mistakes_are_not() {
    let db = db();
    let nested = |levels: usize| format!("SELECT {}1{}", "CASE WHEN true THEN ".repeat(levels), " END".repeat(levels));
    assert_eq!(db.value(&nested(40)), "1");
    for levels in [48, 60, 90, 200] {
        assert_eq!(db.error(&nested(levels)).to_string(), "the statement is nested too deeply", "{levels}");
    }
    let unfinished = db.error(&format!("SELECT {}1{}", "CASE WHEN true THEN ".repeat(3), " END".repeat(2))).to_string();
    assert!(unfinished.starts_with("syntax error"), "{unfinished}");
}

#[test]
fn five_thousand_conditions_are_answered() {
    in_a_process_of_its_own("huge_sql::five_thousand_conditions_are_answered", || {
        let db = db();
        let terms = |count: usize, word: &str, op: &str| (0..count).map(|term| format!("id {op} {term}")).collect::<Vec<_>>().join(word);
        assert_eq!(db.value(&format!("SELECT count(*) FROM t WHERE {}", terms(5_000, " AND ", "<>"))), "0");
        assert_eq!(db.value(&format!("SELECT count(*) FROM t WHERE {}", terms(500, " OR ", "="))), "500");
    });
}

#[test]
fn a_list_of_a_hundred_thousand_values_is_answered() {
    let db = db();
    let list: Vec<String> = (0..200_000).step_by(2).map(|value| value.to_string()).collect();
    let sql = format!("SELECT count(*) FROM t WHERE id IN ({})", list.join(","));
    assert_eq!(db.value(&sql), "500");
}

#[test]
fn a_statement_of_ten_megabytes_is_answered() {
    let db = db();
    let text = "x".repeat(10 << 20);
    assert_eq!(db.value(&format!("SELECT length('{text}') AS n")), (10 << 20).to_string());
    assert_eq!(db.value(&format!("SELECT 1 AS n /* {text} */")), "1");
    db.error(&format!("SELECT {text}"));
    db.error(&format!("SELECT '{text}"));
}

#[test]
fn a_statement_longer_than_any_is_refused() {
    let db = db();
    let error = db.error(&format!("SELECT 1 -- {}", "x".repeat(65 << 20))).to_string();
    assert!(error.contains("bytes, more than"), "{}", &error[..error.floor_char_boundary(300)]);
}

#[test]
fn a_sum_of_fifteen_thousand_terms_does_not_end_the_process() {
    in_a_process_of_its_own("huge_sql::a_sum_of_fifteen_thousand_terms_does_not_end_the_process", || {
        let db = db();
        for terms in [30_000, 19_000, 15_000, 10_000, 5_000, 500] {
            survives(&db, &format!("SELECT {}", vec!["1"; terms].join(" + ")), &terms.to_string());
        }
        survives(&db, &format!("SELECT count(*) FROM t WHERE {} > 0", vec!["ln(id + 2)"; 500].join(" + ")), "1000");
    });
}

#[test]
fn a_union_of_thousands_of_queries_does_not_end_the_process() {
    in_a_process_of_its_own("huge_sql::a_union_of_thousands_of_queries_does_not_end_the_process", || {
        let db = db();
        for queries in [6_000, 3_000, 500] {
            let union = vec!["SELECT 1 AS a"; queries].join(" UNION ALL ");
            survives(&db, &format!("SELECT count(*) FROM ({union}) AS u"), &queries.to_string());
        }
    });
}

#[test]
fn a_chain_of_many_concatenations_does_not_end_the_process() {
    in_a_process_of_its_own("huge_sql::a_chain_of_many_concatenations_does_not_end_the_process", || {
        let db = db();
        survives(&db, &format!("SELECT length({})", vec!["'x'"; 1_000].join(" || ")), "1000");
        survives(&db, &format!("SELECT count(*) FROM t WHERE {}", vec!["id >= 0"; 2_000].join(" AND ")), "1000");
    });
}

#[test]
fn a_type_nested_ten_thousand_deep_does_not_end_the_process() {
    in_a_process_of_its_own("huge_sql::a_type_nested_ten_thousand_deep_does_not_end_the_process", || {
        let db = db();
        let _ = db.try_run(&format!("SELECT cast(NULL AS int{})", "[]".repeat(10_000)));
        let _ = db.try_run(&format!("CREATE TABLE deep (a int{})", "[]".repeat(10_000)));
        let _ = db.try_run(&format!("SELECT cast(NULL AS {}int{})", "array<".repeat(10_000), ">".repeat(10_000)));
        assert_eq!(db.value("SELECT count(*) FROM t"), ROWS.to_string());
    });
}

#[test]
fn thousands_of_columns_and_of_rows_of_values_are_answered() {
    let db = db();
    let columns: Vec<String> = (0..2_000).map(|column| format!("c{column} int")).collect();
    db.run(&format!("CREATE TABLE wide ({})", columns.join(", ")));
    db.run("INSERT INTO wide (c0, c1999) VALUES (1, 2)");
    assert_eq!(db.rows("SELECT c1999, c0, c1000 FROM wide"), ["2|1|NULL"]);
    let rows: Vec<String> = (0..20_000).map(|row| format!("({row}, 'row {row}')")).collect();
    db.run("CREATE TABLE u (a int, b varchar)");
    db.run(&format!("INSERT INTO u VALUES {}", rows.join(", ")));
    assert_eq!(db.rows("SELECT count(*), max(a) FROM u"), ["20000|19999"]);
}
