//! Money moves between accounts in many sessions at once; nobody ever sees more or less of it.
//! `ACCOUNTS_SECONDS` asks for a longer run than the one of every day.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use engine::{EngineError, EngineOptions, Session};
use pmem_store::StoreError;

use super::helpers::{Db, Random, options, wait};

const SECONDS: u64 = 5;
const WRITERS: u64 = 8;
const READERS: usize = 8;
const ACCOUNTS: usize = 200;
const EACH: i64 = 1_000;

fn run(session: &Session, sql: &str) -> Result<Vec<String>, EngineError> {
    let (batches, report) = wait(async { session.execute(sql).await?.collect().await })?;
    Ok(super::helpers::Ran { batches, report, kind: engine::StatementKind::Query }.rows())
}

/// One transfer in one transaction; false if another one was first.
fn transfer(session: &Session, random: &mut Random) -> bool {
    let (from, to) = (random.below(ACCOUNTS), random.below(ACCOUNTS));
    let amount = 1 + random.below(50);
    let statements = [
        "BEGIN".to_string(),
        format!("UPDATE accounts SET balance = balance - {amount} WHERE id = {from}"),
        format!("UPDATE accounts SET balance = balance + {amount} WHERE id = {to}"),
        format!("INSERT INTO transfers VALUES ({from}, {to}, {amount})"),
        "COMMIT".to_string(),
    ];
    for statement in &statements {
        match run(session, statement) {
            Ok(_) => {}
            Err(EngineError::Store(StoreError::Conflict { .. })) => {
                if session.is_in_transaction() {
                    run(session, "ROLLBACK").unwrap();
                }
                return false;
            }
            Err(error) => panic!("{statement}: {error}"),
        }
    }
    true
}

/// One statement sees one version, and so does a transaction of several.
fn look(session: &Session, transactional: bool) {
    let sums = "SELECT (SELECT sum(balance) FROM accounts), (SELECT count(*) FROM accounts), (SELECT count(*) FROM transfers)";
    if !transactional {
        let rows = run(session, sums).unwrap();
        assert!(rows[0].starts_with(&format!("{}|{ACCOUNTS}|", ACCOUNTS as i64 * EACH)), "{rows:?}");
        return;
    }
    run(session, "BEGIN READ ONLY").unwrap();
    let (first, again) = (run(session, sums).unwrap(), run(session, sums).unwrap());
    assert_eq!(first, again);
    let disagreements = "SELECT count(*) FROM (SELECT id, balance FROM accounts) a LEFT JOIN (\
                SELECT x.id, sum(x.amount) AS moved FROM (SELECT \"to\" AS id, amount FROM transfers \
                UNION ALL SELECT \"from\", -amount FROM transfers) x GROUP BY x.id) t ON a.id = t.id \
                WHERE a.balance <> 1000 + coalesce(t.moved, 0)";
    assert_eq!(run(session, disagreements).unwrap(), ["0"], "an account and its transfers disagree");
    run(session, "COMMIT").unwrap();
}

#[test]
fn the_sum_of_all_accounts_stays_for_every_reader() {
    let seconds = std::env::var("ACCOUNTS_SECONDS").ok().and_then(|seconds| seconds.parse().ok()).unwrap_or(SECONDS);
    // With the upkeep that runs by itself.
    let db = Db::with(EngineOptions { maintenance: Default::default(), ..options() });
    db.run("CREATE TABLE accounts (id bigint NOT NULL, balance bigint NOT NULL)");
    db.run(r#"CREATE TABLE transfers ("from" bigint, "to" bigint, amount bigint)"#);
    db.run(&format!("INSERT INTO accounts SELECT value, {EACH} FROM generate_series(0, {}) AS g(value)", ACCOUNTS - 1));
    let (stop, done, refused, looks) = (AtomicBool::new(false), AtomicU64::new(0), AtomicU64::new(0), AtomicU64::new(0));
    std::thread::scope(|scope| {
        for writer in 0..WRITERS {
            let session = db.engine.session().unwrap();
            let (stop, done, refused) = (&stop, &done, &refused);
            scope.spawn(move || {
                let mut random = Random(writer);
                while !stop.load(Ordering::Relaxed) {
                    let count = if transfer(&session, &mut random) { done } else { refused };
                    count.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        for reader in 0..READERS {
            let session = db.engine.session().unwrap();
            let (stop, looks) = (&stop, &looks);
            scope.spawn(move || {
                while !stop.load(Ordering::Relaxed) {
                    look(&session, reader % 2 == 0);
                    looks.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        let until = Instant::now() + Duration::from_secs(seconds);
        while Instant::now() < until {
            std::thread::sleep(Duration::from_millis(50));
        }
        stop.store(true, Ordering::Relaxed);
    });
    let (done, refused, looks) = (done.into_inner(), refused.into_inner(), looks.into_inner());
    println!("{done} transfers, {refused} conflicts, {looks} looks in {seconds} s");
    assert!(done > 0 && looks > 0);
    assert_eq!(db.value("SELECT count(*) FROM transfers"), done.to_string());
    let db = db.reopened();
    assert_eq!(db.value("SELECT sum(balance) FROM accounts"), (ACCOUNTS as i64 * EACH).to_string());
    assert_eq!(db.value("SELECT count(*) FROM transfers"), done.to_string());
}
