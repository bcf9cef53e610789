//! Stores across processes and openings: locks, read-only engines, reopening.

use std::path::Path;

use engine::{Engine, EngineError, EngineOptions};

use super::helpers::{Db, numbers, options, run, wait};

fn read_only() -> EngineOptions {
    EngineOptions { read_only: true, ..options() }
}

fn open(path: &Path, options: EngineOptions) -> Result<Engine, EngineError> {
    Engine::open(path, options)
}

fn filled() -> Db {
    let db = Db::new();
    db.load("t", &["id"], &numbers(0, 20_000));
    db.script("CREATE SCHEMA s; CREATE TABLE s.u (a int NOT NULL, b varchar); INSERT INTO s.u VALUES (1, 'x'), (2, NULL); CREATE VIEW v AS SELECT k FROM t WHERE id < 5");
    db
}

#[test]
fn a_store_opened_again_is_as_it_was() {
    let questions = [
        "SELECT count(*), sum(id), min(s), max(r) FROM t",
        "SELECT k, count(*) FROM t GROUP BY k ORDER BY k",
        "SELECT * FROM s.u ORDER BY a",
        "SELECT * FROM v ORDER BY k",
        "SELECT table_schema, table_name, table_type FROM information_schema.tables ORDER BY 1, 2",
        "SELECT table_name, column_name, data_type, is_nullable FROM information_schema.columns ORDER BY 1, ordinal_position",
        "EXPLAIN SELECT id FROM t ORDER BY id",
    ];
    let answers = |db: &Db| questions.map(|question| db.rows(question));
    let db = filled();
    let (before, listed, files) = (answers(&db), db.session.tables().unwrap(), db.segment_files());
    let db = db.reopened().reopened();
    assert_eq!(answers(&db), before);
    assert_eq!(db.session.tables().unwrap(), listed);
    assert_eq!(db.segment_files(), files);
    db.error("INSERT INTO s.u VALUES (NULL, 'y')");
    db.run("INSERT INTO s.u VALUES (3, 'z')");
    assert_eq!(db.reopened().value("SELECT count(*) FROM s.u"), "3");
}

#[test]
fn a_read_only_engine_answers_and_refuses_every_write() {
    let db = filled().reopened_with(read_only());
    assert_eq!(db.rows("SELECT count(*) FROM t WHERE k = 3"), ["2000"]);
    assert_eq!(db.rows("SELECT * FROM v ORDER BY k"), ["0", "1", "2", "3", "4"]);
    let csv = db.file("t.csv");
    std::fs::write(&csv, "a,b\n5,y\n").unwrap();
    let files = db.segment_files();
    for sql in [
        "INSERT INTO s.u VALUES (3, 'z')",
        "INSERT INTO t SELECT * FROM t",
        "INSERT OVERWRITE s.u VALUES (3, 'z')",
        "CREATE TABLE x (a int)",
        "CREATE TABLE x AS SELECT 1 AS a",
        "DROP TABLE t",
        "CREATE VIEW x AS SELECT 1 AS a",
        "DROP VIEW v",
        "CREATE SCHEMA x",
        "DROP SCHEMA s CASCADE",
        "CREATE OR REPLACE TABLE t AS SELECT 1 AS a",
        &format!("COPY s.u FROM '{csv}'"),
        &format!("CREATE EXTERNAL TABLE x STORED AS CSV LOCATION '{csv}'"),
    ] {
        let error = db.error(sql).to_string();
        assert!(error.contains("read-only"), "{sql}: {error}");
    }
    assert_eq!(db.rows("SELECT count(*) FROM s.u"), ["2"]);
    assert_eq!(db.segment_files(), files);
    db.run(&format!("COPY t TO '{}'", db.file("out.parquet")));
    assert_eq!(db.run("SELECT id FROM t ORDER BY s DESC LIMIT 1").rows(), ["19999"]);
}

#[test]
fn readers_share_a_store_and_leave_nothing_in_it() {
    let dir = filled().closed();
    let store = dir.path().join("store");
    let before = super::helpers::files_below(&store);
    let (one, two) = (open(&store, read_only()).unwrap(), open(&store, read_only()).unwrap());
    for engine in [&one, &two] {
        let ran = wait(run(&engine.session().unwrap(), "SELECT count(*) FROM t WHERE id >= 0")).unwrap();
        assert_eq!(ran.rows(), ["20000"]);
    }
    drop((one, two));
    assert_eq!(super::helpers::files_below(&store), before);
}

#[test]
fn a_second_writer_is_refused_and_told_who_holds_the_store() {
    let db = filled();
    for options in [options(), read_only()] {
        let error = open(&db.store_path(), options).unwrap_err().to_string();
        assert!(error.contains(&format!("process {}", std::process::id())), "{error}");
        assert!(error.contains("in use"), "{error}");
    }
    assert_eq!(db.value("SELECT count(*) FROM t"), "20000");
    let dir = db.closed();
    open(&dir.path().join("store"), options()).unwrap();
}

#[test]
fn a_writer_is_refused_while_somebody_reads() {
    let dir = filled().closed();
    let store = dir.path().join("store");
    let reader = open(&store, read_only()).unwrap();
    let error = open(&store, options()).unwrap_err().to_string();
    assert!(error.contains(&std::process::id().to_string()), "{error}");
    drop(reader);
    open(&store, options()).unwrap();
}

#[test]
fn what_is_not_a_store_is_not_opened_and_not_changed() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("letter.txt"), "dear").unwrap();
    for options in [options(), read_only()] {
        let error = open(dir.path(), options).unwrap_err().to_string();
        assert!(error.contains("not a Quiver store"), "{error}");
    }
    let error = open(&dir.path().join("letter.txt"), options()).unwrap_err().to_string();
    assert!(error.contains("letter.txt"), "{error}");
    let error = open(&dir.path().join("none"), read_only()).unwrap_err().to_string();
    assert!(error.contains("no store"), "{error}");
    assert_eq!(super::helpers::files_below(dir.path()).len(), 1);
}

#[test]
fn a_temporary_store_goes_with_its_engine() {
    let engine = Engine::open_temporary(options()).unwrap();
    let session = engine.session().unwrap();
    wait(run(&session, "CREATE TABLE t AS SELECT 1 AS a")).unwrap();
    let path = engine.store().path().to_owned();
    assert!(path.exists());
    drop(session);
    drop(engine);
    assert!(!path.exists() && !path.parent().unwrap().exists());
}

#[test]
fn a_spill_directory_that_cannot_be_made_is_an_error_that_names_it() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("file");
    std::fs::write(&file, "").unwrap();
    let options = EngineOptions { spill_dir: Some(file.join("spill")), ..options() };
    let error = open(&dir.path().join("store"), options).unwrap_err();
    assert!(matches!(error, EngineError::SpillDir { .. }), "{error}");
    assert!(error.to_string().contains("spill"), "{error}");
}
