//! ALTER TABLE: what a table is changes, and no row is written anew.

mod transactions;

use engine::EngineError;

use super::helpers::{Db, numbers};

/// Rows in a segment and rows that are in none yet.
fn table() -> Db {
    let db = Db::new();
    db.run("CREATE TABLE t (a int, b varchar)");
    db.run("INSERT INTO t SELECT value, 'row ' || value FROM generate_series(1, 10000) AS g(value)");
    db.run("INSERT INTO t VALUES (10001, NULL)");
    db
}

fn hint(db: &Db, sql: &str, expected: &str) {
    let error = db.error(sql);
    assert!(error.hint().is_some_and(|hint| hint.contains(expected)), "{sql}: {error} ({:?})", error.hint());
}

#[test]
fn a_new_column_is_null_or_its_default_in_rows_that_are_there() {
    let db = table();
    let before = db.segment_files();
    db.run("ALTER TABLE t ADD COLUMN c int");
    db.run(
        "ALTER TABLE t ADD d decimal(9,2) DEFAULT 1.5 NOT NULL, ADD COLUMN e varchar DEFAULT 'it''s', ADD COLUMN IF NOT EXISTS a bigint",
    );
    assert!(before.iter().all(|file| db.segment_files().contains(file)), "no segment was written anew");
    assert_eq!(db.rows("SELECT * FROM t WHERE a IN (7, 10001) ORDER BY a"), ["7|row 7|NULL|1.50|it's", "10001|NULL|NULL|1.50|it's"]);
    db.run("INSERT INTO t (a, c) VALUES (20000, 1)");
    db.run("INSERT INTO t VALUES (20001, 'x', 2, 9, NULL)");
    assert_eq!(db.rows("SELECT * FROM t WHERE a >= 20000 ORDER BY a"), ["20000|NULL|1|1.50|it's", "20001|x|2|9.00|NULL"]);
    for (condition, rows) in [
        ("c IS NULL", "10001"),
        ("c = 2", "1"),
        ("d = 1.5", "10002"),
        ("d > 5", "1"),
        ("e = 'it''s'", "10002"),
        ("e IS NULL AND a > 5", "1"),
        ("d < 1", "0"),
    ] {
        assert_eq!(db.value(&format!("SELECT count(*) FROM t WHERE {condition}")), rows, "{condition}");
    }
    assert_eq!(db.rows("SELECT min(d), max(d), count(c), count(DISTINCT e) FROM t"), ["1.50|9.00|2|1"]);
    let db = db.reopened();
    assert_eq!(db.rows("SELECT sum(d), count(e) FROM t"), ["15012.00|10002"]);
    hint(&db, "ALTER TABLE t ADD COLUMN f int NOT NULL", "fill it first");
    for column in ["A int", "g int FIRST"] {
        db.error(&format!("ALTER TABLE t ADD COLUMN {column}"));
    }
    assert_eq!(db.session.column_names("t"), ["a", "b", "c", "d", "e"]);
}

#[test]
fn a_default_that_differs_from_row_to_row_is_for_new_rows_alone() {
    let db = table();
    hint(&db, "ALTER TABLE t ADD COLUMN r double DEFAULT random()", "SET DEFAULT");
    db.run("ALTER TABLE t ADD COLUMN at timestamp DEFAULT now(), ADD COLUMN r double");
    assert_eq!(db.rows("SELECT count(DISTINCT at), count(at) FROM t"), ["1|10001"]);
    db.run("ALTER TABLE t ALTER COLUMN r SET DEFAULT random()");
    db.run("INSERT INTO t (a) SELECT value FROM generate_series(1, 100) AS g(value)");
    assert_eq!(db.rows("SELECT count(r), count(DISTINCT r) > 90, count(DISTINCT at) FROM t"), ["100|true|2"]);
    hint(&db, "ALTER TABLE t ADD COLUMN x bytea DEFAULT X'FF'", "SET DEFAULT");
    for (data_type, default, shown) in [
        ("date", "'2024-02-29'", "2024-02-29"),
        ("time", "'12:34:56'", "12:34:56"),
        ("timestamptz", "'2024-02-29T12:00:00+02:00'", "2024-02-29T10:00:00Z"),
        ("boolean", "true", "true"),
        ("double", "0.1", "0.1"),
        ("real", "0.1", "0.1"),
        ("bigint unsigned", "18446744073709551615", "18446744073709551615"),
        ("decimal(38,10)", "-1.5", "-1.5000000000"),
        ("timestamp(3)", "'2024-02-29 12:34:56.789'", "2024-02-29T12:34:56.789"),
        ("varchar", "'a text of more than twelve bytes'", "a text of more than twelve bytes"),
    ] {
        db.run(&format!("ALTER TABLE t ADD COLUMN v {data_type} DEFAULT {default}"));
        assert_eq!(db.rows("SELECT v, count(*) FROM t GROUP BY v"), [format!("{shown}|10101")], "{data_type}");
        db.run("ALTER TABLE t DROP COLUMN v");
    }
}

#[test]
fn a_column_of_the_same_name_does_not_see_what_the_dropped_one_had() {
    let db = table();
    db.run("ALTER TABLE t DROP COLUMN b");
    assert_eq!(db.rows("SELECT * FROM t WHERE a = 7"), ["7"]);
    db.error("SELECT b FROM t");
    db.run("ALTER TABLE t ADD COLUMN b varchar");
    assert_eq!(db.rows("SELECT count(*), count(b) FROM t"), ["10001|0"]);
    db.run("ALTER TABLE t DROP COLUMN b, ADD COLUMN b int DEFAULT 3");
    assert_eq!(db.rows("SELECT a, b FROM t WHERE a = 7"), ["7|3"]);
    db.run("ALTER TABLE t DROP COLUMN IF EXISTS nothing, DROP COLUMN a");
    assert_eq!(db.rows("SELECT sum(b), count(*) FROM t"), ["30003|10001"]);
    hint(&db, "ALTER TABLE t DROP COLUMN b", "DROP TABLE");
    db.error("ALTER TABLE t DROP COLUMN nothing");
    let db = db.reopened();
    assert_eq!(db.rows("SELECT * FROM t LIMIT 1"), ["3"]);
}

#[test]
fn an_older_version_has_the_columns_and_types_it_had() {
    let db = table();
    let version = || db.engine.store().snapshot().unwrap().version();
    let before = version();
    db.run("ALTER TABLE t RENAME COLUMN b TO text, ADD COLUMN c int DEFAULT 5, ALTER COLUMN a TYPE bigint");
    let between = version();
    db.run("ALTER TABLE t DROP COLUMN text, DROP COLUMN c, ADD COLUMN b int DEFAULT 6");
    let at = |version: u64| db.rows(&format!("SELECT * FROM t FOR VERSION AS OF {version} WHERE a = 7"));
    assert_eq!((at(before), at(between)), (vec!["7|row 7".to_owned()], vec!["7|row 7|5".to_owned()]));
    assert_eq!(db.rows("SELECT * FROM t WHERE a = 7"), ["7|6"]);
    let types =
        format!("SELECT arrow_typeof(t.a), arrow_typeof(then.a) FROM t, t FOR VERSION AS OF {before} AS then WHERE t.a = 7 AND then.a = 7");
    assert_eq!(db.rows(&types), ["Int64|Int32"]);
}

#[test]
fn a_renamed_column_keeps_its_rows_its_rules_and_its_place_in_the_order() {
    let db = Db::new();
    db.run("CREATE TABLE t (a int PRIMARY KEY, b int DEFAULT 5 CHECK (b < 100), CHECK (a <> b)) ORDER BY (a)");
    db.run("INSERT INTO t SELECT value, value % 90 + 1 FROM generate_series(200, 20000) AS g(value)");
    let ordered = "EXPLAIN SELECT id FROM t ORDER BY id";
    db.run("ALTER TABLE t RENAME COLUMN a TO id, RENAME b TO \"Be\"");
    assert_eq!(db.rows("SELECT id, \"Be\" FROM t WHERE id = 200"), ["200|21"]);
    assert!(!db.run(ordered).text().contains("SortExec"), "the rows are still known to be in order");
    db.error("SELECT a FROM t");
    let definition = db.rows("SHOW CREATE TABLE t").remove(0);
    for part in
        ["CHECK (\"Be\" < 100)", "CHECK (\"id\" <> \"Be\")", "PRIMARY KEY (\"id\")", "\"Be\" INTEGER DEFAULT 5", "ORDER BY (\"id\")"]
    {
        assert!(definition.contains(part), "{part}: {definition}");
    }
    for values in ["(200, 1)", "(1, 1)", "(1, 100)"] {
        db.error(&format!("INSERT INTO t VALUES {values}"));
    }
    db.run("INSERT INTO t (id) VALUES (1)");
    assert_eq!(db.rows("SELECT * FROM t WHERE id = 1"), ["1|5"]);
    db.run("ALTER TABLE t RENAME COLUMN id TO x, RENAME COLUMN \"Be\" TO id, RENAME COLUMN x TO \"Be\"");
    assert_eq!(db.rows("SELECT id, \"Be\" FROM t WHERE \"Be\" = 1"), ["5|1"]);
    db.error("ALTER TABLE t RENAME COLUMN id TO \"Be\"");
    hint(&db, "ALTER TABLE t RENAME COLUMN idd TO y", "did you mean \"id\"?");
}

#[test]
fn a_renamed_table_has_its_rows_and_its_history() {
    let db = table();
    db.run("CREATE TABLE other (a int)");
    db.run("ALTER TABLE t RENAME TO u");
    assert_eq!(db.value("SELECT count(*) FROM u"), "10001");
    db.error("SELECT * FROM t");
    assert_eq!(db.error("ALTER TABLE u RENAME TO other").to_string(), "table \"other\" already exists");
    db.run("CREATE TABLE t AS SELECT 1 AS x");
    db.run("ALTER TABLE main.u RENAME TO main.\"U\"");
    db.run("INSERT INTO \"U\" VALUES (1, 'x')");
    db.run("ALTER TABLE IF EXISTS nothing RENAME TO something");
    hint(&db, "ALTER TABLE othr ADD COLUMN b int", "did you mean \"other\"?");
    db.run("CREATE SCHEMA s");
    hint(&db, "ALTER TABLE t RENAME TO s.t", "CREATE TABLE");
    let db = db.reopened();
    assert_eq!(db.rows("SELECT count(*) FROM \"U\""), ["10002"]);
    assert_eq!(db.session.table_names(), ["U", "other", "t"]);
}

#[test]
fn types_are_widened_without_a_row_written_anew() {
    let db = Db::new();
    db.run("CREATE TABLE t (i int, u tinyint unsigned, r real, d decimal(5,2), s varchar(10))");
    db.run(
        "INSERT INTO t SELECT value, value % 200, value / 4.0, value % 900 + 0.25, 's' || value FROM generate_series(1, 20000) AS g(value)",
    );
    let before = db.segment_files();
    db.run("ALTER TABLE t ALTER COLUMN i TYPE bigint, ALTER COLUMN u SET DATA TYPE smallint, ALTER r TYPE double, ALTER d TYPE decimal(20,4), ALTER s TYPE text");
    assert_eq!(db.segment_files(), before);
    assert_eq!(
        db.rows("DESCRIBE t").iter().map(|row| row.split('|').nth(1).unwrap().to_owned()).collect::<Vec<_>>(),
        ["BIGINT", "SMALLINT", "DOUBLE", "DECIMAL(20,4)", "VARCHAR"]
    );
    db.run("INSERT INTO t VALUES (5000000000, -5, 1e300, 1234567890123456.7891, 'a long text')");
    assert_eq!(
        db.rows("SELECT * FROM t WHERE i IN (7, 5000000000) ORDER BY i"),
        ["7|7|1.75|7.2500|s7", "5000000000|-5|1e300|1234567890123456.7891|a long text"]
    );
    assert_eq!(
        db.rows("SELECT min(i), max(i), min(u), max(u), max(d), count(*) FROM t WHERE i > 10000"),
        ["10001|5000000000|-5|199|1234567890123456.7891|10001"]
    );
    assert_eq!(db.value("SELECT count(*) FROM t WHERE d = 7.25"), "23");
    for (column, data_type) in [
        ("i", "int"),
        ("i", "double"),
        ("r", "real"),
        ("d", "decimal(20,3)"),
        ("d", "decimal(20,5)"),
        ("s", "int"),
        ("i", "varchar"),
        ("u", "smallint unsigned"),
    ] {
        hint(&db, &format!("ALTER TABLE t ALTER COLUMN {column} TYPE {data_type}"), "widened");
    }
    db.error("ALTER TABLE t ALTER COLUMN i TYPE bigint USING i + 1");
    let db = db.reopened();
    assert_eq!(db.rows("SELECT sum(i), sum(u) FROM t"), ["5200010000|1989995"]);
}

#[test]
fn what_an_added_column_has_in_old_rows_is_widened_too() {
    let db = table();
    db.run("ALTER TABLE t ADD COLUMN r real DEFAULT 0.1, ADD COLUMN d decimal(3,1) DEFAULT 1.5, ADD COLUMN i int DEFAULT 7");
    db.run("INSERT INTO t (a) VALUES (0)");
    db.run("ALTER TABLE t ALTER r TYPE double, ALTER d TYPE decimal(9,3), ALTER i TYPE bigint");
    assert_eq!(db.rows("SELECT DISTINCT r, d, i FROM t"), ["0.10000000149011612|1.500|7"]);
    db.run("INSERT INTO t (a) VALUES (-1)");
    assert_eq!(db.rows("SELECT r, d, i FROM t WHERE a = -1"), ["0.1|1.500|7"]);
}

#[test]
fn keys_hold_over_a_widened_type() {
    let db = Db::new();
    db.run("CREATE TABLE t (id int PRIMARY KEY)");
    db.run("INSERT INTO t SELECT value * 7919 % 100003 FROM generate_series(0, 49999) AS g(value)");
    db.error("INSERT INTO t VALUES (7919)");
    db.run("ALTER TABLE t ALTER COLUMN id TYPE bigint");
    db.error("INSERT INTO t VALUES (7919)");
    db.run("INSERT INTO t VALUES (5000000000)");
    db.error("INSERT INTO t VALUES (5000000000)");
}

#[test]
fn a_default_can_be_set_and_dropped() {
    let db = table();
    db.run("ALTER TABLE t ALTER COLUMN b SET DEFAULT 'new'");
    db.run("INSERT INTO t (a) VALUES (-1)");
    db.run("ALTER TABLE t ALTER b DROP DEFAULT");
    db.run("INSERT INTO t (a) VALUES (-2)");
    assert_eq!(db.rows("SELECT a, b FROM t WHERE a < 0 OR a > 10000 ORDER BY a"), ["-2|NULL", "-1|new", "10001|NULL"]);
    db.error("ALTER TABLE t ALTER COLUMN a SET DEFAULT 'many'");
}

#[test]
fn not_null_is_set_when_no_row_is_null() {
    let db = table();
    db.run("ALTER TABLE t ALTER COLUMN a SET NOT NULL");
    assert!(matches!(db.error("INSERT INTO t (b) SELECT 'x'"), EngineError::NotNull { .. }));
    hint(&db, "ALTER TABLE t ALTER COLUMN b SET NOT NULL", "UPDATE t SET b");
    db.run("DELETE FROM t WHERE b IS NULL");
    db.run("ALTER TABLE t ALTER COLUMN b SET NOT NULL");
    db.run("ALTER TABLE t ALTER COLUMN a DROP NOT NULL");
    db.run("INSERT INTO t VALUES (NULL, 'x')");
    assert_eq!(db.rows("DESCRIBE t"), ["a|INTEGER|YES|NULL|NULL", "b|VARCHAR|NO|NULL|NULL"]);
    db.run("DELETE FROM t WHERE a IS NULL");
    db.run("ALTER TABLE t ADD PRIMARY KEY (a)");
    hint(&db, "ALTER TABLE t ALTER COLUMN a DROP NOT NULL", "drop that constraint");
}

#[test]
fn a_constraint_is_added_when_every_row_keeps_it() {
    let db = table();
    db.run("INSERT INTO t VALUES (7, 'again')");
    let error = db.error("ALTER TABLE t ADD CONSTRAINT one UNIQUE (a)").to_string();
    assert_eq!(error, "rows of \"t\" have the same key (a) = (7), which breaks UNIQUE (a), constraint \"one\"");
    let error = db.error("ALTER TABLE t ADD CHECK (a <= 10000)").to_string();
    assert_eq!(error, "a row of \"t\" breaks CHECK (a <= 10000), constraint \"t_a_check\": (a) = (10001)");
    db.run("DELETE FROM t WHERE b = 'again' OR a > 10000");
    db.run("ALTER TABLE t ADD CONSTRAINT one UNIQUE (a), ADD CHECK (a <= 10000), ADD CONSTRAINT more CHECK (b <> 'x')");
    for values in ["(7, 'y')", "(10001, 'y')", "(-1, 'x')"] {
        db.error(&format!("INSERT INTO t VALUES {values}"));
    }
    db.error("ALTER TABLE t ADD CONSTRAINT one CHECK (true)");
    db.run("ALTER TABLE t DROP CONSTRAINT one, DROP CONSTRAINT IF EXISTS nothing, DROP CONSTRAINT t_a_check");
    hint(&db, "ALTER TABLE t DROP CONSTRAINT mor", "did you mean \"more\"?");
    db.run("INSERT INTO t VALUES (7, 'y'), (10001, 'y')");
    db.error("INSERT INTO t VALUES (-1, 'x')");
    for rule in ["FOREIGN KEY (a) REFERENCES t (a)", "CHECK (a > 0) NOT VALID"] {
        db.error(&format!("ALTER TABLE t ADD {rule}"));
    }
    let db = db.reopened();
    db.error("INSERT INTO t VALUES (-1, 'x')");
}

#[test]
fn a_column_in_the_order_or_in_a_constraint_is_dropped_with_a_word_more() {
    let db = Db::new();
    db.run("CREATE TABLE t (a int, b int UNIQUE, c int, CHECK (b < c)) ORDER BY (a)");
    db.run("INSERT INTO t VALUES (1, 2, 3)");
    hint(&db, "ALTER TABLE t DROP COLUMN a", "SET ORDER BY");
    hint(&db, "ALTER TABLE t DROP COLUMN c", "CASCADE");
    db.run("ALTER TABLE t DROP COLUMN c CASCADE");
    db.error("INSERT INTO t VALUES (1, 2)");
    db.run("ALTER TABLE t DROP COLUMN b CASCADE");
    db.run("ALTER TABLE t ADD COLUMN d int, DROP CLUSTERING KEY, DROP COLUMN a");
    assert_eq!(db.rows("SELECT * FROM t"), ["NULL"]);
    assert_eq!(db.rows("SHOW CREATE TABLE t")[0].split("CREATE").nth(1), Some(" TABLE t (\n  d INTEGER\n)"));
}

#[test]
fn the_order_of_a_table_can_be_changed_and_rows_come_in_it_from_then_on() {
    let db = Db::new();
    db.load("t", &["id"], &numbers(0, 20_000));
    let sorts = |column: &str| db.run(&format!("EXPLAIN SELECT {column} FROM t ORDER BY {column}")).text().contains("SortExec");
    assert!(!sorts("id"));
    db.run("ALTER TABLE t SET ORDER BY (r DESC, id)");
    assert!(sorts("id") && sorts("r"), "rows that are there are in no order now");
    assert!(db.rows("SHOW CREATE TABLE t")[0].contains("ORDER BY (r DESC, \"id\")"));
    db.run("CREATE TABLE u (r bigint, id bigint) CLUSTER BY (id, r)");
    db.run("INSERT INTO u SELECT r, id FROM t");
    db.run("ALTER TABLE u CLUSTER BY (id)");
    assert!(!db.run("EXPLAIN SELECT id FROM u ORDER BY id").text().contains("SortExec"), "what is in order by (id, r) is so by (id)");
    db.run("INSERT INTO t SELECT * FROM t WHERE id < 10");
    assert_eq!(db.rows("SELECT count(*), count(DISTINCT id) FROM t"), ["20010|20000"]);
    db.run("ALTER TABLE t ORDER BY ()");
    assert!(!db.rows("SHOW CREATE TABLE t")[0].contains("ORDER BY"));
    assert_eq!(db.error("ALTER TABLE t SET ORDER BY (nothing)").to_string(), "column \"nothing\" to order by does not exist");
    hint(&db, "ALTER TABLE t SET ORDER BY (id + 1)", "names of columns");
    hint(&db, "ALTER TABLE t SET ORDER BY id", "ORDER BY (a, b)");
    hint(&db, "ALTER TABLE t ORDER BY (id), CLUSTER BY (r)", "one ORDER BY");
    hint(&db, "ALTER TABLE t ORDER BY (id), DROP CLUSTERING KEY", "one ORDER BY");
}

#[test]
fn options_are_set_by_name() {
    let db = table();
    db.run("ALTER TABLE t SET (durability = 'async')");
    assert!(db.rows("SHOW CREATE TABLE t")[0].ends_with("WITH (durability = 'async')"));
    db.run("ALTER TABLE t SET (durability = sync)");
    assert!(db.rows("SHOW CREATE TABLE t")[0].ends_with("WITH (durability = 'sync')"));
    hint(&db, "ALTER TABLE t SET (durabilty = 'async')", "did you mean \"durability\"?");
    hint(&db, "ALTER TABLE t SET (durability = 'perhaps')", "'sync' or 'async'");
    hint(&db, "CREATE TABLE u (a int) WITH (compression = 'zstd')", "durability");
}

#[test]
fn actions_of_one_statement_come_together_or_not_at_all() {
    let db = table();
    db.run("ALTER TABLE t ADD COLUMN c int DEFAULT 1, ADD CONSTRAINT positive CHECK (c > 0), ADD UNIQUE (a, c), RENAME COLUMN b TO text, ALTER COLUMN a TYPE bigint, RENAME TO u");
    assert_eq!(db.rows("SELECT a, text, c FROM u WHERE a = 7"), ["7|row 7|1"]);
    db.error("INSERT INTO u VALUES (7, 'x', 1)");
    let definition = db.rows("SHOW CREATE TABLE u");
    for sql in [
        "ALTER TABLE u DROP COLUMN text, ADD COLUMN d int, ADD CHECK (d IS NOT NULL)",
        "ALTER TABLE u ADD COLUMN d int, RENAME TO v, DROP COLUMN nothing",
        "ALTER TABLE u DROP COLUMN text, ALTER COLUMN c TYPE smallint",
    ] {
        db.error(sql);
        assert_eq!(db.rows("SHOW CREATE TABLE u"), definition, "{sql}");
    }
}

#[test]
fn a_view_of_a_dropped_column_says_so_when_it_is_used() {
    let db = table();
    db.script("CREATE VIEW v AS SELECT a, b FROM t; CREATE VIEW w AS SELECT * FROM t");
    db.run("ALTER TABLE t DROP COLUMN b");
    let error = db.error("SELECT * FROM v").to_string();
    assert_eq!(error, "view \"v\" cannot be used any more: column \"b\" does not exist");
    assert_eq!(db.rows("SELECT * FROM w WHERE a = 7"), ["7"]);
    hint(&db, "ALTER TABLE v ADD COLUMN c int", "CREATE OR REPLACE VIEW");
}

#[test]
fn what_alter_table_cannot_do_it_refuses() {
    let db = table();
    for sql in [
        "ALTER TABLE t OWNER TO me",
        "ALTER TABLE t SWAP WITH u",
        "ALTER TABLE t ENABLE ROW LEVEL SECURITY",
        "ALTER TABLE t DROP FOREIGN KEY x",
        "ALTER TABLE t DROP INDEX x",
        "ALTER TABLE t CHANGE COLUMN a b int",
        "ALTER TABLE t MODIFY COLUMN a bigint",
        "ALTER TABLE t ALTER COLUMN a ADD GENERATED ALWAYS AS IDENTITY",
        "ALTER SCHEMA main RENAME TO other",
        "ALTER VIEW v AS SELECT 1",
        "ALTER TABLE t SET TBLPROPERTIES ('a' = 'b')",
    ] {
        let error = db.error(sql);
        assert!(matches!(error, EngineError::Unsupported { .. } | EngineError::Sql { .. }), "{sql}: {error}");
        assert!(!error.to_string().contains("internal"), "{sql}: {error}");
    }
    assert_eq!(db.rows("SELECT count(*), max(a) FROM t"), ["10001|10001"]);
}
