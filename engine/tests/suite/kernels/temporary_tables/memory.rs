//! The memory of temporary tables: counted as long as they live, and not where the rows lie in a segment.

use std::fs::OpenOptions;
use std::sync::Arc;

use engine::EngineError;

use super::on;
use crate::helpers::{Db, in_a_process_of_its_own, numbers, small_memory, soon};
use crate::running::{ended, in_state, listed, session, spawned};

/// 2,000,000 rows of 8 bytes.
const SERIES: &str = "SELECT value AS a FROM generate_series(1, 2000000) AS t (value)";

#[test]
fn a_table_larger_than_memory_is_an_error_that_names_the_limit_and_frees_all() {
    let db = Db::with(small_memory(24));
    let big = SERIES.replace("2000000", "20000000");
    for sql in [format!("CREATE VOLATILE TABLE c AS {big}"), format!("WITH x AS ({big}) SELECT * INTO VOLATILE c FROM x")] {
        let error = db.error(&sql);
        assert!(matches!(error, EngineError::Memory { .. }), "{error}");
        let text = error.to_string();
        assert!(text.contains("limit of 25.2 MB") && text.contains("SELECT … INTO TABLE c"), "{text}");
    }
    assert!(db.session.tables().unwrap().is_empty());
    // All of it is there again for the next one.
    db.run(&format!("CREATE VOLATILE TABLE c AS {SERIES}"));
    assert_eq!(db.rows("SELECT count(*), sum(a) FROM c"), ["2000000|2000001000000"]);
    let error = db.error(&format!("INSERT INTO c {SERIES}"));
    assert!(matches!(error, EngineError::Memory { .. }), "{error}");
    assert_eq!(db.rows("SELECT count(*) FROM c"), ["2000000"]);
    db.run(&format!("CREATE TABLE stored AS {big}"));
}

#[test]
fn memory_is_held_until_the_table_or_its_session_is_dropped() {
    let db = Db::with(small_memory(24));
    let create = |name: &str| format!("CREATE VOLATILE TABLE {name} AS {SERIES}");
    let other = db.engine.session().unwrap();
    on(&other, &create("c"));
    db.error(&create("d"));
    on(&other, "DROP TABLE c");
    db.run(&create("d"));
    assert!(crate::helpers::wait(crate::helpers::run(&other, &create("c"))).is_err());
    db.run("CREATE OR REPLACE VOLATILE TABLE d AS SELECT 1 AS a");
    on(&other, &create("c"));
    drop(other);
    db.run(&create("e"));
}

#[test]
fn rows_in_a_segment_stay_there_and_take_no_memory() {
    let db = Db::with(small_memory(16));
    // Of about 80 bytes each: three times the pool.
    db.load_plain("t", &numbers(0, 600_000));
    let output = db.run("SELECT * INTO VOLATILE c FROM t");
    assert!(output.report.peak_memory_bytes < 4 << 20, "{:?}", output.report);
    let segments = db.segments("t");
    let found = db.run("SELECT r, s FROM c");
    for batch in &found.batches {
        let buffer = batch.column(0).to_data().buffers()[0].clone();
        assert!(segments.iter().any(|segment| segment.mapping().unwrap().contains(buffer.as_ptr(), buffer.len())));
    }
    db.run("SELECT * INTO VOLATILE d FROM c WHERE k < 20");
    assert_eq!(db.rows("SELECT count(*), sum(id) FROM d"), db.rows("SELECT count(*), sum(id) FROM t"));
}

#[test]
fn rows_stay_when_their_segment_is_dropped() {
    let db = Db::new();
    db.load("t", &[], &numbers(0, 100_000));
    db.run("CREATE VOLATILE TABLE c AS SELECT id, s FROM t");
    let expected = db.rows("SELECT count(*), sum(id), min(s), max(s) FROM t");
    db.script("ALTER SYSTEM SET retention = '0'; DELETE FROM t WHERE k < 9; OPTIMIZE TABLE t; DROP TABLE t");
    assert!(soon(|| db.segment_files().is_empty()), "{:?}", db.segment_files());
    assert_eq!(db.rows("SELECT count(*), sum(id), min(s), max(s) FROM c"), expected);
}

#[test]
fn a_segment_cut_short_under_a_temporary_table_is_an_error() {
    in_a_process_of_its_own("kernels::temporary_tables::memory::a_segment_cut_short_under_a_temporary_table_is_an_error", || {
        let db = Db::new();
        db.load_plain("t", &numbers(0, 300_000));
        db.run("CREATE VOLATILE TABLE c AS SELECT id, r FROM t");
        db.run("CREATE VOLATILE TABLE d AS SELECT id FROM c");
        let path = db.table("t").segments()[0].path().to_owned();
        OpenOptions::new().write(true).open(&path).unwrap().set_len(4_096).unwrap();
        let name = path.file_name().unwrap().to_str().unwrap();
        for sql in [
            "SELECT sum(r) FROM c",
            "SELECT sum(id) FROM d",
            "INSERT INTO c SELECT id, id FROM d WHERE id > 5",
            "SELECT r FROM c ORDER BY r LIMIT 1",
        ] {
            let error = db.error(sql).to_string();
            assert!(error.contains(name), "{sql}: {error}");
        }
        db.run("CREATE OR REPLACE VOLATILE TABLE c AS SELECT 1 AS a");
        assert_eq!(db.rows("SELECT a FROM c"), ["1"]);
    });
}

#[test]
fn a_statement_that_is_killed_makes_no_table_and_adds_no_row() {
    let db = Db::with(small_memory(24));
    let session = session(&db.engine);
    on(&session, "CREATE VOLATILE TABLE c (a BIGINT)");
    let silent = crate::running::SILENT.replace("count(*)", "value AS a");
    for sql in [format!("CREATE VOLATILE TABLE d AS {silent}"), format!("INSERT INTO c {silent}")] {
        let task = spawned(&session, &sql);
        db.run(&format!("KILL {}", in_state(&db, &sql[..20], "running")));
        assert_eq!(ended(task).unwrap_err().to_string(), "the statement was ended by KILL");
        assert_eq!(listed(&db), 0);
    }
    assert_eq!(on(&session, "SELECT count(*) FROM c").rows(), ["0"]);
    assert_eq!(on(&session, "SELECT table_name FROM system.tables").rows(), ["c"]);
    let limited = Arc::clone(&session);
    on(&limited, "SET quiver.statement_timeout_ms = 200");
    let late = crate::helpers::wait(crate::helpers::run(&limited, &format!("SELECT * INTO VOLATILE d FROM ({silent}) AS x"))).unwrap_err();
    assert!(matches!(late, EngineError::TimedOut { .. }), "{late}");
}

#[test]
fn a_kernel_does_not_count_again_what_a_temporary_table_holds() {
    let db = Db::with(small_memory(24));
    // 16 MB of 25.2 MB.
    db.run(&format!("CREATE VOLATILE TABLE c AS {SERIES}"));
    let ran = db.run("SELECT size FROM kmeans('temp.c', 'a', init => [[0.0]], iterations => 2)");
    assert_eq!(ran.rows(), ["2000000"]);
    assert!(ran.report.peak_memory_bytes < 8 << 20, "{:?}", ran.report);
}
