//! Every kind of statement, by a user who may do nothing.

use engine::ErrorKind;

use super::house;

/// Of each kind that docs/sql.md has and that touches what others have: refused, or as if there was nothing.
const REFUSED: [&str; 66] = [
    "SELECT * FROM t",
    "SELECT * FROM v",
    "SELECT * FROM e",
    "VALUES ((SELECT max(a) FROM t))",
    "CREATE SCHEMA x",
    "DROP SCHEMA s",
    "DROP SCHEMA s CASCADE",
    "CREATE TABLE x (a INT)",
    "CREATE TABLE s.x (a INT)",
    "CREATE OR REPLACE TABLE t (a INT)",
    "CREATE TABLE x AS SELECT 1 AS a",
    "SELECT 1 AS a INTO TABLE x",
    "SELECT * INTO VOLATILE x FROM t",
    "ALTER TABLE t ADD b INT",
    "ALTER TABLE t RENAME TO u",
    "INSERT INTO t VALUES (1)",
    "INSERT INTO t SELECT 1",
    "INSERT OVERWRITE t SELECT 1",
    "INSERT INTO t VALUES (1) ON CONFLICT DO NOTHING",
    "DELETE FROM t",
    "DELETE FROM t WHERE a = 1",
    "TRUNCATE TABLE t",
    "UPDATE t SET a = 1",
    "WITH x AS (SELECT 1 AS a) UPDATE t SET a = x.a FROM x",
    "MERGE INTO t USING (SELECT 1 AS a) s ON t.a = s.a WHEN MATCHED THEN DELETE",
    "COPY t FROM 'rows.csv'",
    "COPY t TO 'rows.csv'",
    "COPY (SELECT 1) TO 'rows.csv'",
    "CREATE EXTERNAL TABLE x STORED AS CSV LOCATION 'rows.csv'",
    "SELECT * FROM 'rows.csv'",
    "SELECT * FROM read_csv('rows.csv')",
    "DESCRIBE 'rows.csv'",
    "CREATE VIEW x AS SELECT 1 AS a",
    "CREATE OR REPLACE VIEW v AS SELECT 1 AS a",
    "DROP TABLE t",
    "DROP VIEW v",
    "DESCRIBE t",
    "SUMMARIZE t",
    "SHOW COLUMNS FROM t",
    "SHOW CREATE TABLE t",
    "EXPLAIN SELECT * FROM t",
    "EXPLAIN ANALYZE DELETE FROM t",
    "SELECT * FROM t FOR VERSION AS OF 1",
    "SELECT * FROM t FOR SYSTEM_TIME AS OF now()",
    "CREATE SNAPSHOT x",
    "DROP SNAPSHOT monday",
    "RESTORE TABLE t TO VERSION 1",
    "EXPIRE VERSIONS OLDER THAN INTERVAL '1 day'",
    "ALTER SYSTEM SET retention = '1 day'",
    "OPTIMIZE TABLE t",
    "CHECKPOINT",
    "BACKUP TO 'backup'",
    "PREPARE p AS SELECT * FROM t",
    "PREPARE p AS DELETE FROM t",
    "CREATE USER x PASSWORD 'y'",
    "GRANT SELECT ON t TO bob",
    "REVOKE SELECT ON t FROM root",
    "SELECT f(1)",
    "SELECT * FROM g()",
    "CALL p()",
    "CREATE FUNCTION x() RETURNS INT RETURN 1",
    "CREATE PROCEDURE x() BEGIN SELECT 1; END",
    "CREATE OR REPLACE FUNCTION f(a INT) RETURNS INT RETURN 2",
    "DROP FUNCTION f",
    "DROP PROCEDURE p",
    "GRANT EXECUTE ON FUNCTION f TO bob",
];

/// Kinds that everybody may run: they are about the session, or show what the user sees.
const ALLOWED: [&str; 19] = [
    "SELECT 1",
    "VALUES (1), (2)",
    "SELECT * FROM generate_series(1, 3)",
    "SHOW TABLES",
    "SHOW VIEWS",
    "SHOW SCHEMAS",
    "SHOW FUNCTIONS",
    "SHOW SNAPSHOTS",
    "SHOW GRANTS",
    "SHOW ALL",
    "SHOW timezone",
    "SET threads = 2",
    "SELECT * FROM system.tables",
    "FLUSH",
    "CREATE VOLATILE TABLE x AS SELECT 1 AS a",
    "INSERT INTO x VALUES (2)",
    "DROP TABLE x",
    "BEGIN",
    "ROLLBACK",
];

#[test]
fn a_user_without_rights_can_do_nothing_with_what_others_have() {
    let db = house(&["bob"]);
    let rows = db.file("e.csv");
    std::fs::write(&rows, "a\n1\n").unwrap();
    db.script("CREATE TABLE t AS SELECT 7 AS a; CREATE VIEW v AS SELECT 7 AS a; CREATE SCHEMA s; CREATE SNAPSHOT monday");
    db.script("CREATE FUNCTION f(a INT) RETURNS INT RETURN a; CREATE FUNCTION g() RETURNS TABLE RETURN SELECT 1 AS a");
    db.run("CREATE PROCEDURE p() BEGIN DELETE FROM t; END");
    db.run(&format!("CREATE EXTERNAL TABLE e STORED AS CSV LOCATION '{rows}' OPTIONS ('format.has_header' 'true')"));
    let (before, bob) = (db.rows("SELECT * FROM system.grants"), db.as_user("bob"));
    for sql in REFUSED {
        let error = bob.error(sql);
        let is_unseen = ["does not exist", "not found", "there is no function", "there is no table function"]
            .iter()
            .any(|unseen| error.to_string().contains(unseen));
        assert!(error.kind() == ErrorKind::Denied || is_unseen, "{sql}: {:?} {error}", error.kind());
    }
    ALLOWED.iter().for_each(|sql| drop(bob.run(sql)));
    assert_eq!(db.rows("SELECT t.a, v.a FROM t, v"), ["7|7"]);
    assert_eq!(db.rows("SELECT * FROM system.grants"), before);
    assert_eq!(db.rows("SELECT snapshot_name FROM (SELECT unnest(names) AS snapshot_name FROM system.snapshots)"), ["monday"]);
}

#[test]
fn a_description_tells_nothing_of_what_is_not_seen() {
    let db = house(&["bob"]);
    db.run("CREATE TABLE t (a INT)");
    let bob = db.as_user("bob");
    for sql in ["SELECT * FROM t", "INSERT INTO t VALUES ($1)", "DESCRIBE t", "DELETE FROM t WHERE a = $1"] {
        let error = crate::helpers::wait(bob.session.describe(sql)).unwrap_err();
        assert!(error.to_string().contains("does not exist") || error.to_string().contains("not found"), "{sql}: {error}");
    }
}

#[test]
fn an_admin_may_do_what_the_process_may() {
    let db = house(&[]);
    let root = db.as_user("root");
    for sql in [
        "CREATE SCHEMA s",
        "CREATE TABLE s.t AS SELECT 1 AS a",
        "CREATE SNAPSHOT x",
        "DROP SNAPSHOT x",
        "OPTIMIZE TABLE s.t",
        "CHECKPOINT",
        "ALTER SYSTEM SET retention = '1 day'",
        "EXPIRE VERSIONS OLDER THAN INTERVAL '1 day'",
        "DROP SCHEMA s CASCADE",
    ] {
        root.run(sql);
    }
    root.run(&format!("BACKUP TO '{}'", db.file("backup")));
}
