//! What GRANT, REVOKE and SHOW GRANTS say.

use engine::ErrorKind;

use super::house;
use crate::helpers::{run, wait};

#[test]
fn grants_are_shown_with_what_comes_by_roles() {
    let db = house(&["bob"]);
    db.script("CREATE TABLE t (a INT); CREATE ROLE r; GRANT r TO bob; GRANT SELECT, INSERT ON TABLE main.t TO r; GRANT USAGE ON SCHEMA main TO bob");
    let expected = ["bob|USAGE|schema|main|NULL", "r|INSERT|table|main|t", "r|SELECT|table|main|t"];
    assert_eq!(db.sorted_rows("SHOW GRANTS FOR bob"), expected);
    let mut own = db.as_user("bob").rows("SHOW GRANTS");
    own.sort_unstable();
    assert_eq!(own, expected);
    assert!(db.rows("SHOW GRANTS FOR root").is_empty());
    assert_eq!(db.error("SHOW GRANTS FOR nobody").kind(), ErrorKind::NotFound);
    db.run("REVOKE ALL PRIVILEGES ON t FROM r");
    assert_eq!(db.rows("SHOW GRANTS FOR bob"), expected[..1]);
}

#[test]
fn what_is_not_supported_says_what_to_do() {
    let db = house(&["bob"]);
    db.script("CREATE TABLE t (a INT); CREATE FUNCTION f() RETURNS INT RETURN 1");
    for (sql, hint) in [
        ("GRANT SELECT (a) ON t TO bob", "make a view"),
        ("GRANT SELECT ON ALL TABLES IN SCHEMA main TO bob", "ON SCHEMA s"),
        ("GRANT SELECT ON t TO bob WITH GRANT OPTION", "OWNERSHIP"),
        ("GRANT REFERENCES ON t TO bob", "there are SELECT"),
        ("GRANT CREATE ON t TO bob", "there are SELECT"),
        ("GRANT FILES ON SCHEMA main TO bob", "there are SELECT"),
        ("GRANT SELECT TO bob", "write ON a table"),
        ("GRANT ALL TO bob", "write ON a table"),
        ("GRANT SELECT ON FUNCTION f TO bob", "there are EXECUTE"),
        ("GRANT SELECT ON t FROM bob", "write GRANT"),
        ("REVOKE SELECT ON t TO bob", "write REVOKE"),
        ("CREATE USER bob", "PASSWORD 'text'"),
    ] {
        let error = db.error(sql);
        assert!(error.hint().is_some_and(|found| found.contains(hint)), "{sql}: {error}; {:?}", error.hint());
    }
    assert!(db.rows("SELECT * FROM system.grants").is_empty());
}

#[test]
fn only_what_is_there_is_granted_and_only_to_who_is_there() {
    let db = house(&["bob"]);
    db.run("CREATE TABLE t (a INT)");
    for sql in [
        "GRANT SELECT ON t TO nobody",
        "GRANT SELECT ON missing TO bob",
        "GRANT SELECT ON SCHEMA missing TO bob",
        "GRANT missing TO bob",
        "GRANT bob TO root",
    ] {
        assert_eq!(db.error(sql).kind(), ErrorKind::NotFound, "{sql}");
    }
    db.script("CREATE ROLE a; CREATE ROLE b; GRANT a TO b");
    assert_eq!(db.error("GRANT b TO a").kind(), ErrorKind::NotAllowed);
    assert_eq!(db.error("GRANT a TO a").kind(), ErrorKind::NotAllowed);
}

#[test]
fn grants_stay_when_the_store_is_closed() {
    let db = house(&["bob"]);
    db.script("CREATE TABLE t AS SELECT 1 AS a; GRANT SELECT ON t TO bob; GRANT FILES TO bob");
    let db = db.reopened();
    assert_eq!(db.as_user("bob").rows("SELECT a FROM t"), ["1"]);
    db.run("REVOKE FILES FROM bob");
    let db = db.reopened();
    assert_eq!(db.rows("SHOW GRANTS FOR bob"), ["bob|SELECT|table|main|t"]);
}

#[test]
fn a_transaction_sees_no_grants_on_what_others_have_made_since_it_began() {
    let db = house(&["bob", "ann"]);
    let bob = db.as_user("bob");
    bob.run("BEGIN");
    db.script("CREATE SCHEMA hidden; CREATE VIEW hidden.v AS SELECT 1 AS a; GRANT SELECT ON SCHEMA hidden TO ann; GRANT SELECT ON hidden.v TO ann");
    for sql in ["SELECT * FROM system.grants", "SHOW GRANTS"] {
        assert!(bob.rows(sql).is_empty(), "{sql}");
    }
    bob.run("ROLLBACK");
    assert!(bob.rows("SELECT * FROM system.grants").is_empty());
}

/// Who grants finds out what is there while nobody commits, so that no grant is left of what is gone.
#[test]
fn a_grant_on_a_table_that_is_dropped_meanwhile_is_left_nowhere() {
    let db = house(&["bob"]);
    let (session, rounds) = (db.engine.session().unwrap(), 100);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for _ in 0..rounds {
                db.script("CREATE TABLE t (a INT); CREATE SCHEMA s; DROP TABLE t; DROP SCHEMA s");
            }
        });
        for _ in 0..rounds {
            for sql in ["GRANT SELECT ON t TO bob", "GRANT SELECT ON SCHEMA s TO bob"] {
                if let Err(error) = wait(run(&session, sql)) {
                    assert_eq!(error.kind(), ErrorKind::NotFound, "{sql}: {error}");
                }
            }
        }
    });
    assert_eq!(db.engine.store().access().grants().count(), 0);
    assert!(db.rows("SHOW GRANTS FOR bob").is_empty());
}
