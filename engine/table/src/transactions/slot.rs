//! The transaction of a session.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

use parking_lot::Mutex;
use pmem_store::{Author, Durability, Savepoint, Snapshot, Store, StoreError, Transaction};

use crate::blocking::holding_up_nobody;
use crate::commit_guard::CommitGuard;
use common::clock::since_epoch_ms;
use common::error::EngineError;

/// What is shown of a transaction begun with BEGIN.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenTransaction {
    /// From 1, unique within this process.
    pub id: u64,
    pub started_at_ms: u64,
    pub base_version: u64,
    pub changes: u64,
    pub read_only: bool,
    pub failed: bool,
}

/// The transaction of a session, if one is open.
#[derive(Debug, Default)]
pub struct TransactionSlot {
    open: Mutex<Option<OpenState>>,
    /// The engine's counter of transaction ids.
    next_id: Arc<AtomicU64>,
    /// The session's user.
    author: Option<Arc<dyn Author>>,
    durability: Mutex<Option<Durability>>,
}

/// The state of a transaction that must be readable while a statement works in it, which may take long.
#[derive(Debug)]
struct OpenState {
    id: u64,
    /// The value of now() in all of its statements.
    started_at: SystemTime,
    /// The snapshot with which it began.
    base: Arc<Snapshot>,
    /// **Invariant:** no thread waits for this lock while it holds the slot.
    work: Arc<Mutex<TransactionWork>>,
    changes: u64,
    /// A statement failed: only ROLLBACK is possible now.
    failed: bool,
    read_only: bool,
    /// The names of savepoints, innermost last.
    savepoints: Vec<String>,
}

/// The part in which statements of the open transaction work, one at a time.
#[derive(Debug)]
pub struct TransactionWork {
    /// `None` once it has ended.
    transaction: Option<Transaction>,
    /// In the order of `OpenState::savepoints`.
    savepoints: Vec<Savepoint>,
}

impl TransactionSlot {
    pub fn new(next_id: Arc<AtomicU64>, author: Option<Arc<dyn Author>>) -> TransactionSlot {
        TransactionSlot { open: Mutex::default(), next_id, author, durability: Mutex::default() }
    }

    /// Describes the open transaction.
    pub fn open_transaction(&self) -> Option<OpenTransaction> {
        self.open.lock().as_ref().map(|open| OpenTransaction {
            id: open.id,
            started_at_ms: since_epoch_ms(open.started_at),
            base_version: open.base.version(),
            changes: open.changes,
            read_only: open.read_only,
            failed: open.failed,
        })
    }

    /// When BEGIN ran; `None` if no transaction is open.
    pub fn started_at(&self) -> Option<SystemTime> {
        self.open.lock().as_ref().map(|open| open.started_at)
    }

    /// The id of the open transaction.
    pub fn open_id(&self) -> Option<u64> {
        self.open.lock().as_ref().map(|open| open.id)
    }

    /// The durability of the session's commits; `None` if each table decides.
    pub fn durability(&self) -> Option<Durability> {
        *self.durability.lock()
    }

    pub fn set_durability(&self, durability: Option<Durability>) {
        *self.durability.lock() = durability;
    }

    pub fn is_open(&self) -> bool {
        self.open.lock().is_some()
    }

    pub fn has_failed(&self) -> bool {
        self.open.lock().as_ref().is_some_and(|open| open.failed)
    }

    /// The snapshot that statements of the open transaction see.
    pub fn snapshot(&self) -> Option<Arc<Snapshot>> {
        let work = Arc::clone(&self.open.lock().as_ref()?.work);
        let work = work.lock();
        work.transaction.as_ref().map(Transaction::snapshot)
    }

    /// The snapshot with which the open transaction began.
    pub fn base(&self) -> Option<Arc<Snapshot>> {
        self.open.lock().as_ref().map(|open| Arc::clone(&open.base))
    }

    fn sign(&self, transaction: &mut Transaction) {
        if let Some(author) = &self.author {
            transaction.set_author(author);
        }
    }

    pub fn begin(&self, store: &Store, read_only: bool) -> Result<(), EngineError> {
        let mut slot = self.open.lock();
        if slot.is_some() {
            return Err(state_error("a transaction is open already", "end it with COMMIT or ROLLBACK first"));
        }
        let mut transaction = if read_only { store.begin_read_only() } else { store.begin()? };
        self.sign(&mut transaction);
        let id = self.next_id.fetch_add(1, Ordering::Relaxed) + 1;
        let base = Arc::clone(transaction.base());
        let work = Arc::new(Mutex::new(TransactionWork { transaction: Some(transaction), savepoints: Vec::new() }));
        let started_at = SystemTime::now();
        *slot = Some(OpenState { id, started_at, base, work, changes: 0, failed: false, read_only, savepoints: Vec::new() });
        Ok(())
    }

    pub fn commit(&self) -> Result<(), EngineError> {
        let open = self.open.lock().take().ok_or_else(none_open)?;
        if open.failed {
            let message = "the transaction was rolled back, because a statement of it failed";
            return Err(state_error(message, "nothing of it was kept: begin another one, and run all of it again"));
        }
        // A statement that is still working in it finishes first.
        let mut transaction = holding_up_nobody(|| open.work.lock().transaction.take()).ok_or_else(none_open)?;
        if let Some(durability) = self.durability() {
            transaction.set_durability(durability);
        }
        holding_up_nobody(|| transaction.commit("COMMIT"))?;
        Ok(())
    }

    pub fn rollback(&self) -> Result<(), EngineError> {
        self.open.lock().take().map(|_| ()).ok_or_else(none_open)
    }

    /// An error if a statement of the open transaction has failed: it may be half applied.
    pub fn check_not_failed(&self) -> Result<(), EngineError> {
        self.open.lock().as_ref().map_or(Ok(()), OpenState::check_not_failed)
    }

    /// **Invariant:** at a savepoint no statement has failed yet.
    pub fn savepoint(&self, name: &str) -> Result<(), EngineError> {
        self.with_open(|open, transaction, savepoints| {
            open.check_not_failed()?;
            savepoints.push(transaction.savepoint());
            open.savepoints.push(name.to_string());
            Ok(())
        })
    }

    pub fn rollback_to(&self, name: &str) -> Result<(), EngineError> {
        self.with_open(|open, transaction, savepoints| {
            let at = open.savepoint(name)?;
            open.savepoints.truncate(at + 1);
            savepoints.truncate(at + 1);
            transaction.rollback_to(&savepoints[at]);
            open.failed = false;
            Ok(())
        })
    }

    pub fn release(&self, name: &str) -> Result<(), EngineError> {
        self.with_open(|open, _, savepoints| {
            open.check_not_failed()?;
            let at = open.savepoint(name)?;
            open.savepoints.truncate(at);
            savepoints.truncate(at);
            Ok(())
        })
    }

    pub fn has_savepoint(&self, name: &str) -> bool {
        self.open.lock().as_ref().is_some_and(|open| open.savepoint(name).is_ok())
    }

    /// A statement failed; its transaction, if it is still open, can now only be rolled back.
    pub fn fail(&self, planned_in: Option<u64>) {
        if let Some(open) = self.open.lock().as_mut().filter(|open| Some(open.id) == planned_in) {
            open.failed = true;
        }
    }

    /// An error if the open transaction may not write.
    pub fn check_writable(&self) -> Result<(), EngineError> {
        match self.open.lock().as_ref() {
            Some(open) if open.read_only => Err(read_only()),
            _ => Ok(()),
        }
    }

    /// A transaction for a single statement, which reads `base`.
    pub fn own(&self, store: &Store, base: Arc<Snapshot>) -> Result<Transaction, EngineError> {
        let mut transaction = store.begin_at(base)?;
        self.sign(&mut transaction);
        if let Some(durability) = self.durability() {
            transaction.set_durability(durability);
        }
        Ok(transaction)
    }

    /// The work of the open transaction, if the statement was planned in it; `None` if none is open now and none was then.
    pub fn work(&self, planned_in: Option<u64>) -> Result<Option<Arc<Mutex<TransactionWork>>>, EngineError> {
        let slot = self.open.lock();
        match slot.as_ref() {
            open if open.map(|open| open.id) != planned_in => Err(not_its_transaction()),
            Some(open) if open.read_only => Err(read_only()),
            open => Ok(open.map(|open| Arc::clone(&open.work))),
        }
    }

    /// Runs `change` in the open transaction with this `work`, unless the statement of `commit_guard` was stopped. Its changes are
    /// applied together or not at all.
    pub fn change<T>(
        &self,
        work: &Mutex<TransactionWork>,
        planned_in: Option<u64>,
        commit_guard: Option<&CommitGuard>,
        change: impl FnOnce(&mut Transaction) -> Result<T, StoreError>,
    ) -> Result<T, EngineError> {
        let mut work = work.lock();
        let Some(transaction) = work.transaction.as_mut() else { return Err(not_its_transaction()) };
        if let Some(stop) = commit_guard.and_then(CommitGuard::stopped) {
            return Err(stop.error());
        }
        let before = transaction.savepoint();
        let changed = change(transaction);
        if changed.is_err() {
            transaction.rollback_to(&before);
        }
        let changes = transaction.change_count() as u64;
        if let Some(open) = self.open.lock().as_mut().filter(|open| Some(open.id) == planned_in) {
            open.changes = changes;
        }
        Ok(changed?)
    }

    fn with_open(
        &self,
        act: impl FnOnce(&mut OpenState, &mut Transaction, &mut Vec<Savepoint>) -> Result<(), EngineError>,
    ) -> Result<(), EngineError> {
        let shared_work = Arc::clone(&self.open.lock().as_ref().ok_or_else(none_open)?.work);
        let mut work = shared_work.lock();
        let TransactionWork { transaction, savepoints } = &mut *work;
        let transaction = transaction.as_mut().ok_or_else(none_open)?;
        let mut slot = self.open.lock();
        // Another transaction may have begun meanwhile.
        let open = slot.as_mut().filter(|open| Arc::ptr_eq(&open.work, &shared_work)).ok_or_else(none_open)?;
        act(open, transaction, savepoints)?;
        open.changes = transaction.change_count() as u64;
        Ok(())
    }
}

impl OpenState {
    fn check_not_failed(&self) -> Result<(), EngineError> {
        if !self.failed {
            return Ok(());
        }
        let message = "a statement of this transaction failed, so nothing more can be done in it";
        Err(match self.savepoints.is_empty() {
            true => state_error(message, "end it with ROLLBACK"),
            false => state_error(message, "end it with ROLLBACK, or go back to a savepoint with ROLLBACK TO"),
        })
    }

    fn savepoint(&self, name: &str) -> Result<usize, EngineError> {
        let position = self.savepoints.iter().rposition(|other| other == name);
        position.ok_or_else(|| StoreError::DoesNotExist { kind: "savepoint", name: name.to_string() }.into())
    }
}

fn none_open() -> EngineError {
    state_error("no transaction is open", "begin one with BEGIN")
}

fn read_only() -> EngineError {
    state_error("the transaction is read-only", "begin it without READ ONLY")
}

fn not_its_transaction() -> EngineError {
    let message = "the transaction that this statement belongs to has ended, or another one has begun since";
    state_error(message, "take the results of a statement before the next one is run")
}

pub fn state_error(message: &str, hint: &str) -> EngineError {
    EngineError::Sql { message: message.into(), position: None, hint: Some(hint.into()) }
}
