//! What cannot be said, and what cannot be changed.

use super::super::helpers::Db;
use super::in_segments;

#[test]
fn only_tables_of_the_store_are_changed() {
    let db = Db::new();
    db.script("CREATE TABLE t (a int); CREATE VIEW v AS SELECT a FROM t");
    db.run(&format!("COPY (SELECT 1 AS a) TO '{}'", db.file("e.csv")));
    db.run(&format!("CREATE EXTERNAL TABLE e STORED AS CSV LOCATION '{}'", db.file("e.csv")));
    for (name, kind) in [("v", "view"), ("e", "external table")] {
        for sql in [
            format!("DELETE FROM {name}"),
            format!("DELETE FROM {name} WHERE a = 1"),
            format!("UPDATE {name} SET a = 1"),
            format!("TRUNCATE {name}"),
            format!("MERGE INTO {name} USING t ON {name}.a = t.a WHEN MATCHED THEN DELETE"),
            format!("INSERT INTO {name} VALUES (1) ON CONFLICT (a) DO NOTHING"),
            format!("EXPLAIN DELETE FROM {name}"),
        ] {
            let error = db.error(&sql);
            assert_eq!(error.to_string(), format!("writing to the {kind} \"{name}\" is not supported"), "{sql}");
            assert!(error.hint().is_some());
        }
    }
    db.error("DELETE FROM information_schema.tables");
}

#[test]
fn clauses_that_are_not_supported_are_refused_with_what_to_do() {
    let db = Db::new();
    in_segments(&db, 10, 1);
    for (sql, feature) in [
        ("DELETE FROM t WHERE id = 1 RETURNING *", "DELETE … RETURNING"),
        ("UPDATE t SET v = 1 RETURNING v", "UPDATE … RETURNING"),
        ("INSERT INTO t VALUES (1, 1, 'x') ON CONFLICT (id) DO NOTHING RETURNING id", "INSERT … RETURNING"),
        ("MERGE INTO t USING t AS s ON t.id = s.id WHEN MATCHED THEN DELETE RETURNING id", "MERGE … RETURNING"),
        ("DELETE FROM t ORDER BY id LIMIT 1", "DELETE … ORDER BY and LIMIT"),
        ("UPDATE t SET v = 1 LIMIT 1", "UPDATE … ORDER BY and LIMIT"),
        ("UPDATE t JOIN t AS s ON t.id = s.id SET v = 1", "UPDATE of a join"),
        ("UPDATE t SET (v, s) = (SELECT 1, 'x')", "a list of columns set to what is not a list"),
        ("UPDATE (SELECT * FROM t) AS x SET v = 1", "UPDATE of what is not a table"),
        ("DELETE FROM t AS x(a, b, c)", "names for the columns of the table of DELETE"),
        ("TRUNCATE t, t", "TRUNCATE of several tables"),
        ("TRUNCATE t RESTART IDENTITY", "options of TRUNCATE"),
        ("MERGE INTO t USING (t AS a JOIN t AS b ON a.id = b.id) ON t.id = a.id WHEN MATCHED THEN DELETE", "MERGE … USING a join"),
        ("MERGE INTO t USING t AS s ON t.id = s.id WHEN NOT MATCHED THEN INSERT ROW", "INSERT ROW"),
        ("INSERT INTO t VALUES (1, 1, 'x') ON DUPLICATE KEY UPDATE v = 1", "ON DUPLICATE KEY UPDATE"),
        ("UPDATE t SET v = sum(id)", "UPDATE with aggregates or unnest() outside a subquery"),
        ("WITH gone AS (DELETE FROM t WHERE id = 1 RETURNING id) SELECT * FROM gone", "a statement that changes rows inside a query"),
        ("UPDATE t SET v = 1 WHERE id IN (WITH x AS (SELECT 1) DELETE FROM t)", "a statement that changes rows inside a query"),
    ] {
        let error = db.error(sql);
        assert_eq!(error.to_string(), format!("{feature} is not supported"), "{sql}");
        assert!(error.hint().is_some(), "{sql}");
    }
    assert_eq!(db.rows("SELECT count(*), sum(v) FROM t"), ["10|450"]);
}

#[test]
fn two_tables_of_a_statement_have_two_names() {
    let db = Db::new();
    in_segments(&db, 10, 1);
    db.run("CREATE TABLE u (id bigint)");
    for sql in [
        "UPDATE t SET v = 1 FROM t",
        "UPDATE u AS t SET id = 1 FROM u, t WHERE u.id = t.id",
        "DELETE FROM t USING u JOIN T ON u.id = t.id",
        "MERGE INTO t USING (SELECT 1 AS x) AS t ON true WHEN MATCHED THEN DELETE",
    ] {
        let error = db.error(sql);
        assert_eq!(error.to_string(), "two tables of the statement are called \"t\"", "{sql}");
    }
}

#[test]
fn on_conflict_needs_a_unique_key() {
    let db = Db::new();
    in_segments(&db, 10, 1);
    let error = db.error("INSERT INTO t VALUES (1, 1, 'x') ON CONFLICT (id) DO NOTHING");
    assert_eq!(error.to_string(), "table \"t\" has no unique key on (id)");
    assert_eq!(error.hint(), Some("declare PRIMARY KEY (id) or UNIQUE (id), or use MERGE"));
    let error = db.error("INSERT INTO t VALUES (1, 1, 'x') ON CONFLICT DO NOTHING");
    assert_eq!(error.to_string(), "table \"t\" has no unique key");
    assert!(db.error("INSERT INTO t VALUES (1, 1, 'x') ON CONFLICT (ids) DO NOTHING").to_string().contains("\"ids\" does not exist"));
}

#[test]
fn a_row_that_several_rows_would_change_is_an_error_that_says_so() {
    let db = Db::new();
    in_segments(&db, 10, 1);
    let error = db.error("UPDATE t SET v = x.v FROM (VALUES (1, 5), (1, 6)) AS x(id, v) WHERE t.id = x.id");
    assert_eq!(error.to_string(), "a row to be updated matches several rows of FROM");
    let error = db.error("MERGE INTO t USING (VALUES (1, 5), (1, 6)) AS x(id, v) ON t.id = x.id WHEN MATCHED THEN DELETE");
    assert_eq!(error.to_string(), "a row of the target matches several rows of the source");
    assert!(error.hint().is_some());
}

#[test]
fn a_clause_for_rows_without_a_target_does_not_read_the_target() {
    let db = Db::new();
    in_segments(&db, 10, 1);
    for (clauses, message) in [
        ("WHEN NOT MATCHED THEN INSERT VALUES (a, t.v, NULL)", "column \"t.v\" is of the target, which has no row WHEN NOT MATCHED"),
        ("WHEN NOT MATCHED AND t.id IS NULL THEN DO NOTHING", "column \"t.id\" is of the target, which has no row WHEN NOT MATCHED"),
        (
            "WHEN NOT MATCHED BY SOURCE AND x.a = v THEN DELETE",
            "column \"x.a\" is of the source, which has no row WHEN NOT MATCHED BY SOURCE",
        ),
    ] {
        let error = db.error(&format!("MERGE INTO t USING (VALUES (1)) AS x(a) ON t.id = x.a {clauses}"));
        assert_eq!(error.to_string(), message);
    }
}
