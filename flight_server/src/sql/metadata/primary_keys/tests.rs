//! Primary keys.

use arrow_flight::sql::CommandGetPrimaryKeys;

use crate::sql::metadata::tests::{Db, rows};
use crate::sql::metadata::{foreign_keys, primary_keys};

fn key_rows(db: &Db, catalog: Option<&str>, schema: Option<&str>, table: &str) -> Vec<String> {
    let command = CommandGetPrimaryKeys { catalog: catalog.map(Into::into), db_schema: schema.map(Into::into), table: table.into() };
    rows(&db.wait(primary_keys::batch(&db.session, &command)).unwrap())
}

#[test]
fn a_primary_key_is_listed_in_its_own_order() {
    let db = Db::with("CREATE TABLE t (a INT, b INT, c INT UNIQUE, PRIMARY KEY (c, a)); CREATE TABLE u (a INT UNIQUE NOT NULL)");
    assert_eq!(key_rows(&db, None, None, "t"), ["quiver|main|t|c|t_pkey|1", "quiver|main|t|a|t_pkey|2"]);
    assert!(key_rows(&db, None, None, "u").is_empty());
}

#[test]
fn names_of_any_kind_are_listed_unchanged() {
    let db = Db::with(
        "CREATE TABLE \"it's\" (\"b)\" INT, \"a\"\"c\" INT, t VARCHAR CHECK (t <> 'PRIMARY KEY (c)') DEFAULT E'x\\'y', \
         u TEXT DEFAULT $q$ it's $q$, CONSTRAINT \"my, key\" PRIMARY KEY (\"a\"\"c\", \"b)\"), CHECK (u <> 'it''s'))",
    );
    assert_eq!(key_rows(&db, None, None, "it's"), ["quiver|main|it's|a\"c|my, key|1", "quiver|main|it's|b)|my, key|2"]);
}

#[test]
fn keys_are_found_by_schema_and_catalog() {
    let db = Db::with("CREATE SCHEMA s; CREATE TABLE s.t (x INT PRIMARY KEY); CREATE TABLE t (y INT PRIMARY KEY)");
    assert_eq!(key_rows(&db, None, None, "t"), ["quiver|main|t|y|t_pkey|1", "quiver|s|t|x|t_pkey|1"]);
    assert_eq!(key_rows(&db, Some("quiver"), Some("s"), "t"), ["quiver|s|t|x|t_pkey|1"]);
    assert!(key_rows(&db, Some(""), None, "t").is_empty());
    assert!(key_rows(&db, None, Some(""), "t").is_empty());
    // A name is no pattern.
    assert!(key_rows(&db, None, Some("%"), "t").is_empty());
    assert!(key_rows(&db, None, None, "_").is_empty());
}

#[test]
fn a_table_in_another_case_is_found_unless_it_is_there_as_it_is_spelled() {
    let db = Db::with("CREATE TABLE t (a INT PRIMARY KEY); CREATE TABLE u (b INT PRIMARY KEY); CREATE TABLE \"U\" (c INT PRIMARY KEY)");
    assert_eq!(key_rows(&db, Some("QUIVER"), Some("MAIN"), "T"), ["quiver|main|t|a|t_pkey|1"]);
    assert_eq!(key_rows(&db, None, None, "U"), ["quiver|main|U|c|U_pkey|1"]);
}

#[test]
fn a_key_follows_its_columns_when_they_are_renamed() {
    let db = Db::with("CREATE TABLE t (a INT PRIMARY KEY); ALTER TABLE t RENAME a TO b; ALTER TABLE t RENAME TO u");
    assert_eq!(key_rows(&db, None, None, "u"), ["quiver|main|u|b|t_pkey|1"]);
    db.run("ALTER TABLE u DROP PRIMARY KEY");
    assert!(key_rows(&db, None, None, "u").is_empty());
}

#[test]
fn there_are_no_foreign_keys() {
    assert_eq!(foreign_keys::batch().num_rows(), 0);
    let error = Db::with("CREATE TABLE t (a INT PRIMARY KEY)").try_run("CREATE TABLE u (a INT REFERENCES t (a))");
    assert!(error.is_err());
}
