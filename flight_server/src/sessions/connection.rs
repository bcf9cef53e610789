//! One session of the engine, with the lock by which its statements take turns.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use engine::{EngineError, QueryOutput, QueryReport, Session, StatementKind};
use parking_lot::Mutex;
use tokio::sync::MutexGuard;
use tonic::Status;

use crate::budget::{Budget, BudgetShare};
use crate::error::{status, status_in};
use crate::handles::Handle;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lifetime {
    /// For one call and its result. Its settings are lost afterwards.
    Call,
    Session,
    /// From BeginTransaction to EndTransaction.
    Transaction,
    /// A transaction of the server, which no statement of a client can end.
    Lease,
}

/// **Invariant:** statements of one engine session are planned and started one after the other; their
/// streams may be read concurrently.
pub struct Connection {
    session: Session,
    lifetime: Lifetime,
    turn: tokio::sync::Mutex<()>,
    budget: Option<Arc<Budget>>,
    /// The bytes of the budget that SQL prepared statements take.
    prepared_share: Mutex<Option<BudgetShare>>,
    /// For a transaction: whether it has run BEGIN, which comes with its first statement.
    is_begun: AtomicBool,
    /// For a transaction: the session in which it was begun, and with which it ends.
    begun_in: Option<Handle>,
}

impl Connection {
    /// For one call.
    pub fn of_call(session: Session) -> Arc<Connection> {
        session.refuse_temporary_tables("this call has no session; begin one by SetSessionOptions and keep its cookie");
        Connection::of(session, Lifetime::Call, None, None)
    }

    /// For a session, whose prepared statements count against the budget.
    pub fn of_session(session: Session, budget: &Arc<Budget>) -> Arc<Connection> {
        Connection::of(session, Lifetime::Session, None, Some(Arc::clone(budget)))
    }

    /// For a transaction, which begins with its first statement. Clients without autocommit
    /// (ADBC in Python) begin one when they connect and after each commit, and may then be idle for hours.
    pub fn in_transaction(session: Session, begun_in: Option<Handle>, budget: &Arc<Budget>) -> Arc<Connection> {
        Connection::of(session, Lifetime::Transaction, begun_in, Some(Arc::clone(budget)))
    }

    /// For a lease, which pins a version by a transaction.
    pub fn in_lease(session: Session, budget: &Arc<Budget>) -> Arc<Connection> {
        Connection::of(session, Lifetime::Lease, None, Some(Arc::clone(budget)))
    }

    fn of(session: Session, lifetime: Lifetime, begun_in: Option<Handle>, budget: Option<Arc<Budget>>) -> Arc<Connection> {
        let (turn, prepared_share, is_begun) = (tokio::sync::Mutex::default(), Mutex::default(), AtomicBool::new(false));
        Arc::new(Connection { session, lifetime, turn, budget, prepared_share, is_begun, begun_in })
    }

    pub fn is_begun_in(&self, session: &[u8]) -> bool {
        self.begun_in.as_deref() == Some(session)
    }

    pub fn begun_in(&self) -> Option<&Handle> {
        self.begun_in.as_ref()
    }

    /// Whether a transaction is open in it. It does not wait for the lock.
    pub fn is_in_transaction(&self) -> bool {
        self.session.is_in_transaction()
    }

    /// The progress of its last statement, if it still runs. It does not wait for the lock, which that statement may hold.
    pub fn progress(&self) -> Option<QueryReport> {
        self.session.progress()
    }

    /// For a transaction: whether COMMIT or ROLLBACK was run in it.
    pub fn is_ended(&self) -> bool {
        self.is_begun.load(Ordering::Acquire) && !self.session.is_in_transaction()
    }

    /// Like [`Connection::turn`], for a statement that was prepared in it.
    pub async fn turn_of_prepared(&self) -> Result<SessionLock<'_>, Status> {
        self.turn().await.map_err(|error| if self.is_ended() { outlived() } else { error })
    }

    /// Waits until no other statement of this session is being planned or started.
    pub async fn turn(&self) -> Result<SessionLock<'_>, Status> {
        let turn = SessionLock { connection: self, _guard: self.turn.lock().await };
        if self.is_ended() {
            return Err(ended());
        }
        if !self.is_begun.load(Ordering::Acquire) {
            match self.lifetime {
                Lifetime::Transaction => turn.run("BEGIN").await.map_err(status)?,
                Lifetime::Lease => turn.run_own("BEGIN").await.map_err(status)?,
                Lifetime::Call | Lifetime::Session => return Ok(turn),
            }
            self.is_begun.store(true, Ordering::Release);
        }
        Ok(turn)
    }

    /// Copies its settings and its SQL prepared statements to `session`.
    pub fn lend_settings(&self, session: &Session) -> Result<(), Status> {
        session.copy_settings_from(&self.session).map_err(status)
    }

    /// Reserves bytes for the statement, in case it is a PREPARE.
    fn room_for(&self, sql: &str) -> Result<Option<BudgetShare>, Status> {
        self.budget.as_ref().map(|budget| budget.take(Session::bytes_of_prepared(sql))).transpose()
    }

    /// Updates the share after a statement that may have changed it. The bytes were reserved before, so that this cannot fail.
    fn update_share(&self, room: Option<BudgetShare>) {
        let mut share = self.prepared_share.lock();
        match (&mut *share, room) {
            (Some(share), Some(room)) => share.join(room),
            (share, room) => *share = share.take().or(room),
        }
        if let Some(share) = &mut *share {
            share.shrink(self.session.prepared_bytes());
        }
    }
}

/// Clients commit and go on with a prepared statement that they keep; ADBC's cursors do. Its call names no transaction, so there is
/// none in which it could run.
fn outlived() -> Status {
    Status::not_found(
        "the transaction in which this statement was prepared has ended, and the statement with it; prepare it again (with ADBC: a new cursor \
         after each commit)",
    )
}

/// COMMIT or ROLLBACK in SQL ends a transaction as EndTransaction does. No statement after it may
/// autocommit without the client knowing.
fn ended() -> Status {
    Status::not_found("this transaction has ended; begin another one with BeginTransaction")
}

pub struct SessionLock<'a> {
    connection: &'a Connection,
    _guard: MutexGuard<'a, ()>,
}

impl SessionLock<'_> {
    pub fn session(&self) -> &Session {
        &self.connection.session
    }

    pub async fn execute(&self, sql: &str) -> Result<QueryOutput, Status> {
        let room = self.connection.room_for(sql)?;
        let output = self.session().execute(sql).await.map_err(|error| status_in(error, sql))?;
        self.settle(&output, room)?;
        Ok(output)
    }

    /// Accepts or refuses a change of the session itself. `room` is the reserved share of the budget.
    pub fn settle(&self, output: &QueryOutput, room: Option<BudgetShare>) -> Result<(), Status> {
        let (lifetime, kind) = (self.connection.lifetime, output.kind());
        match (lifetime, kind) {
            (Lifetime::Call, StatementKind::Transaction) => Err(Status::failed_precondition(
                "this call has no session, so its transaction would end with it; use BeginTransaction, or begin a session by SetSessionOptions and keep its cookie",
            )),
            (Lifetime::Call, StatementKind::Set) => Err(Status::failed_precondition(
                "this call has no session that could keep a setting; begin one by SetSessionOptions and keep its cookie",
            )),
            (Lifetime::Session | Lifetime::Transaction | Lifetime::Lease, StatementKind::Set) => {
                self.connection.update_share(room);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Runs a statement that the caller did not send as SQL. It returns no rows.
    pub async fn run(&self, sql: &str) -> Result<(), EngineError> {
        self.session().execute(sql).await?.collect().await.map(|_| ())
    }

    /// The same for a statement of the server itself. It is not audited.
    pub async fn run_own(&self, sql: &str) -> Result<(), EngineError> {
        self.session().execute_own(sql).await?.collect().await.map(|_| ())
    }
}
