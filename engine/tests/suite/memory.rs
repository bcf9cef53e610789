//! Bounded memory: what does not fit spills or fails with a clear error, and the engine lives on.

use engine::{EngineError, EngineOptions};

use super::helpers::{Db, files_below, numbers, options, run, small_memory, soon, wait};

const ROWS: i64 = 600_000;

/// 600,000 rows of about 80 bytes: larger than the pool.
fn filled(options: EngineOptions) -> Db {
    let db = Db::with(options);
    db.load("t", &[], &numbers(0, ROWS));
    db
}

fn is_memory(error: &EngineError) -> bool {
    matches!(error, EngineError::Memory { .. })
}

/// Sorts of two partitions share a pool as their batches happen to come; one has the same peak each time.
fn one_thread(mib: u64) -> EngineOptions {
    EngineOptions { threads: Some(1), ..small_memory(mib) }
}

#[test]
fn a_sort_larger_than_the_pool_spills_and_is_right() {
    let db = filled(one_thread(48));
    let ran = db.run("SELECT r, s FROM t ORDER BY s DESC");
    assert!(ran.report.spilled_bytes > 0, "{:?}", ran.report);
    assert!(ran.report.peak_memory_bytes <= 48 << 20, "{:?}", ran.report);
    assert!(ran.report.to_string().contains("spilled"), "{}", ran.report);
    let expected = (0..ROWS).rev().map(|id| format!("{}|this is the text of row number {id:08}", id * 7_919 % 1_000_003));
    assert!(ran.rows().into_iter().eq(expected), "the rows in their order");
    assert!(soon(|| db.spill_files().is_empty()), "{:?}", db.spill_files());
}

#[test]
fn a_directory_to_spill_to_is_made_by_the_first_query_that_spills() {
    let db = filled(one_thread(48));
    let dir = db.store_path().join("spill");
    assert!(!dir.exists());
    let ran = db.run("SELECT r, s FROM t ORDER BY s DESC");
    assert!(ran.report.spilled_bytes > 0 && dir.exists(), "{:?}", ran.report);
}

#[test]
fn a_sort_of_narrow_rows_does_not_count_the_segment_it_reads_in_place() {
    let db = filled(small_memory(64));
    // 600,000 × 8 bytes: a thirteenth of the pool.
    let ran = db.run("SELECT r FROM t ORDER BY r");
    assert_eq!(ran.row_count() as i64, ROWS);
    assert_eq!(ran.report.spilled_bytes, 0, "{:?}", ran.report);
}

#[test]
fn a_group_by_larger_than_the_pool_spills_and_is_right() {
    let db = filled(small_memory(32));
    let ran = db.run("SELECT s, count(*) AS n, sum(id) AS total FROM t GROUP BY s");
    assert!(ran.report.spilled_bytes > 0, "{:?}", ran.report);
    let mut rows = ran.rows();
    rows.sort_unstable();
    let expected = (0..ROWS).map(|id| format!("this is the text of row number {id:08}|1|{id}"));
    assert!(rows.into_iter().eq(expected), "every group once");
    assert!(soon(|| db.spill_files().is_empty()), "{:?}", db.spill_files());
}

#[test]
fn a_table_larger_than_the_pool_is_sorted_on_its_way_in() {
    let db = filled(one_thread(64));
    db.run("CREATE TABLE sorted ORDER BY (r) AS SELECT * FROM t");
    let first: Vec<String> = (0..5).map(|id| id.to_string()).collect();
    assert_eq!(db.rows("SELECT count(*), count(DISTINCT k) FROM sorted"), ["600000|10"]);
    assert_eq!(db.rows("SELECT min(r) FROM sorted")[0], db.rows("SELECT r FROM sorted ORDER BY r LIMIT 1")[0]);
    assert!(first.contains(&db.rows("SELECT min(id) FROM sorted")[0]));
    assert_eq!(db.value("SELECT count(*) FROM (SELECT r, lag(r) OVER (ORDER BY r) AS before FROM sorted) WHERE before > r"), "0");
    assert!(soon(|| db.spill_files().is_empty()));
}

#[test]
fn a_join_that_cannot_fit_is_an_error_and_the_engine_answers_on() {
    let db = filled(small_memory(16));
    db.load("u", &[], &numbers(0, ROWS));
    for _ in 0..2 {
        let error = db.error("SELECT count(*), max(t.s), max(u.s) FROM t JOIN u ON t.r = u.r AND t.s <> u.s || 'x'");
        assert!(is_memory(&error), "{error}");
        assert!(error.hint().is_some_and(|hint| hint.contains("memory")), "{error}");
        assert_eq!(db.rows("SELECT count(*), sum(k) FROM t WHERE id >= 0"), ["600000|2700000"]);
        assert_eq!(db.rows("SELECT id FROM t ORDER BY r DESC LIMIT 1").len(), 1);
    }
    assert!(soon(|| db.spill_files().is_empty()));
}

/// DataFusion's loop goes on with what it holds on disk, and then had rows twice or not at all, or a panic (`PacedExec::run_once`).
#[test]
fn a_join_without_equal_columns_that_does_not_fit_is_an_error_and_no_other_answer() {
    let db = Db::with(EngineOptions { query_memory_limit_bytes: Some(16 << 20), threads: Some(4), ..options() });
    for statement in [
        "CREATE TABLE l (a INTEGER, s VARCHAR)",
        "CREATE TABLE r (b INTEGER)",
        "INSERT INTO l SELECT value, repeat('x', 500) || value FROM generate_series(1, 40000)",
        "INSERT INTO r VALUES (1000), (20000)",
        "SET batch_size = 1000",
    ] {
        db.run(statement);
    }
    for query in [
        "SELECT count(*) FROM l WHERE NOT EXISTS (SELECT 1 FROM (SELECT unnest([b]) AS b FROM r) AS y WHERE l.a < y.b AND l.s <> '')",
        "SELECT count(*) FROM (SELECT DISTINCT a, s FROM l) AS x JOIN (SELECT unnest([b]) AS b FROM r) AS y ON x.a < y.b AND x.s <> y.b::VARCHAR",
    ] {
        let error = db.error(query);
        assert!(is_memory(&error), "{error}");
    }
    db.run("RESET batch_size");
    assert_eq!(db.value("SELECT count(*) FROM r WHERE NOT EXISTS (SELECT 1 FROM l WHERE l.a + 20000 < r.b)"), "2");
    assert!(soon(|| db.spill_files().is_empty()));
}

#[test]
fn a_query_may_take_its_own_limit_and_no_more() {
    let db = filled(EngineOptions { query_memory_limit_bytes: Some(8 << 20), memory_limit_bytes: Some(1 << 30), ..options() });
    db.load("u", &[], &numbers(0, ROWS));
    let error = db.error("SELECT count(*), max(t.s), max(u.s) FROM t JOIN u ON t.r = u.r AND t.s <> u.s || 'x'");
    assert!(is_memory(&error), "{error}");
    assert!(error.to_string().contains("limit"), "{error}");
    assert_eq!(db.rows("SELECT count(*), sum(k) FROM t WHERE id >= 0"), ["600000|2700000"]);
}

#[test]
fn a_limit_of_a_query_makes_it_spill() {
    let db = filled(EngineOptions { query_memory_limit_bytes: Some(32 << 20), memory_limit_bytes: Some(4 << 30), ..options() });
    let ran = db.run("SELECT count(*) FROM (SELECT s, count(*) AS n FROM t GROUP BY s)");
    assert_eq!(ran.rows(), ["600000"]);
    assert!(ran.report.spilled_bytes > 0, "{:?}", ran.report);
    assert!(ran.report.peak_memory_bytes <= 48 << 20, "{:?}", ran.report);
}

#[test]
fn a_query_that_failed_or_was_dropped_gives_its_memory_back() {
    let db = filled(small_memory(48));
    let group_by = "SELECT r % 200000 AS g, count(*) AS n FROM t GROUP BY 1";
    let alone = db.run(group_by).report.spilled_bytes;
    for _ in 0..3 {
        let _ = db.try_run("SELECT max(a.s || b.s) FROM t a JOIN t b ON a.r = b.r + 1");
        let output = wait(db.session.execute("SELECT s, r FROM t ORDER BY s")).unwrap();
        drop(output);
    }
    assert!(db.run(group_by).report.spilled_bytes <= alone + alone / 4, "memory is still held");
}

#[test]
fn queries_at_once_share_the_pool() {
    let db = filled(small_memory(64));
    let sessions: Vec<_> = (0..3).map(|_| db.engine.session().unwrap()).collect();
    let all = wait(async {
        let queries =
            sessions.iter().map(|session| run(session, "SELECT count(*), sum(n) FROM (SELECT s, count(*) AS n FROM t GROUP BY s)"));
        futures::future::join_all(queries).await
    });
    let mut answered = 0;
    for ran in all {
        match ran {
            Ok(ran) => {
                assert_eq!(ran.rows(), ["600000|600000"]);
                answered += 1;
            }
            Err(error) => assert!(is_memory(&error), "{error}"),
        }
    }
    assert!(answered > 0, "one of them at least fits");
    assert_eq!(db.value("SELECT count(*) FROM t WHERE id >= 0"), "600000");
}

#[test]
fn spilled_bytes_go_where_they_are_told() {
    let spill = tempfile::tempdir().unwrap();
    let db = filled(EngineOptions { spill_dir: Some(spill.path().join("here")), ..one_thread(48) });
    wait(async {
        use futures::StreamExt;
        let mut output = db.session.execute("SELECT s, r FROM t ORDER BY s DESC").await.unwrap();
        output.next().await.unwrap().unwrap();
        assert!(!files_below(spill.path()).is_empty());
        assert!(output.report().spilled_bytes > 0);
    });
    assert!(db.spill_files().is_empty());
    assert!(soon(|| files_below(spill.path()).is_empty()), "{:?}", files_below(spill.path()));
}

#[test]
fn what_a_killed_process_spilled_is_removed_by_the_next_engine() {
    let db = Db::new();
    let old_directory = db.store_path().join("spill/datafusion-left");
    std::fs::create_dir_all(&old_directory).unwrap();
    std::fs::write(old_directory.join("x.arrow"), [0; 100]).unwrap();
    let db = db.reopened();
    assert!(db.spill_files().is_empty(), "{:?}", db.spill_files());
}

#[test]
fn scans_and_small_aggregates_need_hardly_any_memory() {
    let db = filled(small_memory(4));
    assert_eq!(db.rows("SELECT k, count(*) FROM t GROUP BY k ORDER BY k LIMIT 1"), ["0|60000"]);
    assert_eq!(db.rows("SELECT id FROM t WHERE s LIKE '%00599999'"), ["599999"]);
    assert_eq!(db.rows("SELECT sum(r), max(s) FROM t WHERE k < 5")[0].split('|').nth(1), Some("this is the text of row number 00599994"));
}
