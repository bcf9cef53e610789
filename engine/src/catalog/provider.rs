//! The catalog `quiver`: the namespaces of the store as of the statement that is running.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use datafusion::catalog::{CatalogProvider, SchemaProvider};
use datafusion::execution::SessionState;
use parking_lot::RwLock;
use pmem_store::{Snapshot, StoreError};

use super::information_schema::{INFORMATION_SCHEMA, InformationSchema};
use super::schema::StoreSchema;
use crate::dml::private_schema;
use crate::engine::EngineShared;
use crate::system::{SYSTEM, SystemSchema};
use crate::write::{TransactionSlot, WriteScope};

/// The name of the one catalog.
pub const CATALOG: &str = "quiver";

/// A line of `\d`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableListing {
    pub schema: String,
    pub name: String,
    /// `table`, `view` or `external`
    pub kind: String,
    pub rows: Option<u64>,
    pub size_bytes: Option<u64>,
}

#[derive(Debug)]
pub struct StoreCatalog {
    pub(super) engine: Arc<EngineShared>,
    /// What names mean for the statement being planned; plans made before keep their own. None between
    /// two statements: who does nothing holds no old files.
    snapshot: RwLock<Option<Arc<Snapshot>>>,
    /// The version that was last seen.
    seen: AtomicU64,
    /// For planning the text of views; set once the session exists.
    pub(super) state: RwLock<Weak<parking_lot::RwLock<SessionState>>>,
    /// The session's; what it has changed is what names mean.
    transaction: Arc<TransactionSlot>,
}

impl StoreCatalog {
    pub fn new(engine: Arc<EngineShared>, snapshot: Arc<Snapshot>, transaction: Arc<TransactionSlot>) -> Arc<Self> {
        let seen = AtomicU64::new(snapshot.version());
        Arc::new(StoreCatalog { engine, snapshot: RwLock::new(Some(snapshot)), seen, state: RwLock::default(), transaction })
    }

    pub fn transaction(&self) -> &Arc<TransactionSlot> {
        &self.transaction
    }

    /// Where the statement being planned writes to.
    pub fn write_scope(&self) -> WriteScope {
        WriteScope::new(&self.engine, &self.transaction, self.snapshot())
    }

    pub fn snapshot(&self) -> Arc<Snapshot> {
        match &*self.snapshot.read() {
            Some(snapshot) => Arc::clone(snapshot),
            None => self.transaction.snapshot().unwrap_or_else(|| Arc::clone(self.engine.store.begin_read_only().base())),
        }
    }

    /// The statement is planned, and has what it reads.
    pub fn rest(&self) {
        let held = self.snapshot.write().take();
        // Its last reader may remove files, which nobody else has to wait for.
        drop(held);
    }

    /// Names mean what the open transaction sees from here on, or else what the last commit says.
    pub fn refresh(&self) -> Result<(), StoreError> {
        let snapshot = match self.transaction.snapshot() {
            Some(snapshot) => {
                *self.snapshot.write() = Some(snapshot);
                return Ok(());
            }
            None => self.engine.store.snapshot()?,
        };
        if self.seen.swap(snapshot.version(), Ordering::Relaxed) != snapshot.version() {
            self.engine.statistics.forget_all_but(|id, changed_version| snapshot.changed_version(id) == Some(changed_version));
            self.engine.key_filters.forget_all_but(|id| snapshot.changed_version(id).is_some());
        }
        *self.snapshot.write() = Some(snapshot);
        Ok(())
    }

    pub fn use_session(&self, state: Weak<parking_lot::RwLock<SessionState>>) {
        *self.state.write() = state;
    }

    /// Tables and views, by namespace and name.
    pub fn listing(&self) -> Result<Vec<TableListing>, StoreError> {
        let snapshot = self.snapshot();
        let mut listing = Vec::new();
        for record in snapshot.tables()? {
            let table = snapshot.table(&record.namespace, &record.name)?;
            listing.push(TableListing {
                schema: record.namespace,
                name: record.name,
                kind: "table".into(),
                rows: table.as_ref().map(|table| table.row_count()),
                size_bytes: table.as_ref().map(|table| table.size_bytes()),
            });
        }
        listing.extend(snapshot.views()?.into_iter().map(|view| TableListing {
            schema: view.namespace,
            name: view.name,
            kind: view.kind,
            rows: None,
            size_bytes: None,
        }));
        listing.sort_by(|a, b| (&a.schema, &a.name).cmp(&(&b.schema, &b.name)));
        Ok(listing)
    }
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
        names
    }

    fn schema(&self, name: &str) -> Option<Arc<dyn SchemaProvider>> {
        if let Some(private) = private_schema(name) {
            return Some(private);
        }
        if name == SYSTEM {
            let snapshot = self.0.snapshot();
            let older = snapshot.has_namespace(SYSTEM).then(|| Arc::new(StoreSchema::new(Arc::clone(&self.0), name)) as Arc<dyn SchemaProvider>);
            return Some(Arc::new(SystemSchema::new(&self.0.engine, snapshot, self.0.transaction(), older)));
        }
        if name == INFORMATION_SCHEMA {
            return InformationSchema::new(&self.0).map(|schema| Arc::new(schema) as Arc<dyn SchemaProvider>);
        }
        self.0.snapshot().has_namespace(name).then(|| Arc::new(StoreSchema::new(Arc::clone(&self.0), name)) as Arc<dyn SchemaProvider>)
    }
}
