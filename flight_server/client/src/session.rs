//! A session on a server. When the connection breaks, the next statement connects again.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use arrow_flight::sql::CommandStatementQuery;
use engine::QueryReport;
use flight_wire::report_of_json;
use futures::FutureExt;
use futures::future::BoxFuture;
use parking_lot::Mutex;
use tonic::{Code, Status};

use crate::connect::connect;
use crate::connection_state::ConnectionState;
use crate::error::RemoteError;
use crate::link::Link;
use crate::options::ConnectOptions;
use crate::output::RemoteOutput;
use crate::session_state::{SessionState, time_text};

pub struct RemoteSession {
    pub(crate) shared: Arc<ConnectionState>,
    /// One call reconnects, and the others wait for it.
    connecting: tokio::sync::Mutex<()>,
    /// The server is too old to report progress.
    tells_no_progress: AtomicBool,
}

impl RemoteSession {
    pub async fn connect(options: ConnectOptions) -> Result<RemoteSession, RemoteError> {
        let link = connect(&options).await?;
        let shared =
            Arc::new(ConnectionState { options, link: Mutex::new(Some(link)), session_state: Mutex::default(), renewed: Mutex::default() });
        Ok(RemoteSession { shared, connecting: tokio::sync::Mutex::default(), tells_no_progress: AtomicBool::new(false) })
    }

    pub fn options(&self) -> &ConnectOptions {
        &self.shared.options
    }

    /// Starts one statement: a query is planned, and runs while its output is polled; any other statement has run when this
    /// returns. Dropping this, or the output, cancels it on the server.
    pub async fn execute(&self, sql: &str) -> Result<RemoteOutput, RemoteError> {
        let command = CommandStatementQuery { query: sql.to_string(), transaction_id: None };
        let (link, info) = self
            .ask(sql, |mut link| {
                let command = command.clone();
                async move { link.info(command).await }.boxed()
            })
            .await?;
        self.shared.session_state.lock().record_statement(sql);
        RemoteOutput::begin(&self.shared, link, info, sql)
    }

    /// Runs `call` in the session. If the server has ended the session because it was idle, the call is repeated in a new one, unless
    /// the old one had state that is lost. This is safe because the server refuses such a call before it begins.
    pub(crate) async fn ask<'a, T>(
        &'a self,
        sql: &str,
        call: impl Fn(Link) -> BoxFuture<'a, Result<T, Status>> + Send,
    ) -> Result<(Link, T), RemoteError> {
        let mut is_again = false;
        loop {
            let link = self.link().await?;
            let status = match call(link.clone()).await {
                Ok(answer) => {
                    self.shared.session_state.lock().mark_used();
                    return Ok((link, answer));
                }
                Err(status) => status,
            };
            let idle = self.shared.session_state.lock().idle();
            let error = self.shared.failed(link.number, &status, sql);
            if is_again || !error.has_lost_nothing() {
                return Err(error);
            }
            is_again = true;
            *self.shared.renewed.lock() = Some(idle);
        }
    }

    /// A notice for the user, given once, that a new session has replaced one that the server had ended.
    pub fn take_notice(&self) -> Option<String> {
        let idle = self.shared.renewed.lock().take()?;
        Some(format!("the session was idle for {} and had ended; this is a new one, and nothing was lost", time_text(idle)))
    }

    /// The progress of the last statement, if it still runs; `None` if the server does not report it. It makes no
    /// connection, and it ignores failures: the statement itself will report them.
    pub async fn progress(&self) -> Option<QueryReport> {
        if self.tells_no_progress.load(Ordering::Relaxed) {
            return None;
        }
        let link = self.shared.link.lock().clone();
        match link?.act("progress", Vec::new()).await {
            Ok((_, answers)) => report_of_json(answers.first()?).map(|(report, _)| report),
            Err(status) => {
                self.tells_no_progress.fetch_or(status.code() == Code::Unimplemented, Ordering::Relaxed);
                None
            }
        }
    }

    /// The link of the current session, or of a new one after a break.
    pub(crate) async fn link(&self) -> Result<Link, RemoteError> {
        let _turn = self.connecting.lock().await;
        let link = self.shared.link.lock().clone();
        match link {
            Some(link) => Ok(link),
            None => {
                let link = connect(&self.shared.options).await?;
                *self.shared.session_state.lock() = SessionState::default();
                *self.shared.link.lock() = Some(link.clone());
                Ok(link)
            }
        }
    }

    pub fn is_connected(&self) -> bool {
        self.shared.link.lock().is_some()
    }

    /// Ends the session. The server would otherwise keep it for half an hour.
    pub async fn close(&self) {
        let link = self.shared.link.lock().take();
        if let Some(mut link) = link {
            // If that fails, the server ends the idle session later.
            let _ = link.act("CloseSession", Vec::new()).await;
        }
    }
}
