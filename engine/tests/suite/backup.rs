//! BACKUP TO, and what the engine makes of a restored store.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use engine::{Engine, EngineError, EngineOptions, StatementKind, backup};
use pmem_store::StoreError;

use super::helpers::{Db, Ran, Random, numbers, options, wait};

/// The rows that a store at `path` gives, opened by itself.
fn ask(path: &Path, sql: &str) -> Vec<String> {
    let engine = Engine::open(path, options()).unwrap();
    let session = engine.session().unwrap();
    let (batches, report) = wait(async { session.execute(sql).await?.collect().await }).unwrap_or_else(|error| panic!("{sql}: {error}"));
    Ran { batches, report, kind: StatementKind::Query }.rows()
}

fn restore(db: &Db, name: &str) -> String {
    let to = db.file(name);
    backup::restore(Path::new(&db.file("backup")), Path::new(&to), false, &mut |_| ControlFlow::Continue(())).unwrap();
    to
}

fn back_up(db: &Db) -> Vec<String> {
    db.rows(&format!("BACKUP TO '{}'", db.file("backup")))
}

#[test]
fn what_sql_has_declared_survives_a_backup() {
    let db = Db::new();
    db.script(
        "CREATE SCHEMA s; \
         CREATE TABLE s.t (id BIGINT PRIMARY KEY, name VARCHAR NOT NULL DEFAULT 'none', price DECIMAL(9,2) CHECK (price >= 0)); \
         CREATE VIEW v AS SELECT id, price FROM s.t WHERE price > 1; \
         CREATE TABLE sorted (a INT, b VARCHAR) ORDER BY (a DESC) WITH (durability = 'async')",
    );
    db.run("INSERT INTO s.t SELECT value, 'name ' || value, value * 1.5 FROM generate_series(1, 20000) AS g(value)");
    db.script("DELETE FROM s.t WHERE id % 3 = 0; UPDATE s.t SET price = 0 WHERE id < 100");
    db.script("ALTER TABLE s.t ADD COLUMN more INT DEFAULT 7; CREATE SNAPSHOT before; INSERT INTO s.t (id, price) VALUES (0, 4)");
    db.script("INSERT INTO sorted VALUES (1, 'x'), (2, 'y'); INSERT INTO sorted VALUES (3, 'z')");
    let queries = [
        "SELECT * FROM s.t ORDER BY id",
        "SELECT count(*), sum(price) FROM s.t FOR VERSION AS OF 'before'",
        "SELECT * FROM v ORDER BY id",
        "SELECT * FROM sorted ORDER BY a",
        "SHOW CREATE TABLE s.t",
        "SHOW CREATE TABLE sorted",
        "SHOW SNAPSHOTS",
        "SELECT schema_name, table_name, column_name, data_type, column_default FROM system.columns ORDER BY 1, 2, 3",
    ];
    let expected: Vec<Vec<String>> = queries.iter().map(|sql| db.rows(sql)).collect();
    back_up(&db);
    let restored = restore(&db, "restored");
    for (sql, expected) in queries.iter().zip(expected) {
        assert_eq!(ask(Path::new(&restored), sql), expected, "{sql}");
    }
    let engine = Engine::open(Path::new(&restored), options()).unwrap();
    let session = engine.session().unwrap();
    let run = |sql: &str| wait(async { session.execute(sql).await?.collect().await });
    for (sql, broken) in [("INSERT INTO s.t (id) VALUES (1)", "t_pkey"), ("INSERT INTO s.t (id, price) VALUES (-1, -1)", "t_price_check")] {
        let error = run(sql).unwrap_err().to_string();
        assert!(error.contains(broken), "{sql}: {error}");
    }
    run("INSERT INTO s.t (id) VALUES (-1)").unwrap();
    run("OPTIMIZE TABLE s.t FULL").unwrap();
    drop((session, engine));
    assert_eq!(ask(Path::new(&restored), "SELECT name, more FROM s.t WHERE id = -1"), ["none|7"]);
}

#[test]
fn a_backup_says_what_it_took_and_the_next_one_that_it_was_there() {
    let db = Db::new();
    db.load("t", &[], &numbers(0, 50_000));
    let sql = format!("BACKUP TO '{}'", db.file("backup"));
    let ran = db.run(&sql);
    assert_eq!(ran.kind, StatementKind::Query);
    let names: Vec<String> = ran.batches[0].schema().fields().iter().map(|field| field.name().clone()).collect();
    assert_eq!(names, ["version", "files_linked", "bytes_linked", "files_copied", "bytes_copied", "files_unchanged", "bytes_unchanged"]);
    let first: Vec<String> = ran.rows()[0].split('|').map(str::to_string).collect();
    let second: Vec<String> = db.rows(&sql)[0].split('|').map(str::to_string).collect();
    assert_eq!((&first[1], &first[5]), (&"4".to_string(), &"0".to_string()));
    assert_eq!((&second[1], &second[5], &second[6]), (&"0".to_string(), &"4".to_string(), &first[2]));
    let copied = db.rows(&format!("backup to '{}' copy;", db.file("copied")))[0].clone();
    assert!(copied.split('|').nth(1) == Some("0"), "{copied}");
    let text = db.error("BACKUP TO somewhere").to_string();
    assert!(text.contains("single quotes"), "{text}");
    for (sql, text) in [("BACKUP 'x'", "expected: TO"), ("BACKUP TO 'x' FULL", "the end of the statement")] {
        let error = db.error(sql).to_string();
        assert!(error.contains(text), "{sql}: {error}");
    }
    let error = db.error("BACKUP TO ''");
    assert_eq!(error.to_string(), "BACKUP TO '' names no directory");
    assert_eq!(error.hint(), Some("write the path of the backup between the quotes"));
    db.run("BEGIN");
    assert!(db.error(&sql).to_string().contains("no part of a transaction"));
    db.run("ROLLBACK");
    let db = db.reopened_with(EngineOptions { read_only: true, ..options() });
    assert_eq!(db.rows(&sql).len(), 1);
}

/// With the upkeep that runs by itself, and tables that are rewritten meanwhile.
#[test]
fn backups_taken_while_money_moves_have_all_of_it() {
    let db = Db::with(EngineOptions { maintenance: Default::default(), ..options() });
    db.script("CREATE TABLE accounts (id BIGINT NOT NULL, balance BIGINT NOT NULL); CREATE TABLE transfers (n BIGINT)");
    db.run("INSERT INTO accounts SELECT value, 1000 FROM generate_series(0, 99) AS g(value)");
    db.run("ALTER SYSTEM SET retention = '0 seconds'");
    let stop = AtomicBool::new(false);
    struct StopOnDrop<'a>(&'a AtomicBool);
    impl Drop for StopOnDrop<'_> {
        fn drop(&mut self) {
            self.0.store(true, Ordering::Relaxed);
        }
    }
    let again = |error: EngineError| assert!(matches!(error, EngineError::Store(StoreError::Conflict { .. })), "{error}");
    std::thread::scope(|scope| {
        for seed in 0..2 {
            let (session, stop) = (db.engine.session().unwrap(), &stop);
            scope.spawn(move || {
                let mut random = Random(seed);
                let run = |sql: &str| wait(async { session.execute(sql).await?.collect().await }).map(|_| ());
                while !stop.load(Ordering::Relaxed) {
                    let (from, to) = (random.below(100), random.below(100));
                    run("BEGIN").unwrap();
                    let moved = run(&format!("UPDATE accounts SET balance = balance - 5 WHERE id = {from}"))
                        .and_then(|()| run(&format!("UPDATE accounts SET balance = balance + 5 WHERE id = {to}")))
                        .and_then(|()| run("INSERT INTO transfers VALUES (1)"))
                        .and_then(|()| run("COMMIT"));
                    if let Err(error) = moved {
                        again(error);
                        if session.is_in_transaction() {
                            run("ROLLBACK").unwrap();
                        }
                    }
                }
            });
        }
        let (session, stop_too) = (db.engine.session().unwrap(), &stop);
        scope.spawn(move || {
            let run = |sql: &str| wait(async { session.execute(sql).await?.collect().await }).map(|_| ());
            while !stop_too.load(Ordering::Relaxed) {
                for sql in ["OPTIMIZE TABLE accounts FULL", "CREATE OR REPLACE TABLE z AS SELECT * FROM accounts", "CHECKPOINT"] {
                    let _ = run(sql).map_err(again);
                }
            }
        });
        let _stop = StopOnDrop(&stop);
        let mut last = 0;
        for round in 0..8 {
            let version: u64 = back_up(&db)[0].split('|').next().unwrap().parse().unwrap();
            assert!(version >= last);
            last = version;
            let restored = restore(&db, &format!("restored-{round}"));
            let sums = ask(Path::new(&restored), "SELECT count(*), sum(balance), count(DISTINCT id) FROM accounts");
            assert_eq!(sums, ["100|100000|100"], "round {round}");
        }
    });
    back_up(&db);
    let (moved, restored) = (db.value("SELECT count(*) FROM transfers"), restore(&db, "last"));
    assert_eq!(ask(Path::new(&restored), "SELECT count(*) FROM transfers"), [moved]);
}
