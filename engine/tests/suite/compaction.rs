//! Compaction: the same rows before and after, whatever happens meanwhile.

mod background;
mod concurrent;
mod demand;
mod files;
mod order;

use engine::{EngineOptions, MaintenanceOptions};

use super::helpers::{Db, options, soon};

/// What happens by itself happens at once.
fn quick() -> MaintenanceOptions {
    MaintenanceOptions { enabled: true, rate_bytes_per_s: None, delay_ms: 5, seal_after_ms: 50, ..MaintenanceOptions::default() }
}

fn with(maintenance: MaintenanceOptions) -> EngineOptions {
    EngineOptions { maintenance, ..options() }
}

/// The store of `db`, whose table `t` is being compacted for hours: rows were written, and more are to be.
fn slowly_compacted(db: Db) -> Db {
    let db = db.reopened_with(with(MaintenanceOptions { rate_bytes_per_s: Some(1), ..quick() }));
    // Tables that somebody uses are looked after, when something is committed.
    db.run("SELECT count(*) FROM t");
    db.run("CREATE TABLE wakes (i INT)");
    assert!(eventually(|| states(&db) == ["running"]));
    db
}

fn eventually(so: impl Fn() -> bool) -> bool {
    (0..10).any(|_| soon(&so))
}

/// Each statement makes a segment of its own.
fn in_segments(db: &Db, statements: impl IntoIterator<Item = String>) {
    for statement in statements {
        db.run(&statement);
        db.run("CHECKPOINT");
    }
}

/// Table `t`: rows `i` from 0, a segment for each thousand.
fn thousands(db: &Db, count: u64) {
    db.run("CREATE TABLE t (i BIGINT, s VARCHAR)");
    in_segments(db, (0..count).map(|at| insert("t", at)));
}

fn insert(table: &str, thousand: u64) -> String {
    let (from, to) = (thousand * 1_000, thousand * 1_000 + 999);
    format!("INSERT INTO {table} SELECT value, 'row ' || value FROM generate_series({from}, {to}) AS g(value)")
}

fn segment_count(db: &Db, table: &str) -> u64 {
    db.value(&format!("SELECT count(*) FROM system.segments WHERE table_name = '{table}'")).parse().unwrap()
}

/// Of compactions of table `t`, in the order they were begun.
fn states(db: &Db) -> Vec<String> {
    db.rows("SELECT state FROM system.compactions WHERE table_name = 't' AND state <> 'due' ORDER BY started_at")
}
