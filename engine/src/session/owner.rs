//! Whose a session is, and what its statements are listed as.

use std::sync::{Arc, LazyLock};
use std::time::Duration;

use datafusion::sql::parser::Statement;

use super::{Running, Session};
use crate::audit::Audited;
use crate::engine::EngineShared;
use crate::error::EngineError;
use crate::output::{QueryOutput, StatementKind};
use crate::queries::{Entry, killed_by};
use crate::switches::Switches;

#[derive(Debug)]
pub struct Owner {
    /// Of the session, within the process.
    pub number: u64,
    pub user: Arc<str>,
}

impl Owner {
    /// Whoever runs this process.
    pub fn local(engine: &EngineShared) -> Owner {
        static USER: LazyLock<Arc<str>> = LazyLock::new(|| std::env::var("USER").unwrap_or_default().into());
        Owner::of(engine, Arc::clone(&USER))
    }

    pub fn of(engine: &EngineShared, user: Arc<str>) -> Owner {
        Owner { number: engine.queries.next_session(), user }
    }
}

impl Session {
    /// A statement of this session begins; it is listed as `text`.
    pub(crate) fn enter(&self, text: &str) -> Entry {
        let audited = self.catalog.user().map(|_| Audited::new(&self.engine.audit.0, text));
        self.engine.queries.enter(self.owner.number, &self.owner.user, text, self.statement_timeout(), audited)
    }

    fn statement_timeout(&self) -> Option<Duration> {
        let state = self.context.state_ref();
        let timeout_ms = state.read().config().options().extensions.get::<Switches>().map_or(0, |set| set.statement_timeout_ms);
        (timeout_ms > 0).then(|| Duration::from_millis(timeout_ms))
    }

    /// Runs the statement if it is a KILL, which also works in a transaction that has failed.
    pub(super) fn kill(&self, running: &Running, statement: &Statement) -> Result<Option<QueryOutput>, EngineError> {
        let Some(id) = killed_by(statement)? else { return Ok(None) };
        // Asked now: who was an administrator when the session began may be none any more.
        let is_admin = running.catalog.check(|permit| permit.admin("end statements of others")).is_ok();
        self.engine.queries.kill(id, &self.owner.user, is_admin)?;
        Ok(Some(running.nothing(StatementKind::Ddl)))
    }
}
