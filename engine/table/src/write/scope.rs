//! The scope of a statement's changes: the session's open transaction, or one of its own.

use std::sync::Arc;

use pmem_store::{Snapshot, Store, StoreError, Transaction};

use crate::blocking::holding_up_nobody;
use crate::commit_guard::CommitGuard;
use crate::constraints::TableRules;
use crate::store_context::StoreContext;
use crate::transactions::TransactionSlot;
use common::error::EngineError;

/// How the writes of one statement reach the store. Created when the statement is planned.
#[derive(Debug, Clone)]
pub struct WriteScope {
    engine: Arc<dyn StoreContext>,
    slot: Arc<TransactionSlot>,
    /// The snapshot that the statement reads.
    base: Arc<Snapshot>,
    /// The transaction in which it was planned: its tables may exist only there.
    planned_in: Option<u64>,
    /// The commit guard of its statement, which may have been stopped.
    commit_guard: Option<Arc<CommitGuard>>,
}

impl WriteScope {
    pub fn new(
        engine: Arc<dyn StoreContext>,
        slot: &Arc<TransactionSlot>,
        base: Arc<Snapshot>,
        commit_guard: Option<Arc<CommitGuard>>,
    ) -> WriteScope {
        let planned_in = slot.open_id();
        WriteScope { engine, slot: Arc::clone(slot), base, planned_in, commit_guard }
    }

    pub fn engine(&self) -> &dyn StoreContext {
        &*self.engine
    }

    pub fn store(&self) -> &Arc<Store> {
        self.engine.store()
    }

    /// The rules of a table, as the statement sees them.
    pub fn rules_of(&self, namespace: &str, name: &str) -> Result<Arc<TableRules>, EngineError> {
        match self.base.table(namespace, name)? {
            Some(table) => TableRules::of(self.engine.rules(), &table),
            None => Err(StoreError::DoesNotExist { kind: "table", name: name.to_string() }.into()),
        }
    }

    pub fn has_plain_columns(&self, namespace: &str, name: &str) -> Result<bool, EngineError> {
        Ok(self.base.table(namespace, name)?.is_some_and(|table| table.record().has_plain_columns()))
    }

    /// The statement is a transaction of its own.
    pub fn is_autocommit(&self) -> bool {
        !self.slot.is_open()
    }

    /// An error if the statement may not write.
    pub fn check_writable(&self) -> Result<(), EngineError> {
        if self.store().is_read_only() {
            return Err(StoreError::ReadOnly(self.store().path().to_path_buf()).into());
        }
        self.slot.check_writable()
    }

    /// Runs `change` in the open transaction, or in one of its own that commits at once as `operation`. The changes of one call are
    /// applied together or not at all.
    pub fn change<T>(&self, operation: &str, change: impl FnOnce(&mut Transaction) -> Result<T, StoreError>) -> Result<T, EngineError> {
        match self.slot.work(self.planned_in)? {
            Some(work) => self.slot.change(&work, self.planned_in, self.commit_guard.as_deref(), change),
            None => {
                let mut transaction = self.slot.own(self.store(), Arc::clone(&self.base))?;
                let done = change(&mut transaction)?;
                self.commit(transaction, operation)?;
                self.engine.wake_maintenance();
                Ok(done)
            }
        }
    }

    /// For changes outside of the store: from here on nothing can stop the statement; an error if it was stopped before.
    pub fn begin_commit(&self) -> Result<(), EngineError> {
        self.commit_guard.as_ref().map_or(Ok(()), |commit_guard| commit_guard.begin_commit())
    }

    /// Commits unless the statement was stopped; once this has begun it cannot be stopped.
    fn commit(&self, transaction: Transaction, operation: &str) -> Result<(), EngineError> {
        if let Some(commit_guard) = &self.commit_guard {
            commit_guard.begin_commit()?;
        }
        let committed = holding_up_nobody(|| transaction.commit(operation));
        if let Some(commit_guard) = self.commit_guard.as_ref().filter(|_| committed.is_err()) {
            commit_guard.abandon_commit();
        }
        committed?;
        Ok(())
    }
}
