//! What names mean where there is a temporary table, and where it is listed.

use engine::TableListing;

use crate::helpers::{Db, run, wait};

/// A stored table and a volatile one, both called `c`.
fn both() -> Db {
    let db = Db::new();
    db.run("CREATE TABLE c AS SELECT 'stored' AS a");
    db.run("SELECT 'volatile' AS a INTO VOLATILE c");
    db
}

#[test]
fn a_temporary_table_hides_a_stored_one_where_no_schema_is_named() {
    let db = both();
    for (from, found) in
        [("c", "volatile"), ("temp.c", "volatile"), ("quiver.temp.c", "volatile"), ("main.c", "stored"), ("quiver.main.c", "stored")]
    {
        assert_eq!(db.rows(&format!("SELECT a FROM {from}")), [found], "{from}");
    }
    assert_eq!(db.rows("SELECT c.a, x.a FROM c, main.c AS x"), ["volatile|stored"]);
    assert_eq!(
        db.rows("SELECT (SELECT max(a) FROM c) AS m FROM main.c WHERE EXISTS (SELECT 1 FROM C WHERE C.a = 'volatile')"),
        ["volatile"]
    );
    db.run("CREATE OR REPLACE VOLATILE TABLE c AS SELECT a || '!' AS a FROM c");
    db.run("CREATE OR REPLACE TABLE main.c AS SELECT a || '?' AS a FROM main.c");
    assert_eq!(db.rows("SELECT c.a, x.a FROM c, main.c AS x"), ["volatile!|stored?"]);
    db.run("DROP TABLE c");
    assert_eq!(db.rows("SELECT a FROM c"), ["stored?"]);
    assert_eq!(db.error("DROP VOLATILE TABLE c").to_string(), "table \"temp.c\" does not exist");
    db.run("DROP VOLATILE TABLE IF EXISTS c");
    db.run("DROP TABLE c");
    assert!(db.try_run("SELECT a FROM c").is_err());
}

#[test]
fn a_name_of_with_comes_before_a_temporary_table() {
    let db = both();
    for (sql, found) in [
        ("WITH c AS (SELECT 'with' AS a) SELECT a FROM c", "with"),
        ("WITH c AS (SELECT a || '+' AS a FROM c) SELECT a FROM c", "volatile+"),
        ("WITH x AS (SELECT a FROM c), c AS (SELECT 'with' AS a) SELECT x.a || c.a FROM x, c", "volatilewith"),
        ("WITH c AS (SELECT 'with' AS a), x AS (SELECT a FROM c) SELECT a FROM x", "with"),
        ("SELECT * FROM (WITH c AS (SELECT 'with' AS a) SELECT a FROM c) AS x", "with"),
        ("SELECT x.a || c.a FROM (WITH c AS (SELECT 'with' AS a) SELECT a FROM c) AS x, c", "withvolatile"),
        ("WITH c AS (SELECT 'with' AS a) SELECT (SELECT max(a) FROM c) || (SELECT max(a) FROM temp.c)", "withvolatile"),
        ("WITH RECURSIVE c AS (SELECT 1 AS a UNION ALL SELECT a + 1 FROM c WHERE a < 5) SELECT max(a) FROM c", "5"),
    ] {
        assert_eq!(db.rows(sql), [found], "{sql}");
    }
}

#[test]
fn a_prepared_statement_finds_the_table_of_now() {
    let db = both();
    db.run("PREPARE p AS SELECT a FROM c");
    assert_eq!(db.rows("EXECUTE p"), ["volatile"]);
    db.run("DROP TABLE c");
    assert_eq!(db.rows("EXECUTE p"), ["stored"]);
    db.run("SELECT 'again' AS a INTO VOLATILE c");
    assert_eq!(db.rows("EXECUTE p"), ["again"]);
}

#[test]
fn a_view_means_the_stored_table_and_may_not_mean_a_volatile_one() {
    let db = Db::new();
    db.run("CREATE TABLE c AS SELECT 'stored' AS a");
    db.run("CREATE VIEW v AS SELECT a FROM c");
    db.run("SELECT 'volatile' AS a INTO VOLATILE c");
    assert_eq!(db.rows("SELECT * FROM v"), ["stored"]);
    for from in ["c", "temp.c", "(SELECT * FROM c) AS x", "main.c JOIN c AS x ON true"] {
        let error = db.error(&format!("CREATE VIEW w AS SELECT * FROM {from}")).to_string();
        assert_eq!(error, "a view of the temporary table \"c\" is not supported", "{from}");
    }
    db.run("CREATE VIEW w AS SELECT * FROM main.c");
    assert_eq!(db.error("DROP VIEW c").to_string(), "\"c\" is a temporary table, not a view");
    assert_eq!(db.rows("SELECT * FROM w"), ["stored"]);
}

#[test]
fn a_temporary_table_is_on_the_lists_of_its_session_alone() {
    let db = Db::new();
    let other = db.engine.session().unwrap();
    db.run("CREATE VOLATILE TABLE \"C d\" (a BIGINT NOT NULL, b VARCHAR)");
    db.run("INSERT INTO \"C d\" VALUES (1, 'x'), (2, NULL)");
    let lists = [
        (
            "SELECT schema_name, table_name, kind, table_id, row_count, size_bytes > 0, created_version FROM system.tables",
            vec!["temp|C d|volatile|NULL|2|true|NULL"],
        ),
        ("SELECT column_name, position, data_type, is_nullable FROM system.columns", vec!["a|1|BIGINT|false", "b|2|VARCHAR|true"]),
        (
            "SELECT table_schema, table_name, table_type FROM information_schema.tables WHERE table_name = 'C d'",
            vec!["temp|C d|LOCAL TEMPORARY"],
        ),
        (
            "SELECT table_schema, column_name, data_type FROM information_schema.columns WHERE table_name = 'C d'",
            vec!["temp|a|BIGINT", "temp|b|VARCHAR"],
        ),
        ("SHOW TABLES", vec!["temp|C d|LOCAL TEMPORARY"]),
        ("SHOW SCHEMAS", vec!["main", "temp"]),
    ];
    for (sql, expected) in lists {
        assert_eq!(db.rows(sql), expected, "{sql}");
        assert!(!wait(run(&other, sql)).unwrap().rows().iter().any(|row| row.contains("temp")), "{sql}");
    }
    assert_eq!(db.rows("DESCRIBE \"C d\""), ["a|BIGINT|NO|NULL|NULL", "b|VARCHAR|YES|NULL|NULL"]);
    assert_eq!(db.rows("SHOW COLUMNS FROM \"C d\"").len(), 2);
    let statement = "CREATE VOLATILE TABLE \"C d\" (\n  a BIGINT NOT NULL,\n  b VARCHAR\n)";
    assert_eq!(db.rows("SHOW CREATE TABLE \"C d\""), [format!("quiver|temp|C d|{statement}")]);
    let listed = db.session.tables().unwrap();
    let TableListing { schema, name, kind, rows, .. } = &listed[0];
    assert_eq!((schema.as_str(), name.as_str(), kind.as_str(), *rows, listed.len()), ("temp", "C d", "volatile", Some(2), 1));
    assert_eq!(
        (db.session.table_names(), db.session.column_names("\"C d\"")),
        (vec!["C d".to_string()], vec!["a".to_string(), "b".to_string()])
    );
    assert_eq!(db.session.schema_names().unwrap(), ["main", "temp"]);
    assert!(other.tables().unwrap().is_empty());
    db.run("DROP TABLE \"C d\"");
    db.run(statement);
    assert_eq!(db.rows("SELECT count(*) FROM \"C d\""), ["0"]);
}

#[test]
fn a_stored_schema_called_temp_from_before_is_read_as_ever() {
    let db = Db::new();
    let mut transaction = db.engine.store().begin().unwrap();
    transaction.create_namespace("temp").unwrap();
    transaction.commit("CREATE SCHEMA").unwrap();
    db.run("CREATE TABLE temp.old AS SELECT 1 AS a");
    db.run("SELECT 2 AS a INTO VOLATILE c");
    assert_eq!(db.rows("SELECT old.a + c.a FROM temp.old, c"), ["3"]);
    db.run("DROP TABLE temp.old");
    db.run("DROP SCHEMA temp");
    assert_eq!(db.rows("SELECT a FROM temp.c"), ["2"]);
    assert_eq!(db.error("CREATE SCHEMA temp").to_string(), "a schema named \"temp\" is not supported");
}
