//! The principal of a session, and how its statements are registered.

use std::sync::{Arc, LazyLock};
use std::time::Duration;

use datafusion::sql::parser::Statement;

use super::Session;
use crate::audit::Audited;
use crate::execution::StatementContext;
use crate::output::QueryOutput;
use crate::queries::{Principal, Query, StatementEntry, StatementKind, StatementRecord, killed_by};
use crate::shared::EngineShared;
use common::engine_settings::EngineSettings;
use common::error::EngineError;
use common::report::QueryReport;

#[derive(Debug)]
pub struct SessionIdentity {
    /// The number of the session within the process.
    pub number: u64,
    pub principal: Principal,
}

impl SessionIdentity {
    /// The user, or the one who runs this process.
    pub fn of(engine: &EngineShared, user: Option<&str>) -> SessionIdentity {
        static PROCESS: LazyLock<Principal> = LazyLock::new(|| Principal::process(&std::env::var("USER").unwrap_or_default()));
        let principal = user.map_or_else(|| PROCESS.clone(), Principal::user);
        SessionIdentity { number: engine.queries.next_session(), principal }
    }
}

impl Session {
    /// Registers a new statement of this session, shown as `text`.
    pub(crate) fn register_statement(&self, text: &str) -> StatementEntry {
        self.engine.queries.register_statement(
            self.identity.number,
            &self.identity.principal,
            text,
            self.statement_timeout(),
            self.record(),
        )
    }

    /// The same for a statement of the engine itself. It is not audited, because no user sent it.
    pub(super) fn register_internal(&self, text: &str) -> StatementEntry {
        self.engine.queries.register_statement(self.identity.number, &self.identity.principal, text, self.statement_timeout(), None)
    }

    /// Runs what is no statement, in microseconds. What a user does is registered all the same, and audited as `text`.
    pub(super) fn audited<T>(&self, text: &str, work: impl FnOnce() -> Result<T, EngineError>) -> Result<T, EngineError> {
        match self.catalog.user() {
            None => work(),
            Some(_) => self.register_statement(text).close(StatementKind::Query, 0, work()),
        }
    }

    fn record(&self) -> Option<Box<dyn StatementRecord>> {
        self.catalog.user().map(|_| Box::new(Audited::new(&self.engine.audit.0)) as Box<dyn StatementRecord>)
    }

    /// A statement that a client describes before it executes it.
    pub(super) fn unregistered(&self, text: &str) -> Arc<Query> {
        self.engine.queries.unregistered(self.identity.number, &self.identity.principal, text)
    }

    /// If describing a statement fails, the client will not execute it. So the failure is recorded now, in the audit, the log and the
    /// counters. A description that succeeds records nothing.
    pub(super) fn record_failed_describe<T>(&self, query: Arc<Query>, result: Result<T, EngineError>) -> Result<T, EngineError> {
        if let Err(error) = &result {
            self.engine.queries.record_failed_describe(query, self.record(), error);
        }
        result
    }

    /// The progress of the session's most recent running statement; `None` if there is none. It does not wait and does not run a
    /// statement.
    pub fn progress(&self) -> Option<QueryReport> {
        self.engine.queries.last_of(self.identity.number).map(|query| query.report())
    }

    pub(super) fn statement_timeout(&self) -> Option<Duration> {
        let state = self.context.state_ref();
        let timeout_ms = state.read().config().options().extensions.get::<EngineSettings>().map_or(0, |set| set.statement_timeout_ms);
        (timeout_ms > 0).then(|| Duration::from_millis(timeout_ms))
    }

    /// Runs the statement if it is a KILL, which also works in a failed transaction.
    pub(super) fn kill(&self, ctx: &StatementContext, statement: &Statement) -> Result<Option<QueryOutput>, EngineError> {
        let Some(id) = killed_by(statement)? else { return Ok(None) };
        // Checked now, because an administrator at the start of the session may no longer be one.
        let is_admin = ctx.catalog.check(|authorization| authorization.admin("end statements of others")).is_ok();
        self.engine.queries.kill(id, &self.identity.principal, is_admin)?;
        Ok(Some(ctx.nothing(StatementKind::Ddl)))
    }
}
