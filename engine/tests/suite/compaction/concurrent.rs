//! Compactions and others at the same time.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use engine::{EngineError, Session};
use pmem_store::StoreError;
use tokio::runtime::Builder;

use super::super::helpers::{Db, Random, run};
use super::{eventually, in_segments, quick, segment_count, states, thousands, with};

const ACCOUNTS: u64 = 200;
const EACH: u64 = 100;

/// Runs on a runtime of the thread's own.
fn statement(session: &Session, sql: &str) -> Result<Vec<String>, EngineError> {
    Builder::new_current_thread().enable_all().build().unwrap().block_on(run(session, sql)).map(|ran| ran.rows())
}

fn accounts(db: &Db, order: &str) {
    db.run(&format!("CREATE TABLE account (id BIGINT, balance BIGINT){order}"));
    in_segments(
        db,
        (0..10).map(|at| {
            let (from, to) = (at * ACCOUNTS / 10, (at + 1) * ACCOUNTS / 10 - 1);
            format!("INSERT INTO account SELECT value, {EACH} FROM generate_series({from}, {to}) AS g(value)")
        }),
    );
}

/// Moves money from one account to another; false on a conflict.
fn transfer(session: &Session, random: &mut Random) -> bool {
    let (from, to, amount) = (random.below(ACCOUNTS as usize), random.below(ACCOUNTS as usize), random.below(50));
    let all = || -> Result<(), EngineError> {
        statement(session, "BEGIN")?;
        statement(session, &format!("UPDATE account SET balance = balance - {amount} WHERE id = {from}"))?;
        statement(session, &format!("UPDATE account SET balance = balance + {amount} WHERE id = {to}"))?;
        statement(session, "COMMIT").map(|_| ())
    };
    match all() {
        Ok(()) => true,
        Err(EngineError::Store(StoreError::Conflict { .. })) => {
            let _ = statement(session, "ROLLBACK");
            false
        }
        Err(error) => panic!("{error}"),
    }
}

/// Two writers, two readers, the background and somebody who optimizes by hand.
fn money_stays(order: &str) {
    let db = Db::with(with(quick()));
    accounts(&db, order);
    let (stop, transfers, conflicts) = (AtomicBool::new(false), AtomicU64::new(0), AtomicU64::new(0));
    let session = || db.engine.session().unwrap();
    let total = format!("{}|{ACCOUNTS}|{ACCOUNTS}", ACCOUNTS * EACH);
    std::thread::scope(|scope| {
        for seed in 0..2 {
            let (session, stop, transfers, conflicts) = (session(), &stop, &transfers, &conflicts);
            scope.spawn(move || {
                let mut random = Random(seed);
                while !stop.load(Ordering::Relaxed) {
                    let done = if transfer(&session, &mut random) { transfers } else { conflicts };
                    done.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        for _ in 0..2 {
            let (session, stop, total) = (session(), &stop, &total);
            scope.spawn(move || {
                while !stop.load(Ordering::Relaxed) {
                    let found = statement(&session, "SELECT sum(balance), count(*), count(DISTINCT id) FROM account").unwrap();
                    assert_eq!(found, [total.as_str()]);
                }
            });
        }
        let optimizer = session();
        for full in ["", " FULL", "", "", " FULL", ""] {
            std::thread::sleep(std::time::Duration::from_millis(300));
            statement(&optimizer, &format!("OPTIMIZE TABLE account{full}")).unwrap();
        }
        stop.store(true, Ordering::Relaxed);
    });
    assert!(transfers.load(Ordering::Relaxed) > 20, "{transfers:?} and {conflicts:?} conflicts");
    let done = db.value("SELECT count(*) FROM system.compactions WHERE state = 'done'");
    assert!(done.parse::<u64>().unwrap() >= 5, "{done}");
    let db = db.reopened();
    assert_eq!(db.rows("SELECT sum(balance), count(*), count(DISTINCT id) FROM account"), [total]);
}

#[test]
fn writers_and_readers_go_on_while_a_table_is_compacted() {
    money_stays("");
}

#[test]
fn writers_and_readers_go_on_while_a_clustered_table_is_compacted() {
    money_stays(" ORDER BY (id)");
}

#[test]
fn a_transaction_can_change_rows_that_were_compacted_since_it_began() {
    for order in ["", " ORDER BY (id DESC)"] {
        let db = Db::new();
        accounts(&db, order);
        let other = db.engine.session().unwrap();
        let run_other = |sql: &str| statement(&other, sql);
        run_other("BEGIN").unwrap();
        run_other("UPDATE account SET balance = 0 WHERE id % 10 = 3").unwrap();
        run_other("DELETE FROM account WHERE id % 10 = 4").unwrap();
        db.run("DELETE FROM account WHERE id % 10 = 5");
        db.run("OPTIMIZE TABLE account FULL");
        assert_eq!(segment_count(&db, "account"), 1);
        db.run("OPTIMIZE TABLE account FULL");
        db.run("DELETE FROM account WHERE id % 10 = 6");
        run_other("COMMIT").unwrap();
        let expected = format!("{}|{}|{}", ACCOUNTS * 7 / 10, ACCOUNTS / 10 * 6 * EACH, ACCOUNTS / 10);
        let sql = "SELECT count(*), sum(balance), count(*) FILTER (WHERE balance = 0) FROM account";
        assert_eq!(db.rows(sql), [expected.as_str()], "{order}");
        // One that meets another's change of the same rows is still told.
        run_other("BEGIN").unwrap();
        run_other("UPDATE account SET balance = 1 WHERE id = 7").unwrap();
        db.run("UPDATE account SET balance = 2 WHERE id = 7");
        db.run("OPTIMIZE TABLE account FULL");
        let error = run_other("COMMIT").unwrap_err();
        assert!(matches!(error, EngineError::Store(StoreError::Conflict { .. })), "{error}");
        assert_eq!(db.value("SELECT balance FROM account WHERE id = 7"), "2");
        drop(other);
        assert_eq!(db.reopened().value("SELECT count(*) FROM account"), (ACCOUNTS * 7 / 10).to_string());
    }
}

#[test]
fn a_transaction_can_replace_rows_by_their_key_that_were_compacted_since_it_began() {
    let db = Db::new();
    db.run("CREATE TABLE t (k BIGINT PRIMARY KEY, v BIGINT)");
    in_segments(
        &db,
        (0..4).map(|at| format!("INSERT INTO t SELECT value, 0 FROM generate_series({}, {}) AS g(value)", at * 10, at * 10 + 9)),
    );
    let other = db.engine.session().unwrap();
    statement(&other, "BEGIN").unwrap();
    statement(
        &other,
        "INSERT INTO t SELECT value, 1 FROM generate_series(35, 44) AS g(value) ON CONFLICT (k) DO UPDATE SET v = excluded.v",
    )
    .unwrap();
    db.run("OPTIMIZE TABLE t FULL");
    statement(&other, "COMMIT").unwrap();
    assert_eq!(db.rows("SELECT count(*), count(DISTINCT k), sum(v) FROM t"), ["45|45|10"]);
    statement(&other, "BEGIN").unwrap();
    statement(&other, "UPDATE t SET k = k + 100 WHERE k < 5").unwrap();
    db.run("INSERT INTO t VALUES (200, 0)");
    db.run("OPTIMIZE TABLE t FULL");
    statement(&other, "COMMIT").unwrap();
    assert_eq!(db.rows("SELECT count(*), count(DISTINCT k), min(k), max(k) FROM t"), ["46|46|5|200"]);
    // A key that somebody else has taken meanwhile is found where the compaction put it.
    statement(&other, "BEGIN").unwrap();
    statement(&other, "INSERT INTO t VALUES (300, 1)").unwrap();
    db.run("INSERT INTO t VALUES (300, 2)");
    db.run("OPTIMIZE TABLE t FULL");
    let error = statement(&other, "COMMIT").unwrap_err().to_string();
    assert!(error.contains("300"), "{error}");
    assert_eq!(db.value("SELECT v FROM t WHERE k = 300"), "2");
}

/// A table that is emptied and filled again all the time cannot be compacted whole, and is none the worse.
#[test]
fn a_table_that_is_truncated_all_the_time_is_compacted_in_between() {
    let db = Db::with(with(quick()));
    thousands(&db, 1);
    for round in 0..10 {
        db.run("TRUNCATE TABLE t");
        in_segments(&db, (0..10).map(|at| format!("INSERT INTO t SELECT value, 'x' FROM generate_series(1, {}) AS g(value)", at + round)));
    }
    assert!(eventually(|| segment_count(&db, "t") < 10));
    assert_eq!(db.rows("SELECT count(*), max(i) FROM t"), [format!("{}|18", (0..10).map(|at| at + 9).sum::<u64>())]);
    assert!(states(&db).iter().all(|state| state != "failed"), "{:?}", states(&db));
}
