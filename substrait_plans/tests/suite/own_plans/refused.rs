//! What plans cannot express is refused with the reason, and stays local.

use super::support::Db;

const TABLES: &str = "
    CREATE TABLE t (k BIGINT NOT NULL, g VARCHAR, i INT, d DECIMAL(9,2), day DATE, l INT[], p STRUCT(name VARCHAR, age INT));
    CREATE TABLE u (k BIGINT, i INT, g VARCHAR);
";

#[test]
fn what_a_plan_would_change_is_refused() {
    let db = Db::with(TABLES);
    let cases = [
        ("SELECT first_value(i) IGNORE NULLS FROM t", "IGNORE NULLS", "FILTER"),
        ("SELECT lag(i) IGNORE NULLS OVER (ORDER BY k) FROM t", "IGNORE NULLS", "FILTER"),
        ("SELECT sum(i) FILTER (WHERE k > 1) OVER (ORDER BY k) FROM t", "FILTER OVER a window", "another"),
        ("SELECT sum(i) OVER (ORDER BY k GROUPS 1 PRECEDING) FROM t", "GROUPS", "ROWS or RANGE"),
        ("SELECT sum(i) OVER (ORDER BY d RANGE BETWEEN 1.5 PRECEDING AND CURRENT ROW) FROM t", "offset", "whole numbers"),
        ("SELECT sum(i) OVER (ORDER BY day RANGE BETWEEN INTERVAL '2' DAY PRECEDING AND CURRENT ROW) FROM t", "offset", "whole numbers"),
        ("SELECT random() FROM t", "random", "each time"),
        ("SELECT uuid() FROM t", "uuid", "each time"),
        ("SELECT arrow_metadata(i) FROM t", "arrow_metadata", "list"),
        ("SELECT unnest(l) FROM t", "UNNEST", "lists apart"),
        // DataFusion implements it with lists.
        ("SELECT g, i FROM t INTERSECT ALL SELECT g, i FROM u", "UNNEST", "lists apart"),
        ("SELECT * FROM generate_series(1, 3)", "generate_series()", "by their names"),
        (
            "WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM r WHERE n < 3) SELECT * FROM r",
            "WITH RECURSIVE",
            "its own result",
        ),
        ("SELECT array_transform(l, x -> x + 1) FROM t", "given a function", "NULLs"),
        ("SELECT CAST(named_struct('a', k) AS STRUCT(b INT)) FROM t", "cast to", "names"),
        ("SELECT k FROM t WHERE (k, i) NOT IN (SELECT k, i FROM u)", "", ""),
    ];
    for (sql, what, why) in cases {
        // The engine does not treat all of these as queries.
        let Err(error) = db.plan(sql) else { panic!("{sql}\nhas a plan") };
        let substrait_plans::PlanError::Refused(refusal) = &error else {
            assert!(db.query(sql).is_err(), "{sql}\n{error}");
            continue;
        };
        assert!(refusal.what.contains(what) && refusal.why.contains(why), "{sql}\n{refusal}");
        assert_eq!(error.kind(), engine::ErrorKind::Unsupported);
    }
}

#[test]
fn texts_are_not_read_as_times_of_another_zone() {
    let db = Db::with(TABLES);
    db.same("SELECT to_timestamp(g) FROM t");
    db.query("SET timezone = '+05:00'").unwrap();
    let refusal = db.refused("SELECT to_timestamp(g) FROM t");
    assert!(refusal.why.contains("time zone"), "{refusal}");
    // The type of the cast contains its zone.
    db.same("SELECT CAST('2024-01-01T00:00:00' AS TIMESTAMP WITH TIME ZONE)");
}

#[test]
fn what_nobody_could_decode_is_refused() {
    let db = Db::with(TABLES);
    let sum = |terms: usize| (0..terms).map(|n| format!("d * {n}")).collect::<Vec<_>>().join(" + ");
    db.same(&format!("SELECT {} FROM t", sum(12)));
    let refusal = db.refused(&format!("SELECT {} FROM t", sum(200)));
    assert!(refusal.why.contains("100 levels"), "{refusal}");
}

#[test]
fn statements_that_are_no_queries_have_no_plan() {
    let db = Db::with(TABLES);
    for sql in ["INSERT INTO t (k) VALUES (1)", "CREATE TABLE x (a INT)", "EXPLAIN SELECT 1", "COPY t TO 'x.csv'"] {
        let error = db.plan(sql).unwrap_err();
        assert_eq!(error.kind(), engine::ErrorKind::Unsupported, "{sql}: {error}");
    }
}
