//! INSERT and CREATE TABLE AS: all rows or none.

use engine::EngineError;

use super::helpers::{Db, numbers, soon};

#[test]
fn rows_come_from_values_and_from_queries() {
    let db = Db::new();
    db.run("CREATE TABLE t (a int, b varchar, c decimal(9,2))");
    db.run("INSERT INTO t VALUES (1, 'x', 1.5), (2, NULL, -0.01)");
    db.run("INSERT INTO t SELECT a + 10, b || 'y', c * 2 FROM t");
    db.run("INSERT INTO t (b, a) SELECT 'only', 5");
    assert_eq!(db.sorted_rows("SELECT * FROM t"), ["11|xy|3.00", "12|NULL|-0.02", "1|x|1.50", "2|NULL|-0.01", "5|only|NULL"]);
}

#[test]
fn values_are_cast_to_the_column_or_refused() {
    let db = Db::new();
    db.run("CREATE TABLE t (i smallint, d decimal(4,1), day date, f real)");
    db.run("INSERT INTO t VALUES ('7', 2, '2024-01-31', 1)");
    assert_eq!(db.rows("SELECT * FROM t"), ["7|2.0|2024-01-31|1.0"]);
    for values in ["70000, 1, NULL, 1", "1, 99999, NULL, 1", "1, 1, 'yesterday', 1", "1, 1, NULL, 'much'", "1.5.5, 1, NULL, 1"] {
        let error = db.error(&format!("INSERT INTO t VALUES ({values})")).to_string();
        assert!(!error.contains("internal"), "{values}: {error}");
    }
    assert_eq!(db.value("SELECT count(*) FROM t"), "1");
}

#[test]
fn the_number_of_values_must_be_that_of_the_columns() {
    let db = Db::new();
    db.run("CREATE TABLE t (a int, b int)");
    for sql in [
        "INSERT INTO t VALUES (1)",
        "INSERT INTO t VALUES (1, 2, 3)",
        "INSERT INTO t (a) VALUES (1, 2)",
        "INSERT INTO t (a, a) VALUES (1, 2)",
        "INSERT INTO t SELECT 1",
        "INSERT INTO t (a, c) VALUES (1, 2)",
    ] {
        db.error(sql);
    }
    assert_eq!(db.value("SELECT count(*) FROM t"), "0");
    let error = db.error("INSERT INTO t VALUES (1, 2), (3)").to_string();
    assert!(error.contains("row 2 of VALUES has 1 value where the number is to be 2"), "{error}");
}

#[test]
fn columns_left_out_are_null_and_refused_where_they_may_not_be() {
    let db = Db::new();
    db.run("CREATE TABLE t (a int NOT NULL, b int)");
    db.run("INSERT INTO t (a) VALUES (1)");
    let error = db.error("INSERT INTO t (b) VALUES (1)");
    assert!(matches!(&error, EngineError::NotNull { column, table, .. } if column == "a" && table == "t"), "{error}");
    assert_eq!(db.rows("SELECT * FROM t"), ["1|NULL"]);
}

#[test]
fn a_null_where_none_may_be_names_the_column_and_the_row_and_leaves_the_table_as_before() {
    let db = Db::new();
    db.run("CREATE TABLE t (a bigint NOT NULL, b int)");
    db.run("INSERT INTO t VALUES (1, 1)");
    let before = db.segment_files();
    let error =
        db.error("INSERT INTO t SELECT CASE WHEN value = 20000 THEN NULL ELSE value END, 1 FROM generate_series(1, 30000) AS g(value)");
    assert!(matches!(&error, EngineError::NotNull { column, .. } if column == "a"), "{error}");
    let error = db.error("INSERT INTO t VALUES (7, 1), (NULL, 2)");
    assert_eq!(error.to_string(), "NULL in column \"a\" of \"t\", which is NOT NULL (row 2 of the rows being written)");
    assert_eq!(db.rows("SELECT * FROM t"), ["1|1"]);
    assert!(soon(|| db.segment_files() == before), "{:?}", db.segment_files());
}

#[test]
fn an_insert_that_fails_midway_leaves_no_rows_and_no_files() {
    let db = Db::new();
    db.load("t", &[], &numbers(0, 100_000));
    db.run("CREATE TABLE sink (a bigint)");
    let before = db.segment_files();
    for sql in [
        "INSERT INTO sink SELECT 1 / (id - 90000) FROM t",
        "CREATE TABLE made AS SELECT 1 / (id - 90000) AS a FROM t",
        "CREATE TABLE sorted ORDER BY (a) AS SELECT 1 / (id - 90000) AS a FROM t",
        "CREATE OR REPLACE TABLE sink AS SELECT cast(s AS bigint) AS a FROM t",
        "INSERT OVERWRITE t SELECT id, k, r / (id - 90000), s FROM t",
    ] {
        let error = db.error(sql).to_string();
        assert!(error.contains("zero") || error.contains("cast"), "{sql}: {error}");
        assert!(soon(|| db.segment_files() == before), "{sql}: {:?}", db.segment_files());
    }
    assert_eq!(db.session.table_names(), ["sink", "t"]);
    assert_eq!(db.value("SELECT count(*) FROM sink"), "0");
    assert_eq!(db.value("SELECT sum(k) FROM t"), "450000");
    let db = db.reopened();
    assert_eq!(db.value("SELECT count(*) FROM t"), "100000");
    assert_eq!(db.segment_files(), before);
}

#[test]
fn a_table_can_be_inserted_into_itself() {
    let db = Db::new();
    db.load("t", &[], &numbers(0, 50_000));
    for doubled in [100_000, 200_000] {
        db.run("INSERT INTO t SELECT * FROM t");
        assert_eq!(db.value("SELECT count(*) FROM t"), doubled.to_string());
    }
    assert_eq!(db.rows("SELECT count(DISTINCT id), min(id), max(id), sum(k) FROM t"), ["50000|0|49999|900000"]);
    db.run("INSERT OVERWRITE t SELECT * FROM t WHERE id < 10");
    assert_eq!(db.value("SELECT count(*) FROM t"), "40");
}

#[test]
fn a_table_made_from_a_query_has_its_columns_and_rows() {
    let db = Db::new();
    db.load("t", &[], &numbers(0, 50_000));
    db.run("CREATE TABLE u AS SELECT k AS tens, sum(id) AS total, avg(r) AS mean, min(s) AS first, NULL AS nothing FROM t GROUP BY k");
    assert_eq!(db.session.column_names("u"), ["tens", "total", "mean", "first", "nothing"]);
    assert_eq!(db.value("SELECT total FROM u WHERE tens = 3"), db.value("SELECT sum(id) FROM t WHERE k = 3"));
    assert_eq!(db.rows("SELECT is_nullable FROM information_schema.columns WHERE table_name = 'u' AND is_nullable = 'NO'"), [""; 0]);
    db.run("CREATE TABLE with_cte AS WITH c AS (SELECT id FROM t WHERE id < 3) SELECT * FROM c");
    assert_eq!(db.value("SELECT count(*) FROM with_cte"), "3");
}

#[test]
fn rows_inserted_one_by_one_are_all_there() {
    let db = Db::new();
    db.run("CREATE TABLE t (a int, s varchar)");
    for a in 0..30 {
        db.run(&format!("INSERT INTO t VALUES ({a}, 'row {a}')"));
    }
    assert_eq!(db.rows("SELECT count(*), sum(a), count(DISTINCT s) FROM t"), ["30|435|30"]);
    assert_eq!(db.rows("SELECT s FROM t WHERE a = 17"), ["row 17"]);
    let db = db.reopened();
    assert_eq!(db.rows("SELECT count(*), sum(a) FROM t"), ["30|435"]);
}

#[test]
fn rows_are_of_the_declared_type_whatever_the_query_gives() {
    let db = Db::new();
    db.run("CREATE TABLE t AS SELECT arrow_cast('x', 'Dictionary(Int32, Utf8)') AS d, arrow_cast('y', 'LargeUtf8') AS l, arrow_cast(X'00', 'Binary') AS b, arrow_cast(1.5, 'Decimal64(5, 1)') AS m");
    assert_eq!(
        db.rows("SELECT arrow_typeof(d), arrow_typeof(l), arrow_typeof(b), arrow_typeof(m) FROM t"),
        ["Utf8View|Utf8View|BinaryView|Decimal128(5, 1)"]
    );
    assert_eq!(db.rows("SELECT * FROM t"), ["x|y|00|1.5"]);
}

#[test]
fn a_prepared_insert_or_query_sees_the_table_as_it_is_when_it_runs() {
    let db = Db::new();
    db.script("CREATE TABLE t (a bigint); INSERT INTO t VALUES (1); PREPARE q(bigint) AS SELECT count(*) FROM t WHERE a < $1");
    assert_eq!(db.value("EXECUTE q(100)"), "1");
    db.run("INSERT INTO t VALUES (2), (3)");
    assert_eq!(db.value("EXECUTE q(100)"), "3");
    assert_eq!(db.value("EXECUTE q(3)"), "2");
    db.run("DROP TABLE t");
    db.error("EXECUTE q(100)");
    db.run("DEALLOCATE q");
    db.error("EXECUTE q(100)");
}

#[test]
fn two_writers_of_one_engine_both_get_their_rows_in() {
    let db = Db::new();
    db.run("CREATE TABLE t (a bigint)");
    let sessions: Vec<_> = (0..4).map(|_| db.engine.session().unwrap()).collect();
    super::helpers::wait(async {
        let inserts = sessions.iter().map(|session| async move {
            for _ in 0..5 {
                super::helpers::run(session, "INSERT INTO t SELECT value FROM generate_series(1, 1000) AS g(value)").await.unwrap();
            }
        });
        futures::future::join_all(inserts).await;
    });
    assert_eq!(db.rows("SELECT count(*), sum(a) FROM t"), ["20000|10010000"]);
}

#[test]
fn a_number_with_an_exponent_can_be_written() {
    let db = Db::new();
    assert_eq!(db.rows("SELECT 1e3 = 1000, 1.5e-3 = 0.0015, 2E2 + 1"), ["true|true|201.0"]);
    db.script("CREATE TABLE t (f double, d decimal(9,2)); INSERT INTO t VALUES (-1e300, 1e3), (1.5e-300, 12.5e-1)");
    assert_eq!(db.rows("SELECT * FROM t WHERE f < 1e-200"), ["-1e300|1000.00", "1.5e-300|1.25"]);
}

#[test]
fn rows_are_inserted_also_where_there_is_no_runtime() {
    let db = Db::new();
    db.run("CREATE TABLE t (id bigint)");
    let insert = async { db.session.execute("INSERT INTO t VALUES (1), (2)").await?.collect().await };
    futures::executor::block_on(insert).unwrap();
    assert_eq!(db.value("SELECT sum(id) FROM t"), "3");
}
