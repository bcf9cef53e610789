//! Transactions that a client holds by their id, each in an engine session of its own: statements without an
//! id commit by themselves meanwhile. Savepoints are the engine's.

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
    /// Without a statement yet: they hold no version of the store, and may wait for long.
    fresh: Handles<Connection>,
    open: Handles<Connection>,
    /// Held while one goes from `fresh` to `open` and where one is looked for, so that nobody finds it in neither.
    moving: Mutex<()>,
    savepoints: Handles<SavepointOf>,
}

/// A session in which SQL may want to begin a transaction.
#[derive(Clone, Copy)]
pub struct TransactionScope<'a> {
    transactions: &'a Transactions,
    session: Option<&'a Handle>,
}

impl TransactionScope<'_> {
    /// Statements that do not name the transaction of BeginTransaction are not in it, so a BEGIN among them would be a second one.
    pub fn check(&self) -> Result<(), Status> {
        let Some(session) = self.session else { return Ok(()) };
        let Transactions { fresh, open, .. } = self.transactions;
        let (is_any_fresh, begun) = {
            let _moving = self.transactions.moving.lock();
            (fresh.any(|transaction| transaction.is_begun_in(session)), open.all_of(|transaction| transaction.is_begun_in(session)))
        };
        // Outside of the locks: one that is being written to answers when that is done.
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
    /// What the engine calls it.
    name: String,
}

fn savepoint_over() -> Status {
    Status::not_found(
        "this savepoint is over: it was released, its transaction went back to an earlier one or has ended, or it was not used for too long",
    )
}

/// In the numbers of FlightSql.proto.
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

    /// Where there are too many in which nothing was done yet, the oldest of them is forgotten: nothing is lost with it.
    /// `session` is that of the caller, if he has one, in which no transaction of SQL may be open: of two at once somebody
    /// would commit the wrong one. Does not wait for the session's turn, which rows that are being sent have for long.
    pub fn begin(&self, principal: &Principal, transaction: Arc<Connection>, session: Option<&Connection>) -> Result<Handle, Status> {
        let is_taken = || session.is_some_and(Connection::is_in_transaction);
        let taken = || {
            Status::failed_precondition(
                "a transaction that was begun with BEGIN is open in this session; end it with COMMIT or ROLLBACK before BeginTransaction",
            )
        };
        // First: for what is refused no other gives way.
        if is_taken() {
            return Err(taken());
        }
        let handle = self.fresh.insert_over_oldest(principal, transaction, Connection::begun_in)?;
        // Again: BEGIN looks for this one when it has run, so of the two at once one sees the other.
        if is_taken() {
            self.fresh.remove(principal, &handle);
            return Err(taken());
        }
        Ok(handle)
    }

    /// What BEGIN in SQL has to ask in this session.
    pub fn beside<'a>(&'a self, session: Option<&'a Handle>) -> TransactionScope<'a> {
        TransactionScope { transactions: self, session }
    }

    pub fn connection(&self, principal: &Principal, id: &[u8]) -> Result<Arc<Connection>, Status> {
        let _moving = self.moving.lock();
        match self.fresh.take(principal, id) {
            Ok(connection) => {
                let put = self.open.put(principal, Handle::copy_from_slice(id), Arc::clone(&connection));
                if put.is_err() {
                    // Its statement may be tried again when others have ended.
                    self.fresh.put(principal, Handle::copy_from_slice(id), Arc::clone(&connection))?;
                }
                put.map(|()| connection)
            }
            Err(_) => self.open.get(principal, id),
        }
    }

    /// Takes it off the list; none where nothing was done in it yet.
    fn taken(&self, principal: &Principal, id: &[u8]) -> Result<Option<Arc<Connection>>, Status> {
        let _moving = self.moving.lock();
        match self.fresh.remove(principal, id) {
            true => Ok(None),
            false => self.open.take(principal, id).map(Some),
        }
    }

    /// Whatever comes of it, the transaction is over: a commit that was refused has rolled back.
    pub async fn end(&self, principal: &Principal, id: &[u8], action: i32) -> Result<(), Status> {
        let sql = match EndTransaction::try_from(action) {
            Ok(EndTransaction::Commit) => "COMMIT",
            Ok(EndTransaction::Rollback) => "ROLLBACK",
            _ => return Err(Status::invalid_argument("EndTransaction says neither commit nor rollback; set its action")),
        };
        let Some(transaction) = self.taken(principal, id)? else { return Ok(()) };
        self.savepoints.retain(|_, savepoint| savepoint.transaction != id);
        let turn = transaction.turn().await?;
        turn.run(sql).await.map_err(status)
    }

    pub async fn begin_savepoint(&self, principal: &Principal, id: &[u8]) -> Result<Handle, Status> {
        self.savepoints.check_room(principal)?;
        let transaction = self.connection(principal, id)?;
        let turn = transaction.turn().await?;
        // Of our own making, so that two of one name are two.
        let name = format!("savepoint_{}", uuid::Uuid::new_v4().simple());
        turn.run(&format!("SAVEPOINT {name}")).await.map_err(status)?;
        self.savepoints.insert(principal, SavepointOf { transaction: Handle::copy_from_slice(id), name })
    }

    /// A savepoint that was gone back to stays; one that was released is over, and those after either of them.
    pub async fn end_savepoint(&self, principal: &Principal, id: &[u8], action: i32) -> Result<(), Status> {
        let savepoint = self.savepoints.get(principal, id).map_err(|_| savepoint_over())?;
        let transaction = self.open.get(principal, &savepoint.transaction)?;
        let turn = transaction.turn().await?;
        let name = &savepoint.name;
        // A statement that fails would take the transaction with it. SQL may have gone back beyond it, too.
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

    /// Those of a session that ends are rolled back.
    pub fn end_of_session(&self, session: &[u8]) {
        self.fresh.retain(|_, transaction| !transaction.is_begun_in(session));
        self.open.retain(|_, transaction| !transaction.is_begun_in(session));
        self.forget_savepoints();
    }

    /// Those of transactions that are over.
    fn forget_savepoints(&self) {
        self.savepoints.retain(|principal, savepoint| self.open.holds(principal, &savepoint.transaction));
    }

    /// Of owners that are not kept: their transactions roll back.
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
