//! Who reads what, and what others do not even see.

use engine::ErrorKind;

use super::house;
use crate::helpers::wait;

#[test]
fn without_a_privilege_a_table_is_not_there() {
    let db = house(&["bob"]);
    db.script(
        "CREATE TABLE secret_plans (a INT); CREATE VIEW secret_view AS SELECT 1 AS x; CREATE SCHEMA hidden; CREATE TABLE hidden.t (a INT)",
    );
    let bob = db.as_user("bob");
    for sql in [
        "SELECT * FROM secret_plans",
        "SELECT * FROM secret_plan",
        "SELECT * FROM secret_view",
        "SELECT * FROM hidden.t",
        "SELECT * FROM secret_plans FOR VERSION AS OF 1",
        "EXPLAIN SELECT * FROM secret_plans",
        "SELECT 1 WHERE EXISTS (SELECT 1 FROM secret_plans)",
        "INSERT INTO secret_plans SELECT 1",
        "DELETE FROM secret_plans",
        "DROP TABLE secret_plans",
        "ALTER TABLE secret_plans ADD b INT",
    ] {
        let message = bob.unseen(sql);
        assert!(!message.contains("did you mean"), "{sql}: {message}");
    }
    for sql in [
        "SHOW TABLES",
        "SHOW VIEWS",
        "SHOW SCHEMAS",
        "SELECT * FROM information_schema.tables",
        "SELECT * FROM information_schema.columns",
        "SELECT * FROM information_schema.views",
        "SELECT * FROM information_schema.schemata",
        "SELECT * FROM system.tables",
        "SELECT * FROM system.columns",
        "SELECT * FROM system.segments",
        "SELECT * FROM system.compactions",
        "SELECT tables FROM system.snapshots",
        "SHOW GRANTS",
    ] {
        let text = bob.run(sql).text();
        assert!(!text.contains("secret") && !text.contains("hidden"), "{sql}: {text}");
    }
    assert!(bob.session.tables().unwrap().is_empty());
    assert!(bob.session.table_names().is_empty());
    assert_eq!(bob.session.schema_names().unwrap(), ["main"]);
    assert!(bob.session.column_names("secret_plans").is_empty());
    assert!(!db.run("SELECT * FROM system.users").text().is_empty());
    assert_eq!(bob.rows("SELECT user_name FROM system.users"), ["bob"]);
}

#[test]
fn what_is_granted_is_seen_and_read() {
    let db = house(&["bob"]);
    db.script("CREATE TABLE t AS SELECT 1 AS a; CREATE TABLE u AS SELECT 2 AS a; GRANT SELECT ON t TO bob");
    let bob = db.as_user("bob");
    assert_eq!(bob.rows("SELECT a FROM t"), ["1"]);
    assert_eq!(bob.rows("SHOW TABLES"), ["main|t|BASE TABLE"]);
    assert_eq!(bob.rows("DESCRIBE t").len(), 1);
    assert_eq!(bob.session.column_names("t"), ["a"]);
    bob.unseen("SELECT * FROM t JOIN u ON t.a = u.a");
    assert!(bob.denied("INSERT INTO t VALUES (1)").contains("GRANT INSERT ON t TO bob"));
    assert!(bob.denied("DELETE FROM t").contains("DELETE"));
    db.run("REVOKE SELECT ON t FROM bob");
    bob.unseen("SELECT a FROM t");
}

#[test]
fn who_may_only_insert_sees_the_table_and_reads_nothing_of_it() {
    let db = house(&["bob"]);
    db.script("CREATE TABLE t AS SELECT 1 AS a; GRANT INSERT ON t TO bob");
    let bob = db.as_user("bob");
    bob.run("INSERT INTO t VALUES (2)");
    for sql in [
        "SELECT * FROM t",
        "SELECT count(*) FROM t",
        "SELECT max(a) FROM t",
        "EXPLAIN ANALYZE SELECT * FROM t",
        "INSERT INTO t SELECT * FROM t",
        "SELECT a FROM t FOR VERSION AS OF 1",
        "WITH x AS (SELECT * FROM t) SELECT * FROM x",
    ] {
        assert!(bob.denied(sql).contains("SELECT on table t"), "{sql}");
    }
    assert_eq!(db.value("SELECT count(*) FROM t"), "2");
}

#[test]
fn a_grant_on_a_schema_is_for_its_tables_also_for_those_to_come() {
    let db = house(&["bob"]);
    db.script("CREATE SCHEMA s; CREATE TABLE s.a AS SELECT 1 AS x; GRANT SELECT ON SCHEMA s TO bob; CREATE TABLE s.b AS SELECT 2 AS x; CREATE VIEW s.v AS SELECT x FROM s.b");
    let bob = db.as_user("bob");
    assert_eq!(bob.rows("SELECT a.x + v.x FROM s.a, s.v"), ["3"]);
    assert_eq!(bob.session.schema_names().unwrap(), ["main", "s"]);
    bob.denied("INSERT INTO s.a VALUES (1)");
    bob.denied("CREATE TABLE s.c (x INT)");
    db.script("DROP SCHEMA s CASCADE; CREATE SCHEMA s; CREATE TABLE s.a (x INT)");
    bob.unseen("SELECT * FROM s.a");
}

#[test]
fn a_view_is_read_with_the_rights_of_who_reads_it() {
    let db = house(&["bob"]);
    db.script("CREATE TABLE t AS SELECT 1 AS a; CREATE VIEW v AS SELECT a FROM t; GRANT SELECT ON v TO bob");
    let bob = db.as_user("bob");
    let hidden = "view \"v\" cannot be used: something in it is gone, or is not there for you";
    assert_eq!(bob.error("SELECT * FROM v").to_string(), hidden);
    db.run("GRANT SELECT ON t TO bob");
    assert_eq!(bob.rows("SELECT * FROM v"), ["1"]);
    db.run("REVOKE SELECT ON v FROM bob");
    bob.unseen("SELECT * FROM v");
    db.script("GRANT SELECT ON v TO bob; DROP VIEW v; CREATE VIEW v AS SELECT a FROM t");
    bob.unseen("SELECT * FROM v");
    // Whether a table is gone that he might not read is not told either, and is to who owns the view.
    db.script("GRANT SELECT ON v TO bob; DROP TABLE t");
    assert_eq!(bob.error("SELECT * FROM v").to_string(), hidden);
    db.run("GRANT OWNERSHIP ON v TO bob");
    for who in [&bob, &db.as_user("root")] {
        assert_eq!(who.error("SELECT * FROM v").to_string(), "view \"v\" cannot be used any more: table \"t\" does not exist");
    }
}

#[test]
fn what_is_wrong_with_a_view_is_told_to_its_owner_alone() {
    let db = house(&["bob"]);
    for (view, change, word) in [
        ("SELECT salary FROM staff", "ALTER TABLE staff DROP COLUMN salary", "salary"),
        ("SELECT upper(name) AS n FROM staff", "ALTER TABLE staff RENAME COLUMN name TO nick", "name"),
        ("SELECT * FROM inner_view", "DROP VIEW inner_view", "inner_view"),
    ] {
        db.script("CREATE TABLE staff (id INT, name VARCHAR, salary INT); CREATE VIEW inner_view AS SELECT id FROM staff");
        db.script(&format!("CREATE VIEW v AS {view}; GRANT SELECT ON v TO bob; {change}"));
        let error = db.as_user("bob").error("SELECT * FROM v").to_string();
        assert_eq!(error, "view \"v\" cannot be used: something in it is gone, or is not there for you", "{view}");
        let error = db.as_user("root").error("SELECT * FROM v").to_string();
        assert!(error.contains("cannot be used any more") && error.contains(word), "{error}");
        db.script("DROP VIEW v; DROP VIEW IF EXISTS inner_view; DROP TABLE staff");
    }
}

#[test]
fn a_result_that_waits_is_read_only_by_who_may_read_it_still() {
    let db = house(&["bob"]);
    db.script("CREATE TABLE t AS SELECT 1 AS a; CREATE TABLE u AS SELECT 2 AS a; CREATE VIEW v AS SELECT a FROM t");
    db.script("GRANT SELECT ON t TO bob; GRANT SELECT ON u TO bob; GRANT SELECT ON v TO bob");
    let bob = db.as_user("bob");
    let planned = |sql: &str| wait(bob.session.execute(sql)).unwrap();
    let queries = ["SELECT a FROM t", "SELECT count(*) FROM t", "SELECT a FROM u WHERE a > (SELECT max(a) FROM t)", "SELECT * FROM v"];
    let mut waiting = queries.map(planned);
    let mut other = planned("SELECT a FROM u");
    db.run("REVOKE SELECT ON t FROM bob");
    for (output, sql) in waiting.iter_mut().zip(queries) {
        let error = output.check_reads().expect_err(sql);
        assert_eq!(error.kind(), ErrorKind::Denied, "{sql}");
        assert!(error.to_string().contains("the privilege SELECT on table t, which was revoked"), "{sql}: {error}");
    }
    drop(waiting);
    other.check_reads().unwrap();
    assert_eq!(db.rows("SELECT outcome, count(*) FROM system.audit GROUP BY outcome"), ["denied|4"]);
    db.script("GRANT SELECT ON t TO bob");
    let mut waiting = planned("SELECT * FROM v");
    db.run("REVOKE SELECT ON v FROM bob");
    assert!(waiting.check_reads().unwrap_err().to_string().contains("SELECT on view v"));
    // Nobody says who may read what is gone.
    let mut waiting = planned("SELECT a FROM t");
    db.script("DROP VIEW v; DROP TABLE t");
    waiting.check_reads().unwrap();
    assert_eq!(wait(waiting.collect()).unwrap().0[0].num_rows(), 1);
    db.run("DROP USER bob");
    assert_eq!(other.check_reads().unwrap_err().kind(), ErrorKind::Unauthenticated);
}

#[test]
fn what_a_transaction_has_made_is_read_by_who_made_it() {
    let db = house(&["bob"]);
    db.run("GRANT CREATE ON SCHEMA main TO bob");
    let bob = db.as_user("bob");
    bob.run("BEGIN");
    bob.run("CREATE TABLE mine AS SELECT 1 AS a");
    let mut waiting = wait(bob.session.execute("SELECT a FROM mine")).unwrap();
    waiting.check_reads().unwrap();
    assert_eq!(wait(waiting.collect()).unwrap().0[0].num_rows(), 1);
}

#[test]
fn a_table_keeps_its_grants_under_a_new_name_and_loses_them_when_it_is_dropped() {
    let db = house(&["bob"]);
    db.script("CREATE TABLE t AS SELECT 1 AS a; GRANT SELECT ON t TO bob; ALTER TABLE t RENAME TO u");
    let bob = db.as_user("bob");
    assert_eq!(bob.rows("SELECT a FROM u"), ["1"]);
    db.script("DROP TABLE u; CREATE TABLE u AS SELECT 2 AS a");
    bob.unseen("SELECT a FROM u");
    assert_eq!(db.rows("SELECT * FROM system.grants"), [""; 0]);
}

#[test]
fn what_is_granted_to_a_role_or_to_public_holds_for_who_has_it() {
    let db = house(&["bob", "ann"]);
    db.script("CREATE TABLE t AS SELECT 1 AS a; CREATE TABLE p AS SELECT 2 AS a; CREATE ROLE inner_role; CREATE ROLE outer_role");
    db.script("GRANT SELECT ON t TO inner_role; GRANT inner_role TO outer_role; GRANT outer_role TO bob; GRANT SELECT ON p TO PUBLIC");
    let (bob, ann) = (db.as_user("bob"), db.as_user("ann"));
    assert_eq!(bob.rows("SELECT t.a + p.a FROM t, p"), ["3"]);
    ann.unseen("SELECT * FROM t");
    assert_eq!(ann.rows("SELECT a FROM p"), ["2"]);
    db.run("DROP ROLE inner_role");
    bob.unseen("SELECT * FROM t");
}
