//! What happens by itself, and how it ends.

use std::time::{Duration, Instant};

use engine::{Engine, MaintenanceOptions};

use super::super::helpers::{Db, files_below, numbers, run, wait};
use super::{eventually, insert, quick, segment_count, slowly_compacted, states, thousands, with};

#[test]
fn a_log_without_new_rows_becomes_a_segment() {
    let db = Db::with(with(quick()));
    db.script("CREATE TABLE t (i INT); INSERT INTO t VALUES (1), (2)");
    assert!(eventually(|| db.rows("SELECT kind, row_count FROM system.segments") == ["segment|2"]));
    assert_eq!(db.rows("SELECT i FROM t"), ["1", "2"]);
    db.run("DELETE FROM t WHERE i = 1");
    assert_eq!(db.reopened().rows("SELECT i FROM t"), ["2"]);
}

#[test]
fn a_large_log_does_not_wait() {
    let db = Db::with(with(MaintenanceOptions { seal_after_ms: 3_600_000, ..quick() }));
    db.run("CREATE TABLE t (s VARCHAR)");
    for _ in 0..8 {
        db.run("INSERT INTO t SELECT repeat('x', 1000) || value FROM generate_series(1, 800) AS g(value)");
    }
    assert!(eventually(|| db.value("SELECT count(*) FROM system.segments WHERE kind = 'segment'") != "0"));
    assert_eq!(db.value("SELECT count(*) FROM t"), "6400");
}

#[test]
fn many_small_writes_leave_few_segments() {
    let db = Db::with(with(quick()));
    db.script("CREATE TABLE t (i BIGINT, s VARCHAR); CREATE TABLE u (i BIGINT, s VARCHAR) ORDER BY (i DESC)");
    for at in 0..40 {
        for table in ["t", "u"] {
            db.run(&insert(table, at));
        }
        db.run("CHECKPOINT");
    }
    for table in ["t", "u"] {
        assert!(eventually(|| segment_count(&db, table) < 16), "{}", segment_count(&db, table));
        assert_eq!(db.rows(&format!("SELECT count(*), sum(i), count(DISTINCT s) FROM {table}")), ["40000|799980000|40000"]);
    }
    assert!(eventually(|| db.value("SELECT count(*) FROM system.compactions WHERE state IN ('due', 'running')") == "0"));
    let runs = "SELECT bool_and(finished_at >= started_at), min(segments_before) > 0, sum(row_count) >= 40000, bool_and(bytes_after > 0) \
                FROM system.compactions WHERE state = 'done' AND started_by = 'background'";
    assert_eq!(db.rows(runs), ["true|true|true|true"]);
}

#[test]
fn tags_and_blobs_are_found_after_their_tables_were_compacted() {
    let db = Db::with(with(quick()));
    for at in 0..30 {
        let rows = "concat('b', i) AS name, CAST(repeat('x', i) AS BYTEA) AS content, i AS n, 'all' AS label";
        db.run(&format!("COPY BLOBS FROM (SELECT {rows} FROM range({}, {}) AS r(i))", at * 50, at * 50 + 50));
        db.run("CHECKPOINT");
    }
    db.run("TAG OBJECTS WHERE n < 100 SET (label = 'few')");
    let segments = |name: &str| -> Vec<pmem_store::TableSegment> {
        db.engine.store().snapshot().unwrap().table("system", name).unwrap().unwrap().segments().to_vec()
    };
    // Up to seven of each of a few sizes stay, however the compactions fall among the writes.
    let are_few = eventually(|| segments("objects").len() < 24 && segments("blobs").len() < 24);
    assert!(are_few, "{} and {}", segments("objects").len(), segments("blobs").len());
    assert!(segments("objects").iter().all(|segment| segment.open().unwrap().attribute_index().unwrap().is_some()));
    assert_eq!(db.rows("FIND BLOBS WHERE n BETWEEN 95 AND 104").len(), 10);
    assert_eq!(db.rows("FIND BLOBS WHERE label = 'few' AND n > 89").len(), 10);
    assert_eq!(db.rows("SELECT count(*), sum(octet_length(content)) FROM system.blobs"), ["1500|1124250"]);
    assert_eq!(db.rows("SELECT octet_length(content) FROM system.blobs WHERE name = 'b777'"), ["777"]);
}

#[test]
fn much_deleted_segments_are_rewritten_and_dead_ones_dropped() {
    let db = Db::with(with(quick()));
    db.load("t", &[], &numbers(0, 50_000));
    db.load("t", &[], &numbers(50_000, 100_000));
    db.run("DELETE FROM t WHERE id < 50000 OR k < 5");
    assert!(eventually(|| db.rows("SELECT segment_count, deleted_rows FROM system.tables") == ["1|0"]));
    assert_eq!(db.rows("SELECT count(*), min(id), min(k) FROM t"), ["25000|50005|5"]);
}

#[test]
fn nothing_happens_by_itself_where_it_is_switched_off() {
    let db = Db::new();
    thousands(&db, 10);
    assert_eq!(db.rows("SELECT state, segments_before, started_by FROM system.compactions"), ["due|10|NULL"]);
    assert_eq!(
        db.rows("SELECT value FROM system.settings WHERE name IN ('maintenance', 'compaction_rate') ORDER BY name"),
        ["104857600", "false"]
    );
    std::thread::sleep(Duration::from_millis(200));
    assert_eq!((segment_count(&db, "t"), states(&db)), (10, Vec::new()));
}

#[test]
fn what_another_process_left_to_do_is_done_although_nobody_touches_the_table() {
    let db = Db::new();
    thousands(&db, 10);
    db.load("tidy", &[], &numbers(0, 50_000));
    let db = db.reopened_with(with(MaintenanceOptions { backlog_after_ms: 20, ..quick() }));
    let in_use = || db.engine.store().snapshot().unwrap().tables_in_use().into_iter().map(|table| table.name).collect::<Vec<_>>();
    assert!(eventually(|| in_use() == ["t"]), "{:?}", in_use());
    assert!(eventually(|| segment_count(&db, "t") == 1), "{}", segment_count(&db, "t"));
    assert_eq!(db.rows("SELECT count(*), sum(i) FROM t"), ["10000|49995000"]);
}

#[test]
fn an_engine_that_is_dropped_does_not_wait_for_a_compaction_and_leaves_nothing_of_it() {
    let db = Db::new();
    thousands(&db, 10);
    let files = db.segment_files();
    let db = slowly_compacted(db);
    let started = Instant::now();
    let dir = db.closed();
    // It takes hours.
    assert!(started.elapsed() < Duration::from_secs(20));
    let engine = Engine::open(&dir.path().join("store"), with(quick())).unwrap();
    assert_eq!(files_below(&dir.path().join("store/segments")), files);
    drop(engine);
}

#[test]
fn a_compaction_on_demand_takes_the_place_of_one_in_the_background() {
    let db = Db::new();
    thousands(&db, 10);
    let db = slowly_compacted(db);
    assert!(db.run("OPTIMIZE TABLE t").text().starts_with("10|1|"));
    assert_eq!(states(&db), ["stopped", "done"]);
    assert_eq!(db.rows("SELECT count(*), sum(i) FROM t"), ["10000|49995000"]);
}

#[test]
fn logs_are_sealed_while_a_long_compaction_runs() {
    let db = Db::new();
    thousands(&db, 10);
    let db = slowly_compacted(db);
    db.run("INSERT INTO wakes VALUES (1)");
    assert!(eventually(|| db.rows("SELECT kind FROM system.segments WHERE table_name = 'wakes'") == ["segment"]));
    assert_eq!(states(&db), ["running"]);
}

#[test]
fn versions_expire_when_nobody_commits() {
    let db = Db::with(with(quick()));
    thousands(&db, 1);
    db.run("ALTER SYSTEM SET retention = '1 second'");
    db.run("DELETE FROM t WHERE i < 900");
    assert!(eventually(|| db.rows("SELECT count(*), max(kept_bytes) FROM system.snapshots") == ["1|0"]));
    assert_eq!(db.rows("SELECT count(*) FROM t"), ["100"]);
}

#[test]
fn a_damaged_segment_is_not_compacted_and_says_why() {
    let db = Db::new();
    db.load("good", &[], &numbers(0, 50_000));
    db.load("bad", &[], &numbers(0, 50_000));
    db.run("DELETE FROM good WHERE id < 20000");
    db.run("DELETE FROM bad WHERE id < 20000");
    let file = db.table("bad").segments()[0].path().to_owned();
    let dir = db.closed();
    let mut bytes = std::fs::read(&file).unwrap();
    bytes[200_000] ^= 0x10;
    std::fs::write(&file, bytes).unwrap();
    let engine = Engine::open(&dir.path().join("store"), with(quick())).unwrap();
    let session = engine.session().unwrap();
    let rows = |sql: &str| wait(run(&session, sql)).unwrap().rows();
    rows("SELECT count(*) FROM good WHERE k >= 0");
    rows("SELECT count(*) FROM bad WHERE s <> ''");
    rows("CREATE TABLE wakes (i INT)");
    let sql = "SELECT table_name, state, message LIKE '%damaged%' FROM system.compactions ORDER BY 1, 2";
    assert!(eventually(|| rows(sql) == ["bad|due|NULL", "bad|failed|true", "good|done|NULL"]), "{:?}", rows(sql));
    assert_eq!(rows("SELECT count(*), sum(k) FROM good"), ["30000|135000"]);
}
