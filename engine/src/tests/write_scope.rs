//! What others see of a transaction while a statement works in it, and who waits for whom.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use arrow::array::{ArrayRef, Int64Array, RecordBatch};
use parking_lot::Mutex;
use pmem_store::{CommitCheck, Transaction};
use tokio::runtime::Builder;

use crate::engine::Engine;
use crate::options::EngineOptions;
use crate::session::Session;
use common::error::EngineError;
use table::commit_guard::{CommitGuard, StopReason};

const LIMIT: Duration = Duration::from_secs(60);

/// A worker that runs until it is told to end.
fn at_work() -> (Sender<()>, Receiver<()>, impl Fn() + Send + 'static) {
    let ((begin, begun), (end, ended)) = (channel(), channel::<()>());
    let work = move || {
        begin.send(()).unwrap();
        // Also ends if the sender is gone: the signal came before.
        let _ = ended.recv_timeout(LIMIT);
    };
    (end, begun, work)
}

#[test]
fn an_open_transaction_is_told_of_while_a_statement_works_in_it() {
    let engine = Engine::open_temporary(EngineOptions::default()).unwrap();
    let session = engine.session().unwrap();
    let slot = Arc::clone(&session.transaction);
    slot.begin(engine.store(), false).unwrap();
    let scope = session.catalog.write_scope();
    let (end, begun, work) = at_work();
    let working = std::thread::spawn(move || {
        scope.change("CREATE SCHEMA", |transaction| {
            work();
            transaction.create_namespace("n")
        })
    });
    begun.recv_timeout(LIMIT).unwrap();
    assert!(slot.is_open() && !slot.has_failed() && slot.base().is_some() && !slot.has_savepoint("s"));
    assert_eq!(slot.open_transaction().unwrap().changes, 0);
    end.send(()).unwrap();
    working.join().unwrap().unwrap();
    assert_eq!(slot.open_transaction().unwrap().changes, 1);
    slot.commit().unwrap();
    assert_eq!(session.schema_names().unwrap(), ["main", "n"]);
}

#[test]
fn a_commit_waits_for_the_statement_that_works_in_its_transaction() {
    let engine = Engine::open_temporary(EngineOptions::default()).unwrap();
    let session = engine.session().unwrap();
    let slot = Arc::clone(&session.transaction);
    slot.begin(engine.store(), false).unwrap();
    let (first, second) = (session.catalog.write_scope(), session.catalog.write_scope());
    let (end, begun, work) = at_work();
    let working = std::thread::spawn(move || {
        first.change("CREATE SCHEMA", |transaction| {
            work();
            transaction.create_namespace("n")
        })
    });
    begun.recv_timeout(LIMIT).unwrap();
    let committing = std::thread::spawn(move || slot.commit());
    end.send(()).unwrap();
    working.join().unwrap().unwrap();
    committing.join().unwrap().unwrap();
    assert_eq!(session.schema_names().unwrap(), ["main", "n"]);
    let late = second.change("CREATE SCHEMA", |transaction| transaction.create_namespace("m")).unwrap_err();
    assert!(late.to_string().contains("has ended, or another one has begun since"), "{late}");
}

#[test]
fn a_failure_dooms_the_transaction_that_it_is_of_and_no_other() {
    let engine = Engine::open_temporary(EngineOptions::default()).unwrap();
    let session = engine.session().unwrap();
    let slot = &session.transaction;
    slot.fail(None);
    slot.begin(engine.store(), false).unwrap();
    let before = slot.open_id();
    slot.fail(None);
    assert!(!slot.has_failed());
    slot.rollback().unwrap();
    slot.begin(engine.store(), false).unwrap();
    slot.fail(before);
    assert!(!slot.has_failed());
    slot.fail(slot.open_id());
    assert!(slot.has_failed() && slot.commit().is_err());
}

#[test]
fn a_batch_that_is_appended_takes_nothing_from_the_statement_beside_it() {
    let engine = Engine::open_temporary(EngineOptions::default()).unwrap();
    let session = engine.session().unwrap();
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async { session.execute("CREATE TABLE t (i bigint PRIMARY KEY)").await.unwrap().collect().await.unwrap() });
    let commit_guard = Arc::<CommitGuard>::default();
    let catalog = session.catalog.for_statement(Some(&commit_guard)).unwrap();
    let version = catalog.snapshot().version();
    let rows = RecordBatch::try_from_iter([("i", Arc::new(Int64Array::from(vec![1])) as ArrayRef)]).unwrap();
    assert_eq!(runtime.block_on(session.append("t", &rows)).unwrap(), 1);
    assert_eq!(catalog.snapshot().version(), version);
    commit_guard.stop(StopReason::Killed);
    assert!(matches!(catalog.write_scope().begin_commit(), Err(EngineError::Killed)));
}

/// A check that works once.
fn check(work: impl Fn() + Send + 'static) -> CommitCheck {
    let work = Mutex::new(Some(work));
    Box::new(move |_| {
        if let Some(work) = work.lock().take() {
            work();
        }
        Ok(())
    })
}

#[test]
fn other_tasks_go_on_while_a_commit_blocks_the_only_thread() {
    let engine = Engine::open_temporary(EngineOptions::default()).unwrap();
    for is_own in [false, true] {
        let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let session = engine.session().unwrap();
        let (end, begun, work) = at_work();
        let (name, slot) = (format!("n{is_own}"), Arc::clone(&session.transaction));
        if is_own {
            slot.begin(engine.store(), false).unwrap();
        }
        let scope = session.catalog.write_scope();
        let committing = runtime.spawn(async move {
            scope.change("CREATE SCHEMA", |transaction| {
                transaction.check_on_commit(check(work));
                transaction.create_namespace(&name)
            })?;
            if is_own { slot.commit() } else { Ok(()) }
        });
        begun.recv_timeout(LIMIT).unwrap();
        // Only this task tells the commit to end.
        let other = runtime.spawn(async move { end.send(()) });
        runtime
            .block_on(async { tokio::time::timeout(LIMIT / 2, other).await })
            .expect("it does not wait for the commit")
            .unwrap()
            .unwrap();
        runtime.block_on(committing).unwrap().unwrap();
    }
}

#[test]
fn others_commit_while_a_commit_looks_for_its_keys_and_it_sees_the_keys_that_they_take() {
    let engine = Engine::open_temporary(EngineOptions::default()).unwrap();
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    let run = |session: &Session, sql: &str| {
        runtime.block_on(async { session.execute(sql).await.unwrap().collect().await.unwrap() });
    };
    let others = engine.session().unwrap();
    run(&others, "CREATE TABLE t (i bigint PRIMARY KEY)");
    run(&others, "CREATE TABLE u (i bigint)");
    for (own_key, other_key) in [(1, 2), (3, 3)] {
        let session = engine.session().unwrap();
        run(&session, "BEGIN");
        run(&session, &format!("INSERT INTO t VALUES ({own_key})"));
        let (end, begun, work) = at_work();
        let add_check = |transaction: &mut Transaction| {
            // It comes after the check of the keys, which looks again when the commits are locked.
            transaction.check_on_commit(check(work));
            Ok(())
        };
        session.catalog.write_scope().change("INSERT", add_check).unwrap();
        let slot = Arc::clone(&session.transaction);
        let committing = std::thread::spawn(move || slot.commit());
        begun.recv_timeout(LIMIT).unwrap();
        run(&others, "INSERT INTO u VALUES (1)");
        run(&others, &format!("INSERT INTO t VALUES ({other_key})"));
        end.send(()).unwrap();
        assert_eq!(committing.join().unwrap().is_err(), own_key == other_key);
    }
}
