//! CREATE, DROP, SHOW and DESCRIBE; what cannot be enforced is refused.

use engine::{EngineError, ErrorKind};

use super::helpers::Db;

#[test]
fn every_sql_type_can_be_declared_kept_and_read_again() {
    let db = Db::new();
    let types = [
        ("TINYINT", "-128", "-128"),
        ("SMALLINT", "7", "7"),
        ("INT", "7", "7"),
        ("INTEGER", "7", "7"),
        ("BIGINT", "9223372036854775807", "9223372036854775807"),
        ("TINYINT UNSIGNED", "255", "255"),
        ("INT UNSIGNED", "7", "7"),
        ("BIGINT UNSIGNED", "18446744073709551615", "18446744073709551615"),
        ("REAL", "1.5", "1.5"),
        ("FLOAT", "1.5", "1.5"),
        ("DOUBLE", "1.5", "1.5"),
        ("DOUBLE PRECISION", "1.5", "1.5"),
        ("DECIMAL(9,2)", "1.5", "1.50"),
        ("NUMERIC(18,0)", "7", "7"),
        ("DECIMAL(38,10)", "-1.5", "-1.5000000000"),
        ("DECIMAL(50,5)", "7", "7.00000"),
        ("BOOLEAN", "true", "true"),
        ("VARCHAR", "'é'", "é"),
        ("TEXT", "''", ""),
        ("CHAR", "'c'", "c"),
        ("STRING", "'long enough for a buffer'", "long enough for a buffer"),
        ("BYTEA", "X'00FF'", "00ff"),
        ("DATE", "'2024-02-29'", "2024-02-29"),
        ("TIME", "'12:34:56'", "12:34:56"),
        ("TIMESTAMP", "'2024-02-29 12:34:56'", "2024-02-29T12:34:56"),
        ("TIMESTAMP WITH TIME ZONE", "'2024-02-29T12:34:56Z'", "2024-02-29T12:34:56Z"),
        ("INTERVAL", "interval '1 month 2 days'", "1 mons 2 days"),
        ("INT[]", "[1, NULL, 3]", "[1, NULL, 3]"),
        ("VARCHAR[][]", "[['a'], []]", "[[a], []]"),
        ("STRUCT<a INT, b VARCHAR>", "named_struct('a', 1, 'b', 'x')", "{a: 1, b: x}"),
    ];
    for (index, (name, literal, _)) in types.iter().enumerate() {
        db.run(&format!("CREATE TABLE t{index} (v {name}, n {name} NOT NULL)"));
        db.run(&format!("INSERT INTO t{index} VALUES ({literal}, {literal}), (NULL, {literal})"));
    }
    let db = db.reopened();
    for (index, (name, _, shown)) in types.iter().enumerate() {
        assert_eq!(db.rows(&format!("SELECT v, n FROM t{index}")), [format!("{shown}|{shown}"), format!("NULL|{shown}")], "{name}");
        assert_eq!(db.value(&format!("SELECT count(*) FROM t{index} WHERE v IS NULL")), "1", "{name}");
        let types = db.rows(&format!("SELECT arrow_typeof(v), arrow_typeof(n) FROM t{index} LIMIT 1"));
        let (nullable, not_null) = types[0].split_once('|').unwrap();
        assert_eq!(nullable, not_null, "{name}");
    }
}

#[test]
fn nothing_is_made_under_an_empty_name() {
    let db = Db::new();
    db.run("CREATE TABLE t (a int)");
    for sql in [
        "CREATE TABLE \"\" (a int)",
        "CREATE TABLE \"\" AS SELECT 1 AS a",
        "SELECT 1 AS a INTO \"\"",
        "CREATE VIEW \"\" AS SELECT 1 AS a",
        "CREATE VOLATILE TABLE \"\" (a int)",
        "CREATE SCHEMA \"\"",
        "ALTER TABLE t RENAME TO \"\"",
        "CREATE SNAPSHOT \"\"",
    ] {
        let error = db.error(sql);
        assert!(error.to_string().contains("cannot have an empty name"), "{sql}: {error}");
        assert_eq!(error.kind(), ErrorKind::Invalid, "{sql}");
    }
    assert_eq!(db.rows("SELECT table_name FROM information_schema.tables WHERE table_schema = 'main'"), ["t"]);
}

#[test]
fn an_index_is_refused_because_there_is_none() {
    let db = Db::new();
    db.run("CREATE TABLE t (a int)");
    for sql in ["CREATE UNIQUE INDEX i ON t (a)", "CREATE INDEX i ON t (a)"] {
        let error = db.error(sql);
        assert!(matches!(error, EngineError::Unsupported { .. }), "{sql}: {error}");
    }
}

#[test]
fn not_null_with_a_query_is_enforced_or_refused() {
    let db = Db::new();
    if db.try_run("CREATE TABLE t (a int NOT NULL) AS SELECT 1 AS a").is_ok() {
        db.error("INSERT INTO t VALUES (NULL)");
        assert_eq!(db.value("SELECT is_nullable FROM information_schema.columns WHERE table_name = 't'"), "NO");
    }
    db.error("CREATE TABLE u (a int NOT NULL) AS SELECT cast(NULL AS int) AS a");
    assert!(!db.session.table_names().contains(&"u".to_owned()));
}

#[test]
fn statements_that_are_not_there_yet_say_so_once() {
    let db = Db::new();
    db.run("CREATE TABLE t (a int)");
    for sql in
        ["CREATE TEMPORARY VIEW x AS SELECT 1", "CREATE DATABASE x", "REPLACE INTO t VALUES (1)", "CREATE TABLE x (a int) PARTITION BY (a)"]
    {
        let error = db.error(sql).to_string();
        assert_eq!(error.matches("not supported").count() + error.matches("not implemented").count(), 1, "{sql}: {error}");
    }
    assert_eq!(db.rows("SELECT table_name FROM information_schema.tables WHERE table_schema = 'main'"), ["t"]);
}

#[test]
fn a_table_that_exists_is_kept_replaced_or_an_error() {
    let db = Db::new();
    db.run("CREATE TABLE t AS SELECT 1 AS a");
    let error = db.error("CREATE TABLE t (b int)").to_string();
    assert_eq!(error, "table \"t\" already exists");
    db.run("CREATE TABLE IF NOT EXISTS t AS SELECT 2 AS b");
    assert_eq!(db.rows("SELECT * FROM t"), ["1"]);
    db.run("CREATE OR REPLACE TABLE t AS SELECT 'x' AS b, a + 1 AS a FROM t");
    assert_eq!(db.rows("SELECT * FROM t"), ["x|2"]);
    db.run("CREATE OR REPLACE TABLE t (c int)");
    assert_eq!(db.value("SELECT count(*) FROM t"), "0");
    db.error("CREATE OR REPLACE TABLE t AS SELECT 1 / 0 AS a FROM (VALUES (1), (2)) AS v(x) WHERE x / 0 = 1");
    assert_eq!(db.session.column_names("t"), ["c"]);
}

#[test]
fn a_transaction_replaces_the_tables_and_views_that_it_sees() {
    let db = Db::new();
    db.run("CREATE TABLE t AS SELECT 1 AS a");
    db.run("BEGIN");
    db.run("CREATE TABLE made AS SELECT 1 AS a");
    db.run("CREATE OR REPLACE TABLE made AS SELECT a + 1 AS a, 'x' AS b FROM made");
    assert_eq!(db.rows("SELECT * FROM made"), ["2|x"]);
    db.run("DROP TABLE t");
    db.run("CREATE OR REPLACE TABLE t (c int)");
    db.run("CREATE OR REPLACE VIEW v AS SELECT c FROM t");
    db.run("CREATE OR REPLACE VIEW v AS SELECT c + 1 AS d FROM t");
    db.run("INSERT INTO t VALUES (4)");
    assert_eq!(db.rows("SELECT * FROM v"), ["5"]);
    db.run("COMMIT");
    assert_eq!(
        (db.rows("SELECT * FROM t"), db.rows("SELECT * FROM v"), db.rows("SELECT * FROM made")),
        (vec!["4".to_string()], vec!["5".to_string()], vec!["2|x".to_string()])
    );
}

#[test]
fn a_replaced_or_dropped_table_leaves_no_files() {
    let db = Db::new();
    db.run("CREATE TABLE t AS SELECT value AS a FROM generate_series(1, 10000) AS g(value)");
    let files = db.segment_files().len();
    assert!(files > 0);
    db.run("CREATE OR REPLACE TABLE t AS SELECT a + 1 AS a FROM t");
    // A session refreshes what it sees with each statement.
    db.run("SELECT 1");
    assert_eq!(db.segment_files().len(), files);
    db.run("DROP TABLE t");
    db.run("SELECT 1");
    assert!(db.segment_files().is_empty(), "{:?}", db.segment_files());
}

#[test]
fn names_are_folded_to_lower_case_unless_quoted() {
    let db = Db::new();
    db.run("CREATE TABLE MiXed (ColA int, \"ColB\" int, \"with space\" int, \"select\" int, \"é\" int)");
    db.run("INSERT INTO mixed VALUES (1, 2, 3, 4, 5)");
    assert_eq!(db.rows("SELECT COLA, \"ColB\", \"with space\", \"select\", \"é\" FROM MIXED"), ["1|2|3|4|5"]);
    assert_eq!(db.session.column_names("mixed"), ["cola", "ColB", "with space", "select", "é"]);
    db.error("SELECT colb FROM mixed");
    db.run("CREATE TABLE \"MiXed\" (x int)");
    assert_eq!(db.value("SELECT count(*) FROM \"MiXed\""), "0");
    db.run("CREATE TABLE \"a.b\" (\"c.d\" int)");
    db.run("INSERT INTO \"a.b\" VALUES (7)");
    assert_eq!(db.value("SELECT \"c.d\" FROM \"a.b\""), "7");
}

#[test]
fn a_cluster_key_may_be_a_column_with_any_name() {
    let db = Db::new();
    db.run("CREATE TABLE t (\"with space\" int, \"Upper\" int) ORDER BY (\"with space\", \"Upper\")");
    db.run("INSERT INTO t VALUES (2, 1), (1, 2), (1, 1)");
    assert_eq!(db.rows("SELECT * FROM t"), ["1|1", "1|2", "2|1"]);
    let error = db.error("CREATE TABLE u (a int) ORDER BY (b)").to_string();
    assert!(error.contains("\"b\""), "{error}");
    db.error("CREATE TABLE u (a int) ORDER BY (a + 1)");
    assert!(!db.session.table_names().contains(&"u".to_owned()));
}

#[test]
fn two_columns_of_one_name_are_refused() {
    let db = Db::new();
    for sql in [
        "CREATE TABLE t (a int, a int)",
        "CREATE TABLE t AS SELECT 1 AS a, 2 AS a",
        "CREATE TABLE t AS SELECT x.a, y.a FROM (SELECT 1 AS a) x, (SELECT 2 AS a) y",
    ] {
        let error = db.error(sql).to_string();
        assert!(error.contains('a') && !error.contains("internal"), "{sql}: {error}");
    }
    assert!(db.session.table_names().is_empty());
}

#[test]
fn a_schema_holds_tables_and_goes_only_when_it_is_empty_or_with_them() {
    let db = Db::new();
    db.run("CREATE SCHEMA sales");
    assert_eq!(db.error("CREATE SCHEMA sales").to_string(), "schema \"sales\" already exists");
    db.run("CREATE SCHEMA IF NOT EXISTS sales");
    db.script("CREATE TABLE sales.t (a int); INSERT INTO sales.t VALUES (1); CREATE VIEW sales.v AS SELECT a + 1 AS b FROM sales.t; CREATE TABLE t (z int)");
    assert_eq!(db.rows("SELECT t.a, v.b FROM sales.t AS t, quiver.sales.v AS v"), ["1|2"]);
    assert_eq!(db.value("SELECT count(*) FROM t"), "0");
    assert_eq!(db.session.table_names(), ["t", "sales.t", "sales.v"]);
    let error = db.error("DROP SCHEMA sales").to_string();
    assert!(error.contains("not empty") && error.contains("CASCADE"), "{error}");
    db.run("DROP SCHEMA sales CASCADE");
    assert_eq!(db.rows("SHOW SCHEMAS"), ["main"]);
    assert_eq!(db.session.table_names(), ["t"]);
    db.error("SELECT * FROM sales.t");
    db.run("DROP SCHEMA IF EXISTS sales");
    assert_eq!(db.error("DROP SCHEMA sales").to_string(), "schema \"sales\" does not exist");
    assert_eq!(db.error("CREATE TABLE sales.t (a int)").to_string(), "schema \"sales\" does not exist");
    db.error("DROP SCHEMA main CASCADE");
    assert!(db.segment_files().is_empty());
}

#[test]
fn information_schema_and_information_of_other_databases_cannot_be_changed() {
    let db = Db::new();
    for sql in [
        "CREATE TABLE information_schema.t (a int)",
        "CREATE SCHEMA information_schema",
        "DROP TABLE information_schema.tables",
        "CREATE TABLE other.main.t (a int)",
        "CREATE VIEW other.main.v AS SELECT 1",
    ] {
        let error = db.error(sql).to_string();
        assert!(!error.contains("internal"), "{sql}: {error}");
    }
    assert!(db.session.table_names().is_empty());
}

#[test]
fn information_schema_lists_what_there_is() {
    let db = Db::new();
    db.script(
        "CREATE TABLE t (a int NOT NULL, b varchar); CREATE VIEW v AS SELECT a FROM t; CREATE SCHEMA s; CREATE TABLE s.u (d decimal(9,2))",
    );
    let tables = "SELECT table_catalog, table_schema, table_name, table_type FROM information_schema.tables WHERE table_schema NOT IN ('information_schema', 'system')";
    assert_eq!(db.sorted_rows(tables), ["quiver|main|t|BASE TABLE", "quiver|main|v|VIEW", "quiver|s|u|BASE TABLE"]);
    let columns = "SELECT table_schema, table_name, column_name, ordinal_position, is_nullable, data_type FROM information_schema.columns WHERE table_schema <> 'system' ORDER BY 1, 2, 4";
    let columns = db.rows(columns);
    assert_eq!(columns, ["main|t|a|1|NO|INTEGER", "main|t|b|2|YES|VARCHAR", "main|v|a|1|NO|INTEGER", "s|u|d|1|YES|DECIMAL(9,2)"]);
    let schemata = db.sorted_rows("SELECT schema_name FROM information_schema.schemata");
    assert!(schemata.contains(&"main".to_owned()) && schemata.contains(&"s".to_owned()), "{schemata:?}");
    assert_eq!(db.value("SELECT count(*) FROM information_schema.views WHERE table_name = 'v'"), "1");
    assert_ne!(db.value("SELECT count(*) FROM information_schema.df_settings"), "0");
}

#[test]
fn show_and_describe_answer_as_people_expect() {
    let db = Db::new();
    db.script("CREATE TABLE t (a int NOT NULL, b varchar); CREATE VIEW v AS SELECT a FROM t");
    assert_eq!(db.rows("SHOW TABLES"), ["main|t|BASE TABLE", "main|v|VIEW"]);
    assert_eq!(db.rows("show tables"), ["main|t|BASE TABLE", "main|v|VIEW"]);
    assert_eq!(db.rows("SHOW VIEWS"), ["main|v|VIEW"]);
    assert_eq!(db.rows("DESCRIBE t"), ["a|INTEGER|NO|NULL|NULL", "b|VARCHAR|YES|NULL|NULL"]);
    assert_eq!(db.rows("DESC main.t"), ["a|INTEGER|NO|NULL|NULL", "b|VARCHAR|YES|NULL|NULL"]);
    assert_eq!(db.rows("DESCRIBE v"), ["a|INTEGER|NO|NULL|NULL"]);
    assert_eq!(db.run("SHOW COLUMNS FROM t").row_count(), 2);
    let error = db.error("DESCRIBE tt");
    assert_eq!(error.to_string(), "table \"tt\" does not exist");
    assert_eq!(error.hint(), Some("did you mean \"t\"?"));
    db.error("SHOW COLUMNS FROM tt");
}

#[test]
fn the_lists_for_completion_name_tables_columns_and_functions() {
    let db = Db::new();
    db.script("CREATE TABLE t (a int, \"B c\" int); CREATE SCHEMA s; CREATE TABLE s.u (x int); CREATE VIEW v AS SELECT 1 AS one");
    assert_eq!(db.session.table_names(), ["t", "v", "s.u"]);
    assert_eq!(db.session.column_names("t"), ["a", "B c"]);
    assert_eq!(db.session.column_names("s.u"), ["x"]);
    assert!(db.session.column_names("nothing").is_empty());
    assert_eq!(db.session.schema_names().unwrap(), ["main", "s"]);
    let functions = db.session.function_names();
    for name in ["sum", "abs", "row_number", "regexp_like", "read_csv"] {
        assert!(functions.iter().any(|function| function == name), "{name}");
    }
    let listed = db.session.tables().unwrap();
    assert_eq!((listed[0].name.as_str(), listed[0].kind.as_str(), listed[0].rows), ("t", "table", Some(0)));
    assert_eq!((listed[1].name.as_str(), listed[1].kind.as_str(), listed[1].rows), ("v", "view", None));
}

#[test]
fn settings_are_set_shown_and_reset_and_a_misspelt_one_is_refused() {
    let db = Db::new();
    db.run("SET timezone = '+02:00'");
    assert!(db.value("SHOW TIME ZONE").contains("+02:00"));
    db.run("SET datafusion.execution.batch_size = 100");
    assert!(db.value("SHOW datafusion.execution.batch_size").ends_with("100"));
    db.run("RESET datafusion.execution.batch_size");
    assert!(db.value("SHOW datafusion.execution.batch_size").ends_with("8192"));
    let error = db.error("SET thread = 3");
    assert_eq!(error.hint(), Some("did you mean \"threads\"?"));
    db.error("SET threads = 'many'");
    db.error("SET datafusion.runtime.memory_limit = '1G'");
    assert!(db.value("SHOW threads").ends_with('3'), "what SET takes, SHOW tells");
}

#[test]
fn sessions_of_one_engine_see_each_other_and_not_their_settings() {
    let db = Db::new();
    let other = db.engine.session().unwrap();
    db.script("CREATE TABLE t (a int); INSERT INTO t VALUES (1); SET threads = 9");
    let output = super::helpers::wait(super::helpers::run(&other, "SELECT a FROM t")).unwrap();
    assert_eq!(output.rows(), ["1"]);
    let threads = super::helpers::wait(super::helpers::run(&other, "SHOW datafusion.execution.target_partitions")).unwrap();
    assert!(threads.rows()[0].ends_with('3'));
    super::helpers::wait(super::helpers::run(&other, "DROP TABLE t")).unwrap();
    db.error("SELECT * FROM t");
}
