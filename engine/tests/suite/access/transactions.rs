//! What changes for transactions that are open.

use engine::ErrorKind;

use super::{User, house};
use crate::helpers::Db;

fn with_t(privileges: &str) -> Db {
    let db = house(&["bob"]);
    db.script("CREATE TABLE t (a INT, b INT); INSERT INTO t VALUES (1, 1), (2, 2)");
    db.run(&format!("GRANT {privileges} ON t TO bob"));
    db
}

#[track_caller]
fn is_refused_at_commit(bob: &User, privilege: &str) {
    let refused = bob.denied("COMMIT");
    assert!(refused.contains("rolled back") && refused.contains(&format!("the privilege {privilege} on table t")), "{refused}");
    assert!(!bob.session.is_in_transaction());
}

#[test]
fn rows_that_were_changed_before_a_revoke_are_not_committed_after_it() {
    for (privilege, sql) in [
        ("INSERT", "INSERT INTO t VALUES (3, 3)"),
        ("INSERT", "INSERT INTO t SELECT 3, 3"),
        ("UPDATE", "UPDATE t SET b = 9 WHERE a = 1"),
        ("DELETE", "DELETE FROM t WHERE a = 1"),
        ("TRUNCATE", "TRUNCATE TABLE t"),
        ("OWNERSHIP", "ALTER TABLE t ADD c INT"),
    ] {
        let db = with_t("SELECT, INSERT, UPDATE, DELETE, TRUNCATE, OWNERSHIP");
        if privilege != "OWNERSHIP" {
            db.run("REVOKE OWNERSHIP ON t FROM bob");
        }
        let bob = db.as_user("bob");
        bob.run("BEGIN");
        bob.run(sql);
        db.run(&format!("REVOKE {privilege} ON t FROM bob"));
        is_refused_at_commit(&bob, privilege);
        assert_eq!(db.rows("SELECT * FROM t ORDER BY a"), ["1|1", "2|2"], "{sql}");
        // And the next transaction begins with a clean slate.
        bob.run("BEGIN");
        bob.run("SELECT count(*) FROM t");
        bob.run("COMMIT");
    }
}

#[test]
fn many_rows_that_were_changed_before_a_revoke_are_not_committed_either() {
    let db = with_t("INSERT");
    let bob = db.as_user("bob");
    bob.run("BEGIN");
    bob.run("INSERT INTO t SELECT value, value FROM generate_series(1, 200000) AS g(value)");
    db.run("REVOKE INSERT ON t FROM bob");
    is_refused_at_commit(&bob, "INSERT");
    assert_eq!(db.value("SELECT count(*) FROM t"), "2");
}

#[test]
fn what_was_not_made_use_of_may_go_meanwhile() {
    let db = with_t("SELECT, INSERT, DELETE");
    db.script("CREATE TABLE u (a INT); GRANT INSERT, DELETE, SELECT ON u TO bob");
    let bob = db.as_user("bob");
    bob.run("BEGIN");
    bob.run("INSERT INTO t VALUES (3, 3)");
    bob.run("SAVEPOINT s");
    bob.run("DELETE FROM u");
    bob.run("ROLLBACK TO s");
    bob.run("EXPLAIN DELETE FROM u");
    db.script("REVOKE DELETE ON t FROM bob; REVOKE SELECT ON t FROM bob; REVOKE DELETE ON u FROM bob");
    bob.run("COMMIT");
    assert_eq!(db.value("SELECT count(*) FROM t"), "3");
}

#[test]
fn a_privilege_that_comes_from_elsewhere_now_is_as_good() {
    let db = with_t("INSERT");
    let bob = db.as_user("bob");
    bob.run("BEGIN");
    bob.run("INSERT INTO t VALUES (3, 3)");
    db.script("REVOKE INSERT ON t FROM bob; GRANT INSERT ON SCHEMA main TO PUBLIC");
    bob.run("COMMIT");
    assert_eq!(db.value("SELECT count(*) FROM t"), "3");
}

#[test]
fn who_is_no_admin_any_more_commits_nothing_that_takes_one() {
    let db = with_t("SELECT");
    db.run("ALTER USER bob ADMIN");
    let bob = db.as_user("bob");
    bob.run("BEGIN");
    bob.run("CREATE SCHEMA s");
    bob.run("DELETE FROM t");
    db.run("ALTER USER bob NOT ADMIN");
    bob.denied("COMMIT");
    assert_eq!(db.value("SELECT count(*) FROM t"), "2");
    assert!(!db.rows("SHOW SCHEMAS").contains(&"s".to_string()));
}

#[test]
fn rows_by_parameters_are_held_to_it_too() {
    let db = with_t("INSERT");
    let bob = db.as_user("bob");
    bob.run("BEGIN");
    let column: arrow::array::ArrayRef = std::sync::Arc::new(arrow::array::Int32Array::from(vec![7, 8]));
    let rows = arrow::array::RecordBatch::try_from_iter([("a", std::sync::Arc::clone(&column)), ("b", column)]).unwrap();
    crate::helpers::wait(bob.session.execute_rows("INSERT INTO t VALUES ($1, $2)", &rows)).unwrap();
    db.run("REVOKE INSERT ON t FROM bob");
    is_refused_at_commit(&bob, "INSERT");
    assert_eq!(db.value("SELECT count(*) FROM t"), "2");
}

#[test]
fn a_table_that_is_gone_is_a_conflict_and_not_a_question_of_privileges() {
    let db = with_t("INSERT");
    let bob = db.as_user("bob");
    bob.run("BEGIN");
    bob.run("INSERT INTO t VALUES (3, 3)");
    db.run("DROP TABLE t");
    assert_eq!(bob.error("COMMIT").kind(), ErrorKind::Conflict);
}

#[test]
fn a_schema_that_takes_the_place_of_another_has_none_of_its_grants() {
    let db = house(&["bob"]);
    db.script("CREATE SCHEMA s; CREATE TABLE s.t AS SELECT 1 AS a; GRANT SELECT ON SCHEMA s TO bob");
    db.script("BEGIN; DROP SCHEMA s CASCADE");
    let refused = db.error("CREATE SCHEMA s");
    assert_eq!(refused.kind(), ErrorKind::NotAllowed);
    assert!(refused.to_string().contains("end the transaction before"), "{refused}");
    db.script("ROLLBACK; BEGIN; DROP SCHEMA s CASCADE; CREATE SCHEMA other; COMMIT; CREATE SCHEMA s; CREATE TABLE s.t AS SELECT 2 AS a");
    db.as_user("bob").unseen("SELECT * FROM s.t");
    assert!(db.rows("SHOW GRANTS FOR bob").is_empty());
}

#[test]
fn without_users_a_schema_is_made_anew_in_one_transaction() {
    let db = Db::new();
    db.script("CREATE SCHEMA s; CREATE TABLE s.t (a INT); BEGIN; DROP SCHEMA s CASCADE; CREATE SCHEMA s; COMMIT");
    assert!(db.error("SELECT * FROM s.t").to_string().contains("does not exist"));
}
