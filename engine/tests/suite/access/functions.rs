//! Functions work with the rights of who calls them.

use engine::ErrorKind;

use super::house;

#[test]
fn execute_allows_to_call_and_nothing_else() {
    let db = house(&["ann", "bob"]);
    db.script("CREATE TABLE t AS SELECT 7 AS a; CREATE FUNCTION f(a BIGINT) RETURNS BIGINT RETURN a + 1; CREATE PROCEDURE p() BEGIN SELECT 5; END");
    db.script("GRANT EXECUTE ON FUNCTION f TO ann; GRANT EXECUTE ON PROCEDURE p TO ann");
    let (ann, bob) = (db.as_user("ann"), db.as_user("bob"));
    assert_eq!(ann.rows("SELECT f(1)"), ["2"]);
    assert_eq!(ann.rows("CALL p()"), ["5"]);
    assert_eq!(ann.error("DROP FUNCTION f").kind(), ErrorKind::Denied);
    assert_eq!(ann.error("CREATE OR REPLACE FUNCTION f(a BIGINT) RETURNS BIGINT RETURN a").kind(), ErrorKind::Denied);
    assert_eq!(ann.rows("SELECT name, definition FROM system.functions ORDER BY name"), ["f|NULL", "p|NULL"]);
    assert_eq!(bob.rows("SELECT name FROM system.functions"), [""; 0]);
    assert!(bob.error("SELECT f(1)").to_string().contains("no function"));
    db.run("REVOKE EXECUTE ON FUNCTION f FROM ann");
    ann.error("SELECT f(1)");
}

#[test]
fn a_function_reads_what_its_caller_may_read() {
    let db = house(&["ann"]);
    db.script("CREATE TABLE secret AS SELECT 7 AS a; CREATE FUNCTION most() RETURNS BIGINT RETURN (SELECT max(a) FROM secret)");
    db.script("CREATE FUNCTION all_of() RETURNS TABLE RETURN SELECT * FROM secret; CREATE PROCEDURE clear() BEGIN DELETE FROM secret; END");
    db.run("GRANT EXECUTE ON SCHEMA main TO ann");
    let ann = db.as_user("ann");
    for sql in ["SELECT most()", "SELECT * FROM all_of()", "CALL clear()"] {
        let error = ann.error(sql).to_string();
        assert!(!error.contains("secret") || error.contains("does not exist"), "{sql}: {error}");
    }
    db.run("CREATE PROCEDURE peek() BEGIN SELECT * FROM secret WHERE a = 12345; END");
    let error = ann.error("CALL peek()").to_string();
    assert_eq!(error, "statement 1 of procedure peek fails: something in it is gone, or is not there for you");
    db.run("GRANT SELECT ON secret TO ann");
    assert_eq!(ann.rows("SELECT most(), a FROM all_of()"), ["7|7"]);
    assert_eq!(ann.error("CALL clear()").kind(), ErrorKind::Denied);
    assert_eq!(db.rows("SELECT a FROM secret"), ["7"]);
}

#[test]
fn who_may_create_in_a_schema_owns_the_functions_made_there() {
    let db = house(&["ann", "bob"]);
    db.script("CREATE SCHEMA s; GRANT CREATE ON SCHEMA s TO ann; GRANT CREATE ON SCHEMA s TO bob");
    let (ann, bob) = (db.as_user("ann"), db.as_user("bob"));
    ann.run("CREATE FUNCTION s.f(a BIGINT) RETURNS BIGINT RETURN a + 1");
    assert!(bob.error("CREATE FUNCTION s.f(a VARCHAR) RETURNS BIGINT RETURN 1").to_string().contains("exists"));
    ann.run("GRANT EXECUTE ON FUNCTION s.f TO bob");
    assert_eq!(bob.rows("SELECT s.f(1)"), ["2"]);
    assert_eq!(bob.error("CREATE OR REPLACE FUNCTION s.f(a VARCHAR) RETURNS BIGINT RETURN 1").kind(), ErrorKind::Denied);
    bob.run("CREATE VIEW s.v AS SELECT s.f(41) AS a");
    assert!(ann.error("DROP FUNCTION s.f").to_string().contains("is used by a view"));
    bob.run("DROP VIEW s.v");
    ann.run("DROP FUNCTION s.f");
}

/// Who may replace a procedure could replace what an admin has called.
#[test]
fn the_audit_has_the_statements_of_a_procedure() {
    let db = house(&["ann"]);
    db.run("CREATE PROCEDURE p() BEGIN CREATE TABLE made AS SELECT 1 AS a; DROP TABLE made; END");
    db.as_user("root").run("CALL p()");
    let rows = db.rows("SELECT statement FROM system.audit WHERE user_name = 'root' ORDER BY statement");
    assert_eq!(rows, ["CALL p()", "CREATE TABLE made AS SELECT 1 AS a", "DROP TABLE made"]);
}
