//! RESTORE TABLE: an older version becomes the newest.

use engine::StatementKind;

use super::helpers::{Db, numbers, run, wait};
use super::time_travel::version;

/// Table `t` of a thousand rows, and of 900 since a version ago.
fn with_deletions() -> (Db, u64) {
    let db = Db::new();
    db.load("t", &["id"], &numbers(0, 1_000));
    let before = version(&db);
    db.run("DELETE FROM t WHERE id % 10 = 3");
    (db, before)
}

#[test]
fn a_table_is_restored_to_a_version_a_snapshot_or_a_time() {
    let (db, before) = with_deletions();
    let deleted = version(&db);
    std::thread::sleep(std::time::Duration::from_millis(5));
    db.run("CREATE SNAPSHOT deleted");
    assert_eq!(db.run(&format!("RESTORE TABLE t TO VERSION {before}")).kind, StatementKind::Ddl);
    assert_eq!(db.rows("SELECT count(*), sum(id) FROM t"), ["1000|499500"]);
    let time = db.value(&format!("SELECT CAST(committed_at AS VARCHAR) FROM system.snapshots WHERE version = {deleted}"));
    for to in [
        "SNAPSHOT deleted".to_string(),
        format!("VERSION AS OF {deleted}"),
        "VERSION 'deleted'".into(),
        format!("TIMESTAMP '{time}'"),
        format!("TIMESTAMP AS OF '{time}'"),
    ] {
        db.run(&format!("RESTORE TABLE main.t TO VERSION {before}"));
        db.run(&format!("RESTORE TABLE t TO {to}"));
        assert_eq!(db.rows("SELECT count(*) FROM t"), ["900"], "{to}");
    }
    // Every version in between is still there.
    assert_eq!(db.rows(&format!("SELECT count(*) FROM t FOR VERSION AS OF {before}")), ["1000"]);
    assert_eq!(db.value("SELECT count(*) FROM system.snapshots WHERE operation = 'RESTORE TABLE'"), "11");
    let db = db.reopened();
    assert_eq!(db.rows("SELECT count(*), sum(id) FROM t"), ["900|449700"]);
    assert_eq!(db.rows("SELECT id FROM t WHERE id BETWEEN 12 AND 14 ORDER BY id"), ["12", "14"]);
}

#[test]
fn a_restored_table_goes_on_as_any_other() {
    let (db, before) = with_deletions();
    db.run(&format!("RESTORE TABLE t TO VERSION {before}"));
    db.run("DELETE FROM t WHERE id < 10");
    db.run("UPDATE t SET k = -1 WHERE id = 13");
    db.run("INSERT INTO t VALUES (5000, 0, 0, 'new')");
    assert_eq!(db.rows("SELECT count(*), min(id), max(id), min(k) FROM t"), ["991|10|5000|-1"]);
    db.run("ALTER SYSTEM SET retention = '0'");
    assert_eq!(db.reopened().rows("SELECT count(*), min(id), max(id), min(k) FROM t"), ["991|10|5000|-1"]);
}

#[test]
fn columns_come_back_and_views_see_them() {
    let (db, before) = with_deletions();
    db.run("CREATE VIEW v AS SELECT s FROM t");
    db.run("ALTER TABLE t DROP COLUMN s");
    db.run("ALTER TABLE t ADD COLUMN extra INT");
    db.run("INSERT INTO t VALUES (2000, 0, 0, 7)");
    let altered = version(&db);
    db.error("SELECT * FROM v");
    db.run(&format!("RESTORE TABLE t TO VERSION {before}"));
    assert_eq!(db.rows("DESCRIBE t").len(), 4);
    assert_eq!(db.value("SELECT count(*) FROM v WHERE s LIKE '%row number%'"), "1000");
    db.run("INSERT INTO t VALUES (2001, 1, 1, 'again')");
    db.run(&format!("RESTORE TABLE t TO VERSION {altered}"));
    assert_eq!(db.rows("SELECT count(*), sum(extra), max(id) FROM t"), ["901|7|2000"]);
}

#[test]
fn a_transaction_may_restore_and_take_it_back() {
    let (db, before) = with_deletions();
    db.script(&format!("BEGIN; SAVEPOINT s; RESTORE TABLE t TO VERSION {before}"));
    assert_eq!(db.rows("SELECT count(*) FROM t"), ["1000"]);
    db.run("ROLLBACK TO SAVEPOINT s");
    assert_eq!(db.rows("SELECT count(*) FROM t"), ["900"]);
    let files = db.segment_files().len();
    db.script(&format!("INSERT INTO t SELECT * FROM t; RESTORE TABLE t TO VERSION {before}; DELETE FROM t WHERE id = 0; COMMIT"));
    assert_eq!(db.rows("SELECT count(*), count(DISTINCT id) FROM t"), ["999|999"]);
    assert!(db.segment_files().len() > files);
}

#[test]
fn two_who_change_a_table_and_restore_it_conflict() {
    let (db, before) = with_deletions();
    let other = db.engine.session().unwrap();
    let others = |sql: &str| wait(run(&other, sql));
    db.script(&format!("BEGIN; RESTORE TABLE t TO VERSION {before}"));
    others("INSERT INTO t VALUES (7000, 0, 0, 'other')").unwrap();
    let error = db.error("COMMIT").to_string();
    assert_eq!(error, "another transaction changed table \"t\" first; run the statement or transaction again");
    assert_eq!(db.rows("SELECT count(*) FROM t"), ["901"]);
    others("BEGIN").unwrap();
    others("DELETE FROM t WHERE id = 500").unwrap();
    db.run(&format!("RESTORE TABLE t TO VERSION {before}"));
    assert!(others("COMMIT").unwrap_err().to_string().contains("changed table \"t\" first"));
    assert_eq!(db.rows("SELECT count(*) FROM t"), ["1000"]);
}

#[test]
fn what_cannot_be_restored_says_why() {
    let (db, before) = with_deletions();
    db.run("CREATE VIEW v AS SELECT 1 AS one");
    let error = |sql: &str| db.error(sql).to_string();
    assert_eq!(error("RESTORE TABLE none TO VERSION 1"), "table \"none\" does not exist");
    assert_eq!(error("RESTORE TABLE v TO VERSION 1"), "table \"v\" does not exist");
    assert!(error("RESTORE TABLE t TO VERSION 0").starts_with("table \"t\" was made by version"));
    assert!(error("RESTORE TABLE t TO VERSION 99").starts_with("there is no version 99 yet"));
    assert_eq!(error("RESTORE TABLE t TO SNAPSHOT none"), "snapshot \"none\" does not exist");
    assert!(error("RESTORE TABLE t TO TIMESTAMP '2000-01-01'").starts_with("no version of 2000-01-01 00:00:00 UTC is kept"));
    assert!(error("RESTORE TABLE system.tables TO VERSION 1").starts_with("changing the schema system"));
    db.run("ALTER SYSTEM SET retention = '0'");
    assert!(error(&format!("RESTORE TABLE t TO VERSION {before}")).contains("is not kept any more"));
    for sql in [
        "RESTORE TABLE t",
        "RESTORE TABLE t TO 5",
        "RESTORE TABLE t TO VERSION",
        "RESTORE t TO VERSION 5",
        "RESTORE TABLE t TO VERSION 1 2",
    ] {
        assert!(error(sql).starts_with("syntax error"), "{sql}");
    }
    assert_eq!(db.rows("SELECT count(*) FROM t"), ["900"]);
}

#[test]
fn a_restore_to_what_the_table_is_makes_no_version() {
    let (db, _) = with_deletions();
    let now = version(&db);
    db.run(&format!("RESTORE TABLE t TO VERSION {now}"));
    assert_eq!(version(&db), now);
}
