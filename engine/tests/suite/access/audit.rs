//! A row for each statement of a user.

use engine::{Binding, EngineError, ErrorKind};

use super::house;
use crate::helpers::{numbers, soon, wait};

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
    assert_eq!(
        rows,
        [
            "bob|SELECT a FROM t|query|ok|3",
            "bob|INSERT INTO t VALUES (4), (5)|write|ok|2",
            "bob|INSERT INTO t SELECT 6|write|ok|1",
            "bob|DELETE FROM t|NULL|denied|NULL",
            "bob|SELEC 1|NULL|invalid|NULL",
            "bob|SET threads = 2|set|ok|NULL",
        ]
    );
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
        "DELETE FROM system.audit",
        "UPDATE system.audit SET user_name = 'ann'",
        "TRUNCATE system.audit",
        "DROP TABLE system.audit",
        "INSERT INTO system.audit SELECT * FROM system.audit",
        "INSERT OVERWRITE system.audit SELECT * FROM system.audit",
        "ALTER TABLE system.audit ADD x INT",
        "CREATE OR REPLACE TABLE system.audit (a INT)",
        "RESTORE TABLE system.audit TO VERSION 1",
        "DROP SCHEMA system CASCADE",
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
    for sql in
        ["create usr bob password E'hunter2'", "set password = 'hunter2'", "set password 'hunter2'", "creat user bob password $$hunter2$$"]
    {
        root.error(sql);
    }
    root.run(&format!("SELECT '{}' AS a", "x".repeat(20_000)));
    let text = db.run("SELECT statement, message FROM system.audit").text();
    assert!(!text.contains("hunter2"), "{text}");
    assert!(text.contains("CREATE USER bob PASSWORD ***"), "{text}");
    // And what is cut says so.
    assert_eq!(db.rows("SELECT length(statement) FROM system.audit WHERE statement LIKE '%…'"), ["10001"]);
}

#[test]
fn a_login_that_was_refused_has_a_row_and_many_of_them_have_few() {
    let db = house(&["bob"]);
    assert!(db.engine.login("bob", "wrong").is_err());
    for _ in 0..100 {
        db.engine.audit_refused_login("bob", "10.0.0.1", "no such user, or a wrong password");
    }
    db.engine.audit_refused_login(&"x".repeat(1_000), "10.0.0.2", "no such user, or a wrong password");
    let rows = db.rows("SELECT user_name, session_id, statement, kind, outcome, message FROM system.audit");
    assert_eq!(
        rows,
        [
            "bob|0|LOGIN|login|unauthenticated|no such user, or a wrong password, from 10.0.0.1".to_string(),
            format!(
                "{}…|0|LOGIN|login|unauthenticated|no such user, or a wrong password, from 10.0.0.2; 99 more before this have no row",
                "x".repeat(128)
            ),
        ]
    );
    assert_eq!(db.value("SELECT time > now() - INTERVAL '1 minute' AND time <= now() FROM system.audit WHERE user_name = 'bob'"), "true");
}

/// A view of the table's name was made by somebody who has the store's files: it stays in the way for ever.
#[test]
fn an_audit_that_cannot_be_written_holds_up_nobody() {
    let db = house(&["bob"]);
    let mut transaction = db.engine.store().begin().unwrap();
    transaction.create_namespace("system").unwrap();
    transaction.create_view(pmem_store::ViewRecord::new("system", "audit", "view", "SELECT 1 AS a"), false).unwrap();
    transaction.commit("CREATE VIEW").unwrap();
    let bob = db.as_user("bob");
    for _ in 0..600 {
        bob.run("SELECT 1");
    }
    assert_eq!(db.rows("SELECT a FROM system.audit"), ["1"]);
    drop(bob);
    drop(db.closed());
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

#[test]
fn what_is_refused_when_it_is_prepared_is_written_down_and_what_is_not_waits_until_it_is_run() {
    let db = house(&["bob"]);
    db.script("CREATE TABLE t (a INT); CREATE TABLE hidden (a INT); GRANT INSERT ON t TO bob");
    let bob = db.as_user("bob");
    let prepared = |sql| wait(bob.session.describe_to_run(sql)).map(|described| described.kind);
    for sql in ["DELETE FROM t", "SELECT * FROM hidden WHERE a = $1", "CREATE USER eve PASSWORD 'hunter2", "SELEC 1"] {
        assert!(prepared(sql).is_err(), "{sql}");
    }
    for sql in ["INSERT INTO t VALUES ($1)", "SELECT 1"] {
        prepared(sql).unwrap();
    }
    // What a front end asks for itself.
    assert!(wait(bob.session.describe("DELETE FROM t")).is_err());
    let broken = |_| std::future::ready(Err(EngineError::Cancelled));
    assert!(wait(bob.session.describe_plan_of("substrait plan over t", &Binding::default(), broken)).is_err());
    assert_eq!(
        db.rows("SELECT user_name, statement, kind, outcome FROM system.audit"),
        [
            "bob|DELETE FROM t|NULL|denied",
            "bob|SELECT * FROM hidden WHERE a = $1|NULL|invalid",
            "bob|CREATE USER eve PASSWORD ***|NULL|invalid",
            "bob|SELEC 1|NULL|invalid",
            "bob|substrait plan over t|NULL|cancelled",
        ]
    );
    assert_eq!(db.rows("SELECT DISTINCT session_id > 0, time <= now(), duration_ms >= 0 FROM system.audit"), ["true|true|true"]);
    assert!(db.value("SELECT message FROM system.audit WHERE statement = 'DELETE FROM t'").contains("DELETE on table t"));
}

#[test]
fn what_a_front_end_runs_for_itself_is_not_written_down() {
    let db = house(&["bob"]);
    let bob = db.as_user("bob");
    for sql in ["SET threads = 1", "BEGIN", "SAVEPOINT held"] {
        drop(wait(bob.session.execute_own(sql)).unwrap());
    }
    assert!(wait(bob.session.execute_own("SELEC 1")).is_err());
    bob.run("ROLLBACK");
    assert_eq!(bob.rows("SHOW threads"), ["threads|1"]);
    assert_eq!(db.rows("SELECT statement FROM system.audit"), ["ROLLBACK", "SHOW threads"]);
}

#[test]
fn a_table_that_is_told_as_files_is_written_down() {
    let db = house(&["bob"]);
    db.load("t", &[], &numbers(0, 1_000));
    let bob = db.as_user("bob");
    let map = |rows| bob.session.mapped_table("main", "t", None, rows, true);
    db.run("GRANT INSERT ON t TO bob");
    assert!(map(None).is_err());
    db.run("GRANT SELECT ON t TO bob");
    map(None).unwrap();
    map(Some(990..2_000)).unwrap();
    let rows = db.rows("SELECT statement, kind, outcome, row_count FROM system.audit");
    assert_eq!(rows, ["MAP main.t|query|denied|0", "MAP main.t|query|ok|1000", "MAP main.t|query|ok|10"]);
}
