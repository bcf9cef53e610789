//! Transactions that a client holds by their id, each in an engine session of its own. Statements without an
//! id autocommit meanwhile. Savepoints are those of the engine.

use std::sync::Arc;

use arrow_flight::sql::EndTransaction;
use parking_lot::Mutex;
use tonic::Status;

use crate::auth::Principal;
use crate::error::status;
use crate::handles::{Handle, Handles};
use crate::options::ServerOptions;
use crate::sessions::Connection;

pub struct Transactions {
    /// Transactions without a statement yet: they pin no version of the store, and so may idle for long.
    fresh: Handles<Connection>,
    open: Handles<Connection>,
    /// Held while a transaction moves from `fresh` to `open` and during look-ups, so that every look-up finds it in one of them.
    moving: Mutex<()>,
    savepoints: Handles<SavepointOf>,
}

/// A session in which a statement may run BEGIN.
#[derive(Clone, Copy)]
pub struct TransactionScope<'a> {
    transactions: &'a Transactions,
    session: Option<&'a Handle>,
}

impl TransactionScope<'_> {
    /// A statement that does not name the transaction of BeginTransaction is not part of it, so BEGIN would start a second one.
    pub fn check(&self) -> Result<(), Status> {
        let Some(session) = self.session else { return Ok(()) };
        let Transactions { fresh, open, .. } = self.transactions;
        let (is_any_fresh, begun) = {
            let _moving = self.transactions.moving.lock();
            (fresh.any(|transaction| transaction.is_begun_in(session)), open.all_of(|transaction| transaction.is_begun_in(session)))
        };
        // Outside of the locks, because a connection that receives rows answers only when they have ended.
        if is_any_fresh || begun.iter().any(|transaction| !transaction.is_ended()) {
            return Err(Status::failed_precondition(
                "a transaction of BeginTransaction is open in this session; name it with the statement, or end it with EndTransaction before BEGIN",
            ));
        }
        Ok(())
    }
}

struct SavepointOf {
    transaction: Handle,
    /// The name of the savepoint in the engine.
    name: String,
}

fn savepoint_over() -> Status {
    Status::not_found(
        "this savepoint is over: it was released, its transaction went back to an earlier one or has ended, or it was not used for too long",
    )
}

/// The actions as FlightSql.proto numbers them.
const SAVEPOINT_RELEASE: i32 = 1;
const SAVEPOINT_ROLLBACK: i32 = 2;

impl Transactions {
    pub fn new(options: &ServerOptions) -> Transactions {
        let handles = |what, max, idle| Handles::new(what, max, options.limits.of_user(max), idle);
        Transactions {
            fresh: handles("transactions", options.sessions_max, options.fresh_transaction_idle),
            moving: Mutex::default(),
            open: handles("transactions", options.transactions_max, options.transaction_idle),
            savepoints: Handles::new(
                "savepoints",
                options.savepoints_max,
                options.limits.of_user(options.savepoints_max),
                options.transaction_idle,
            ),
        }
    }

    /// If there are too many transactions without a statement, the oldest of them is dropped: nothing is lost with it.
    /// `session` is that of the caller, if there is one. No SQL transaction may be open in it: with two at once, a client
    /// could commit the wrong one. This does not wait for the session's lock, which an upload may hold for long.
    pub fn begin(&self, principal: &Principal, transaction: Arc<Connection>, session: Option<&Connection>) -> Result<Handle, Status> {
        let is_taken = || session.is_some_and(Connection::is_in_transaction);
        let conflict = || {
            Status::failed_precondition(
                "a transaction that was begun with BEGIN is open in this session; end it with COMMIT or ROLLBACK before BeginTransaction",
            )
        };
        // Checked first, so that a refused call evicts no other transaction.
        if is_taken() {
            return Err(conflict());
        }
        let handle = self.fresh.insert_over_oldest(principal, transaction, Connection::begun_in)?;
        // Checked again: BEGIN looks for this one after it has run, so if both run at once, one of them sees the other.
        if is_taken() {
            self.fresh.remove(principal, &handle);
            return Err(conflict());
        }
        Ok(handle)
    }

    /// The check that BEGIN in SQL makes in this session.
    pub fn beside<'a>(&'a self, session: Option<&'a Handle>) -> TransactionScope<'a> {
        TransactionScope { transactions: self, session }
    }

    pub fn connection(&self, principal: &Principal, id: &[u8]) -> Result<Arc<Connection>, Status> {
        let _moving = self.moving.lock();
        match self.fresh.take(principal, id) {
            Ok(connection) => {
                let put = self.open.put(principal, Handle::copy_from_slice(id), Arc::clone(&connection));
                if put.is_err() {
                    // The client may retry its statement when other transactions have ended.
                    self.fresh.put(principal, Handle::copy_from_slice(id), Arc::clone(&connection))?;
                }
                put.map(|()| connection)
            }
            Err(_) => self.open.get(principal, id),
        }
    }

    /// Removes the transaction; `None` if it has run no statement yet.
    fn remove(&self, principal: &Principal, id: &[u8]) -> Result<Option<Arc<Connection>>, Status> {
        let _moving = self.moving.lock();
        match self.fresh.remove(principal, id) {
            true => Ok(None),
            false => self.open.take(principal, id).map(Some),
        }
    }

    /// Ends the transaction in any case: a commit that fails rolls back.
    pub async fn end(&self, principal: &Principal, id: &[u8], action: i32) -> Result<(), Status> {
        let sql = match EndTransaction::try_from(action) {
            Ok(EndTransaction::Commit) => "COMMIT",
            Ok(EndTransaction::Rollback) => "ROLLBACK",
            _ => return Err(Status::invalid_argument("EndTransaction says neither commit nor rollback; set its action")),
        };
        let Some(transaction) = self.remove(principal, id)? else { return Ok(()) };
        self.savepoints.retain(|_, savepoint| savepoint.transaction != id);
        let turn = transaction.turn().await?;
        turn.run(sql).await.map_err(status)
    }

    pub async fn begin_savepoint(&self, principal: &Principal, id: &[u8]) -> Result<Handle, Status> {
        self.savepoints.check_room(principal)?;
        let transaction = self.connection(principal, id)?;
        let turn = transaction.turn().await?;
        // The server makes the name, so that two savepoints with the same name stay distinct.
        let name = format!("savepoint_{}", uuid::Uuid::new_v4().simple());
        turn.run(&format!("SAVEPOINT {name}")).await.map_err(status)?;
        self.savepoints.insert(principal, SavepointOf { transaction: Handle::copy_from_slice(id), name })
    }

    /// After a rollback the savepoint stays, and after a release it is over. Later savepoints are over in both cases.
    pub async fn end_savepoint(&self, principal: &Principal, id: &[u8], action: i32) -> Result<(), Status> {
        let savepoint = self.savepoints.get(principal, id).map_err(|_| savepoint_over())?;
        let transaction = self.open.get(principal, &savepoint.transaction)?;
        let turn = transaction.turn().await?;
        let name = &savepoint.name;
        // A failing statement would fail the transaction. SQL may have rolled back beyond the savepoint, too.
        if !turn.session().has_savepoint(name) {
            self.savepoints.remove(principal, id);
            return Err(savepoint_over());
        }
        let sql = match action {
            SAVEPOINT_RELEASE => format!("RELEASE SAVEPOINT {name}"),
            SAVEPOINT_ROLLBACK => format!("ROLLBACK TO SAVEPOINT {name}"),
            _ => return Err(Status::invalid_argument("EndSavepoint says neither release nor rollback; set its action")),
        };
        turn.run(&sql).await.map_err(status)?;
        self.savepoints.retain(|_, other| other.transaction != savepoint.transaction || turn.session().has_savepoint(&other.name));
        Ok(())
    }

    /// Rolls back the transactions of a session that ends.
    pub fn end_of_session(&self, session: &[u8]) {
        self.fresh.retain(|_, transaction| !transaction.is_begun_in(session));
        self.open.retain(|_, transaction| !transaction.is_begun_in(session));
        self.forget_savepoints();
    }

    /// Drops the savepoints of transactions that are over.
    fn forget_savepoints(&self) {
        self.savepoints.retain(|principal, savepoint| self.open.holds(principal, &savepoint.transaction));
    }

    /// Rolls back the transactions of owners for which `keep` is false.
    pub fn retain(&self, keep: impl Fn(&Principal) -> bool) {
        self.fresh.retain(|principal, _| keep(principal));
        self.open.retain(|principal, _| keep(principal));
        self.savepoints.retain(|principal, _| keep(principal));
    }

    pub fn sweep(&self) {
        self.fresh.sweep();
        self.open.sweep();
        self.savepoints.sweep();
        self.forget_savepoints();
    }

    pub fn count(&self) -> usize {
        self.fresh.len() + self.open.len()
    }
}
