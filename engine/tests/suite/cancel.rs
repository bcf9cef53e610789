//! Dropping the output of a statement stops its work at once and leaves nothing behind.

use std::time::{Duration, Instant};

use futures::StreamExt;
use tokio::runtime::{Builder, Runtime};

use super::helpers::{Db, numbers, soon};

/// How long a query may go on working after it was dropped, in a quiet system and here.
/// Each of these queries would work for minutes. How soon it stops is measured by hand, not asserted:
/// a loaded machine is late by itself.
const STOP_LIMIT: Duration = Duration::from_secs(5);

/// A runtime whose threads can be told from those of other tests.
struct Watched {
    runtime: Option<Runtime>,
    name: &'static str,
}

impl Drop for Watched {
    fn drop(&mut self) {
        // Without waiting for what did not stop.
        self.runtime.take().unwrap().shutdown_background();
    }
}

impl Watched {
    /// `name`: of at most 15 bytes, which is what the kernel keeps.
    fn new(name: &'static str) -> Watched {
        let runtime = Builder::new_multi_thread().worker_threads(2).thread_name(name).enable_all().build().unwrap();
        Watched { runtime: Some(runtime), name }
    }

    fn block_on<F: Future>(&self, future: F) -> F::Output {
        self.runtime.as_ref().unwrap().block_on(future)
    }

    /// What its threads have worked, from the clock ticks (10 ms) of each.
    fn cpu(&self) -> Duration {
        let tasks = std::fs::read_dir("/proc/self/task").unwrap().flatten();
        let ticks = tasks.filter_map(|task| {
            let comm = std::fs::read_to_string(task.path().join("comm")).ok()?;
            if comm.trim_end() != self.name {
                return None;
            }
            let stat = std::fs::read_to_string(task.path().join("stat")).ok()?;
            let fields: Vec<&str> = stat.rsplit_once(") ")?.1.split(' ').collect();
            Some(fields[11].parse::<u64>().ok()? + fields[12].parse::<u64>().ok()?)
        });
        Duration::from_millis(10 * ticks.sum::<u64>())
    }
}

fn filled() -> Db {
    let db = Db::new();
    db.load("t", &[], &numbers(0, 100_000));
    db.run("CREATE TABLE sink (a bigint)");
    db
}

/// Whether a window without work comes soon.
fn falls_idle(watched: &Watched) -> bool {
    let began = Instant::now();
    while began.elapsed() < STOP_LIMIT {
        let before = watched.cpu();
        std::thread::sleep(Duration::from_millis(300));
        if watched.cpu() - before <= Duration::from_millis(30) {
            return true;
        }
    }
    false
}

/// Lets the statement run for a while, drops it, and sees that nobody works for it any more.
fn stops(db: &Db, name: &'static str, sql: &str) {
    let watched = Watched::new(name);
    let dropped = watched.block_on(async {
        let mut output = db.session.execute(sql).await.unwrap();
        let begun = Instant::now();
        let end = tokio::time::sleep(Duration::from_millis(400));
        tokio::pin!(end);
        loop {
            tokio::select! {
                _ = &mut end => break,
                next = output.next() => assert!(next.is_some_and(|batch| batch.is_ok()), "{sql} ended before it was dropped"),
            }
        }
        let late = begun.elapsed().saturating_sub(Duration::from_millis(400));
        assert!(late < STOP_LIMIT, "whoever polls was kept busy {late:?} too long: {sql}");
        let start = Instant::now();
        drop(output);
        start.elapsed()
    });
    assert!(dropped < STOP_LIMIT, "dropping took {dropped:?}: {sql}");
    assert!(falls_idle(&watched), "it works on after the end of: {sql}");
    assert!(soon(|| db.spill_files().is_empty()), "{:?}", db.spill_files());
    assert_eq!(db.value("SELECT count(*) FROM t WHERE id >= 0"), "100000");
}

#[test]
fn a_cross_join_stops() {
    stops(&filled(), "q-cross", "SELECT count(*) FROM t a CROSS JOIN t b WHERE a.r + b.r = -1");
}

#[test]
fn a_join_that_yields_rows_without_end_stops() {
    stops(&filled(), "q-join", "SELECT sum(a.r * b.r % 7) FROM t a JOIN t b ON a.k = b.k");
}

#[test]
fn a_stream_of_rows_stops() {
    stops(&filled(), "q-rows", "SELECT a.s || b.s FROM t a JOIN t b ON a.k = b.k");
}

#[test]
fn a_sort_stops_and_removes_what_it_spilled() {
    stops(&filled(), "q-sort", "SELECT a.s FROM t a JOIN t b ON a.k = b.k ORDER BY a.r + b.r");
}

#[test]
fn a_group_by_stops() {
    stops(&filled(), "q-group", "SELECT a.r + b.r AS g, count(*) FROM t a JOIN t b ON a.k = b.k GROUP BY 1");
}

#[test]
fn a_window_stops() {
    stops(&filled(), "q-window", "SELECT max(n) FROM (SELECT sum(a.id) OVER (PARTITION BY a.k ORDER BY b.r) AS n FROM t a JOIN t b ON a.k = b.k)");
}

#[test]
fn a_recursive_query_stops() {
    stops(&filled(), "q-recursive", "WITH RECURSIVE n AS (SELECT 1 AS a UNION ALL SELECT a + 1 FROM n WHERE a < 1000000000) SELECT count(*) FROM n");
}

#[test]
fn a_scan_stops() {
    let db = filled();
    db.load("big", &[], &numbers(0, 1_000_000));
    let slow = "SELECT count(*) FROM big WHERE regexp_like(repeat(s, 200), '(a|e|i|o|u).*(x|y|z)[0-9]{3}$')";
    stops(&db, "q-scan", slow);
}

#[test]
fn an_insert_stops_and_leaves_no_rows_and_no_files() {
    let db = filled();
    let before = db.segment_files();
    stops(&db, "q-insert", "INSERT INTO sink SELECT a.r + b.r FROM t a JOIN t b ON a.k = b.k");
    assert!(soon(|| db.segment_files() == before), "{:?}", db.segment_files());
    assert_eq!(db.value("SELECT count(*) FROM sink"), "0");
    db.run("INSERT INTO sink VALUES (1)");
}

#[test]
fn a_table_made_from_a_query_stops_and_leaves_nothing() {
    let db = filled();
    let before = db.segment_files();
    let watched = Watched::new("q-ctas");
    watched.block_on(async {
        // All of it runs inside `execute`: giving up waiting is what cancels it.
        let made = db.session.execute("CREATE TABLE made AS SELECT a.r + b.r AS x FROM t a JOIN t b ON a.k = b.k");
        assert!(tokio::time::timeout(Duration::from_millis(400), made).await.is_err());
    });
    assert!(falls_idle(&watched));
    assert!(soon(|| db.segment_files() == before), "{:?}", db.segment_files());
    assert_eq!(db.session.table_names(), ["sink", "t"]);
}

#[test]
fn a_copy_to_a_file_stops_and_leaves_no_file() {
    let db = filled();
    for suffix in ["parquet", "csv"] {
        let file = db.file(&format!("out.{suffix}"));
        stops(&db, "q-copy", &format!("COPY (SELECT a.s, b.r FROM t a JOIN t b ON a.k = b.k) TO '{file}'"));
        let left = || std::fs::read_dir(db.file("")).unwrap().flatten().any(|entry| entry.file_name().to_str().unwrap().starts_with("out."));
        assert!(soon(|| !left()), "a piece of {file} is left");
    }
}

#[test]
fn a_statement_never_polled_never_runs() {
    let db = filled();
    let watched = Watched::new("q-unpolled");
    watched.block_on(async {
        let output = db.session.execute("SELECT k, sum(r), max(s) FROM t WHERE id >= 0 GROUP BY k").await.unwrap();
        tokio::time::sleep(Duration::from_millis(200)).await;
        assert_eq!(output.report().rows_scanned, 0);
    });
    assert!(watched.cpu() <= Duration::from_millis(30));
}
