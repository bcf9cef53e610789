//! The cost of a log. These benchmarks are ignored by tests: `make bench-log` runs them, with TMPDIR set
//! to a directory of the disk to be measured.

use std::time::{Duration, Instant};

use arrow::array::RecordBatch;
use arrow::compute::cast;
use arrow::datatypes::DataType;
use pmem_store::region::RegionKind;
use pmem_store::{Durability, TableVersion};

use super::helpers::*;
use crate::helpers::{batch, create_table, fresh, ints, strings, table};

/// Wall time, and CPU time of this thread: the machine may be busy with other work.
struct Clock(Instant, Duration);

impl Clock {
    fn start() -> Clock {
        Clock(Instant::now(), thread_time())
    }

    fn report(&self, what: &str, count: usize) {
        let (elapsed, busy) = (self.0.elapsed(), thread_time() - self.1);
        let rate = |time: Duration| count as f64 / time.as_secs_f64();
        println!("{what}: {:.0} per second, {:.0} per second of CPU", rate(elapsed), rate(busy));
    }
}

fn thread_time() -> Duration {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: a valid clock and a valid place for its answer.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut now) };
    Duration::new(now.tv_sec as u64, now.tv_nsec as u32)
}

fn rows(count: usize) -> Vec<RecordBatch> {
    (0..count as i64).map(row).collect()
}

/// Rows as the engine has them: text is views.
fn rows_of_views(count: usize) -> Vec<RecordBatch> {
    let with_views = |row: RecordBatch| {
        let text = cast(row.column(1), &DataType::Utf8View).unwrap();
        batch(vec![("v", row.column(0).clone()), ("text", text)])
    };
    rows(count).into_iter().map(with_views).collect()
}

/// Ten columns, four of them text.
fn wide_rows(count: usize) -> Vec<RecordBatch> {
    let names = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j"];
    let wide = |number: i64| {
        let columns = names.iter().enumerate().map(|(at, name)| match at % 3 {
            2 => (*name, cast(&strings(1, |_| format!("{number:>40}")), &DataType::Utf8View).unwrap()),
            _ => (*name, ints(number..number + 1).column(0).clone()),
        });
        batch(columns.collect())
    };
    (0..count as i64).map(wide).collect()
}

#[test]
#[ignore = "measures"]
fn appending_single_rows_without_a_flush() {
    const ROWS: usize = 100_000;
    let shapes = [("2 columns", rows(ROWS)), ("2 columns, views", rows_of_views(ROWS)), ("10 columns", wide_rows(ROWS))];
    for (shape, rows) in shapes.iter().chain(&shapes) {
        println!("\n{shape}");
        let fixture = Fixture::new(rows[0].schema());
        let log = fixture.create(256 << 20, RegionKind::Auto);
        let clock = Clock::start();
        for row in rows {
            drop(log.prepare(row).unwrap());
        }
        clock.report("prepare", ROWS);
        let clock = Clock::start();
        for (index, row) in rows.iter().enumerate() {
            log.append(row, index as u64 + 1, false).unwrap();
        }
        clock.report("append", ROWS);
        println!("{} bytes per record", (log.size_bytes() - 4096) / ROWS as u64);
        let clock = Clock::start();
        log.flush(log.size_bytes()).unwrap();
        clock.report("flush of all, rows", ROWS);
        let view = log.view(u64::MAX).unwrap();
        for what in ["first", "second"] {
            let clock = Clock::start();
            let chunks = view.chunks().unwrap();
            clock.report(&format!("{what} scan, {} chunks, rows", chunks.len()), ROWS);
        }
        drop(log);
        let clock = Clock::start();
        drop(fixture.open());
        clock.report("open, rows", ROWS);
    }
}

#[test]
#[ignore = "measures"]
fn staging_single_rows() {
    const ROWS: usize = 100_000;
    let shapes = [("2 columns, views", rows_of_views(ROWS)), ("10 columns", wide_rows(ROWS))];
    for (shape, rows) in shapes.iter().chain(&shapes) {
        println!("\n{shape}");
        let fixture = Fixture::new(rows[0].schema());
        let log = fixture.create(256 << 20, RegionKind::Auto);
        let clock = Clock::start();
        for (index, row) in rows.iter().enumerate() {
            log.stage(row, index as u64 + 1).unwrap().unwrap();
        }
        log.view(u64::MAX).unwrap();
        clock.report("stage and encode", ROWS);
        println!("{} bytes per row", (log.size_bytes() - 4096) / ROWS as u64);
        let clock = Clock::start();
        log.view(u64::MAX).unwrap().chunks().unwrap();
        clock.report("first scan, rows", ROWS);
        drop(log);
        let clock = Clock::start();
        drop(fixture.open());
        clock.report("open, rows", ROWS);
    }
}

/// The whole work of a store for a row that does not wait for the disk.
#[test]
#[ignore = "measures"]
fn putting_single_rows_into_a_store() {
    const ROWS: usize = 10_000;
    let rows = rows_of_views(ROWS);
    for durability in [None, Some(Durability::Async)] {
        let (_dir, store) = fresh();
        let id = create_table(&store, "t", &rows[0].schema());
        let mut transaction = store.begin().unwrap();
        transaction.append_rows(id, rows[0].clone()).unwrap();
        transaction.commit("INSERT").unwrap();
        let table_version = TableVersion::from(&table(&store, "t"));
        let clock = Clock::start();
        for row in &rows {
            match durability {
                None => store.append_at_once(&table_version, row).unwrap().unwrap(),
                Some(_) => store.append_rows(&table_version, row, durability).unwrap().unwrap().wait().unwrap(),
            };
        }
        clock.report(if durability.is_none() { "append_at_once" } else { "append_rows" }, ROWS);
    }
}

#[test]
#[ignore = "measures"]
fn committing_single_rows_by_one_writer() {
    const ROWS: usize = 2_000;
    let rows = rows(ROWS);
    for kind in [RegionKind::Auto, RegionKind::Plain] {
        let fixture = Fixture::new(rows[0].schema());
        let log = fixture.create(16 << 20, kind);
        let clock = Clock::start();
        for row in &rows {
            commit(&log, row);
        }
        clock.report(&format!("commit, {kind:?}"), ROWS);
    }
}

#[test]
#[ignore = "measures"]
fn committing_single_rows_by_many_writers() {
    const COMMITS: usize = 500;
    for writers in [1, 4, 16, 64] {
        let rows = rows(1);
        let fixture = Fixture::new(rows[0].schema());
        let log = fixture.create(64 << 20, RegionKind::Auto);
        let versions = std::sync::Mutex::new(0u64);
        let clock = Clock::start();
        std::thread::scope(|scope| {
            for _ in 0..writers {
                scope.spawn(|| {
                    for _ in 0..COMMITS {
                        let mut record = log.prepare(&rows[0]).unwrap();
                        let end = {
                            let mut last = versions.lock().unwrap();
                            *last += 1;
                            log.append_prepared(&mut record, *last, false).unwrap().end_offset
                        };
                        log.flush(end).unwrap();
                    }
                });
            }
        });
        clock.report(&format!("commit by {writers} writers"), COMMITS * writers);
    }
}

#[test]
#[ignore = "measures"]
fn a_query_after_every_row() {
    const ROWS: usize = 8_000;
    let rows = rows(ROWS);
    let fixture = Fixture::new(rows[0].schema());
    let log = fixture.create(64 << 20, RegionKind::Auto);
    let clock = Clock::start();
    for (index, row) in rows.iter().enumerate() {
        log.append(row, index as u64 + 1, false).unwrap();
        log.view(u64::MAX).unwrap().chunk(0).unwrap();
    }
    clock.report("append and read all rows", ROWS);
}
