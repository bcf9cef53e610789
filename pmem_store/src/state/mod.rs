//! The catalog at one version, in memory: what snapshots read and transactions change.
//!
//! Invariant: a state that is shared never changes. A commit makes the next one, which
//! shares with it all tables that did not change.

mod chunks;
mod columns;
mod table;
mod tables;
mod tail;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::catalog::{CatalogReader, Database, NamedSnapshot, TableId, TableRecord, ViewRecord};
use crate::error::{Result, StoreError};
use crate::shared::Shared;

pub use columns::ColumnInfo;
pub(crate) use columns::with_columns;
pub use table::{TableData, TableSegment};
pub(crate) use table::{TableState, column_places, read_table};
pub(crate) use tables::Tables;
pub use tail::Tail;
pub(crate) use tail::{PendingRows, TableLog};

/// Namespace and name.
pub(crate) type QualifiedName = (String, String);

/// It is cheap to clone: a change copies the map that it changes, and a part of the tables.
#[derive(Debug, Clone, Default)]
pub(crate) struct CatalogState {
    pub namespaces: Arc<BTreeSet<String>>,
    pub tables: Tables,
    pub views: Arc<BTreeMap<QualifiedName, ViewRecord>>,
    pub snapshots: Arc<BTreeMap<String, NamedSnapshot>>,
}

impl CatalogState {
    /// Reads names and records; the data of a table is read at its first use.
    pub fn load(database: &Arc<Database>, shared: &Arc<Shared>) -> Result<(CatalogState, u64)> {
        let reader = CatalogReader::begin(database)?;
        let version = reader.store()?.version;
        let table = |record: TableRecord| Arc::new(TableState::stored(record, version, database, shared));
        let view = |view: ViewRecord| ((view.namespace.clone(), view.name.clone()), view);
        let snapshot = |snapshot: NamedSnapshot| (snapshot.name.clone(), snapshot);
        let state = CatalogState {
            namespaces: Arc::new(reader.namespaces()?.into_iter().collect()),
            tables: Tables::of(reader.tables()?.into_iter().map(table).collect()),
            views: Arc::new(reader.views()?.into_iter().map(view).collect()),
            snapshots: Arc::new(reader.named_snapshots()?.into_iter().map(snapshot).collect()),
        };
        Ok((state, version))
    }

    pub fn table(&self, namespace: &str, name: &str) -> Option<&Arc<TableState>> {
        self.tables.named(namespace, name)
    }

    pub fn require_table(&self, namespace: &str, name: &str) -> Result<&Arc<TableState>> {
        self.table(namespace, name).ok_or_else(|| StoreError::no_table(namespace, name))
    }

    /// The table with this id, whatever its name is now.
    pub fn table_by_id(&self, id: TableId) -> Option<&Arc<TableState>> {
        self.tables.with_id(id)
    }

    /// Replaces the table with its new form as of `version`.
    pub fn change_table(&mut self, mut record: TableRecord, data: TableData, version: u64) {
        record.changed_version = version;
        self.put_table(TableState::new(record, data));
    }

    pub fn put_table(&mut self, table: TableState) {
        self.tables.put(Arc::new(table));
    }
}
