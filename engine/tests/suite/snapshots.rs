//! Versions with names, and how long the others stay.

use engine::StatementKind;

use super::helpers::Db;
use super::time_travel::version;

fn with_table() -> Db {
    let db = Db::new();
    db.run("CREATE TABLE t AS SELECT 1 AS a");
    db
}

#[test]
fn a_snapshot_keeps_a_version_under_a_name() {
    let db = with_table();
    let named = version(&db);
    assert_eq!(db.run("CREATE SNAPSHOT Before").kind, StatementKind::Ddl);
    db.run("INSERT OVERWRITE t VALUES (2)");
    db.run("ALTER SYSTEM SET retention = '0'");
    db.run("INSERT OVERWRITE t VALUES (3)");
    let db = db.reopened();
    assert_eq!(db.rows("SELECT a FROM t FOR VERSION AS OF 'before'"), ["1"]);
    let shown = db.run("SHOW SNAPSHOTS");
    let columns: Vec<String> = shown.batches[0].schema().fields().iter().map(|field| field.name().clone()).collect();
    assert_eq!(columns, ["name", "version", "committed_at", "created_at"]);
    assert!(shown.rows()[0].starts_with(&format!("before|{named}|")), "{:?}", shown.rows());
    db.run("DROP SNAPSHOT before");
    assert!(db.rows("SHOW SNAPSHOTS").is_empty());
    db.error("SELECT a FROM t FOR VERSION AS OF 'before'");
    db.error(&format!("SELECT a FROM t FOR VERSION AS OF {named}"));
}

#[test]
fn names_are_given_once_and_may_be_anything_in_quotes() {
    let db = with_table();
    db.run("CREATE SNAPSHOT \"Two words\"");
    assert_eq!(db.error("CREATE SNAPSHOT \"Two words\"").to_string(), "snapshot \"Two words\" already exists");
    db.run("CREATE SNAPSHOT IF NOT EXISTS 'Two words'");
    db.run("CREATE SNAPSHOT tag");
    assert_eq!(db.rows("SELECT a FROM t FOR VERSION AS OF 'Two words'"), ["1"]);
    let missing = db.error("DROP SNAPSHOT tags");
    assert_eq!((missing.to_string().as_str(), missing.hint().unwrap()), ("snapshot \"tags\" does not exist", "did you mean \"tag\"?"));
    db.run("DROP SNAPSHOT IF EXISTS tags");
    for sql in ["CREATE SNAPSHOT", "CREATE SNAPSHOT a b", "DROP SNAPSHOT 5", "SHOW SNAPSHOTS x"] {
        assert!(db.error(sql).to_string().starts_with("syntax error"), "{sql}");
    }
}

#[test]
fn a_table_that_a_snapshot_has_is_not_dropped() {
    let db = with_table();
    db.run("CREATE SNAPSHOT s");
    let error = db.error("DROP TABLE t").to_string();
    assert_eq!(error, "table \"t\" is kept by snapshot \"s\"; drop the snapshot first");
    db.error("CREATE OR REPLACE TABLE t AS SELECT 2 AS a");
    db.script("CREATE TABLE later (a INT); DROP TABLE later; DROP SNAPSHOT s; DROP TABLE t");
}

#[test]
fn a_name_moves_in_one_transaction_and_names_the_version_it_began_with() {
    let db = with_table();
    db.run("CREATE SNAPSHOT latest");
    db.run("INSERT INTO t VALUES (2)");
    db.script("BEGIN; DROP SNAPSHOT latest; CREATE SNAPSHOT latest; COMMIT");
    assert_eq!(db.rows("SELECT sum(a) FROM t FOR VERSION AS OF 'latest'"), ["3"]);
    db.script("BEGIN; CREATE SNAPSHOT before; INSERT INTO t VALUES (3); COMMIT");
    assert_eq!(db.rows("SELECT sum(a) FROM t FOR VERSION AS OF 'before'"), ["3"]);
    db.script("BEGIN; INSERT INTO t VALUES (4)");
    let error = db.error("CREATE SNAPSHOT late").to_string();
    assert!(error.starts_with("a snapshot is of a version that is committed"), "{error}");
    db.run("ROLLBACK");
    db.script("BEGIN; CREATE SNAPSHOT undone; ROLLBACK");
    assert_eq!(db.rows("SHOW SNAPSHOTS").len(), 2);
    let db = db.reopened();
    assert_eq!(db.rows("SELECT sum(a) FROM t FOR VERSION AS OF 'latest'"), ["3"]);
}

#[test]
fn retention_belongs_to_the_store() {
    let db = with_table();
    assert_eq!(db.rows("SHOW retention"), ["retention|1 day"]);
    for (set, shown) in [
        ("ALTER SYSTEM SET retention = '7 days'", "7 days"),
        ("ALTER SYSTEM SET retention TO INTERVAL '36 hours'", "1 day 12 hours"),
        ("ALTER SYSTEM SET retention = 'forever'", "forever"),
        ("ALTER SYSTEM SET retention = 0", "0"),
        ("ALTER SYSTEM SET retention = DEFAULT", "1 day"),
        ("ALTER SYSTEM SET retention = '90 minutes'", "1 hour 30 minutes"),
    ] {
        db.run(set);
        assert_eq!(db.value("SELECT value FROM system.settings WHERE name = 'retention'"), shown, "{set}");
    }
    let db = db.reopened();
    assert_eq!(db.rows("SHOW retention"), ["retention|1 hour 30 minutes"]);
    db.run("ALTER SYSTEM RESET retention");
    assert_eq!(db.rows("SHOW retention"), ["retention|1 day"]);
    for sql in [
        "ALTER SYSTEM SET retention = '7'",
        "ALTER SYSTEM SET retention = '1 month'",
        "ALTER SYSTEM SET retention = 'soon'",
        "ALTER SYSTEM SET retention = 5",
    ] {
        assert!(db.error(sql).to_string().ends_with("is not a duration"), "{sql}");
    }
    assert!(db.error("ALTER SYSTEM SET threads = 4").hint().unwrap().contains("SET changes settings of the session"));
    assert!(db.error("SET retention = '7 days'").hint().unwrap().contains("ALTER SYSTEM"));
    assert_eq!(db.rows("SHOW retention"), ["retention|1 day"]);
}

#[test]
fn versions_are_given_up_by_age_and_by_number() {
    let db = with_table();
    for value in 2..6 {
        db.run(&format!("INSERT OVERWRITE t VALUES ({value})"));
    }
    let newest = version(&db);
    let files = db.segment_files().len();
    let expired = db.run(&format!("EXPIRE VERSIONS BEFORE VERSION {}", newest - 1));
    let columns: Vec<String> = expired.batches[0].schema().fields().iter().map(|field| field.name().clone()).collect();
    assert_eq!(columns, ["expired_versions", "freed_bytes"]);
    let row = expired.rows().remove(0);
    let (versions, bytes) = row.split_once('|').unwrap();
    assert_eq!(versions, "3");
    assert!(bytes.parse::<u64>().unwrap() > 0, "{row}");
    assert!(db.segment_files().len() < files);
    assert_eq!(db.rows("SELECT count(*) FROM system.snapshots"), ["2"]);
    assert_eq!(db.rows("EXPIRE VERSIONS OLDER THAN INTERVAL '1 hour'"), ["0|0"]);
    std::thread::sleep(std::time::Duration::from_millis(5));
    assert!(db.value("EXPIRE VERSIONS OLDER THAN INTERVAL '1 millisecond'").starts_with("1|"));
    assert_eq!(db.rows("SELECT a FROM t"), ["5"]);
    let error = db.error(&format!("EXPIRE VERSIONS BEFORE VERSION {}", newest + 9)).to_string();
    assert_eq!(error, format!("there is no version {} yet; the last one is {newest}", newest + 9));
    for sql in ["EXPIRE VERSIONS", "EXPIRE VERSIONS BEFORE 5", "EXPIRE VERSIONS OLDER THAN"] {
        assert!(db.error(sql).to_string().starts_with("syntax error"), "{sql}");
    }
}

#[test]
fn what_cannot_be_taken_back_is_no_part_of_a_transaction() {
    let db = with_table();
    for sql in ["EXPIRE VERSIONS BEFORE VERSION 1", "ALTER SYSTEM SET retention = '0'"] {
        db.run("BEGIN");
        assert!(db.error(sql).to_string().contains("no part of a transaction"), "{sql}");
        db.run("ROLLBACK");
    }
}

#[test]
fn the_bytes_a_version_keeps_are_seen_and_go_with_it() {
    let db = with_table();
    let kept_bytes = || db.value("SELECT coalesce(sum(kept_bytes), 0) FROM system.snapshots");
    assert_eq!(kept_bytes(), "0");
    let (size, version) = (db.value("SELECT sum(size_bytes + side_size_bytes) FROM system.segments"), version(&db));
    db.run("TRUNCATE TABLE t");
    assert_eq!(kept_bytes(), size);
    assert_eq!(db.value("SELECT version FROM system.snapshots WHERE kept_bytes > 0"), version.to_string());
    db.run("ALTER SYSTEM SET retention = '0'");
    assert_eq!(kept_bytes(), "0");
    assert!(db.segment_files().is_empty());
}
