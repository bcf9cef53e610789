//! Procedures with SECURITY DEFINER: their statements have the rights of who created them.

use super::{User, house};
use crate::helpers::Db;

/// Ann has a table and procedures that bob may call.
fn ann_and_bob(procedures: &str) -> (Db, User, User) {
    let db = house(&["ann", "bob"]);
    db.run("GRANT CREATE ON SCHEMA main TO ann");
    let (ann, bob) = (db.as_user("ann"), db.as_user("bob"));
    ann.run("CREATE TABLE limits AS SELECT 'a' AS name, 5 AS value");
    procedures.split(";;").for_each(|procedure| drop(ann.run(procedure)));
    db.run("GRANT EXECUTE ON SCHEMA main TO bob");
    (db, ann, bob)
}

const RAISE: &str = "CREATE PROCEDURE raise(by_ BIGINT) SECURITY DEFINER BEGIN
    UPDATE limits SET value = value + by_; INSERT INTO limits VALUES ('b', 1); SELECT name, value FROM limits ORDER BY name; END";

#[test]
fn its_statements_have_the_rights_of_its_owner_and_others_do_not() {
    let (db, _, bob) = ann_and_bob(RAISE);
    assert_eq!(bob.rows("CALL raise(2)"), ["a|7", "b|1"]);
    bob.unseen("SELECT * FROM limits");
    bob.run("BEGIN");
    bob.run("CALL raise(1)");
    bob.unseen("SELECT * FROM limits");
    bob.run("ROLLBACK");
    assert_eq!(db.rows("SELECT value FROM limits WHERE name = 'a'"), ["7"]);
    assert_eq!(db.rows("SELECT name FROM system.functions WHERE is_definer"), ["raise"]);
}

#[test]
fn after_an_error_the_caller_has_no_more_rights_than_before() {
    let (_db, _, bob) = ann_and_bob("CREATE PROCEDURE fails() SECURITY DEFINER BEGIN SELECT 1 / (value - 5) FROM limits; END");
    assert_eq!(bob.error("CALL fails()").to_string(), "statement 1 of procedure fails fails");
    bob.unseen("SELECT * FROM limits");
    bob.error("CALL fails()");
    bob.unseen("SELECT * FROM limits");
}

#[test]
fn arguments_are_computed_with_the_rights_of_the_caller() {
    let (db, _, bob) = ann_and_bob(RAISE);
    db.run("CREATE TABLE secret AS SELECT 7 AS a");
    bob.unseen("CALL raise((SELECT max(value) FROM limits))");
    bob.unseen("CALL raise((SELECT a FROM secret))");
}

#[test]
fn a_temporary_table_of_the_caller_does_not_take_the_place_of_a_table() {
    let (db, _, bob) = ann_and_bob(RAISE);
    bob.run("CREATE TEMPORARY TABLE limits AS SELECT 'a' AS name, 1000 AS value");
    assert_eq!(bob.rows("CALL raise(2)"), ["a|7", "b|1"]);
    assert_eq!(bob.rows("SELECT value FROM limits"), ["1000"]);
    assert_eq!(db.rows("SELECT count(*) FROM limits"), ["2"]);
}

#[test]
fn only_who_created_it_says_what_it_does() {
    let (db, ann, bob) = ann_and_bob(RAISE);
    db.run("GRANT OWNERSHIP ON PROCEDURE raise TO bob");
    let other = "CREATE OR REPLACE PROCEDURE raise(by_ BIGINT) SECURITY DEFINER BEGIN DELETE FROM limits; END";
    assert!(bob.denied(other).contains("somebody else has created it"));
    assert!(db.as_user("root").denied(other).contains("somebody else has created it"));
    // Without the rights of ann.
    bob.run("CREATE OR REPLACE PROCEDURE raise(by_ BIGINT) BEGIN DELETE FROM limits; END");
    bob.error("CALL raise(1)");
    ann.run(other);
    bob.run("CALL raise(1)");
    assert_eq!(db.rows("SELECT count(*) FROM limits"), ["0"]);
}

#[test]
fn a_procedure_whose_owner_is_gone_is_not_called() {
    let (db, _, bob) = ann_and_bob(RAISE);
    db.run("DROP USER ann");
    assert!(bob.denied("CALL raise(2)").contains("no user owns it any more"));
    db.script("CREATE USER ann PASSWORD 'pw-ann'; GRANT OWNERSHIP ON limits TO ann");
    assert!(bob.denied("CALL raise(2)").contains("no user owns it any more"), "this is another ann");
}

#[test]
fn a_right_of_its_owner_that_is_revoked_before_the_commit_ends_the_transaction() {
    let db = house(&["ann", "bob"]);
    db.script("CREATE TABLE limits AS SELECT 'a' AS name, 5 AS value; GRANT SELECT, INSERT, UPDATE ON limits TO ann");
    db.run("GRANT CREATE ON SCHEMA main TO ann");
    db.as_user("ann").run(RAISE);
    db.run("GRANT EXECUTE ON SCHEMA main TO bob");
    let bob = db.as_user("bob");
    bob.run("BEGIN");
    bob.run("CALL raise(2)");
    db.run("REVOKE UPDATE ON limits FROM ann");
    assert!(bob.denied("COMMIT").contains("the owner of a procedure that it called may not do any more"));
    assert_eq!(db.rows("SELECT value FROM limits"), ["5"]);
    db.run("GRANT UPDATE ON limits TO ann");
    bob.run("CALL raise(2)");
    assert_eq!(db.rows("SELECT value FROM limits WHERE name = 'a'"), ["7"]);
}

#[test]
fn procedures_that_it_calls_have_its_rights_or_those_of_their_owners() {
    let (db, _, bob) = ann_and_bob(
        "CREATE PROCEDURE shown() BEGIN SELECT value FROM limits; END;;
         CREATE PROCEDURE outer_() SECURITY DEFINER BEGIN CALL shown(); END;;
         CREATE PROCEDURE after_() BEGIN CALL outer_(); SELECT value FROM limits; END",
    );
    db.script(
        "CREATE TABLE secret AS SELECT 7 AS a; CREATE USER cho PASSWORD 'pw-cho'; GRANT CREATE ON SCHEMA main TO cho;
         GRANT SELECT ON secret TO cho; GRANT EXECUTE ON SCHEMA main TO cho",
    );
    db.as_user("cho").run("CREATE PROCEDURE both_() SECURITY DEFINER BEGIN CALL outer_(); SELECT a FROM secret; END");
    assert_eq!(bob.rows("CALL outer_()"), ["5"]);
    assert_eq!(bob.rows("CALL both_()"), ["7"]);
    bob.error("CALL shown()");
    bob.error("CALL after_()");
}

#[test]
fn it_creates_and_drops_nothing() {
    let (_db, ann, bob) = ann_and_bob(
        "CREATE PROCEDURE makes() BEGIN CREATE TABLE made AS SELECT 1 AS a; END;;
         CREATE PROCEDURE calls() SECURITY DEFINER BEGIN CALL makes(); END",
    );
    for statement in ["CREATE TABLE t AS SELECT 1 AS a", "DROP TABLE limits", "CREATE VIEW v AS SELECT 1 AS a", "COPY limits TO 'x.csv'"] {
        let error = ann.error(&format!("CREATE PROCEDURE p() SECURITY DEFINER BEGIN {statement}; END"));
        assert!(error.to_string().contains("in a procedure with SECURITY DEFINER is not supported"), "{statement}: {error}");
    }
    assert_eq!(bob.error("CALL calls()").to_string(), "statement 1 of procedure calls fails");
    let error = ann.error("CALL calls()");
    assert!(error.to_string().contains("CREATE TABLE in a procedure with SECURITY DEFINER"), "{error}");
}

/// A reviewer made the names of a procedure mean other tables by settings of the caller.
#[test]
fn settings_of_the_caller_do_not_change_what_its_statements_mean() {
    let (db, _, bob) = ann_and_bob("CREATE PROCEDURE top() SECURITY DEFINER BEGIN SELECT name, value FROM Limits; END");
    db.script(
        "CREATE TABLE salaries AS SELECT 'x' AS name, 1000 AS salary; GRANT SELECT ON salaries TO ann; CREATE SCHEMA sandbox;
         GRANT CREATE ON SCHEMA sandbox TO bob; GRANT CREATE ON SCHEMA main TO bob; GRANT INSERT ON salaries TO bob",
    );
    bob.run("CREATE VIEW sandbox.limits AS SELECT name, salary AS value FROM main.salaries");
    bob.run("CREATE TABLE \"Limits\" AS SELECT 'fake' AS name, 0 AS value");
    bob.run("GRANT SELECT ON sandbox.limits TO ann");
    bob.run("GRANT SELECT ON \"Limits\" TO ann");
    bob.run("SET datafusion.catalog.default_schema = 'sandbox'");
    assert_eq!(bob.rows("CALL top()"), ["a|5"]);
    bob.run("SET datafusion.sql_parser.enable_ident_normalization = false");
    assert_eq!(bob.rows("CALL top()"), ["a|5"]);
}

#[test]
fn errors_show_no_rows_of_its_owner() {
    let (_db, ann, bob) = ann_and_bob(
        "CREATE PROCEDURE add(by_ BIGINT) SECURITY DEFINER BEGIN UPDATE limits SET value = value + by_; END;;
         CREATE PROCEDURE gone() SECURITY DEFINER BEGIN SELECT amount FROM limits; END",
    );
    for call in ["CALL add(9223372036854775807)", "CALL gone()"] {
        let error = bob.error(call).to_string();
        assert!(error.contains("statement 1 of procedure"), "{error}");
        assert!(!["range", "value", "name"].iter().any(|word| error.contains(word)), "{error}");
    }
    let error = ann.error("CALL add(9223372036854775807)").to_string();
    assert!(error.contains("out of range"), "{error}");
    let described = crate::helpers::wait(bob.session.describe("CALL gone()"));
    assert!(!described.unwrap_err().to_string().contains("amount"));
}

#[test]
fn a_transaction_does_not_call_what_was_replaced_since_it_began() {
    let (_db, ann, bob) = ann_and_bob(RAISE);
    bob.run("BEGIN");
    bob.run("SELECT 1");
    ann.run("CREATE OR REPLACE PROCEDURE raise(by_ BIGINT) SECURITY DEFINER BEGIN SELECT 1; END");
    assert_eq!(bob.error("CALL raise(2)").kind(), engine::ErrorKind::Conflict);
    bob.run("ROLLBACK");
    assert_eq!(bob.rows("CALL raise(2)"), ["1"]);
}

/// Hints in comments are tokens to the parser, and the text that was kept of them was cut at another place.
#[test]
fn no_definition_hides_in_the_comments_of_others() {
    let (db, ann, bob) = ann_and_bob("CREATE PROCEDURE p(a BIGINT) BEGIN SELECT 1; END");
    ann.run("CREATE TABLE secret AS SELECT 7 AS a");
    db.run("GRANT OWNERSHIP ON PROCEDURE p TO bob");
    bob.run("CREATE PROCEDURE p(x DOUBLE, y DOUBLE, z DOUBLE) BEGIN SELECT 1; END");
    bob.run(
        "CREATE PROCEDURE p(a BIGINT, b BIGINT) BEGIN SELECT 1; -- */ END; CREATE PROCEDURE p(q BIGINT, r BIGINT) SECURITY DEFINER BEGIN SELECT * FROM secret;
 END",
    );
    let error = bob.error("CREATE OR REPLACE PROCEDURE p(x DOUBLE, y DOUBLE, z DOUBLE) BEGIN SELECT 1; /*!END*/");
    assert!(error.to_string().contains("comment"), "{error}");
    assert_eq!(bob.rows("CALL p(1, 2)"), ["1"]);
}

#[test]
fn a_session_of_the_process_has_the_rights_of_the_owner_too() {
    let (db, ann, _) = ann_and_bob("CREATE PROCEDURE peek() SECURITY DEFINER BEGIN SELECT * FROM secret; END");
    db.run("CREATE TABLE secret AS SELECT 7 AS a");
    ann.error("CALL peek()");
    assert!(db.error("CALL peek()").to_string().contains("does not exist"));
    let error = db.error("CREATE PROCEDURE q() SECURITY DEFINER BEGIN SELECT 1; END").to_string();
    assert!(error.contains("no user creates this one"), "{error}");
}
