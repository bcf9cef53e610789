//! Changes to a store that become visible together, by one publish.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::Ordering;

use arrow::datatypes::Schema;

use crate::catalog::{CatalogWriter, ColumnOrder, SegmentRecord, TableId, TableRecord, ViewRecord};
use crate::error::{Result, StoreError};
use crate::files;
use crate::segment::SealedSegment;
use crate::store::Store;

const SCHEMA_VERSION_FIRST: u32 = 1;

/// What a new table is made of.
#[derive(Debug, Clone)]
pub struct NewTable<'a> {
    pub namespace: &'a str,
    pub name: &'a str,
    pub schema: &'a Schema,
    pub cluster_key: Vec<ColumnOrder>,
    pub options: BTreeMap<String, String>,
}

/// Dropped without [`Transaction::commit`], it changes nothing.
pub struct Transaction<'a> {
    store: &'a Store,
    catalog: CatalogWriter,
    removed: Vec<(TableId, Vec<u64>)>,
}

impl<'a> Transaction<'a> {
    pub(crate) fn new(store: &'a Store, catalog: CatalogWriter) -> Self {
        Transaction { store, catalog, removed: Vec::new() }
    }

    pub fn create_namespace(&mut self, name: &str) -> Result<()> {
        if self.catalog.has_namespace(name)? {
            return Err(StoreError::AlreadyExists { kind: "schema", name: name.to_string() });
        }
        self.catalog.put_namespace(name)
    }

    pub fn drop_namespace(&mut self, name: &str, cascade: bool) -> Result<()> {
        self.require_namespace(name)?;
        let (tables, views) = self.catalog.names_in(name)?;
        let is_empty = tables.is_empty() && views.is_empty();
        if !cascade && !is_empty {
            return Err(StoreError::NamespaceNotEmpty(name.to_string()));
        }
        for view in views {
            self.catalog.remove_view(name, &view)?;
        }
        for table in tables {
            self.drop_table(name, &table)?;
        }
        self.catalog.remove_namespace(name)
    }

    /// Creates an empty table with an id from [`Store::new_table_id`].
    pub fn create_table(&mut self, id: TableId, new: NewTable<'_>) -> Result<()> {
        self.require_namespace(new.namespace)?;
        self.require_free_name(new.namespace, new.name)?;
        let version = self.catalog.version();
        self.catalog.put_schema(id, SCHEMA_VERSION_FIRST, new.schema)?;
        self.catalog.put_table(&TableRecord {
            id,
            namespace: new.namespace.to_string(),
            name: new.name.to_string(),
            created_version: version,
            changed_version: version,
            schema_version: SCHEMA_VERSION_FIRST,
            cluster_key: new.cluster_key,
            options: new.options,
        })
    }

    /// Adds sealed segments to the table `id`, which must still be there under this name.
    pub fn add_segments(&mut self, namespace: &str, name: &str, id: TableId, segments: &[SealedSegment], sorted: bool) -> Result<()> {
        let mut record = self.require_table(namespace, name)?;
        if record.id != id {
            // Dropped and made anew while the rows were written.
            return Err(StoreError::DoesNotExist { kind: "table", name: format!("{namespace}.{name}") });
        }
        record.changed_version = self.catalog.version();
        for sealed in segments {
            self.catalog.put_segment(
                id,
                &SegmentRecord {
                    sealed: sealed.clone(),
                    schema_version: record.schema_version,
                    added_version: record.changed_version,
                    sorted,
                },
            )?;
        }
        self.catalog.put_table(&record)
    }

    /// Removes every row of a table.
    pub fn clear_table(&mut self, namespace: &str, name: &str) -> Result<()> {
        let mut record = self.require_table(namespace, name)?;
        record.changed_version = self.catalog.version();
        self.removed.push((record.id, self.catalog.remove_segments(record.id)?));
        self.catalog.put_table(&record)
    }

    pub fn drop_table(&mut self, namespace: &str, name: &str) -> Result<()> {
        let record = self.require_table(namespace, name)?;
        self.removed.push((record.id, self.catalog.remove_segments(record.id)?));
        self.catalog.remove_table(&record)
    }

    pub fn create_view(&mut self, record: ViewRecord, replace: bool) -> Result<()> {
        self.require_namespace(&record.namespace)?;
        if replace {
            self.catalog.remove_view(&record.namespace, &record.name)?;
        }
        self.require_free_name(&record.namespace, &record.name)?;
        let created_version = self.catalog.version();
        self.catalog.put_view(&ViewRecord { created_version, ..record })
    }

    pub fn drop_view(&mut self, namespace: &str, name: &str) -> Result<()> {
        if self.catalog.view(namespace, name)?.is_none() {
            return Err(StoreError::DoesNotExist { kind: "view", name: name.to_string() });
        }
        self.catalog.remove_view(namespace, name)
    }

    /// Durable and visible when this returns; the version it became.
    pub fn commit(self, operation: &str) -> Result<u64> {
        let Transaction { store, mut catalog, removed } = self;
        catalog.store.next_segment = store.next_segment.load(Ordering::Relaxed);
        catalog.store.next_table = store.next_table.load(Ordering::Relaxed);
        let version = catalog.commit(operation)?;
        // Readers that come before this line see the version before: the commit is not acknowledged yet.
        let old = store.current.lock().take();
        for (table, segments) in removed {
            store.shared.forget_table(table);
            let path = |segment| files::segment_path(store.path(), table, segment);
            let paths: Vec<PathBuf> = segments.into_iter().map(path).collect();
            store.shared.graveyard.lock().bury(version, paths);
        }
        drop(old);
        store.shared.purge();
        Ok(version)
    }

    fn require_namespace(&self, name: &str) -> Result<()> {
        if self.catalog.has_namespace(name)? {
            return Ok(());
        }
        Err(StoreError::DoesNotExist { kind: "schema", name: name.to_string() })
    }

    fn require_table(&self, namespace: &str, name: &str) -> Result<TableRecord> {
        let record = self.catalog.table(namespace, name)?;
        record.ok_or_else(|| StoreError::DoesNotExist { kind: "table", name: name.to_string() })
    }

    fn require_free_name(&self, namespace: &str, name: &str) -> Result<()> {
        let kind = if self.catalog.table(namespace, name)?.is_some() {
            "table"
        } else if self.catalog.view(namespace, name)?.is_some() {
            "view"
        } else {
            return Ok(());
        };
        Err(StoreError::AlreadyExists { kind, name: name.to_string() })
    }
}
