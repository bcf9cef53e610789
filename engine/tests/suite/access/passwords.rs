//! Logging in, and where passwords must not be seen.

use engine::{ErrorKind, redact_statement};

use super::house;
use crate::helpers::Db;

#[test]
fn a_user_logs_in_with_the_password_and_nothing_else() {
    let db = house(&["bob"]);
    let bob = db.engine.login("bob", "pw-bob").unwrap();
    assert_eq!((bob.name(), bob.is_admin()), ("bob", false));
    assert!(db.engine.login("root", "pw-root").unwrap().is_admin());
    let wrong = db.engine.login("bob", "pw-root").unwrap_err();
    let missing = db.engine.login("nobody", "pw-bob").unwrap_err();
    assert_eq!(wrong.kind(), ErrorKind::Unauthenticated);
    assert_eq!(wrong.to_string(), missing.to_string());
    db.run("CREATE ROLE r");
    assert!(db.engine.login("r", "").is_err());
    assert!(db.engine.identity("r").is_none());
}

#[test]
fn a_new_password_is_a_new_epoch_and_so_is_a_new_user() {
    let db = house(&["bob"]);
    let first = db.engine.identity("bob").unwrap();
    db.run("ALTER USER bob WITH PASSWORD 'other'");
    let second = db.engine.login("bob", "other").unwrap();
    assert!(db.engine.login("bob", "pw-bob").is_err());
    db.run("DROP USER bob");
    db.run("CREATE USER bob PASSWORD 'other'");
    let third = db.engine.login("bob", "other").unwrap();
    assert!(first.epoch() != second.epoch() && second.epoch() != third.epoch() && first.epoch() != third.epoch());
    db.run("ALTER USER bob ADMIN");
    assert_eq!(db.engine.identity("bob").unwrap().epoch(), third.epoch());
}

#[test]
fn an_empty_password_is_refused() {
    let db = Db::new();
    assert!(db.error("CREATE USER bob PASSWORD ''").to_string().contains("must not be empty"));
    assert!(!db.engine.has_users());
}

#[test]
fn no_error_has_a_password_in_it() {
    let db = house(&["bob"]);
    for sql in [
        "CREATE USER bob PASSWORD 'hunter2'",
        "CREATE USER x 'hunter2'",
        "CREATE USER x PASSWORD hunter2",
        "CREATE USER x PASSWORD 'hunter2' FOREVER",
        "CREATE USER x PASSWRD 'hunter2'",
        "CREATE USER x IDENTIFIED BY 'hunter2'",
        "CREATE ROLE x PASSWORD 'hunter2'",
        "ALTER ROLE bob WITH PASSWORD 'hunter2'",
        "ALTER USER nobody PASSWORD 'hunter2'",
        "ALTER USER bob SET PASSWORD 'hunter2'",
        "EXPLAIN CREATE USER x PASSWORD 'hunter2'",
        "EXPLAIN ANALYZE ALTER USER bob PASSWORD 'hunter2'",
        "PREPARE p AS CREATE USER x PASSWORD 'hunter2'",
        "CREATE USER x PASSWORD 'hunter2'; SELECT 1",
    ] {
        let error = db.error(sql);
        let shown = format!("{error} {error:?} {}", error.hint().unwrap_or_default());
        assert!(!shown.contains("hunter2"), "{sql}: {shown}");
        assert!(!redact_statement(sql).contains("hunter2"), "{}", redact_statement(sql));
    }
    assert!(db.engine.login("bob", "pw-bob").is_ok());
}

#[test]
fn the_key_of_tokens_is_made_once_and_stays() {
    let db = Db::new();
    let key = db.engine.token_key().unwrap();
    assert_ne!(key, [0; 32]);
    assert_eq!(db.engine.token_key().unwrap(), key);
    assert_eq!(db.reopened().engine.token_key().unwrap(), key);
    assert_ne!(Db::new().engine.token_key().unwrap(), key);
}
