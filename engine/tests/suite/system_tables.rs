//! The schema `system`: what its tables show, and that they can only be read.

use engine::EngineOptions;

use super::helpers::{Db, numbers, options, run, wait};
use super::time_travel::version;

const TABLES: [&str; 15] = [
    "blobs",
    "columns",
    "compactions",
    "grants",
    "group_members",
    "objects",
    "queries",
    "roles",
    "segments",
    "settings",
    "snapshots",
    "tables",
    "tags",
    "transactions",
    "users",
];

fn with_tables() -> Db {
    let db = Db::new();
    db.load("t", &["k desc", "r"], &numbers(0, 20_000));
    db.script("CREATE SCHEMA s; CREATE TABLE s.u (a INT NOT NULL, \"B b\" DECIMAL(9,2)); CREATE VIEW v AS SELECT id FROM t");
    db
}

#[test]
fn the_page_names_every_column_and_its_type() {
    let db = Db::new();
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/system-tables.md")).unwrap();
    for table in TABLES {
        let section = page.split(&format!("## system.{table}\n")).nth(1).unwrap_or_else(|| panic!("a section about {table}"));
        let section = section.split("\n## ").next().unwrap();
        let columns: Vec<String> = section
            .lines()
            .filter_map(|line| line.strip_prefix("| `"))
            .map(|line| {
                let mut cells = line.split(" | ");
                format!("{}|{}", cells.next().unwrap().trim_end_matches('`'), cells.next().unwrap())
            })
            .collect();
        let found = db.rows(&format!("DESCRIBE system.{table}"));
        let found: Vec<String> = found.iter().map(|row| row.split('|').take(2).collect::<Vec<_>>().join("|")).collect();
        assert_eq!(found, columns, "{table}");
    }
}

#[test]
fn tables_and_views_are_listed_with_their_sizes() {
    let db = with_tables();
    db.run("DELETE FROM t WHERE id < 5");
    let rows = db.rows(
        "SELECT schema_name, table_name, kind, row_count, deleted_rows, segment_count, cluster_key, size_bytes > 0 FROM system.tables",
    );
    assert_eq!(rows, ["main|t|table|19995|5|1|k DESC, r|true", "main|v|view|NULL|NULL|NULL|NULL|NULL", "s|u|table|0|0|0|NULL|false"]);
    let definition = db.value("SELECT definition FROM system.tables WHERE table_name = 'u'");
    assert_eq!(definition, "CREATE TABLE s.u (\n  a INTEGER NOT NULL,\n  \"B b\" DECIMAL(9,2)\n)");
    assert_eq!(db.value("SELECT definition FROM system.tables WHERE table_name = 'v'"), "CREATE VIEW v AS SELECT id FROM t");
    let versions = db.value("SELECT changed_version - created_version FROM system.tables WHERE table_name = 't'");
    assert_eq!(versions, "4");
}

#[test]
fn columns_are_listed_in_the_words_of_sql() {
    let db = with_tables();
    let rows = db.rows(
        "SELECT column_name, position, data_type, is_nullable, column_default, cluster_position FROM system.columns WHERE table_name = 'u'",
    );
    assert_eq!(rows, ["a|1|INTEGER|false|NULL|NULL", "B b|2|DECIMAL(9,2)|true|NULL|NULL"]);
    assert_eq!(db.rows("SELECT column_name, cluster_position FROM system.columns WHERE cluster_position > 0 ORDER BY 2"), ["k|1", "r|2"]);
    db.run("CREATE TABLE types (a TIMESTAMP WITH TIME ZONE, b VARCHAR[], c STRUCT<x INT>)");
    let types = db.rows("SELECT data_type FROM system.columns WHERE table_name = 'types' ORDER BY position");
    assert_eq!(types, ["TIMESTAMP WITH TIME ZONE", "VARCHAR[]", "STRUCT<x INTEGER>"]);
}

#[test]
fn segments_add_up_to_their_table() {
    let db = with_tables();
    db.run("INSERT INTO t SELECT id + 20000, k, r, s FROM t WHERE id < 10000");
    db.run("DELETE FROM t WHERE id = 20005");
    db.run("INSERT INTO t VALUES (-1, 0, 0, 'small')");
    let rows = db.rows("SELECT sum(row_count), sum(deleted_rows), count(*) FROM system.segments WHERE table_name = 't'");
    assert_eq!(rows, [format!("30000|1|{}", db.table("t").segments().len() + db.table("t").tails().len())]);
    for path in db.rows("SELECT path FROM system.segments WHERE kind = 'segment'") {
        assert!(std::path::Path::new(&path).exists(), "{path}");
    }
    let sizes = "SELECT sum(size_bytes + coalesce(side_size_bytes, 0)) FROM system.segments WHERE table_name = 't'";
    assert_eq!(db.value(sizes), db.value("SELECT size_bytes FROM system.tables WHERE table_name = 't'"));
    assert_eq!(db.value("SELECT bool_and(is_sorted) FROM system.segments WHERE kind = 'segment'"), "true");
}

#[test]
fn versions_are_listed_with_what_made_them() {
    let db = with_tables();
    db.run("CREATE SNAPSHOT b");
    db.run("CREATE SNAPSHOT a");
    let named = version(&db) - 2;
    let rows = db.rows("SELECT operation, tables FROM system.snapshots ORDER BY version DESC LIMIT 5");
    assert_eq!(rows, ["CREATE SNAPSHOT|[]", "CREATE SNAPSHOT|[]", "CREATE VIEW|[]", "CREATE TABLE|[s.u]", "CREATE SCHEMA|[]"]);
    assert_eq!(
        db.rows("SELECT version, names FROM system.snapshots WHERE cardinality(names) > 0 ORDER BY version"),
        [format!("{named}|[b]"), format!("{}|[a]", named + 1)]
    );
    assert_eq!(
        db.value("SELECT count(*) FROM system.snapshots WHERE committed_at BETWEEN now() - INTERVAL '1 hour' AND now()"),
        version(&db).to_string()
    );
    db.script("DROP SNAPSHOT a; DROP SNAPSHOT b; DROP TABLE s.u");
    assert_eq!(db.value("SELECT count(*) FROM system.snapshots WHERE array_has(tables, 's.u')"), "0");
}

#[test]
fn open_transactions_of_all_sessions_are_listed() {
    let db = with_tables();
    let other = db.engine.session().unwrap();
    let others = |sql: &str| wait(run(&other, sql));
    let list = "SELECT base_version, change_count, is_read_only, is_failed, is_own FROM system.transactions ORDER BY transaction_id";
    assert!(db.rows(list).is_empty());
    let base = version(&db);
    others("BEGIN READ ONLY").unwrap();
    db.run("BEGIN");
    db.run("INSERT INTO s.u VALUES (1, 1)");
    assert_eq!(db.rows(list), [format!("{base}|0|true|false|false"), format!("{base}|1|false|false|true")]);
    others("SELECT nothing").unwrap_err();
    assert_eq!(db.rows("SELECT is_failed, started_at <= now() FROM system.transactions WHERE NOT is_own"), ["true|true"]);
    others("ROLLBACK").unwrap();
    assert_eq!(db.rows(list).len(), 1);
    db.run("COMMIT");
    assert!(db.rows(list).is_empty());
    others("BEGIN").unwrap();
    drop(other);
    assert!(db.rows(list).is_empty());
}

#[test]
fn names_and_rows_of_a_transaction_are_in_its_system_tables_and_in_no_other() {
    let db = with_tables();
    let other = db.engine.session().unwrap();
    db.script("BEGIN; CREATE TABLE own (a INT); INSERT INTO own VALUES (1), (2); DROP VIEW v");
    let list = "SELECT table_name, row_count FROM system.tables WHERE table_name IN ('own', 'v')";
    assert_eq!(db.rows(list), ["own|2"]);
    assert_eq!(db.rows("SELECT sum(row_count) FROM system.segments WHERE table_name = 'own'"), ["2"]);
    assert_eq!(db.rows("SELECT count(*) FROM system.columns WHERE table_name = 'own'"), ["1"]);
    assert_eq!(wait(run(&other, list)).unwrap().rows(), ["v|NULL"]);
    db.run("ROLLBACK");
    assert_eq!(db.rows(list), ["v|NULL"]);
}

#[test]
fn settings_are_those_of_session_process_and_store() {
    let db = Db::with(EngineOptions { query_memory_limit_bytes: Some(64 << 20), ..options() });
    db.run("SET threads = 5");
    db.run("SET quiver.zone_pruning = false");
    let setting = |name: &str| db.rows(&format!("SELECT value, scope, changed_by FROM system.settings WHERE name = '{name}'"));
    assert_eq!(setting("threads"), ["5|session|SET"]);
    assert_eq!(setting("quiver.zone_pruning"), ["false|session|SET"]);
    assert_eq!(setting("query_memory_limit"), [format!("{}|process|--query-memory-limit", 64 << 20)]);
    assert_eq!(setting("retention"), ["1 day|store|ALTER SYSTEM"]);
    assert_eq!(setting("store_read_only"), ["false|store|--read-only"]);
    assert_eq!(setting("store_path"), [format!("{}|store|", db.store_path().display())]);
    assert_eq!(db.value("SELECT count(*) FROM system.settings WHERE description = ''"), "0");
    assert_eq!(db.value("SELECT count(*) - count(DISTINCT name) FROM system.settings"), "0");
}

#[test]
fn they_are_listed_only_where_they_are_asked_for() {
    let db = with_tables();
    assert!(!db.rows("SHOW TABLES").iter().any(|row| row.starts_with("system")));
    assert!(!db.rows("SHOW SCHEMAS").contains(&"system".to_string()));
    assert!(!db.session.table_names().iter().any(|name| name.contains("system")));
    assert!(!db.session.schema_names().unwrap().contains(&"system".to_string()));
    let names: Vec<String> = db.session.system_tables().into_iter().map(|listed| listed.name).collect();
    assert!(TABLES.iter().all(|table| names.iter().any(|name| name == table)), "{names:?}");
    assert_eq!(db.rows("SELECT table_name FROM information_schema.tables WHERE table_schema = 'system' ORDER BY 1"), names);
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/system-tables.md")).unwrap();
    let headings: Vec<&str> = page.lines().filter_map(|line| line.strip_prefix("## ")).flat_map(|line| line.split(", ")).collect();
    assert!(names.iter().all(|name| headings.contains(&format!("system.{name}").as_str())), "{names:?} and {headings:?}");
    assert_eq!(db.rows("SHOW COLUMNS FROM system.snapshots").len(), 6);
}

#[test]
fn nobody_writes_to_them() {
    let db = with_tables();
    for sql in [
        "INSERT INTO system.tables SELECT * FROM system.tables",
        "INSERT OVERWRITE system.settings SELECT * FROM system.settings",
        "UPDATE system.settings SET value = '5'",
        "DELETE FROM system.snapshots",
        "CREATE TABLE system.mine (a INT)",
        "CREATE VIEW system.mine AS SELECT 1 AS one",
        "DROP TABLE system.tables",
        "ALTER TABLE system.tables ADD COLUMN a INT",
        "TRUNCATE TABLE system.tables",
        "CREATE SCHEMA system",
        "DROP SCHEMA system CASCADE",
    ] {
        let error = db.error(sql).to_string();
        assert!(error.contains("system"), "{sql}: {error}");
    }
    let hint = db.error("SELECT * FROM system.snapshot");
    assert_eq!(
        (hint.to_string().as_str(), hint.hint().unwrap()),
        ("table \"system.snapshot\" does not exist", "did you mean \"snapshots\"?")
    );
    db.error("SELECT * FROM system.tables FOR VERSION AS OF 1");
}

#[test]
fn a_table_of_somebody_in_a_schema_of_that_name_from_before_is_still_read() {
    let db = Db::new();
    let store = db.engine.store();
    let mut transaction = store.begin().unwrap();
    transaction.create_namespace("system").unwrap();
    let schema = arrow::datatypes::Schema::new(vec![arrow::datatypes::Field::new("a", arrow::datatypes::DataType::Int64, true)]);
    for name in ["mine", "tables"] {
        let new = pmem_store::NewTable {
            namespace: "system",
            name,
            schema: &schema,
            columns: Vec::new(),
            cluster_key: Vec::new(),
            constraints: Vec::new(),
            options: Default::default(),
        };
        transaction.create_table(store.new_table_id(), new, false).unwrap();
    }
    transaction.commit("CREATE TABLE").unwrap();
    assert_eq!(db.rows("SELECT count(*) FROM system.mine"), ["0"]);
    assert_eq!(db.rows("SELECT table_name FROM system.tables ORDER BY 1"), ["mine", "tables"]);
}
