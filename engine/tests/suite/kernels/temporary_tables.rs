//! Results that live as long as their session: temporary tables, and where SELECT … INTO puts rows.

mod changes;
mod memory;
mod names;

use arrow::array::{ArrayRef, Int64Array};
use engine::{Session, StatementKind};

use crate::helpers::{Db, Ran, nullable, numbers, run, wait};

fn on(session: &Session, sql: &str) -> Ran {
    wait(run(session, sql)).unwrap_or_else(|error| panic!("{sql}: {error}"))
}

#[test]
fn into_volatile_makes_a_table_of_the_session() {
    let db = Db::new();
    db.load("t", &[], &numbers(0, 1_000));
    let output = db.run("SELECT k, sum(id) AS total INTO VOLATILE c FROM t WHERE id < 500 GROUP BY k");
    assert_eq!((output.kind, output.rows()), (StatementKind::Write, vec!["10".to_string()]));
    let totals: Vec<String> = (0..10i64).map(|k| format!("{k}|{}", (0..500).filter(|id| id % 10 == k).sum::<i64>())).collect();
    assert_eq!(db.sorted_rows("SELECT * FROM c"), totals);
    assert_eq!(db.rows("SELECT c.total FROM c JOIN t ON c.k = t.id WHERE t.id = 3"), ["12400"]);
    db.run("DROP TABLE c");
    assert_eq!(db.error("SELECT * FROM c").to_string(), "table \"c\" does not exist");
}

#[test]
fn every_way_to_ask_for_a_table_in_memory_makes_one() {
    let db = Db::new();
    for (number, sql) in [
        "CREATE VOLATILE TABLE c AS SELECT 7 AS a",
        "CREATE TEMPORARY TABLE c AS SELECT 7 AS a",
        "CREATE TEMP TABLE c AS SELECT 7 AS a",
        "CREATE OR REPLACE VOLATILE TABLE c AS SELECT 7 AS a",
        "CREATE TEMP TABLE IF NOT EXISTS c AS SELECT 7 AS a",
        "CREATE VOLATILE TABLE temp.c AS SELECT 7 AS a",
        "CREATE VOLATILE TABLE c (a) AS SELECT 7",
        "CREATE LOCAL TEMPORARY TABLE c AS SELECT 7 AS a",
        "CREATE TEMP TABLE c ON COMMIT PRESERVE ROWS AS SELECT 7 AS a",
        "SELECT 7 AS a INTO VOLATILE c",
        "SELECT 7 AS a INTO TEMPORARY c",
        "SELECT 7 AS a INTO TEMP TABLE c",
        "SELECT 7 AS a INTO VOLATILE TABLE temp.c",
        "WITH x AS (SELECT 7 AS a) SELECT * INTO VOLATILE c FROM x",
        "SELECT 7 AS a INTO VOLATILE c UNION ALL SELECT 8 LIMIT 1",
        "CREATE VOLATILE TABLE c (a BIGINT NOT NULL) AS SELECT 7",
    ]
    .into_iter()
    .enumerate()
    {
        assert_eq!(db.run(sql).rows(), ["1"], "{sql}");
        assert_eq!(db.rows("SELECT schema_name, kind, row_count FROM system.tables"), ["temp|volatile|1"], "{sql}");
        db.rows("SELECT a FROM c");
        let drop = ["DROP TABLE c", "DROP VOLATILE TABLE c", "DROP TEMPORARY TABLE c", "DROP TEMP TABLE IF EXISTS c", "DROP TABLE temp.c"];
        db.run(drop[number % drop.len()]);
        assert!(db.segment_files().is_empty(), "{sql}");
    }
}

#[test]
fn into_a_table_stores_the_rows() {
    let db = Db::new();
    db.load("t", &[], &numbers(0, 1_000));
    let output = db.run("SELECT id, s INTO TABLE c FROM t WHERE k = 3 ORDER BY id");
    assert_eq!((output.kind, output.rows()), (StatementKind::Write, vec!["100".to_string()]));
    db.run("SELECT count(*) AS n INTO d FROM c");
    assert_eq!(db.error("SELECT 1 AS a INTO c").to_string(), "table \"c\" already exists");
    let db = db.reopened();
    assert_eq!(
        db.rows("SELECT n, (SELECT min(id) FROM c), (SELECT max(s) FROM c) FROM d"),
        ["100|3|this is the text of row number 00000993"]
    );
}

#[test]
fn no_session_sees_a_temporary_table_of_another() {
    let db = Db::new();
    let other = db.engine.session().unwrap();
    db.run("SELECT 1 AS a INTO VOLATILE c");
    for sql in ["SELECT * FROM c", "SELECT * FROM temp.c", "DROP TABLE c", "INSERT INTO c VALUES (2)", "DESCRIBE c"] {
        let error = wait(run(&other, sql)).unwrap_err().to_string();
        assert!(error.contains("does not exist") || error.contains("not found"), "{sql}: {error}");
    }
    on(&other, "CREATE VOLATILE TABLE c AS SELECT 'mine' AS b");
    assert_eq!((on(&other, "SELECT * FROM c").rows(), db.rows("SELECT * FROM c")), (vec!["mine".to_string()], vec!["1".to_string()]));
    assert_eq!(on(&other, "SELECT count(*) FROM system.columns WHERE table_name = 'c'").rows(), ["1"]);
    drop(other);
    assert_eq!(db.rows("SELECT * FROM c"), ["1"]);
    assert_eq!(db.error("SELECT 2 AS a INTO VOLATILE c").to_string(), "temporary table \"c\" already exists");
    assert!(db.reopened().try_run("SELECT * FROM c").is_err());
}

#[test]
fn a_session_that_is_set_as_another_has_its_temporary_tables() {
    let db = Db::new();
    db.run("SELECT 1 AS a INTO VOLATILE c");
    let other = db.engine.session().unwrap();
    other.copy_settings_from(&db.session).unwrap();
    assert_eq!(on(&other, "SELECT * FROM c").rows(), ["1"]);
    on(&other, "INSERT INTO c VALUES (2)");
    drop(other);
    assert_eq!(db.rows("SELECT sum(a) FROM c"), ["3"]);
}

#[test]
fn a_session_for_one_statement_says_that_it_keeps_no_tables() {
    let db = Db::new();
    db.session.refuse_temporary_tables("begin a session");
    for sql in ["SELECT 1 AS a INTO VOLATILE c", "CREATE TEMP TABLE c (a BIGINT)"] {
        let error = db.error(sql);
        assert_eq!(error.to_string(), "the temporary table \"c\" would be lost at once: begin a session", "{sql}");
        assert_eq!(error.kind(), engine::ErrorKind::NotAllowed, "{sql}");
    }
}

#[test]
fn a_scan_is_divided_and_answers_as_one_of_a_stored_table() {
    let db = Db::new();
    db.load("stored", &[], &numbers(0, 100_000));
    db.run("CREATE VOLATILE TABLE v AS SELECT * FROM stored");
    // A batch larger than a zone comes out of a sort by way of an array.
    db.run("CREATE VOLATILE TABLE wide AS SELECT unnest(range(0, 100000)) AS id");
    for query in [
        "SELECT count(*), sum(id), min(s), max(r) FROM t",
        "SELECT k, count(*), sum(r) FROM t GROUP BY k ORDER BY k",
        "SELECT * FROM t WHERE r < 500 ORDER BY id",
        "SELECT id FROM t ORDER BY r DESC LIMIT 7",
        "SELECT count(*) FROM t WHERE s LIKE '%99' AND k = 9",
        "SELECT a.k, count(*) FROM t a JOIN t b ON a.id = b.r GROUP BY a.k ORDER BY a.k",
        "SELECT count(*) FROM t WHERE id IN (SELECT r FROM t)",
        "SELECT sum(n) FROM (SELECT count(*) AS n FROM t UNION ALL SELECT 1)",
        "SELECT lag(id) OVER (ORDER BY r) FROM t ORDER BY r LIMIT 3",
    ] {
        let of = |table: &str| db.rows(&query.replace(" t", &format!(" {table}")));
        assert_eq!(of("v"), of("stored"), "{query}");
    }
    assert_eq!(db.run("SELECT * FROM v LIMIT 10").row_count(), 10);
    assert_eq!(db.rows("SELECT count(*), sum(id), count(DISTINCT id) FROM wide"), ["100000|4999950000|100000"]);
    assert!(db.run("SELECT id FROM wide").batches.iter().all(|batch| batch.num_rows() <= 8_192));
    let plan = db.run("EXPLAIN SELECT id FROM v WHERE k = 1").text();
    assert!(plan.contains("VolatileScan table=v, columns=[id, k], partitions=3, rows=100000"), "{plan}");
}

#[test]
fn rows_and_nulls_are_counted_without_reading_them() {
    let db = Db::new();
    let values: ArrayRef = std::sync::Arc::new((0..1_000).map(|row| (row % 3 > 0).then_some(row)).collect::<Int64Array>());
    db.load("t", &[], &nullable([("a", values)]));
    db.run("SELECT a INTO VOLATILE c FROM t");
    assert_eq!(db.rows("SELECT count(*), count(a) FROM c"), ["1000|666"]);
    assert!(!db.run("EXPLAIN SELECT count(*), count(a) FROM c").text().contains("VolatileScan"));
    db.run("INSERT INTO c VALUES (NULL), (1)");
    assert_eq!(db.rows("SELECT count(*), count(a) FROM c"), ["1002|667"]);
}

#[test]
fn a_tensor_is_a_tensor_in_memory_too() {
    let db = Db::new();
    db.run("CREATE TABLE t (i BIGINT, block TENSOR(DOUBLE, 2, 2))");
    db.run("INSERT INTO t VALUES (0, [1, 2, 3, 4])");
    db.run("SELECT * INTO VOLATILE c FROM t");
    db.run("CREATE VOLATILE TABLE d (i BIGINT, block TENSOR(DOUBLE, 2, 2))");
    db.run("INSERT INTO d SELECT * FROM c");
    db.run("INSERT INTO d VALUES (1, [5, 6, 7, 8])");
    for table in ["c", "d"] {
        assert_eq!(
            db.rows(&format!("SELECT data_type FROM system.columns WHERE table_name = '{table}' AND column_name = 'block'")),
            ["TENSOR(DOUBLE, 2, 2)"]
        );
        let found = db.run(&format!("SELECT block FROM {table}"));
        let metadata = found.batches[0].schema_ref().field(0).metadata().clone();
        assert_eq!(metadata.get("ARROW:extension:name").map(String::as_str), Some("arrow.fixed_shape_tensor"), "{table}");
    }
    assert_eq!(db.sorted_rows("SELECT i, block FROM d"), ["0|[1.0, 2.0, 3.0, 4.0]", "1|[5.0, 6.0, 7.0, 8.0]"]);
}
