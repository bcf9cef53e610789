//! Values far larger than what they are made of: counted before they are made, refused where there is no room, and never made while
//! a statement is planned.

use engine::EngineError;

use super::helpers::{Db, small_memory};

const ROWS: i64 = 20_000;

fn filled(mib: u64) -> Db {
    let db = Db::with(small_memory(mib));
    db.run(&format!("CREATE TABLE t AS SELECT value AS a, 'text ' || value AS s FROM generate_series(1, {ROWS}) AS g(value)"));
    db
}

fn refused(db: &Db, sql: &str) -> String {
    match db.error(sql) {
        EngineError::Memory { message } => message,
        other => other.to_string(),
    }
}

#[test]
fn a_value_that_does_not_fit_is_refused_before_it_is_made() {
    let db = filled(64);
    for (sql, maker) in [
        ("SELECT length(repeat('x', 100000000))", "repeat()"),
        ("SELECT lpad('x', 1000000000)", "lpad()"),
        ("SELECT range(1, 20000000)[1]", "range()"),
        ("SELECT array_length(array_repeat('abc', 10000000))", "array_repeat()"),
        ("SELECT max(length(lpad(s, 100000000))) FROM t", "lpad()"),
        ("SELECT count(*) FROM t WHERE length(rpad(s, 100000000)) > 5", "rpad()"),
        ("SELECT length(replace(repeat('a', 100000), 'a', repeat('b', 10000)))", "replace()"),
        ("SELECT repeat('x', 60000000) || s FROM t", "repeat()"),
    ] {
        let message = refused(&db, sql);
        assert!(message.contains(&format!("what {maker} makes")) && message.contains("limit of 67.1 MB"), "{sql}: {message}");
    }
    assert_eq!(db.value("SELECT count(*) FROM t"), ROWS.to_string());
}

#[test]
fn a_value_of_more_than_a_gibibyte_is_none() {
    let db = filled(64);
    for sql in ["SELECT repeat('x', 2000000000)", "SELECT generate_series(1, 100000000000)", "SELECT max(lpad(s, 2000000000)) FROM t"] {
        let message = refused(&db, sql);
        assert!(message.contains("a value may have at most 1.07 GB"), "{sql}: {message}");
    }
}

#[test]
fn rows_with_large_values_go_through_operators_a_few_at_a_time() {
    let db = filled(128);
    // 20,000 times 1 MB, which is never there at once.
    let ran = db.run("SELECT max(length(repeat(s, 100000))) FROM t");
    assert_eq!(ran.rows(), ["1000000"]);
    assert!(ran.report.peak_memory_bytes < 128 << 20, "{:?}", ran.report);
    assert_eq!(db.value("SELECT count(*) FROM t WHERE length(repeat(s, 10000)) = 60000"), "9");
    assert_eq!(db.value("SELECT count(*) FROM (SELECT unnest(range(0, 2000)) AS n FROM t WHERE a <= 1000) WHERE n = 7"), "1000");
    let text = "y".repeat(100_000);
    assert_eq!(db.value(&format!("SELECT sum(length(CASE WHEN a % 2 = 0 THEN '{text}' ELSE s END)) FROM t")), "1000094445");
    assert_eq!(db.value("SELECT max(length(array_to_string(array_repeat(s, 10000), ','))) FROM t WHERE a < 1000"), "89999");
}

#[test]
fn nothing_large_is_made_while_a_statement_is_planned() {
    let db = filled(64);
    let plan = |sql: &str| db.rows(&format!("EXPLAIN {sql}")).join("\n");
    let large = plan("SELECT repeat('xyz', 100000)");
    assert!(large.contains("repeat(") && large.len() < 10_000, "{large}");
    assert!(plan("SELECT a FROM t WHERE s = repeat('xyz', 4)").contains("xyzxyzxyzxyz"));
    // Each level is twice as long as the one below, in whatever way it is written.
    let levels = 15;
    let (open, close) = ("(SELECT x || x AS x FROM ".repeat(levels), ")".repeat(levels));
    let doubled = |first: &str| format!("SELECT length(x) FROM {open}({first}){close}");
    for first in ["SELECT repeat('x', 200000) AS x", "SELECT repeat(s, 20000) AS x FROM t"] {
        let message = refused(&db, &doubled(first));
        assert!(message.contains("makes") && message.contains("value may have") || message.contains("limit"), "{message}");
    }
}

#[test]
fn calls_that_are_not_constants_of_a_plan_may_stand_where_constants_do() {
    let db = filled(64);
    assert_eq!(db.rows("SELECT length(column1), column2 FROM (VALUES (repeat('x', 1000000), 1), ('yz', 2))"), ["1000000|1", "2|2"]);
    assert_eq!(db.rows("VALUES (length(repeat('x', 1000000))), (array_length(range(1, 100000)))"), ["1000000", "99999"]);
    db.run("CREATE TABLE u(s VARCHAR DEFAULT repeat('z', 300000), n BIGINT)");
    db.run("INSERT INTO u VALUES (repeat('x', 500000), 1), (DEFAULT, 2)");
    db.run("INSERT INTO u(n) VALUES (3)");
    assert_eq!(db.rows("SELECT n, length(s) FROM u ORDER BY n"), ["1|500000", "2|300000", "3|300000"]);
}

#[test]
fn rows_of_values_come_in_their_order_also_where_some_are_large() {
    let db = filled(64);
    let row = |number: usize| {
        if number.is_multiple_of(3) { format!("({number}, repeat('x', {}))", 300_000 + number) } else { format!("({number}, NULL)") }
    };
    let rows = (0..50).map(row).collect::<Vec<_>>().join(", ");
    let expected =
        |number: usize| if number.is_multiple_of(3) { format!("{number}|{}", 300_000 + number) } else { format!("{number}|NULL") };
    let expected = (0..50).map(expected).collect::<Vec<_>>();
    assert_eq!(db.rows(&format!("SELECT column1, length(column2) FROM (VALUES {rows})")), expected);
    db.run("CREATE TABLE u(place BIGINT, s VARCHAR)");
    db.run(&format!("INSERT INTO u VALUES {rows}"));
    assert_eq!(db.rows("SELECT place, length(s) FROM u"), expected);
}

#[test]
fn texts_of_several_times_the_limit_are_written_within_it() {
    let db = Db::with(small_memory(48));
    let query = |text: &str, rows: usize| format!("SELECT value AS id, {text} AS s FROM generate_series(1, {rows}) AS g (value)");
    db.run(&format!("CREATE TABLE narrow AS {}", query("lpad(value::VARCHAR, 500, 'x') || value", 300_000)));
    db.run(&format!("CREATE TABLE some AS {}", query("lpad(value::VARCHAR, 3000, 'x') || value", 50_000)));
    db.run(&format!("CREATE TABLE wide AS {}", query("lpad(value::VARCHAR, 100000, 'x') || value", 1_500)));
    db.run("INSERT INTO some SELECT id, s || '!' FROM some");
    db.run("UPDATE some SET s = s || '?'");
    assert_eq!(db.value("SELECT sum(length(s)) FROM narrow"), "151688895");
    assert_eq!(db.value("SELECT sum(length(s)) FROM some"), "300627788");
    assert_eq!(db.value("SELECT sum(length(s)) FROM wide"), "150004893");
}

#[test]
fn what_an_aggregate_makes_of_all_rows_counts_with_what_it_holds() {
    let db = filled(64);
    // First: a statement that was refused gives its memory back a moment later.
    assert_eq!(db.value("SELECT length(string_agg(s, ',')) FROM t"), "208893");
    assert_eq!(db.value("SELECT array_length(array_agg(a ORDER BY s DESC)) FROM t"), ROWS.to_string());
    for sql in [
        "SELECT length(string_agg(repeat('x', 10000), ',')) FROM t",
        "SELECT length(string_agg(repeat(s, 1000), ',')) FROM t",
        "SELECT array_length(array_agg(generate_series(1, 1000))) FROM t",
        "SELECT a % 3, length(string_agg(repeat(s, 1000), ',')) FROM t GROUP BY 1",
        "SELECT a % 3, array_length(array_agg(repeat(s, 1000))) FROM t GROUP BY 1",
    ] {
        let message = refused(&db, sql);
        assert!(message.contains("limit of 67.1 MB"), "{sql}: {message}");
    }
}

#[test]
fn distinct_lists_take_memory_as_their_bytes() {
    let db = filled(128);
    assert_eq!(db.value("SELECT array_length(array_agg(DISTINCT [a, a + 1])) FROM t"), ROWS.to_string());
    assert_eq!(db.value("SELECT array_length(array_agg(DISTINCT {'n': a, 's': s})) FROM t"), ROWS.to_string());
    assert_eq!(db.value("SELECT array_length(array_agg([a, a + 1] ORDER BY s)) FROM t"), ROWS.to_string());
    for one in ["any_value([a, a + 1])", "first_value({'n': a})", "last_value([s])", "max([s])", "min({'n': a, 's': s})"] {
        assert_eq!(
            db.value(&format!("SELECT count(*) FROM (SELECT a, {one} AS x FROM t GROUP BY a) WHERE x IS NOT NULL")),
            ROWS.to_string()
        );
    }
    assert_eq!(db.rows("SELECT count(DISTINCT [a]), count(DISTINCT {'n': a % 7}) FROM t"), [format!("{ROWS}|7")]);
    let grouped = "SELECT g, array_length(array_agg(DISTINCT [a % 10])) FROM (SELECT a % 2 AS g, a FROM t) GROUP BY g ORDER BY g";
    assert_eq!(db.rows(grouped), ["0|5", "1|5"]);
    assert_eq!(db.value("SELECT array_agg(DISTINCT [a % 3] ORDER BY [a % 3] DESC) FROM t"), "[[2], [1], [0]]");
}

#[test]
fn statements_of_millions_of_constants_are_refused_with_what_to_do_instead() {
    let db = filled(64);
    let numbers = (0..200_000).map(|number| number.to_string()).collect::<Vec<_>>();
    for sql in [
        format!("SELECT count(*) FROM t WHERE a IN ({})", numbers.join(",")),
        format!("SELECT count(*) FROM (VALUES ({})) v", numbers.join("), (")),
        format!("INSERT INTO t VALUES ({}, 'x')", numbers.join(", 'x'), (")),
    ] {
        let message = refused(&db, &sql);
        assert!(message.contains("words, values and signs") && message.contains("COPY"), "{message}");
    }
    let some = numbers[..10_000].join(",");
    assert_eq!(db.value(&format!("SELECT count(*) FROM t WHERE a IN ({some})")), "9999");
}
