//! ALTER TABLE in transactions, and beside those of others.

use super::table;
use crate::helpers::{run, soon, wait};

#[test]
fn a_rolled_back_alter_leaves_nothing() {
    let db = table();
    let before = (db.rows("SHOW CREATE TABLE t"), db.segment_files());
    db.script("BEGIN; INSERT INTO t VALUES (-1, 'x'); ALTER TABLE t ADD COLUMN c int DEFAULT 3; INSERT INTO t VALUES (-2, 'y', 4)");
    assert_eq!(db.rows("SELECT * FROM t WHERE a < 0 ORDER BY a"), ["-2|y|4", "-1|x|3"]);
    db.script("SAVEPOINT s; ALTER TABLE t DROP COLUMN b, RENAME TO u; UPDATE u SET c = 5 WHERE a = -1");
    assert_eq!(db.rows("SELECT * FROM u WHERE a < 0 ORDER BY a"), ["-2|4", "-1|5"]);
    db.run("ROLLBACK TO SAVEPOINT s");
    assert_eq!(db.rows("SELECT * FROM t WHERE a < 0 ORDER BY a"), ["-2|y|4", "-1|x|3"]);
    db.run("ROLLBACK");
    assert_eq!(db.rows("SHOW CREATE TABLE t"), before.0);
    assert!(soon(|| db.segment_files() == before.1));
    assert_eq!(db.value("SELECT count(*) FROM t WHERE a < 0"), "0");
}

#[test]
fn alter_and_rows_of_one_transaction_are_committed_together() {
    let db = table();
    db.script("BEGIN; INSERT INTO t VALUES (-1, 'x'); DELETE FROM t WHERE a = 7; ALTER TABLE t ADD COLUMN c int DEFAULT 3; INSERT INTO t VALUES (-2, 'y', 4); DELETE FROM t WHERE a = -1");
    db.script("ALTER TABLE t ALTER COLUMN a TYPE bigint, ADD UNIQUE (a); INSERT INTO t VALUES (5000000000, 'z', NULL); INSERT INTO t VALUES (-1, 'again', 1)");
    db.run("COMMIT");
    let expected = ["-2|y|4", "-1|again|1", "5000000000|z|NULL"];
    assert_eq!(db.rows("SELECT * FROM t WHERE a < 0 OR a > 20000 ORDER BY a"), expected);
    let db = db.reopened();
    assert_eq!(db.rows("SELECT * FROM t WHERE a < 0 OR a > 20000 ORDER BY a"), expected);
    assert_eq!(db.rows("SELECT count(*), sum(c) FROM t"), ["10003|30005"]);
    db.error("INSERT INTO t VALUES (-1, 'more', 1)");
}

#[test]
fn rows_written_by_the_old_rules_do_not_come_in_after_the_new_ones() {
    let db = table();
    db.run("DELETE FROM t WHERE b IS NULL");
    let other = db.engine.session().unwrap();
    let theirs = |sql: &str| wait(run(&other, sql));
    for (mine, alter) in [
        ("INSERT INTO t VALUES (10000000, NULL)", "ALTER TABLE t ALTER COLUMN b SET NOT NULL"),
        ("INSERT INTO t VALUES (7, 'seven')", "ALTER TABLE t ADD UNIQUE (a)"),
        ("INSERT INTO t SELECT -value, 'x' FROM generate_series(1, 20000) AS g(value)", "ALTER TABLE t ADD CHECK (a > 0)"),
        ("INSERT INTO t VALUES (80000, 'eight')", "ALTER TABLE t SET ORDER BY (b)"),
        ("INSERT INTO t VALUES (80000, 'eight')", "ALTER TABLE t ADD COLUMN c int"),
    ] {
        db.script(&format!("BEGIN; {mine}"));
        theirs(alter).unwrap();
        let error = db.error("COMMIT").to_string();
        assert!(error.starts_with("another transaction changed table \"t\" first"), "{alter}: {error}");
    }
    assert_eq!(db.value("SELECT count(*) FROM t"), "10000");
}

#[test]
fn rows_that_others_commit_are_asked_before_a_constraint_is_added() {
    let db = table();
    db.run("DELETE FROM t WHERE b IS NULL");
    let other = db.engine.session().unwrap();
    let theirs = |sql: &str| wait(run(&other, sql)).unwrap();
    let rows = ["(0, NULL)", "(7, 'seven')", "(-5, 'x')"];
    for (action, row) in ["ALTER COLUMN b SET NOT NULL", "ADD UNIQUE (a)", "ADD CHECK (a > 0)"].iter().zip(rows) {
        let alter = format!("ALTER TABLE t {action}");
        db.script(&format!("BEGIN; {alter}"));
        theirs(&format!("INSERT INTO t VALUES {row}"));
        db.error("COMMIT");
        theirs("DELETE FROM t WHERE b IS NULL OR a <= 0 OR b = 'seven'");
        db.script(&format!("BEGIN; {alter}"));
        theirs("INSERT INTO t VALUES (20000000, 'fine')");
        theirs("DELETE FROM t WHERE a = 20000000");
        db.run("COMMIT");
    }
    for row in rows {
        db.error(&format!("INSERT INTO t VALUES {row}"));
    }
}
