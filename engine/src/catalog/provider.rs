//! The catalog `quiver`: the namespaces of the store as of the statement that is running.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use datafusion::catalog::Session;
use datafusion::common::TableReference;
use datafusion::execution::SessionState;
use parking_lot::RwLock;
use pmem_store::{Author, Snapshot, StoreError};

use super::listing::TableListing;
use super::view_planner::ViewPlanner;
use crate::access::{Authorization, SessionAccess, seen};
use crate::planning::Work;
use crate::queries::Principal;
use crate::shared::EngineShared;
use crate::temporary::{TemporaryRows, TemporaryTables, VOLATILE};
use crate::transactions::TransactionSlot;
use crate::write::WriteScope;
use common::error::EngineError;
use common::names::{CATALOG, TEMP};
use common::privilege::Privilege;

#[derive(Debug)]
pub struct StoreCatalog {
    pub(super) engine: Arc<EngineShared>,
    /// The snapshot of the statement being planned; older plans keep their own. `None` while the session
    /// is idle, so that an idle session pins no files.
    statement_snapshot: RwLock<Option<StatementSnapshot>>,
    /// Whom the session works for; None: the process itself, which has all rights.
    access: Option<Arc<SessionAccess>>,
    /// The version that was last seen.
    seen: AtomicU64,
    /// For planning the text of views; set once the session exists.
    pub(super) state: RwLock<Weak<parking_lot::RwLock<SessionState>>>,
    /// Plans the text of views.
    pub(super) views: Arc<dyn ViewPlanner>,
    /// The session's; what it has changed is what names mean.
    transaction: Arc<TransactionSlot>,
    /// The session's, and of the transactions that were begun in it.
    temporary: RwLock<Arc<TemporaryTables>>,
}

/// What a statement sees, and what it may do with it.
#[derive(Debug, Clone)]
pub struct StatementSnapshot {
    pub snapshot: Arc<Snapshot>,
    /// None: everything.
    pub authorization: Option<Arc<Authorization>>,
}

impl StatementSnapshot {
    fn new(snapshot: Arc<Snapshot>, authorization: Option<Arc<Authorization>>) -> StatementSnapshot {
        StatementSnapshot { snapshot: seen(snapshot, authorization.as_ref()), authorization }
    }

    /// A table. Who may not read its rows does not see how many there are.
    pub fn listed(&self, namespace: &str, name: &str) -> Result<Option<TableListing>, StoreError> {
        let Some(table) = self.snapshot.table(namespace, name)? else { return Ok(None) };
        let record = table.record();
        let authorization = self.authorization.as_ref();
        let is_read = authorization.is_none_or(|authorization| authorization.on_table(record.id, &record.namespace).has(Privilege::Select));
        Ok(Some(TableListing {
            schema: record.namespace.clone(),
            name: record.name.clone(),
            kind: "table".into(),
            rows: is_read.then(|| table.row_count()),
            size_bytes: is_read.then(|| table.size_bytes()),
        }))
    }

    /// Tables and views, by namespace and name.
    pub fn listing(&self, temporary: &TemporaryTables) -> Result<Vec<TableListing>, StoreError> {
        let mut listing = Vec::new();
        for record in self.snapshot.tables()? {
            match self.listed(&record.namespace, &record.name) {
                // A query of this table gets the error. The list of tables does not fail because of it.
                Err(StoreError::LogDamaged { .. }) => {
                    let (schema, name, kind) = (record.namespace, record.name, "table".to_string());
                    listing.push(TableListing { schema, name, kind, rows: None, size_bytes: None });
                }
                listed => listing.extend(listed?),
            }
        }
        listing.extend(self.snapshot.views()?.into_iter().map(|view| TableListing {
            schema: view.namespace,
            name: view.name,
            kind: view.kind,
            rows: None,
            size_bytes: None,
        }));
        listing.extend(temporary.all().iter().map(|table| list_temporary(table)));
        listing.sort_by(|a, b| (&a.schema, &a.name).cmp(&(&b.schema, &b.name)));
        Ok(listing)
    }
}

impl StoreCatalog {
    pub fn new(
        engine: Arc<EngineShared>,
        snapshot: Arc<Snapshot>,
        transaction: Arc<TransactionSlot>,
        access: Option<Arc<SessionAccess>>,
        views: Arc<dyn ViewPlanner>,
    ) -> Arc<Self> {
        let seen = AtomicU64::new(snapshot.version());
        let (statement_snapshot, state, temporary) = (RwLock::default(), RwLock::default(), RwLock::default());
        Arc::new(StoreCatalog { engine, statement_snapshot, access, seen, state, views, transaction, temporary })
    }

    /// That of a session of the engine; None where DataFusion has made the session by itself.
    pub fn of(session: &dyn Session) -> Option<Arc<StoreCatalog>> {
        let catalog = session.as_any().downcast_ref::<SessionState>()?.catalog_list().catalog(CATALOG)?;
        Some(Arc::clone(&catalog.downcast_ref::<CatalogHandle>()?.0))
    }

    pub fn user(&self) -> Option<&str> {
        self.access.as_deref().map(Author::name)
    }

    /// Plans something slow for this session on a planner thread, so that nothing else waits for it.
    pub async fn on_planner_thread<T: Send + 'static>(&self, work: Work<T>) -> Result<T, EngineError> {
        let principal = self.user().map_or_else(|| Principal::process(""), Principal::user);
        self.engine.planning.on_planner_thread(&principal, work).await
    }

    /// Holds what the statement is about to do against the rights of its user; a session of the process itself has
    /// all rights.
    pub fn check(&self, check: impl FnOnce(&Authorization) -> Result<(), EngineError>) -> Result<(), EngineError> {
        self.authorization().map_or(Ok(()), |authorization| check(&authorization))
    }

    /// What the session's user may do as of now, not as of the statement that is planned; None: everything.
    pub fn authorization_now(&self) -> Result<Option<Arc<Authorization>>, EngineError> {
        match &self.access {
            Some(access) => Ok(Some(Arc::new(access.authorization(self.transaction.base())?))),
            None => Ok(None),
        }
    }

    /// What the statement that is planned may do; None: everything.
    pub fn authorization(&self) -> Option<Arc<Authorization>> {
        self.access.as_ref()?;
        self.statement_snapshot().authorization
    }

    pub fn transaction(&self) -> &Arc<TransactionSlot> {
        &self.transaction
    }

    pub fn temporary(&self) -> Arc<TemporaryTables> {
        Arc::clone(&self.temporary.read())
    }

    /// From here on its session has the temporary tables of another one.
    pub fn share_temporary_tables(&self, other: &StoreCatalog) {
        *self.temporary.write() = other.temporary();
    }

    /// An error where a name means a temporary table: what is to be done to it only stored tables can have done to them.
    pub fn check_stored(&self, name: &TableReference, what: &str) -> Result<(), EngineError> {
        match self.temporary().named(name) {
            Some(table) => Err(not_for_temporary(&table.name, what)),
            None => Ok(()),
        }
    }

    /// Where the statement being planned writes to.
    pub fn write_scope(&self) -> WriteScope {
        WriteScope::new(&self.engine, &self.transaction, self.snapshot())
    }

    /// That of the session's clocks.
    pub fn zone(&self) -> Option<String> {
        let state = self.state.read().upgrade()?;
        let state = state.read();
        state.config_options().execution.time_zone.clone()
    }

    pub fn snapshot(&self) -> Arc<Snapshot> {
        self.statement_snapshot().snapshot
    }

    fn statement_snapshot(&self) -> StatementSnapshot {
        if let Some(statement_snapshot) = &*self.statement_snapshot.read() {
            return statement_snapshot.clone();
        }
        let snapshot = self.transaction.snapshot().unwrap_or_else(|| Arc::clone(self.engine.store.begin_read_only().base()));
        let authorization =
            self.access.as_ref().map(|access| Arc::new(access.authorization(self.transaction.base()).unwrap_or_else(|_| access.nothing())));
        StatementSnapshot::new(snapshot, authorization)
    }

    /// What names mean as of now: for who looks at them beside a statement that is planned, which keeps its own.
    pub fn now(&self) -> Result<StatementSnapshot, EngineError> {
        let snapshot = self.transaction.snapshot().map_or_else(|| self.engine.store.snapshot(), Ok)?;
        Ok(StatementSnapshot::new(snapshot, self.authorization_now()?))
    }

    /// The statement is planned, and has what it reads.
    pub fn release_snapshot(&self) {
        self.transaction.set_commit_guard(None);
        let statement_snapshot = self.statement_snapshot.write().take();
        // Its last reader may remove files, which nobody else has to wait for.
        drop(statement_snapshot);
    }

    /// Names mean what the open transaction sees from here on, or else what the last commit says.
    pub fn acquire_snapshot(&self) -> Result<(), EngineError> {
        let authorization = self.authorization_now()?;
        let snapshot = match self.transaction.snapshot() {
            Some(snapshot) => {
                *self.statement_snapshot.write() = Some(StatementSnapshot::new(snapshot, authorization));
                return Ok(());
            }
            None => self.engine.store.snapshot()?,
        };
        if self.seen.swap(snapshot.version(), Ordering::Relaxed) != snapshot.version() {
            self.engine.statistics.forget_all_but(|id, changed_version| snapshot.changed_version(id) == Some(changed_version));
            self.engine.rules.key_filters.forget_all_but(|id| snapshot.changed_version(id).is_some());
        }
        *self.statement_snapshot.write() = Some(StatementSnapshot::new(snapshot, authorization));
        Ok(())
    }

    pub fn use_session(&self, state: Weak<parking_lot::RwLock<SessionState>>) {
        *self.state.write() = state;
    }

    /// Tables and views, by namespace and name.
    pub fn listing(&self) -> Result<Vec<TableListing>, StoreError> {
        self.statement_snapshot().listing(&self.temporary())
    }
}

fn list_temporary(table: &TemporaryRows) -> TableListing {
    TableListing {
        schema: TEMP.into(),
        name: table.name.clone(),
        kind: VOLATILE.into(),
        rows: Some(table.row_count() as u64),
        size_bytes: Some(table.size_bytes() as u64),
    }
}

/// `what` ends where the table is named.
pub fn not_for_temporary(name: &str, what: &str) -> EngineError {
    let hint = "INSERT adds rows to it, and CREATE OR REPLACE VOLATILE TABLE makes it anew; a stored table of the name is meant where it is \
                named with its schema, as main.t";
    EngineError::unsupported(format!("{what} the temporary table \"{name}\""), Some(hint))
}

/// DataFusion asks for the catalog through this handle, so that schemas can point back to it.
#[derive(Debug)]
pub struct CatalogHandle(pub Arc<StoreCatalog>);
