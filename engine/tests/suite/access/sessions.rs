//! What changes for sessions that are open.

use engine::ErrorKind;
use engine::import::{FileScan, LoadMode, LoadOptions, ReadOptions};

use super::house;
use crate::helpers::{numbers, soon, wait};

#[test]
fn a_dropped_user_can_do_nothing_more_in_sessions_that_are_open() {
    let db = house(&["bob"]);
    let identity = db.engine.identity("bob").unwrap();
    let bob = db.as_user("bob");
    bob.run("SELECT 1");
    bob.run("BEGIN");
    db.run("DROP USER bob");
    for sql in ["SELECT 1", "SHOW TABLES", "COMMIT", "SET threads = 2"] {
        assert_eq!(bob.error(sql).kind(), ErrorKind::Unauthenticated, "{sql}");
    }
    assert!(bob.session.tables().is_err());
    assert!(bob.session.schema_names().is_err());
    db.run("CREATE USER bob PASSWORD 'again' ADMIN");
    assert_eq!(bob.error("SELECT 1").kind(), ErrorKind::Unauthenticated);
    assert_eq!(db.engine.session_as(&identity).err().unwrap().kind(), ErrorKind::Unauthenticated);
    db.as_user("bob").run("SELECT 1");
}

#[test]
fn a_new_password_ends_what_the_old_one_began() {
    let db = house(&["bob"]);
    let bob = db.as_user("bob");
    db.run("ALTER USER bob PASSWORD 'new'");
    assert_eq!(bob.error("SELECT 1").kind(), ErrorKind::Unauthenticated);
    db.as_user("bob").run("SELECT 1");
}

#[test]
fn a_prepared_statement_is_held_against_the_rights_of_now() {
    let db = house(&["bob"]);
    db.script("CREATE TABLE t AS SELECT 1 AS a; GRANT SELECT ON t TO bob");
    let bob = db.as_user("bob");
    bob.run("PREPARE p AS SELECT a FROM t");
    assert_eq!(bob.rows("EXECUTE p"), ["1"]);
    db.run("REVOKE SELECT ON t FROM bob");
    bob.unseen("EXECUTE p");
    db.run("GRANT INSERT ON t TO bob");
    bob.denied("EXECUTE p");
}

#[test]
fn an_admin_that_is_one_no_more_is_so_at_once() {
    let db = house(&["bob"]);
    db.script("CREATE TABLE t (a INT); ALTER USER bob ADMIN");
    let bob = db.as_user("bob");
    bob.run("SELECT * FROM t");
    bob.run("CHECKPOINT");
    db.run("ALTER USER bob NOT ADMIN");
    bob.unseen("SELECT * FROM t");
    bob.denied("CHECKPOINT");
}

/// Files go with the last snapshot that has them.
#[test]
fn what_was_refused_to_a_session_is_not_kept_by_it() {
    let db = house(&["bob"]);
    db.load("t", &[], &numbers(0, 1_000));
    db.run("GRANT INSERT ON t TO bob");
    let bob = db.as_user("bob");
    assert_eq!(bob.session.mapped_table("main", "t", None, None, true).unwrap_err().kind(), ErrorKind::Denied);
    let csv = db.file("rows.csv");
    std::fs::write(&csv, "id,k,r,s\n").unwrap();
    let scan = FileScan::open(&[csv], ReadOptions::default()).unwrap();
    let load = LoadOptions { namespace: "main".into(), table: "t".into(), order_by: vec![], mode: LoadMode::Append };
    assert_eq!(wait(bob.session.import(load, scan)).unwrap_err().kind(), ErrorKind::Denied);
    db.run("DROP TABLE t");
    assert!(soon(|| db.segment_files().is_empty()), "{:?}", db.segment_files());
}

#[test]
fn transactions_of_others_are_not_shown() {
    let db = house(&["bob"]);
    db.run("BEGIN");
    let bob = db.as_user("bob");
    assert!(bob.rows("SELECT * FROM system.transactions").is_empty());
    bob.run("BEGIN");
    assert_eq!(bob.rows("SELECT is_own FROM system.transactions"), ["true"]);
    assert_eq!(db.as_user("root").rows("SELECT count(*) FROM system.transactions"), ["2"]);
}
