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
    let error = open(&db.store_path(), options()).unwrap_err();
    assert!(error.hint().is_some_and(|hint| hint.contains("--read-only")), "{error}");
    let error = error.to_string();
    assert!(error.contains(&format!("process {}", std::process::id())), "{error}");
    assert!(error.contains("in use"), "{error}");
    assert_eq!(db.value("SELECT count(*) FROM t"), "20000");
    let dir = db.closed();
    open(&dir.path().join("store"), options()).unwrap();
}

#[test]
fn a_reader_beside_a_writer_has_what_was_committed_when_it_opened_the_store() {
    let db = filled();
    db.script("BEGIN; INSERT INTO s.u VALUES (9, 'open')");
    let reader = open(&db.store_path(), read_only()).unwrap();
    let session = reader.session().unwrap();
    let rows = |sql: &str| wait(run(&session, sql)).unwrap().rows();
    db.script("COMMIT; INSERT INTO s.u VALUES (3, 'z'); DELETE FROM t; DROP VIEW v; OPTIMIZE TABLE t; ALTER SYSTEM SET retention = '0'");
    assert_eq!(rows("SELECT a FROM s.u ORDER BY a"), ["1", "2"]);
    assert_eq!(rows("SELECT count(*), sum(id) FROM t"), ["20000|199990000"]);
    assert_eq!(rows("SELECT * FROM v ORDER BY k"), ["0", "1", "2", "3", "4"]);
    let error = wait(run(&session, "INSERT INTO s.u VALUES (4, 'w')")).unwrap_err().to_string();
    assert!(error.contains("read-only"), "{error}");
    let later = open(&db.store_path(), read_only()).unwrap();
    let ran = wait(run(&later.session().unwrap(), "SELECT count(*) FROM s.u")).unwrap();
    assert_eq!(ran.rows(), ["4"]);
}

#[test]
fn a_reader_outlives_the_writer_that_gave_it_the_store() {
    let db = filled();
    let path = db.store_path();
    let reader = open(&path, read_only()).unwrap();
    db.run("DROP TABLE t");
    let db = db.reopened();
    db.run("CREATE TABLE t AS SELECT 1 AS id");
    let ran = wait(run(&reader.session().unwrap(), "SELECT count(*) FROM t WHERE id >= 0")).unwrap();
    assert_eq!(ran.rows(), ["20000"]);
    assert_eq!(db.value("SELECT count(*) FROM t"), "1");
    drop(reader);
    assert!(!path.join("requests").exists());
}

#[test]
fn a_reader_is_served_while_a_backup_is_made() {
    let db = filled();
    let to = std::path::PathBuf::from(db.file("stuck"));
    std::fs::create_dir(&to).unwrap();
    // Nobody reads the pipe in the place of a file of the backup.
    let pipe = to.join("quiver-backup.new");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let (path, patience) = (db.store_path(), std::time::Duration::from_secs(30));
    std::thread::scope(|scope| {
        let backup = scope.spawn(|| engine::backup::back_up(&path, &to, false, patience, &mut |_| std::ops::ControlFlow::Continue(())));
        std::thread::sleep(std::time::Duration::from_secs(1));
        let reader = open(&path, read_only()).unwrap();
        assert!(!backup.is_finished());
        let ran = wait(run(&reader.session().unwrap(), "SELECT count(*) FROM s.u")).unwrap();
        assert_eq!(ran.rows(), ["2"]);
        let mut released = std::fs::File::open(&pipe).unwrap();
        let _ = std::io::Read::read_to_end(&mut released, &mut Vec::new());
        // The pipe cannot be synced.
        assert!(backup.join().unwrap().is_err());
    });
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
