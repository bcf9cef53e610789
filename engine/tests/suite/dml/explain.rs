//! EXPLAIN and PREPARE of statements that change rows.

use super::super::helpers::Db;
use super::{count, in_segments};

#[test]
fn explain_shows_the_plan_and_changes_nothing() {
    let db = Db::new();
    in_segments(&db, 1_000, 2);
    for (sql, name) in [
        ("DELETE FROM t WHERE id > 5", "DELETE"),
        ("DELETE FROM t", "DELETE"),
        ("TRUNCATE t", "TRUNCATE"),
        ("UPDATE t SET v = 1", "UPDATE"),
        ("MERGE INTO t USING t AS s ON t.id = s.id WHEN MATCHED THEN UPDATE SET v = s.v", "MERGE"),
        ("WITH x AS (SELECT 1 AS id) UPDATE t SET v = 1 FROM x WHERE x.id = t.id", "UPDATE"),
    ] {
        let text = db.run(&format!("EXPLAIN {sql}")).text();
        assert!(text.contains(&format!("ChangeRows: {name} table=main.t")), "{sql}: {text}");
        assert!(text.contains(&format!("ChangeSink {name} table=main.t")), "{sql}: {text}");
    }
    assert_eq!(db.rows("SELECT count(*), sum(v) FROM t"), ["1000|4995000"]);
}

#[test]
fn explain_analyze_runs_the_statement() {
    let db = Db::new();
    in_segments(&db, 1_000, 2);
    let text = db.run("EXPLAIN ANALYZE DELETE FROM t WHERE id < 10").text();
    assert!(text.contains("ChangeSink DELETE") && text.contains("StoreScan"), "{text}");
    assert_eq!(db.value("SELECT count(*) FROM t"), "990");
    db.run("EXPLAIN ANALYZE UPDATE t SET v = 0 WHERE id = 10");
    assert_eq!(db.value("SELECT v FROM t WHERE id = 10"), "0");
}

#[test]
fn explain_of_execute_explains_the_prepared_statement() {
    let db = Db::new();
    in_segments(&db, 100, 2);
    db.run("PREPARE some AS SELECT v FROM t WHERE id > $1");
    db.run("PREPARE gone AS DELETE FROM t WHERE id = $1");
    let text = db.run("EXPLAIN EXECUTE some(7)").text();
    assert!(text.contains("StoreScan table=main.t") && text.contains("> 7"), "{text}");
    let text = db.run("EXPLAIN EXECUTE gone(1)").text();
    assert!(text.contains("ChangeSink DELETE"), "{text}");
    assert_eq!(db.value("SELECT count(*) FROM t"), "100");
    db.run("EXPLAIN ANALYZE EXECUTE gone(1)");
    assert_eq!(db.value("SELECT count(*) FROM t"), "99");
    let error = db.error("EXPLAIN EXECUTE nothing(1)").to_string();
    assert!(error.contains("'nothing' does not exist"), "{error}");
}

#[test]
fn explain_of_a_statement_that_has_no_plan_is_refused() {
    let db = Db::new();
    for sql in ["PREPARE p AS SELECT 1", "SET datafusion.execution.batch_size = 8192", "DEALLOCATE p"] {
        let error = db.error(&format!("EXPLAIN {sql}")).to_string();
        assert!(error.contains("EXPLAIN of a statement that only changes the session is not supported"), "{sql}: {error}");
    }
    db.run("PREPARE q AS EXPLAIN SELECT 1");
    let error = db.error("EXPLAIN ANALYZE EXECUTE q").to_string();
    assert!(error.contains("EXPLAIN of a prepared EXPLAIN is not supported"), "{error}");
}

#[test]
fn a_delete_by_a_filter_reads_the_columns_of_the_filter_alone() {
    let db = Db::new();
    in_segments(&db, 1_000, 2);
    let text = db.run("EXPLAIN DELETE FROM t WHERE id < 10").text();
    assert!(text.contains("columns=[__quiver_row_id], filter=id"), "{text}");
}

#[test]
fn prepared_statements_take_values_and_see_the_table_as_it_is() {
    let db = Db::new();
    in_segments(&db, 100, 2);
    db.run("PREPARE untyped AS UPDATE t SET v = $1, s = $2 WHERE id = $3");
    db.run("PREPARE typed(bigint, bigint) AS UPDATE t SET v = v + $1 WHERE id < $2");
    db.run("PREPARE gone AS DELETE FROM t WHERE id = $1");
    db.run("PREPARE merged AS MERGE INTO t USING (SELECT cast($1 AS bigint) AS id) AS x ON t.id = x.id WHEN MATCHED THEN UPDATE SET s = $2 WHEN NOT MATCHED THEN INSERT VALUES (x.id, 0, $2)");
    assert_eq!(count(&db, "EXECUTE untyped(7, 'seven', 5)"), 1);
    assert_eq!(count(&db, "EXECUTE typed(1, 3)"), 3);
    assert_eq!(count(&db, "EXECUTE gone(4)"), 1);
    assert_eq!(count(&db, "EXECUTE gone(4)"), 0);
    db.run("INSERT INTO t VALUES (4, 44, 'again')");
    assert_eq!(count(&db, "EXECUTE gone(4)"), 1);
    assert_eq!(count(&db, "EXECUTE merged(1, 'merged')"), 1);
    assert_eq!(count(&db, "EXECUTE merged(1000, 'new')"), 1);
    let rows = ["0|1|text of row 0", "1000|0|new", "1|11|merged", "2|21|text of row 2", "3|30|text of row 3", "5|7|seven"];
    assert_eq!(db.sorted_rows("SELECT * FROM t WHERE id < 6 OR id = 1000"), rows);
    let error = db.error("EXECUTE untyped(7)").to_string();
    assert!(error.contains("has 3 parameters and was given 1"), "{error}");
}
