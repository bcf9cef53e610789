//! What can be done to a temporary table, and what is refused.

use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, StringArray};
use engine::import::{IfExists, IfMissing, IngestTarget};
use engine::{EngineError, RecordBatch};

use crate::helpers::{Db, nullable, numbers, options, run, wait};

#[test]
fn inserted_rows_are_there_for_the_next_statement() {
    let db = Db::new();
    db.load("t", &[], &numbers(0, 20_000));
    db.run("CREATE VOLATILE TABLE c (a BIGINT NOT NULL, b VARCHAR)");
    assert_eq!(db.run("INSERT INTO c VALUES (1, 'one'), (2, DEFAULT)").rows(), ["2"]);
    assert_eq!(db.run("INSERT INTO c (b, a) SELECT s, id FROM t").rows(), ["20000"]);
    assert_eq!(db.run("INSERT INTO temp.c (a) VALUES (3)").rows(), ["1"]);
    assert_eq!(db.rows("SELECT count(*), sum(a), count(b) FROM c"), ["20003|199990006|20001"]);
    assert_eq!(db.run("INSERT OVERWRITE c SELECT a, b FROM c WHERE a < 3 AND b IS NOT NULL").rows(), ["4"]);
    assert_eq!(db.sorted_rows("SELECT a FROM c"), ["0", "1", "1", "2"]);
}

#[test]
fn an_insert_that_fails_adds_no_row() {
    let db = Db::new();
    db.run("CREATE VOLATILE TABLE c (a BIGINT NOT NULL)");
    db.run("INSERT INTO c VALUES (0)");
    let error =
        db.error("INSERT INTO c SELECT CASE WHEN value = 50000 THEN NULL ELSE value END FROM generate_series(1, 100000) AS t (value)");
    assert!(matches!(&error, EngineError::NotNull { table, column, .. } if table == "c" && column == "a"), "{error}");
    db.error("INSERT INTO c SELECT 100 / (value - 50000) FROM generate_series(1, 100000) AS t (value)");
    db.error("INSERT INTO c VALUES ('x')");
    db.error("INSERT INTO c VALUES (1, 2)");
    assert_eq!(db.rows("SELECT * FROM c"), ["0"]);
}

#[test]
fn many_small_inserts_leave_few_batches() {
    let db = Db::new();
    db.run("CREATE VOLATILE TABLE c (a BIGINT, s VARCHAR)");
    for row in 0..300 {
        db.run(&format!("INSERT INTO c VALUES ({row}, 'a text that does not fit into a view: {row}')"));
    }
    let ran = db.run("SELECT * FROM c");
    assert_eq!((ran.row_count(), ran.batches.len()), (300, 1));
    assert_eq!(db.rows("SELECT sum(a), count(DISTINCT s) FROM c"), ["44850|300"]);
}

#[test]
fn rows_for_a_temporary_table_do_not_reach_the_stored_one_that_it_hides() {
    let db = Db::new();
    db.run("CREATE TABLE c (a BIGINT)");
    let batch = |value: i64| nullable([("a", Arc::new(Int64Array::from(vec![value])) as ArrayRef)]);
    // Known to the session from here on, as a table that takes rows past the planner.
    db.run("INSERT INTO c VALUES (1)");
    wait(db.session.append("c", &batch(2))).unwrap();
    db.run("CREATE VOLATILE TABLE c (a BIGINT)");
    db.run("INSERT INTO c VALUES (10)");
    db.run("INSERT INTO c (a) VALUES (20)");
    assert_eq!(wait(db.session.execute_rows("INSERT INTO c VALUES ($1)", &of_two())).unwrap(), 2);
    wait(db.session.execute_with("INSERT INTO c VALUES ($1)", &of_two(), 0)).map(|output| wait(output.collect()).unwrap()).unwrap();
    let error = wait(db.session.append("c", &batch(3))).unwrap_err();
    assert_eq!(error.to_string(), "adding a batch to the temporary table \"c\" is not supported");
    let target = |schema: Option<&str>| IngestTarget {
        schema: schema.map(str::to_string),
        table: "c".into(),
        if_missing: IfMissing::Fail,
        if_exists: IfExists::Append,
    };
    let sent = |schema| wait(db.session.ingest(target(schema), batch(4).schema(), futures::stream::iter([Ok(batch(4))])));
    assert_eq!(sent(None).unwrap_err().to_string(), "sending rows to the temporary table \"c\" is not supported");
    assert_eq!(sent(Some("main")).unwrap(), 1);
    db.run("INSERT INTO main.c VALUES (5)");
    wait(db.session.append("main.c", &batch(6))).unwrap();
    assert_eq!(db.sorted_rows("SELECT a FROM c"), ["10", "20", "30", "30", "40"]);
    assert_eq!(db.sorted_rows("SELECT a FROM main.c"), ["1", "2", "4", "5", "6"]);
    db.run("DROP TABLE c");
    db.run("INSERT INTO c VALUES (7)");
    assert_eq!(db.sorted_rows("SELECT a FROM c"), ["1", "2", "4", "5", "6", "7"]);
}

#[test]
fn rows_that_are_sent_to_the_schema_temp_are_a_new_temporary_table() {
    let db = Db::new();
    let sent = |if_exists, value: i64| {
        let batch = nullable([("a", Arc::new(Int64Array::from(vec![value])) as ArrayRef)]);
        let target = IngestTarget { schema: Some("temp".into()), table: "c".into(), if_missing: IfMissing::Create, if_exists };
        wait(db.session.ingest(target, batch.schema(), futures::stream::iter([Ok(batch)])))
    };
    assert_eq!(sent(IfExists::Fail, 1).unwrap(), 1);
    assert_eq!(sent(IfExists::Fail, 2).unwrap_err().to_string(), "temporary table \"c\" already exists");
    let error = sent(IfExists::Append, 2).unwrap_err();
    assert_eq!(error.to_string(), "sending rows to the temporary table \"c\" is not supported");
    assert_eq!(db.rows("SELECT a FROM c"), ["1"]);
    assert_eq!(sent(IfExists::Replace, 3).unwrap(), 1);
    assert_eq!(db.rows("SELECT a FROM c"), ["3"]);
    assert_eq!(db.rows("SELECT table_schema FROM information_schema.tables WHERE table_name = 'c'"), ["temp"]);
    db.run("BEGIN");
    db.run("DROP TABLE c");
    assert_eq!(sent(IfExists::Fail, 4).unwrap(), 1);
    db.run("ROLLBACK");
    assert_eq!(db.rows("SELECT a FROM c"), ["4"]);
}

fn of_two() -> RecordBatch {
    nullable([("$1", Arc::new(Int64Array::from(vec![30, 40])) as ArrayRef)])
}

#[test]
fn what_only_stored_tables_can_do_says_so() {
    let db = Db::new();
    db.run("CREATE TABLE c (a BIGINT)");
    db.run("SELECT 1 AS a INTO VOLATILE c");
    for sql in [
        "UPDATE c SET a = 2",
        "DELETE FROM c",
        "DELETE FROM c WHERE a = 1",
        "TRUNCATE TABLE c",
        "UPDATE temp.c SET a = 2",
        "MERGE INTO c USING (SELECT 1 AS b) s ON c.a = s.b WHEN MATCHED THEN DELETE",
        "INSERT INTO c VALUES (1) ON CONFLICT DO NOTHING",
        "ALTER TABLE c ADD b INT",
        "ALTER TABLE temp.c RENAME TO d",
        "OPTIMIZE TABLE c",
        "RESTORE TABLE c TO VERSION 1",
        "GRANT SELECT ON c TO public",
        "COPY c FROM 'rows.csv'",
        "SELECT * FROM c FOR VERSION AS OF 1",
    ] {
        let error = db.error(sql);
        assert!(
            matches!(error, EngineError::Unsupported { .. }) && error.to_string().contains("the temporary table \"c\""),
            "{sql}: {error}"
        );
        assert!(error.hint().is_some(), "{sql}");
    }
    assert_eq!(db.rows("SELECT count(*) FROM c"), ["1"]);
    db.run("UPDATE main.c SET a = 2");
    db.run("ALTER TABLE main.c ADD b INT");
}

#[test]
fn a_declaration_that_would_not_be_kept_is_refused() {
    let db = Db::new();
    for (sql, what) in [
        ("CREATE VOLATILE TABLE c (a INT DEFAULT 1)", "DEFAULT, CHECK and keys of a temporary table is not supported"),
        ("CREATE VOLATILE TABLE c (a INT PRIMARY KEY)", "DEFAULT, CHECK and keys of a temporary table is not supported"),
        ("CREATE VOLATILE TABLE c (a INT, CHECK (a > 1))", "CHECK and keys of a temporary table is not supported"),
        ("CREATE VOLATILE TABLE c (a INT) ORDER BY (a)", "ORDER BY of a temporary table is not supported"),
        ("CREATE TEMP TABLE c (a INT) WITH (durability = 'async')", "WITH (…) of a temporary table is not supported"),
        ("CREATE GLOBAL TEMPORARY TABLE c (a INT)", "GLOBAL of a temporary table is not supported"),
        (
            "CREATE TEMP TABLE c ON COMMIT DROP AS SELECT 1",
            "ON COMMIT DROP and ON COMMIT DELETE ROWS of a temporary table is not supported",
        ),
        ("CREATE VOLATILE TABLE main.c (a INT)", "a temporary table is in no schema of the store, and so \"main.c\" cannot be one"),
        ("SELECT 1 AS a, 2 AS a INTO VOLATILE c", "two columns have the same name"),
        ("CREATE VOLATILE TABLE c (a, a) AS SELECT 1, 2", "column \"a\" is there twice"),
        ("CREATE VOLATILE TABLE c (a INT, a INT)", "column \"a\" is there twice"),
        ("SELECT 1 INTO UNLOGGED c", "SELECT INTO UNLOGGED is not supported"),
        ("EXPLAIN SELECT 1 INTO VOLATILE c", "INTO in a part of a statement is not supported"),
        ("SELECT * FROM (SELECT 1 INTO c) AS x", "INTO in a part of a statement is not supported"),
        ("SELECT 1 UNION SELECT 2 INTO c", "INTO in a part of a statement is not supported"),
        ("CREATE TABLE d AS SELECT 1 INTO c", "INTO in a part of a statement is not supported"),
        ("CREATE VIEW v AS SELECT 1 INTO c", "INTO in a part of a statement is not supported"),
        ("CREATE VOLATILE VIEW v AS SELECT 1", "syntax error"),
    ] {
        let error = db.error(sql).to_string();
        assert!(error.starts_with(what), "{sql}: {error}");
    }
    assert!(db.session.tables().unwrap().is_empty());
}

#[test]
fn exists_and_replace_mean_what_they_mean_of_stored_tables() {
    let db = Db::new();
    db.run("CREATE VOLATILE TABLE c AS SELECT 1 AS a");
    db.run("CREATE VOLATILE TABLE IF NOT EXISTS c AS SELECT 2 AS a");
    assert_eq!(db.rows("SELECT * FROM c"), ["1"]);
    for sql in ["CREATE VOLATILE TABLE c AS SELECT 2 AS a", "CREATE TEMP TABLE c (a INT)", "SELECT 2 AS a INTO VOLATILE c"] {
        assert_eq!(db.error(sql).to_string(), "temporary table \"c\" already exists", "{sql}");
    }
    db.run("CREATE OR REPLACE VOLATILE TABLE c AS SELECT a + 1 AS a, 'x' AS b FROM c");
    assert_eq!(db.rows("SELECT * FROM c"), ["2|x"]);
    db.error("CREATE OR REPLACE VOLATILE TABLE c AS SELECT 1 / 0 AS a");
    assert_eq!(db.rows("SELECT * FROM c"), ["2|x"]);
    db.run("CREATE TABLE c AS SELECT 3 AS a");
    assert_eq!(db.rows("SELECT c.a, s.a FROM c, main.c AS s"), ["2|3"]);
    db.run("DROP TABLE c");
    db.run("DROP TABLE c");
    db.run("DROP TABLE IF EXISTS c");
}

#[test]
fn a_temporary_table_is_no_part_of_a_transaction() {
    let db = Db::new();
    db.run("CREATE TABLE t (a BIGINT)");
    db.script("BEGIN; INSERT INTO t VALUES (1); SELECT a INTO VOLATILE c FROM t; INSERT INTO c VALUES (2); ROLLBACK");
    assert_eq!(db.sorted_rows("SELECT a FROM c"), ["1", "2"]);
    assert_eq!(db.rows("SELECT count(*) FROM t"), ["0"]);
    db.script("BEGIN; DROP TABLE c; ROLLBACK");
    assert!(db.try_run("SELECT a FROM c").is_err());
    db.script("BEGIN READ ONLY; SELECT 1 AS a INTO VOLATILE c; INSERT INTO c VALUES (2); COMMIT");
    assert_eq!(db.sorted_rows("SELECT a FROM c"), ["1", "2"]);
    assert_eq!(db.rows("SELECT max(version) FROM system.snapshots"), db.rows("SELECT max(changed_version) FROM system.tables"));
}

#[test]
fn a_store_that_is_only_read_has_temporary_tables_too() {
    let db = Db::new();
    db.load("t", &[], &numbers(0, 1_000));
    let db = db.reopened_with(engine::EngineOptions { read_only: true, ..options() });
    db.run("SELECT k, count(*) AS n INTO VOLATILE c FROM t GROUP BY k");
    db.run("INSERT INTO c VALUES (10, 0)");
    assert_eq!(db.rows("SELECT count(*), sum(n) FROM c"), ["11|1000"]);
}

#[test]
fn a_reader_keeps_the_rows_that_it_has_begun_to_read() {
    let db = Db::new();
    db.run("CREATE VOLATILE TABLE c AS SELECT value AS a FROM generate_series(1, 50000) AS t (value)");
    let output = wait(db.session.execute("SELECT sum(a), count(*) FROM c")).unwrap();
    let other = wait(db.session.execute("SELECT a FROM c")).unwrap();
    db.run("INSERT INTO c VALUES (0)");
    db.run("DROP TABLE c");
    assert_eq!(wait(output.collect()).unwrap().0.iter().flat_map(crate::helpers::rows_of).collect::<Vec<_>>(), ["1250025000|50000"]);
    assert_eq!(wait(other.collect()).unwrap().0.iter().map(RecordBatch::num_rows).sum::<usize>(), 50_000);
}

#[test]
fn a_temporary_table_is_copied_to_a_file_and_backups_have_none_of_it() {
    let db = Db::new();
    db.run("CREATE VOLATILE TABLE c AS SELECT 7 AS a");
    let path = db.file("c.csv");
    assert_eq!(db.run(&format!("COPY c TO '{path}'")).rows(), ["1"]);
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "a\n7\n");
    db.run("CREATE TABLE t AS SELECT * FROM c");
    db.run(&format!("BACKUP TO '{}'", db.file("backup")));
    let reopened = db.reopened();
    assert_eq!(reopened.rows("SELECT table_name FROM system.tables"), ["t"]);
}

#[test]
fn texts_of_any_kind_stay_as_the_query_gave_them() {
    let db = Db::new();
    db.run("CREATE VOLATILE TABLE c AS SELECT arrow_cast('x', 'Utf8') AS a, arrow_cast('y', 'Dictionary(Int32, Utf8)') AS b");
    let found = db.run("SELECT a, b, a || b AS ab FROM c");
    let types: Vec<String> = found.batches[0].schema_ref().fields().iter().map(|field| field.data_type().to_string()).collect();
    assert_eq!(types[..2], ["Utf8", "Dictionary(Int32, Utf8)"]);
    assert_eq!(found.rows(), ["x|y|xy"]);
    assert!(found.batches[0].column(0).as_any().is::<StringArray>());
    db.run("INSERT INTO c VALUES ('z', 'w')");
    assert_eq!(db.sorted_rows("SELECT a, b FROM c"), ["x|y", "z|w"]);
}

#[test]
fn a_user_makes_temporary_tables_of_what_they_may_read() {
    let db = Db::new();
    db.script("CREATE USER bob PASSWORD 'pw-bob'; CREATE TABLE t AS SELECT 7 AS a; CREATE TABLE hidden AS SELECT 8 AS a; GRANT SELECT ON t TO bob");
    let bob = db.engine.session_as(&db.engine.identity("bob").unwrap()).unwrap();
    let as_bob = |sql: &str| wait(run(&bob, sql));
    as_bob("SELECT a INTO VOLATILE c FROM t").unwrap();
    as_bob("INSERT INTO c VALUES (9)").unwrap();
    for sql in ["SELECT a INTO VOLATILE d FROM hidden", "SELECT a INTO TABLE d FROM t", "INSERT INTO c SELECT a FROM hidden"] {
        as_bob(sql).unwrap_err();
    }
    db.run("REVOKE SELECT ON t FROM bob");
    assert_eq!(as_bob("SELECT sum(a) FROM c").unwrap().rows(), ["16"]);
    as_bob("DROP TABLE c").unwrap();
}
