//! A row for each statement of a user.

use engine::ErrorKind;

use super::house;
use crate::helpers::soon;

#[test]
fn what_a_user_runs_is_written_down_and_what_the_process_runs_is_not() {
    let db = house(&["bob"]);
    db.script("CREATE TABLE t AS SELECT * FROM generate_series(1, 3) AS g(a); GRANT SELECT, INSERT ON t TO bob");
    let bob = db.as_user("bob");
    bob.run("SELECT a FROM t");
    bob.run("INSERT INTO t VALUES (4), (5)");
    bob.run("INSERT INTO t SELECT 6");
    bob.denied("DELETE FROM t");
    bob.error("SELEC 1");
    bob.run("SET threads = 2");
    let rows = db.rows("SELECT user_name, statement, kind, outcome, row_count FROM system.audit");
    assert_eq!(rows, [
        "bob|SELECT a FROM t|query|ok|3",
        "bob|INSERT INTO t VALUES (4), (5)|write|ok|2",
        "bob|INSERT INTO t SELECT 6|write|ok|1",
        "bob|DELETE FROM t|NULL|denied|NULL",
        "bob|SELEC 1|NULL|invalid|NULL",
        "bob|SET threads = 2|set|ok|NULL",
    ]);
    let facts = "time <= now(), session_id > 0, duration_ms >= 0, bytes_returned > 0, bytes_touched > 0";
    assert_eq!(db.rows(&format!("SELECT {facts} FROM system.audit WHERE statement = 'SELECT a FROM t'")), ["true|true|true|true|true"]);
    let message = db.value("SELECT message FROM system.audit WHERE outcome = 'denied'");
    assert!(message.contains("DELETE on table t"), "{message}");
}

#[test]
fn it_is_read_by_admins_and_written_by_nobody() {
    let db = house(&["bob"]);
    let (bob, root) = (db.as_user("bob"), db.as_user("root"));
    bob.run("SELECT 1");
    bob.unseen("SELECT * FROM system.audit");
    assert!(!bob.run("SELECT * FROM information_schema.tables").text().contains("audit"));
    assert_eq!(root.rows("SELECT count(*) FROM system.audit WHERE user_name = 'bob'").len(), 1);
    for sql in [
        "DELETE FROM system.audit", "UPDATE system.audit SET user_name = 'ann'", "TRUNCATE system.audit", "DROP TABLE system.audit",
        "INSERT INTO system.audit SELECT * FROM system.audit", "INSERT OVERWRITE system.audit SELECT * FROM system.audit", "ALTER TABLE system.audit ADD x INT",
        "CREATE OR REPLACE TABLE system.audit (a INT)", "RESTORE TABLE system.audit TO VERSION 1", "DROP SCHEMA system CASCADE",
        "MERGE INTO system.audit USING (SELECT 'bob' AS u) s ON user_name = s.u WHEN MATCHED THEN DELETE",
    ] {
        for error in [root.error(sql), db.error(sql)] {
            assert_eq!(error.kind(), ErrorKind::Unsupported, "{sql}: {error}");
        }
    }
    assert!(db.value("SELECT count(*) > 0 FROM system.audit WHERE statement = 'SELECT 1'") == "true");
}

#[test]
fn no_password_gets_into_it_and_long_texts_are_cut() {
    let db = house(&[]);
    let root = db.as_user("root");
    root.run("CREATE USER bob PASSWORD 'hunter2'");
    root.error("ALTER USER bob PASWORD 'hunter2'");
    root.error("CREATE USER bob PASSWORD 'hunter2");
    root.run(&format!("SELECT '{}' AS a", "x".repeat(20_000)));
    let text = db.run("SELECT statement, message FROM system.audit").text();
    assert!(!text.contains("hunter2"), "{text}");
    assert!(text.contains("CREATE USER bob PASSWORD ***"), "{text}");
    assert_eq!(db.value("SELECT max(length(statement)) FROM system.audit"), "10000");
}

#[test]
fn it_survives_a_restart_and_expires() {
    let db = house(&["bob"]);
    db.as_user("bob").run("SELECT 1 AS kept");
    let db = db.reopened();
    assert_eq!(db.rows("SELECT statement FROM system.audit"), ["SELECT 1 AS kept"]);
    assert_eq!(db.value("SELECT value FROM system.settings WHERE name = 'audit_retention'"), "90 days");
    db.run("ALTER SYSTEM SET audit_retention = '1 hour'");
    assert_eq!(db.value("SELECT value FROM system.settings WHERE name = 'audit_retention'"), "1 hour");
    assert_eq!(db.rows("SELECT statement FROM system.audit"), ["SELECT 1 AS kept"]);
    db.run("ALTER SYSTEM SET audit_retention = '0'");
    let db = db.reopened();
    // The thread of the audit looks with its first rows.
    db.as_user("bob").run("SELECT 2 AS first");
    assert!(soon(|| !db.rows("SELECT statement FROM system.audit").contains(&"SELECT 1 AS kept".to_string())));
    db.run("ALTER SYSTEM RESET audit_retention");
    assert_eq!(db.value("SELECT value FROM system.settings WHERE name = 'audit_retention'"), "90 days");
}

#[test]
fn a_query_that_nobody_reads_to_its_end_was_cancelled() {
    let db = house(&["bob"]);
    db.script("CREATE TABLE t AS SELECT * FROM generate_series(1, 3) AS g(a); GRANT SELECT ON t TO bob");
    let bob = db.as_user("bob");
    drop(crate::helpers::wait(bob.session.execute("SELECT a FROM t")).unwrap());
    assert_eq!(db.rows("SELECT outcome FROM system.audit"), ["cancelled"]);
}
