//! Whose a session is, and what its statements are listed as.

use std::sync::{Arc, LazyLock};
use std::time::Duration;

use datafusion::sql::parser::Statement;

use super::Session;
use crate::audit::Audited;
use crate::execution::Running;
use crate::output::QueryOutput;
use crate::queries::{Entry, Query, StatementKind, StatementRecord, Whose, killed_by};
use crate::shared::EngineShared;
use common::error::EngineError;
use common::report::QueryReport;
use common::switches::Switches;

#[derive(Debug)]
pub struct Owner {
    /// Of the session, within the process.
    pub number: u64,
    pub whose: Whose,
}

impl Owner {
    /// The user, or whoever runs this process.
    pub fn of(engine: &EngineShared, user: Option<&str>) -> Owner {
        static PROCESS: LazyLock<Whose> = LazyLock::new(|| Whose::process(&std::env::var("USER").unwrap_or_default()));
        let whose = user.map_or_else(|| PROCESS.clone(), Whose::user);
        Owner { number: engine.queries.next_session(), whose }
    }
}

impl Session {
    /// A statement of this session begins; it is listed as `text`.
    pub(crate) fn enter(&self, text: &str) -> Entry {
        self.engine.queries.enter(self.owner.number, &self.owner.whose, text, self.statement_timeout(), self.record())
    }

    /// The same of a statement that nobody has said: the audit has what users did, and nothing of it.
    pub(super) fn enter_own(&self, text: &str) -> Entry {
        self.engine.queries.enter(self.owner.number, &self.owner.whose, text, self.statement_timeout(), None)
    }

    fn record(&self) -> Option<Box<dyn StatementRecord>> {
        self.catalog.user().map(|_| Box::new(Audited::new(&self.engine.audit.0)) as Box<dyn StatementRecord>)
    }

    /// Of a statement that somebody is about to run and that is looked at before.
    pub(super) fn unlisted(&self, text: &str) -> Arc<Query> {
        self.engine.queries.unlisted(self.owner.number, &self.owner.whose, text)
    }

    /// Who is refused when it is looked at does not come back with it: so it ends as one that was run, in the audit, the log and what is
    /// counted. What is not refused leaves nothing before it is run.
    pub(super) fn looked_at<T>(&self, query: Arc<Query>, found: Result<T, EngineError>) -> Result<T, EngineError> {
        if let Err(error) = &found {
            self.engine.queries.refused(query, self.record(), error);
        }
        found
    }

    /// How far the statement is that this session began last, of those that have not ended; None where there is none. Whoever
    /// asks waits for nothing and runs no statement himself.
    pub fn progress(&self) -> Option<QueryReport> {
        self.engine.queries.last_of(self.owner.number).map(|query| query.report())
    }

    pub(super) fn statement_timeout(&self) -> Option<Duration> {
        let state = self.context.state_ref();
        let timeout_ms = state.read().config().options().extensions.get::<Switches>().map_or(0, |set| set.statement_timeout_ms);
        (timeout_ms > 0).then(|| Duration::from_millis(timeout_ms))
    }

    /// Runs the statement if it is a KILL, which also works in a transaction that has failed.
    pub(super) fn kill(&self, running: &Running, statement: &Statement) -> Result<Option<QueryOutput>, EngineError> {
        let Some(id) = killed_by(statement)? else { return Ok(None) };
        // Asked now: who was an administrator when the session began may be none any more.
        let is_admin = running.catalog.check(|permit| permit.admin("end statements of others")).is_ok();
        self.engine.queries.kill(id, &self.owner.whose, is_admin)?;
        Ok(Some(running.nothing(StatementKind::Ddl)))
    }
}
