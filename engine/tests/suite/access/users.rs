//! CREATE, ALTER and DROP of users and roles.

use engine::ErrorKind;

use super::house;
use crate::helpers::Db;

#[test]
fn users_and_roles_are_listed_without_what_passwords_are_held_against() {
    let db = house(&["bob"]);
    db.script("CREATE ROLE reader; CREATE ROLE writer; GRANT reader TO writer, bob");
    assert_eq!(
        db.rows("SELECT user_name, is_admin, array_to_string(roles, ',') FROM system.users ORDER BY 1"),
        ["bob|false|reader", "root|true|"]
    );
    let roles = db.rows("SELECT role_name, array_to_string(roles, ','), array_to_string(members, ',') FROM system.roles ORDER BY 1");
    assert_eq!(roles, ["reader||bob,writer", "writer|reader|"]);
    assert!(!db.run("SELECT * FROM system.users").text().contains("argon2"));
}

#[test]
fn users_stay_when_the_store_is_closed() {
    let db = house(&["bob"]);
    let epoch = db.engine.identity("bob").unwrap().epoch();
    let db = db.reopened();
    assert!(db.engine.has_users());
    assert_eq!(db.engine.identity("bob").unwrap().epoch(), epoch);
    assert!(db.engine.identity("bob").is_some_and(|bob| !bob.is_admin()));
}

#[test]
fn a_name_is_taken_once_by_users_and_roles_together() {
    let db = house(&["bob"]);
    assert_eq!(db.error("CREATE USER bob PASSWORD 'x'").kind(), ErrorKind::AlreadyExists);
    assert_eq!(db.error("CREATE ROLE bob").kind(), ErrorKind::AlreadyExists);
    db.run("CREATE USER IF NOT EXISTS bob PASSWORD 'x'");
    assert!(db.engine.login("bob", "pw-bob").is_ok());
    db.run("DROP USER IF EXISTS nobody");
    assert_eq!(db.error("DROP USER nobody").kind(), ErrorKind::NotFound);
    assert_eq!(db.error("DROP ROLE bob").kind(), ErrorKind::NotFound);
}

#[test]
fn names_that_mean_something_else_or_cannot_be_said_are_refused() {
    let db = Db::new();
    for name in ["public", "files", "\"select\"", "\"\"", "\"a:b\"", "\" a\"", "\"a\nb\""] {
        let error = db.error(&format!("CREATE USER {name} PASSWORD 'x'"));
        assert_eq!(error.kind(), ErrorKind::Invalid, "{name}: {error}");
    }
    db.run("CREATE USER \"Ann Smith\" PASSWORD 'x'");
    assert!(db.engine.identity("Ann Smith").is_some());
}

#[test]
fn the_last_admin_stays_while_there_are_others() {
    let db = house(&["bob"]);
    assert_eq!(db.error("DROP USER root").kind(), ErrorKind::NotAllowed);
    let error = db.error("ALTER USER root NOT ADMIN");
    assert!(error.to_string().contains("no admin would be left"), "{error}");
    db.run("ALTER USER bob ADMIN");
    db.run("DROP USER root");
    assert_eq!(db.error("ALTER USER bob NOT ADMIN").kind(), ErrorKind::NotAllowed);
    db.run("DROP USER bob");
    assert!(!db.engine.has_users());
}

#[test]
fn users_are_no_part_of_a_transaction() {
    let db = house(&["bob"]);
    db.run("BEGIN");
    assert!(db.error("DROP USER bob").to_string().contains("no part of a transaction"));
    db.run("ROLLBACK");
    assert!(db.engine.identity("bob").is_some());
}

#[test]
fn only_admins_manage_users() {
    let db = house(&["bob"]);
    let bob = db.as_user("bob");
    for sql in [
        "CREATE USER x PASSWORD 'y'",
        "ALTER USER bob ADMIN",
        "ALTER USER root PASSWORD 'y'",
        "DROP USER root",
        "CREATE ROLE r",
        "DROP ROLE r",
        "GRANT r TO bob",
        "REVOKE r FROM bob",
    ] {
        bob.denied(sql);
    }
    assert!(db.engine.login("root", "pw-root").is_ok_and(|root| root.is_admin()));
    db.as_user("root").run("CREATE USER x PASSWORD 'y'");
    assert!(db.engine.login("x", "y").is_ok());
}

#[test]
fn everyone_changes_their_own_password_and_nothing_else_of_themselves() {
    let db = house(&["bob", "ann"]);
    let bob = db.as_user("bob");
    for sql in [
        "ALTER USER bob ADMIN",
        "ALTER USER bob NOT ADMIN",
        "ALTER USER ann PASSWORD 'y'",
        "ALTER USER nobody PASSWORD 'y'",
        "DROP USER bob",
    ] {
        bob.denied(sql);
    }
    bob.run("ALTER USER bob PASSWORD 'mine'");
    assert!(db.engine.login("bob", "pw-bob").is_err());
    assert!(db.engine.login("bob", "mine").is_ok_and(|bob| !bob.is_admin()));
    // It ends what the old one began, and is written down.
    assert_eq!(bob.error("SELECT 1").kind(), engine::ErrorKind::Unauthenticated);
    assert_eq!(
        db.rows("SELECT user_name, statement, outcome FROM system.audit WHERE outcome = 'ok'"),
        ["bob|ALTER USER bob PASSWORD ***|ok"]
    );
}

#[test]
fn one_is_told_who_one_is() {
    let db = house(&["bob"]);
    let bob = db.as_user("bob");
    db.script("CREATE TABLE t (\"user\" VARCHAR); INSERT INTO t VALUES ('a column'); GRANT SELECT ON t TO bob");
    db.script("CREATE VIEW me AS SELECT current_user AS who; GRANT SELECT ON me TO bob");
    let all = "SELECT current_user, SESSION_USER, current_user(), session_user()";
    assert_eq!(bob.rows(all), ["bob|bob|bob|bob"]);
    assert_eq!(db.rows(all), ["NULL|NULL|NULL|NULL"]);
    assert_eq!(bob.rows("SELECT user FROM t WHERE current_user = 'bob'"), ["a column"]);
    assert_eq!(bob.rows("SELECT who FROM me"), ["bob"]);
    assert_eq!(db.rows("SELECT who FROM me"), ["NULL"]);
    assert_eq!(bob.run("SELECT current_user").batches[0].schema().field(0).name(), "current_user");
    bob.run("PREPARE p AS SELECT current_user = $1");
    assert_eq!(bob.rows("EXECUTE p('bob')"), ["true"]);
}

#[test]
fn a_name_in_capitals_is_pointed_at() {
    let db = house(&["\"BOB\""]);
    db.run("CREATE TABLE t (a INT)");
    for sql in ["GRANT SELECT ON t TO BOB", "ALTER USER Bob ADMIN", "REVOKE SELECT ON t FROM bob", "DROP USER bob"] {
        let error = db.error(sql);
        assert_eq!(
            (error.kind(), error.hint()),
            (engine::ErrorKind::NotFound, Some("there is \"BOB\": write the name in double quotes")),
            "{sql}"
        );
    }
    assert_eq!(db.error("DROP USER eve").hint(), None);
    db.run("GRANT SELECT ON t TO \"BOB\"");
}

#[test]
fn a_store_of_before_users_has_none_and_a_reader_sees_those_there_are() {
    let db = Db::new();
    assert!(!db.engine.has_users());
    assert!(db.rows("SELECT * FROM system.users").is_empty());
    db.run("CREATE USER root PASSWORD 'x' ADMIN");
    let options = engine::EngineOptions { read_only: true, ..crate::helpers::options() };
    let db = db.reopened_with(options);
    assert!(db.engine.login("root", "x").is_ok());
    assert_eq!(db.error("CREATE USER b PASSWORD 'x'").kind(), ErrorKind::ReadOnly);
}

#[test]
fn users_come_along_in_a_backup() {
    let db = house(&["bob"]);
    db.script("CREATE TABLE t AS SELECT 1 AS a; GRANT SELECT ON t TO bob");
    let (key, backup, restored) = (db.engine.token_key().unwrap(), db.file("backup"), db.file("restored"));
    db.run(&format!("BACKUP TO '{backup}'"));
    let mut watch = |_: pmem_store::BackupProgress| std::ops::ControlFlow::Continue(());
    pmem_store::restore_backup(std::path::Path::new(&backup), std::path::Path::new(&restored), false, &mut watch).unwrap();
    let engine = engine::Engine::open(std::path::Path::new(&restored), crate::helpers::options()).unwrap();
    assert_eq!(engine.token_key().unwrap(), key);
    let bob = super::User { session: super::session_of(&engine, "bob") };
    assert_eq!(bob.rows("SELECT a FROM t"), ["1"]);
}
