//! The calls of Flight, each dispatched by its kind: a command of Flight SQL, a path, or JSON for plain Flight.

mod bounds;
mod calls;
mod commands;
mod do_action;
mod do_get;
mod do_get_wire;
mod do_put;
mod get_flight_info;
mod maintenance;
mod session_actions;

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use engine::Engine;
use flight_wire::binding;
use futures::Stream;
use tokio_util::sync::CancellationToken;
use tonic::{Request, Status};

use crate::active_streams::ActiveStreams;
use crate::auth::{Credentials, Logins};
use crate::budget::Budget;
use crate::drain::Drain;
use crate::executors::Executors;
use crate::flight::Leases;
use crate::named_calls::NamedCalls;
use crate::options::ServerOptions;
use crate::sessions::{CallContext, Connection, Sessions, cookie};
use crate::sql::metadata::ServerFacts;
use crate::sql::prepared::PreparedStatements;
use crate::sql::statements::Tickets;
use crate::sql::transactions::{TransactionScope, Transactions};
use crate::stream::ClientOptions;

pub use calls::Calls;
pub use do_get_wire::Downloads;
pub use maintenance::Counts;

type Answers<T> = Pin<Box<dyn Stream<Item = Result<T, Status>> + Send>>;

pub struct Service {
    pub options: ServerOptions,
    pub logins: Logins,
    pub sessions: Sessions,
    pub transactions: Transactions,
    pub prepared: PreparedStatements,
    pub tickets: Arc<Tickets>,
    pub active_streams: Arc<ActiveStreams>,
    pub executors: Arc<Executors>,
    pub named_calls: NamedCalls,
    pub drain: Drain,
    pub leases: Leases,
    facts: ServerFacts,
}

impl Service {
    pub fn new(engine: &Engine, options: ServerOptions, stop: CancellationToken) -> Service {
        let budget = Budget::new(options.kept_bytes_max);
        let (active_streams, executors) =
            (ActiveStreams::new(&options, unread_bytes_max(engine, &options)), Executors::new(engine.threads()));
        Service {
            logins: Logins::new(engine, options.login.clone()),
            sessions: Sessions::new(engine, &options, &budget),
            transactions: Transactions::new(&options),
            prepared: PreparedStatements::new(&options, &budget),
            leases: Leases::new(&options, stop.child_token()),
            tickets: Tickets::new(&options, &budget, &active_streams, &executors, stop),
            active_streams,
            executors,
            named_calls: NamedCalls::default(),
            drain: Drain::default(),
            facts: commands::facts(engine, &options),
            options,
        }
    }

    /// Authenticates the caller. Every call does this first, even if its answer is the same for all callers.
    fn caller<'a, T>(&'a self, request: &Request<T>) -> impl Future<Output = Result<CallContext, Status>> + Send + use<'a, T> {
        let headers = request.metadata();
        // `Request<T>` is not `Sync`; extract what is needed before the first await.
        let shown = Credentials::of(request)
            .and_then(|credentials| Ok((credentials, cookie(headers)?, (ClientOptions::of(headers)?, binding(headers)?))));
        async move {
            let (credentials, session, options_and_binding) = shown?;
            let identity = self.logins.identity(&credentials).await?;
            self.sessions.caller(identity, session, credentials, options_and_binding)
        }
    }

    /// The connection for a statement of the caller: the transaction that it names, or else its session.
    fn connection(&self, caller: &CallContext, transaction: Option<&[u8]>) -> Result<Arc<Connection>, Status> {
        match transaction.filter(|id| !id.is_empty()) {
            Some(id) => self.transactions.connection(&caller.principal, id),
            None => self.sessions.connection(caller),
        }
    }

    fn beside<'a>(&'a self, caller: &'a CallContext) -> TransactionScope<'a> {
        self.transactions.beside(caller.session.as_ref().map(|(handle, _)| handle))
    }
}

/// The default for unread bytes is at least this, if the memory limit is very small: some messages for a few results.
const UNREAD_BYTES_MIN: u64 = 16 << 20;

/// The setting, or a sixteenth of the memory for queries.
fn unread_bytes_max(engine: &Engine, options: &ServerOptions) -> usize {
    let bytes = options.limits.unread_bytes_max.unwrap_or_else(|| (engine.memory_limit_bytes() as u64 / 16).max(UNREAD_BYTES_MIN));
    usize::try_from(bytes).unwrap_or(usize::MAX)
}

fn one<T: Send + 'static>(answer: T) -> Answers<T> {
    Box::pin(futures::stream::iter([Ok(answer)]))
}
