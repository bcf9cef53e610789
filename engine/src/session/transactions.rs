//! BEGIN, COMMIT, ROLLBACK and savepoints.

use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::{self, TransactionAccessMode, TransactionIsolationLevel, TransactionMode};
use pmem_store::{GrantObject, TableId};

use super::Session;
use crate::execution::StatementContext;
use crate::output::QueryOutput;
use crate::queries::StatementKind;
use common::error::EngineError;
use table::access::DEFINER_MISSES;

impl Session {
    /// Runs the statement if it is about transactions, or a KILL.
    pub(super) fn control(&self, ctx: &StatementContext, statement: &Statement) -> Result<Option<QueryOutput>, EngineError> {
        if let Some(killed) = self.kill(ctx, statement)? {
            return Ok(Some(killed));
        }
        let Statement::Statement(statement) = statement else { return Ok(None) };
        match statement.as_ref() {
            ast::Statement::StartTransaction { modes, modifier: None, statements, exception: None, .. } if statements.is_empty() => {
                self.begin_transaction(read_only(modes)?)?;
            }
            ast::Statement::StartTransaction { .. } => {
                return Err(EngineError::unsupported("this kind of BEGIN", Some("use BEGIN, and COMMIT or ROLLBACK")));
            }
            ast::Statement::Commit { chain: false, modifier: None, .. } => {
                self.commit_transaction(ctx)?;
            }
            ast::Statement::Rollback { chain: false, savepoint: None } => self.roll_back()?,
            ast::Statement::Rollback { chain: false, savepoint: Some(name) } => self.transaction.rollback_to(&name.value)?,
            ast::Statement::Savepoint { name } => self.transaction.savepoint(&name.value)?,
            ast::Statement::ReleaseSavepoint { name } => self.transaction.release(&name.value)?,
            ast::Statement::Commit { .. } | ast::Statement::Rollback { .. } => {
                return Err(EngineError::unsupported("AND CHAIN", Some("use BEGIN for the next transaction")));
            }
            _ => return Ok(None),
        }
        Ok(Some(ctx.nothing(StatementKind::Transaction)))
    }

    pub(super) fn begin_transaction(&self, read_only: bool) -> Result<(), EngineError> {
        self.transaction.begin(&self.engine.store, read_only || self.engine.store.is_read_only())?;
        self.forget_used_privileges();
        Ok(())
    }

    pub(super) fn commit_transaction(&self, ctx: &StatementContext) -> Result<(), EngineError> {
        // A stop comes before the commit begins, or too late.
        ctx.commit_guard().begin_commit()?;
        if let Err(error) = self.commit() {
            ctx.commit_guard().abandon_commit();
            return Err(error);
        }
        self.engine.maintenance.wake();
        Ok(())
    }

    /// Does not commit if a privilege that the transaction has used was revoked.
    fn commit(&self) -> Result<(), EngineError> {
        if let Err(error) = self.check_used_privileges() {
            self.roll_back()?;
            return Err(error);
        }
        let committed = self.transaction.commit();
        self.forget_used_privileges();
        committed
    }

    pub(super) fn roll_back(&self) -> Result<(), EngineError> {
        self.forget_used_privileges();
        self.transaction.rollback()
    }

    fn forget_used_privileges(&self) {
        if let Some(access) = &self.access {
            access.forget_used();
        }
    }

    /// The commit checks again under its lock; this check gives the hint what to do.
    fn check_used_privileges(&self) -> Result<(), EngineError> {
        let Some(access) = self.access.as_ref().filter(|_| !self.transaction.has_failed()) else { return Ok(()) };
        let definers = access.definers();
        if access.used.is_empty() && definers.iter().all(|definer| definer.used.is_empty()) {
            return Ok(());
        }
        let (Some(base), Some(now)) = (self.transaction.base(), self.transaction.snapshot()) else { return Ok(()) };
        let last = self.engine.store.snapshot()?;
        // If others have dropped the object meanwhile, that is a conflict, and its privileges no longer exist.
        let is_changed = |id: &TableId| now.changed_version(*id) != base.changed_version(*id) && last.changed_version(*id).is_some();
        let is_there = |object: &GrantObject| match object {
            GrantObject::Table(id) => is_changed(id),
            GrantObject::Schema(name) => last.has_namespace(name) || !base.has_namespace(name),
            GrantObject::Group(_) | GrantObject::Blob(_) | GrantObject::Function(_) => false,
            GrantObject::View(schema, name) => !matches!((last.view(schema, name), base.view(schema, name)), (Ok(None), Ok(Some(_)))),
            GrantObject::Store => true,
        };
        let hint = "ask an owner or an admin for it, and run the transaction again from BEGIN";
        let denied = |message, hint: &str| EngineError::Denied { message, hint: hint.to_string() };
        for definer in &definers {
            let done = definer.used.check(&*definer.effective_privileges()?, is_there);
            done.map_err(|_| denied(DEFINER_MISSES.to_string(), "ask who owns the procedure"))?;
        }
        access.used.check(&*access.effective_privileges()?, is_there).map_err(|message| denied(message, hint))
    }

    /// Whether a statement is about transactions.
    pub(super) fn is_control(statement: &Statement) -> bool {
        let Statement::Statement(statement) = statement else { return false };
        matches!(
            statement.as_ref(),
            ast::Statement::StartTransaction { .. }
                | ast::Statement::Commit { .. }
                | ast::Statement::Rollback { .. }
                | ast::Statement::Savepoint { .. }
                | ast::Statement::ReleaseSavepoint { .. }
        )
    }

    pub(crate) fn check_not_failed(&self) -> Result<(), EngineError> {
        self.transaction.check_not_failed()
    }

    /// Whether a BEGIN is open.
    pub fn is_in_transaction(&self) -> bool {
        self.transaction.is_open()
    }

    /// Whether the open transaction has this savepoint.
    pub fn has_savepoint(&self, name: &str) -> bool {
        self.transaction.has_savepoint(name)
    }

    /// Whether a statement of the open transaction failed, so that it can only be rolled back.
    pub fn is_transaction_failed(&self) -> bool {
        self.transaction.has_failed()
    }
}

/// Every transaction reads one version, which is at least as strict as READ COMMITTED and REPEATABLE READ.
fn read_only(modes: &[TransactionMode]) -> Result<bool, EngineError> {
    let mut read_only = false;
    for mode in modes {
        match mode {
            TransactionMode::AccessMode(access) => read_only = *access == TransactionAccessMode::ReadOnly,
            TransactionMode::IsolationLevel(TransactionIsolationLevel::Serializable) => {
                let hint = "transactions have snapshot isolation: REPEATABLE READ";
                return Err(EngineError::unsupported("ISOLATION LEVEL SERIALIZABLE", Some(hint)));
            }
            TransactionMode::IsolationLevel(_) => {}
        }
    }
    Ok(read_only)
}
