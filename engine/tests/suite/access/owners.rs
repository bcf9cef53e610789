//! Who makes something owns it.

use engine::ErrorKind;

use super::house;

#[test]
fn who_makes_a_table_may_do_everything_with_it_and_grant_on_it() {
    let db = house(&["bob", "ann"]);
    db.run("GRANT CREATE ON SCHEMA main TO bob");
    let (bob, ann) = (db.as_user("bob"), db.as_user("ann"));
    bob.run("CREATE TABLE t (a INT)");
    for sql in [
        "INSERT INTO t VALUES (1), (2)",
        "UPDATE t SET a = 3 WHERE a = 1",
        "DELETE FROM t WHERE a = 3",
        "ALTER TABLE t ADD b INT",
        "OPTIMIZE TABLE t",
        "CREATE VIEW v AS SELECT a FROM t",
    ] {
        bob.run(sql);
    }
    ann.unseen("SELECT * FROM t");
    bob.run("GRANT SELECT ON t TO ann");
    bob.run("GRANT SELECT ON v TO ann");
    assert_eq!(ann.rows("SELECT v.a FROM v, t"), ["2"]);
    ann.denied("GRANT SELECT ON t TO ann");
    ann.denied("ALTER TABLE t ADD c INT");
    ann.denied("DROP VIEW v");
    assert_eq!(
        bob.rows("SELECT grantee, privilege, object_kind, object_name FROM system.grants ORDER BY 4, 1"),
        ["ann|SELECT|table|t", "bob|OWNERSHIP|table|t", "ann|SELECT|view|v", "bob|OWNERSHIP|view|v", "bob|CREATE|schema|NULL",]
    );
    bob.run("CREATE OR REPLACE TABLE t AS SELECT 5 AS a");
    ann.unseen("SELECT * FROM t");
    assert_eq!(bob.rows("SELECT a FROM v"), ["5"]);
    bob.run("DROP TABLE t");
}

#[test]
fn who_makes_a_schema_owns_what_is_in_it() {
    let db = house(&["bob"]);
    let bob = db.as_user("bob");
    assert!(bob.denied("CREATE SCHEMA s").contains("GRANT CREATE ON DATABASE quiver TO bob"));
    db.run("GRANT CREATE ON DATABASE quiver TO bob");
    bob.run("CREATE SCHEMA s");
    db.run("CREATE TABLE s.t AS SELECT 1 AS a");
    assert_eq!(bob.rows("SELECT a FROM s.t"), ["1"]);
    bob.run("ALTER TABLE s.t RENAME TO u");
    bob.run("DROP SCHEMA s CASCADE");
    assert_eq!(db.error("SELECT * FROM s.u").kind(), ErrorKind::Invalid);
}

#[test]
fn what_a_transaction_has_made_is_its_own_before_it_commits() {
    let db = house(&["bob"]);
    db.script("GRANT CREATE ON SCHEMA main TO bob; GRANT CREATE ON DATABASE quiver TO bob; CREATE TABLE other (a INT)");
    let bob = db.as_user("bob");
    bob.run("BEGIN");
    bob.run("CREATE SCHEMA s");
    bob.run("CREATE TABLE s.t (a INT)");
    bob.run("INSERT INTO s.t VALUES (1)");
    bob.run("UPDATE s.t SET a = 2");
    assert_eq!(bob.rows("SELECT a FROM s.t"), ["2"]);
    bob.run("COMMIT");
    assert_eq!(bob.rows("SELECT a FROM s.t"), ["2"]);
    bob.run("BEGIN");
    bob.unseen("SELECT * FROM other");
    bob.run("ROLLBACK");
}

#[test]
fn ownership_is_granted_and_taken_like_other_privileges() {
    let db = house(&["bob", "ann"]);
    db.script("CREATE TABLE t (a INT); CREATE ROLE team; GRANT team TO bob, ann; GRANT OWNERSHIP ON t TO team");
    db.as_user("ann").run("ALTER TABLE t ADD b INT");
    let bob = db.as_user("bob");
    bob.run("REVOKE OWNERSHIP ON t FROM team");
    bob.unseen("SELECT * FROM t");
}

#[test]
fn a_dropped_user_leaves_what_it_made_to_admins() {
    let db = house(&["bob"]);
    db.run("GRANT CREATE ON SCHEMA main TO bob");
    db.as_user("bob").run("CREATE TABLE t AS SELECT 1 AS a");
    db.script("DROP USER bob; CREATE USER bob PASSWORD 'again'");
    db.as_user("bob").unseen("SELECT * FROM t");
    assert_eq!(db.as_user("root").rows("SELECT a FROM t"), ["1"]);
}

#[test]
fn a_schema_with_tables_of_others_is_not_dropped_by_who_does_not_own_it() {
    let db = house(&["bob"]);
    db.script("CREATE SCHEMA s; CREATE TABLE s.t (a INT); GRANT ALL ON SCHEMA s TO bob");
    let bob = db.as_user("bob");
    bob.denied("DROP SCHEMA s CASCADE");
    bob.denied("DROP TABLE s.t");
    bob.run("CREATE TABLE s.own (a INT)");
    bob.run("DROP TABLE s.own");
}
