//! Dropping the output of a statement stops its work at once and leaves nothing behind, also in the
//! middle of a batch.

use std::time::{Duration, Instant};

use futures::StreamExt;
use tokio::runtime::{Builder, Runtime};

use super::helpers::{Db, numbers, soon, wait};

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

pub fn filled() -> Db {
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
pub fn stops(db: &Db, name: &'static str, sql: &str) {
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
    stops(
        &filled(),
        "q-window",
        "SELECT max(n) FROM (SELECT sum(a.id) OVER (PARTITION BY a.k ORDER BY b.r) AS n FROM t a JOIN t b ON a.k = b.k)",
    );
}

#[test]
fn a_window_that_was_left_does_not_end_the_next_one() {
    let db = filled();
    let window = "sum(r) OVER (ORDER BY id ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING) AS a, \
                  first_value(r) OVER (ORDER BY id ROWS BETWEEN 9 PRECEDING AND UNBOUNDED FOLLOWING) AS b";
    db.script(&format!("CREATE VIEW v AS SELECT id, {window} FROM t; PREPARE p AS SELECT id, {window} FROM t"));
    let twice =
        format!("WITH w AS (SELECT id, {window} FROM t) SELECT one.id, one.a, two.b FROM w AS one JOIN w AS two ON one.id = two.id");
    for sql in ["SELECT * FROM v", "EXECUTE p", twice.as_str()] {
        for _ in 0..3 {
            let row_count = wait(async {
                let mut output = db.session.execute(sql).await.unwrap();
                output.next().await.unwrap().unwrap().num_rows()
            });
            assert!(row_count > 0);
            assert_eq!(db.run(sql).row_count(), 100_000, "{sql}");
        }
    }
}

#[test]
fn a_recursive_query_stops() {
    stops(
        &filled(),
        "q-recursive",
        "WITH RECURSIVE n AS (SELECT 1 AS a UNION ALL SELECT a + 1 FROM n WHERE a < 1000000000) SELECT count(*) FROM n",
    );
}

#[test]
fn a_scan_stops() {
    let db = filled();
    db.load("big", &[], &numbers(0, 1_000_000));
    // Without a `$` at its end, from which it would be searched backwards and be done at once: so it was here, and a quick
    // machine came to the end of the table before the query was dropped.
    let slow = "SELECT count(*) FROM big WHERE regexp_like(repeat(s, 1000), '[aeiou][^q]*[w-z ][0-9]{9}')";
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
        let statement = db.session.execute("CREATE TABLE made AS SELECT a.r + b.r AS x FROM t a JOIN t b ON a.k = b.k");
        assert!(tokio::time::timeout(Duration::from_millis(400), statement).await.is_err());
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
        let has_output =
            || std::fs::read_dir(db.file("")).unwrap().flatten().any(|entry| entry.file_name().to_str().unwrap().starts_with("out."));
        assert!(soon(|| !has_output()), "a piece of {file} is left");
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

/// A table of one zone, whose texts are dear to search.
fn texts() -> Db {
    let db = Db::new();
    let rows = "SELECT value AS id, repeat(md5(CAST(value AS varchar)), 150) AS body FROM generate_series(1, 8192) AS g(value)";
    db.run(&format!("CREATE TABLE texts AS {rows}"));
    db
}

/// More states than the automaton of a regular expression keeps.
const DEAR: &str = "'[a-c].{40}[0-5].{40}z'";

#[test]
fn a_dear_filter_gives_way_within_a_zone() {
    let db = texts();
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    let turns = runtime.block_on(async {
        let sql = format!("SELECT count(*) FROM texts WHERE regexp_like(body, {DEAR})");
        let mut output = db.session.execute(&sql).await.unwrap();
        let mut turns = 0;
        loop {
            // All tasks share this thread: whenever it comes here, the scan has given way.
            tokio::select! {
                biased;
                batch = output.next() => {
                    batch.unwrap().unwrap();
                    break turns;
                }
                () = tokio::task::yield_now() => {}
            }
            // From its start on, all of the zone counts as scanned.
            turns += usize::from(output.report().rows_scanned == 8192);
        }
    });
    assert!(turns >= 8, "{turns} turns");
}

/// Lets the statement run until all of its rows are at work, drops it, and sees that most of its work
/// is never done.
fn leaves_most_undone(db: &Db, watched: &Watched, sql: &str, rows: u64) {
    let before = watched.cpu();
    watched.block_on(async {
        let mut output = db.session.execute(sql).await.unwrap();
        while let Some(batch) = output.next().await {
            batch.unwrap();
        }
    });
    let in_full = watched.cpu() - before;
    assert!(in_full > Duration::from_millis(100), "too cheap to be seen: {in_full:?} for {sql}");
    let before = watched.cpu();
    watched.block_on(async {
        let mut output = db.session.execute(sql).await.unwrap();
        // Rows of values that may be large come few at a time: the first may be there already.
        assert!(!matches!(futures::poll!(output.next()), std::task::Poll::Ready(None)), "{sql}");
        let polled = Instant::now();
        while output.report().rows_scanned < rows && polled.elapsed() < STOP_LIMIT {
            std::thread::sleep(Duration::from_millis(1));
        }
        drop(output);
    });
    assert!(falls_idle(watched), "it works on after the end of: {sql}");
    let done = watched.cpu() - before;
    assert!(done < in_full * 2 / 3, "{done:?} after {in_full:?} in full: {sql}");
}

#[test]
fn dear_expressions_stop_within_a_batch() {
    let db = texts();
    let watched = Watched::new("q-dear");
    let cut = "regexp_replace(body, '[a-f]+', 'x', 'g')";
    for sql in [
        format!("SELECT count(*) FROM texts WHERE regexp_like(body, {DEAR})"),
        format!("SELECT id, {cut} FROM texts"),
        format!("SELECT sum(length({cut})) FROM texts"),
        format!("SELECT {cut} AS g, count(*) FROM texts GROUP BY 1"),
        format!("SELECT id FROM texts ORDER BY {cut}"),
        format!("SELECT id FROM texts ORDER BY {cut} LIMIT 3"),
        format!("SELECT id FROM texts GROUP BY id, body HAVING regexp_like(body, {DEAR})"),
        format!("SELECT sum(id) FILTER (WHERE regexp_like(body, {DEAR})) FROM texts"),
        format!("SELECT max(n) FROM (SELECT sum(length({cut})) OVER (ORDER BY id) AS n FROM texts)"),
        format!("SELECT max(n) FROM (SELECT rank() OVER (PARTITION BY {cut} ORDER BY id) AS n FROM texts)"),
    ] {
        leaves_most_undone(&db, &watched, &sql, 8192);
    }
    let joined = format!("SELECT count(*) FROM texts a JOIN texts b ON a.id = b.id AND regexp_like(a.body || b.body, {DEAR})");
    leaves_most_undone(&db, &watched, &joined, 2 * 8192);
}

#[test]
fn what_a_sort_holds_comes_out_with_pauses() {
    let db = Db::new();
    db.load("t", &[], &numbers(0, 1_000_000));
    let sql = "SELECT max(n) FROM (SELECT rank() OVER (PARTITION BY k ORDER BY s, id) AS n FROM t)";
    leaves_most_undone(&db, &Watched::new("q-sorted"), sql, 1_000_000);
}

#[test]
fn what_lets_a_query_stop_does_not_show_in_its_plan() {
    let db = filled();
    let join = "t a JOIN t b ON a.id = b.id AND a.s || b.s LIKE '%1%2%'";
    let plan = db.run(&format!("EXPLAIN ANALYZE SELECT max(n) FROM (SELECT a.k + b.k AS n FROM {join} ORDER BY n LIMIT 3)")).text();
    assert!(plan.contains("HashJoinExec") && plan.contains("LIKE"), "{plan}");
    assert!(!plan.contains("Paced") && !plan.contains("Stoppable"), "{plan}");
}

#[test]
fn slices_of_a_dear_filter_leave_the_rows_that_pass() {
    let db = Db::new();
    db.load("t", &[], &numbers(0, 100_000));
    // A comparison first that leaves nearly all rows, half of them, or few; NULLs where the function has none.
    for (cheap, divisor) in [("id <> 7", 1), ("id % 2 = 0", 2), ("id % 7 = 0", 7)] {
        let text = "CASE WHEN id % 3 = 0 THEN NULL ELSE repeat('x', CAST(id % 5 AS int)) END";
        let filter = format!("{cheap} AND {text} LIKE '%xx%'");
        let passes = |id: &i64| id % divisor == 0 && (divisor > 1 || *id != 7) && id % 3 != 0 && id % 5 >= 2;
        let expected = (0..100_000_i64).filter(passes);
        let counted = db.rows(&format!("SELECT count(*), sum(id) FROM t WHERE {filter}"));
        let (count, sum) = expected.fold((0, 0), |(count, sum), id| (count + 1, sum + id));
        assert_eq!(counted, [format!("{count}|{sum}")], "{filter}");
    }
}

/// Dear expressions in windows and filters of aggregates, and a table that has their values as columns.
#[test]
fn dear_expressions_of_windows_are_what_columns_of_them_are() {
    let db = Db::new();
    db.load("t", &[], &numbers(0, 30_000));
    let (cut, key, filter) = ("regexp_replace(s, '[1-3]+', 'x', 'g')", "substr(s, 1, 3)", "s LIKE '%7%'");
    db.run(&format!("CREATE TABLE u AS SELECT id, {cut} AS cut, {key} AS key, {filter} AS filter FROM t"));
    let query = |cut: &str, key: &str, filter: &str, table: &str| {
        let windows = format!(
            "lag({cut}, 2, 'none') OVER (PARTITION BY {key} ORDER BY id),
             sum(length({cut})) FILTER (WHERE {filter}) OVER (PARTITION BY {key} ORDER BY {cut}, id),
             max({cut}) OVER (ORDER BY id ROWS BETWEEN 3 PRECEDING AND 1 FOLLOWING),
             count(*) OVER (PARTITION BY {key} ORDER BY id DESC)"
        );
        db.rows(&format!("SELECT id, {windows} FROM {table} ORDER BY id"))
    };
    let of_columns = query("cut", "key", "filter", "u");
    assert_eq!(of_columns.len(), 30_000);
    assert!(query(cut, key, filter, "t") == of_columns);
    let count = |cut: &str, filter: &str, table: &str| {
        db.rows(&format!("SELECT count(DISTINCT {cut}) FILTER (WHERE {filter}), max(id) FILTER (WHERE {filter}) FROM {table}"))
    };
    assert_eq!(count(cut, filter, "t"), count("cut", "filter", "u"));
}

#[test]
fn an_argument_of_a_window_that_fails_says_so_as_a_column_does() {
    let db = Db::new();
    db.load("t", &[], &numbers(0, 20_000));
    let fails = "decode(CASE WHEN id = 17000 THEN 'zz' ELSE '00' END, 'hex')";
    let as_column = db.error(&format!("SELECT {fails} FROM t")).to_string();
    assert_eq!(db.error(&format!("SELECT lag({fails}) OVER (ORDER BY id) FROM t")).to_string(), as_column);
    assert_eq!(db.error(&format!("SELECT max({fails}) FROM t")).to_string(), as_column);
}

#[test]
fn slices_of_a_volatile_expression_have_values_of_their_own() {
    let db = Db::new();
    db.load("t", &[], &numbers(0, 20_000));
    assert_eq!(db.value("SELECT count(DISTINCT u) FROM (SELECT uuid() AS u FROM t)"), "20000");
    assert_eq!(db.value("SELECT count(DISTINCT u) FROM (SELECT upper(CAST(uuid() AS varchar)) || s AS u FROM t)"), "20000");
}
