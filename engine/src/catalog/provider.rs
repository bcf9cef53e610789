//! The catalog `quiver`: the namespaces of the store as of the statement that is running.

use std::sync::{Arc, Weak};

use datafusion::catalog::{CatalogProvider, SchemaProvider};
use datafusion::execution::SessionState;
use parking_lot::RwLock;
use pmem_store::{Snapshot, StoreError};

use super::information_schema::{INFORMATION_SCHEMA, InformationSchema};
use super::schema::StoreSchema;
use crate::engine::EngineShared;

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
    /// What names mean for the statement being planned; plans made before keep their own.
    snapshot: RwLock<Arc<Snapshot>>,
    /// For planning the text of views; set once the session exists.
    pub(super) state: RwLock<Weak<parking_lot::RwLock<SessionState>>>,
}

impl StoreCatalog {
    pub fn new(engine: Arc<EngineShared>, snapshot: Arc<Snapshot>) -> Arc<Self> {
        Arc::new(StoreCatalog { engine, snapshot: RwLock::new(snapshot), state: RwLock::default() })
    }

    pub fn snapshot(&self) -> Arc<Snapshot> {
        Arc::clone(&self.snapshot.read())
    }

    /// Names mean what the last commit says from here on.
    pub fn refresh(&self) -> Result<(), StoreError> {
        let snapshot = self.engine.store.snapshot()?;
        if snapshot.version() != self.snapshot().version() {
            let alive: Vec<_> = snapshot.tables()?.into_iter().map(|table| table.id).collect();
            self.engine.statistics.forget_all_but(|id| alive.contains(&id));
        }
        *self.snapshot.write() = snapshot;
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
        self.0.snapshot().namespaces().unwrap_or_default()
    }

    fn schema(&self, name: &str) -> Option<Arc<dyn SchemaProvider>> {
        if name == INFORMATION_SCHEMA {
            return InformationSchema::new(&self.0).map(|schema| Arc::new(schema) as Arc<dyn SchemaProvider>);
        }
        let exists = self.schema_names().iter().any(|namespace| namespace == name);
        exists.then(|| Arc::new(StoreSchema::new(Arc::clone(&self.0), name)) as Arc<dyn SchemaProvider>)
    }
}
