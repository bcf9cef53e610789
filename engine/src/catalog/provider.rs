//! The catalog `quiver`: the namespaces of the store as of the statement that is running.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use datafusion::catalog::{CatalogProvider, SchemaProvider, Session};
use datafusion::common::TableReference;
use datafusion::execution::SessionState;
use parking_lot::RwLock;
use pmem_store::{Author, Snapshot, StoreError};

use super::information_schema::InformationSchema;
use super::listing::TableListing;
use super::private_tables::private_schema;
use super::schema::StoreSchema;
use super::view_planner::ViewPlanner;
use crate::access::{Permit, SessionAccess, seen};
use crate::planning::Work;
use crate::queries::Whose;
use crate::shared::EngineShared;
use crate::system::SystemSchema;
use crate::transactions::TransactionSlot;
use crate::volatile::{VOLATILE, VolatileRows, VolatileSchema, VolatileTables};
use crate::write::WriteScope;
use common::error::EngineError;
use common::names::{CATALOG, INFORMATION_SCHEMA, SYSTEM, TEMP};
use common::privilege::Privilege;

#[derive(Debug)]
pub struct StoreCatalog {
    pub(super) engine: Arc<EngineShared>,
    /// What names mean for the statement being planned; plans made before keep their own. None between
    /// two statements: who does nothing holds no old files.
    held: RwLock<Option<Held>>,
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
    volatile: RwLock<Arc<VolatileTables>>,
}

/// What a statement sees, and what it may do with it.
#[derive(Debug, Clone)]
pub struct Held {
    pub snapshot: Arc<Snapshot>,
    /// None: everything.
    pub permit: Option<Arc<Permit>>,
}

impl Held {
    fn new(snapshot: Arc<Snapshot>, permit: Option<Arc<Permit>>) -> Held {
        Held { snapshot: seen(snapshot, permit.as_ref()), permit }
    }

    /// A table. Who may not read its rows does not see how many there are.
    pub fn listed(&self, namespace: &str, name: &str) -> Result<Option<TableListing>, StoreError> {
        let Some(table) = self.snapshot.table(namespace, name)? else { return Ok(None) };
        let record = table.record();
        let permit = self.permit.as_ref();
        let is_read = permit.is_none_or(|permit| permit.on_table(record.id, &record.namespace).has(Privilege::Select));
        Ok(Some(TableListing {
            schema: record.namespace.clone(),
            name: record.name.clone(),
            kind: "table".into(),
            rows: is_read.then(|| table.row_count()),
            size_bytes: is_read.then(|| table.size_bytes()),
        }))
    }

    /// Tables and views, by namespace and name.
    pub fn listing(&self, volatile: &VolatileTables) -> Result<Vec<TableListing>, StoreError> {
        let mut listing = Vec::new();
        for record in self.snapshot.tables()? {
            match self.listed(&record.namespace, &record.name) {
                // Whoever reads it is told; the others are listed all the same.
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
        listing.extend(volatile.all().iter().map(|table| listed_volatile(table)));
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
        let (held, state, volatile) = (RwLock::default(), RwLock::default(), RwLock::default());
        Arc::new(StoreCatalog { engine, held, access, seen, state, views, transaction, volatile })
    }

    /// That of a session of the engine; None where DataFusion has made the session by itself.
    pub fn of(session: &dyn Session) -> Option<Arc<StoreCatalog>> {
        let catalog = session.as_any().downcast_ref::<SessionState>()?.catalog_list().catalog(CATALOG)?;
        Some(Arc::clone(&catalog.downcast_ref::<CatalogHandle>()?.0))
    }

    pub fn user(&self) -> Option<&str> {
        self.access.as_deref().map(Author::name)
    }

    /// What takes long to plan for its session, where that holds up nobody.
    pub async fn aside<T: Send + 'static>(&self, work: Work<T>) -> Result<T, EngineError> {
        let whose = self.user().map_or_else(|| Whose::process(""), Whose::user);
        self.engine.planning.aside(&whose, work).await
    }

    /// Holds what the statement is about to do against the rights of its user; a session of the process itself has
    /// all rights.
    pub fn check(&self, check: impl FnOnce(&Permit) -> Result<(), EngineError>) -> Result<(), EngineError> {
        self.permit().map_or(Ok(()), |permit| check(&permit))
    }

    /// What the session's user may do as of now, not as of the statement that is planned; None: everything.
    pub fn permit_now(&self) -> Result<Option<Arc<Permit>>, EngineError> {
        match &self.access {
            Some(access) => Ok(Some(Arc::new(access.permit(self.transaction.base())?))),
            None => Ok(None),
        }
    }

    /// What the statement that is planned may do; None: everything.
    pub fn permit(&self) -> Option<Arc<Permit>> {
        self.access.as_ref()?;
        self.held().permit
    }

    pub fn transaction(&self) -> &Arc<TransactionSlot> {
        &self.transaction
    }

    pub fn volatile(&self) -> Arc<VolatileTables> {
        Arc::clone(&self.volatile.read())
    }

    /// From here on its session has the volatile tables of another one.
    pub fn share_volatile(&self, other: &StoreCatalog) {
        *self.volatile.write() = other.volatile();
    }

    /// An error where a name means a volatile table: what is to be done to it only stored tables can have done to them.
    pub fn check_stored(&self, name: &TableReference, what: &str) -> Result<(), EngineError> {
        match self.volatile().named(name) {
            Some(table) => Err(not_for_volatile(&table.name, what)),
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
        self.held().snapshot
    }

    fn held(&self) -> Held {
        if let Some(held) = &*self.held.read() {
            return held.clone();
        }
        let snapshot = self.transaction.snapshot().unwrap_or_else(|| Arc::clone(self.engine.store.begin_read_only().base()));
        let permit =
            self.access.as_ref().map(|access| Arc::new(access.permit(self.transaction.base()).unwrap_or_else(|_| access.nothing())));
        Held::new(snapshot, permit)
    }

    /// What names mean as of now: for who looks at them beside a statement that is planned, which keeps its own.
    pub fn now(&self) -> Result<Held, EngineError> {
        let snapshot = self.transaction.snapshot().map_or_else(|| self.engine.store.snapshot(), Ok)?;
        Ok(Held::new(snapshot, self.permit_now()?))
    }

    /// The statement is planned, and has what it reads.
    pub fn rest(&self) {
        self.transaction.set_gate(None);
        let held = self.held.write().take();
        // Its last reader may remove files, which nobody else has to wait for.
        drop(held);
    }

    /// Names mean what the open transaction sees from here on, or else what the last commit says.
    pub fn refresh(&self) -> Result<(), EngineError> {
        let permit = self.permit_now()?;
        let snapshot = match self.transaction.snapshot() {
            Some(snapshot) => {
                *self.held.write() = Some(Held::new(snapshot, permit));
                return Ok(());
            }
            None => self.engine.store.snapshot()?,
        };
        if self.seen.swap(snapshot.version(), Ordering::Relaxed) != snapshot.version() {
            self.engine.statistics.forget_all_but(|id, changed_version| snapshot.changed_version(id) == Some(changed_version));
            self.engine.rules.key_filters.forget_all_but(|id| snapshot.changed_version(id).is_some());
        }
        *self.held.write() = Some(Held::new(snapshot, permit));
        Ok(())
    }

    pub fn use_session(&self, state: Weak<parking_lot::RwLock<SessionState>>) {
        *self.state.write() = state;
    }

    /// Tables and views, by namespace and name.
    pub fn listing(&self) -> Result<Vec<TableListing>, StoreError> {
        self.held().listing(&self.volatile())
    }
}

fn listed_volatile(table: &VolatileRows) -> TableListing {
    TableListing {
        schema: TEMP.into(),
        name: table.name.clone(),
        kind: VOLATILE.into(),
        rows: Some(table.row_count() as u64),
        size_bytes: Some(table.size_bytes() as u64),
    }
}

/// `what` ends where the table is named.
pub fn not_for_volatile(name: &str, what: &str) -> EngineError {
    let hint = "INSERT adds rows to it, and CREATE OR REPLACE VOLATILE TABLE makes it anew; a stored table of the name is meant where it is \
                named with its schema, as main.t";
    EngineError::unsupported(format!("{what} the volatile table \"{name}\""), Some(hint))
}

/// DataFusion asks for the catalog through this handle, so that schemas can point back to it.
#[derive(Debug)]
pub struct CatalogHandle(pub Arc<StoreCatalog>);

impl CatalogProvider for CatalogHandle {
    fn schema_names(&self) -> Vec<String> {
        let mut names = self.0.snapshot().namespaces().unwrap_or_default();
        if !names.iter().any(|name| name == SYSTEM) {
            names.push(SYSTEM.to_string());
        }
        if !self.0.volatile().is_empty() && !names.iter().any(|name| name == TEMP) {
            names.push(TEMP.to_string());
        }
        names
    }

    fn schema(&self, name: &str) -> Option<Arc<dyn SchemaProvider>> {
        if let Some(private) = private_schema(name) {
            return Some(private);
        }
        if name == SYSTEM {
            let snapshot = self.0.snapshot();
            let older =
                snapshot.has_namespace(SYSTEM).then(|| Arc::new(StoreSchema::new(Arc::clone(&self.0), name)) as Arc<dyn SchemaProvider>);
            let schema = SystemSchema::new(&self.0.engine, snapshot, self.0.transaction(), older, self.0.permit());
            return Some(Arc::new(schema.with_volatile(self.0.volatile()).with_zone(self.0.zone())));
        }
        if name == INFORMATION_SCHEMA {
            return InformationSchema::new(&self.0).map(|schema| Arc::new(schema) as Arc<dyn SchemaProvider>);
        }
        if name == TEMP && !self.0.volatile().is_empty() {
            let has_older = self.0.snapshot().has_namespace(TEMP);
            let older = has_older.then(|| Arc::new(StoreSchema::new(Arc::clone(&self.0), name)) as Arc<dyn SchemaProvider>);
            return Some(Arc::new(VolatileSchema::new(self.0.volatile(), self.0.write_scope(), self.0.zone(), older)));
        }
        self.0.snapshot().has_namespace(name).then(|| Arc::new(StoreSchema::new(Arc::clone(&self.0), name)) as Arc<dyn SchemaProvider>)
    }
}
