//! Reads the catalog at one moment.

use std::collections::HashSet;
use std::sync::Arc;

use arrow::datatypes::{Schema, SchemaRef};
use redb::{AccessGuard, Key, ReadOnlyTable, ReadTransaction, ReadableTable, TableDefinition, TableError, Value};
use serde::de::DeserializeOwned;

use super::database::{Database, NAMESPACES, SCHEMAS, SEGMENTS, STORE, STORE_KEY, TABLES, VIEWS};
use super::integrity;
use super::records::{NamespaceRecord, SegmentRecord, StoreRecord, TableRecord, ViewRecord};
use super::sum::{self, Records};
use crate::error::{Result, StoreError};
use crate::names::TableId;

type Row<'a, K> = (AccessGuard<'a, K>, AccessGuard<'a, &'static [u8]>);

pub struct CatalogReader {
    pub(super) transaction: ReadTransaction,
    database: Arc<Database>,
}

impl std::fmt::Debug for CatalogReader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CatalogReader").finish_non_exhaustive()
    }
}

impl CatalogReader {
    pub fn begin(database: &Arc<Database>) -> Result<CatalogReader> {
        Ok(CatalogReader { transaction: database.begin_read()?, database: Arc::clone(database) })
    }

    pub fn store(&self) -> Result<StoreRecord> {
        self.guarded(|| {
            let table = self.transaction.open_table(STORE).map_err(|error| self.error(error))?;
            let value = table.get(STORE_KEY).map_err(|error| self.error(error))?;
            let value = value.ok_or_else(|| self.error("it has no record of the store"))?;
            self.decode(STORE, &STORE_KEY, value.value())
        })
    }

    pub fn namespaces(&self) -> Result<Vec<String>> {
        self.guarded(|| {
            let table = self.transaction.open_table(NAMESPACES).map_err(|error| self.error(error))?;
            let rows = table.iter().map_err(|error| self.error(error))?;
            rows.map(|row| {
                let (key, record) = row.map_err(|error| self.error(error))?;
                self.decode::<_, NamespaceRecord>(NAMESPACES, &key.value(), record.value())?;
                Ok(key.value().to_string())
            })
            .collect()
        })
    }

    pub fn tables(&self) -> Result<Vec<TableRecord>> {
        self.all(TABLES)
    }

    pub fn schema(&self, table: TableId, version: u32) -> Result<SchemaRef> {
        self.guarded(|| {
            let schemas = self.transaction.open_table(SCHEMAS).map_err(|error| self.error(error))?;
            let value = schemas.get((table, version)).map_err(|error| self.error(error))?;
            let value = value.ok_or_else(|| self.error(format!("table {table} has no schema of version {version}")))?;
            let bytes = sum::verified_bytes(SCHEMAS, &(table, version), value.value()).map_err(|what| self.damaged(what))?;
            decode_schema(bytes).map(Arc::new).map_err(|error| self.error(error))
        })
    }

    /// Includes those that are kept for older versions.
    pub fn segments(&self, table: TableId) -> Result<Vec<SegmentRecord>> {
        self.guarded(|| {
            let segments = self.transaction.open_table(SEGMENTS).map_err(|error| self.error(error))?;
            let rows = segments.range((table, 0)..=(table, u64::MAX)).map_err(|error| self.error(error))?;
            rows.map(|row| self.record(SEGMENTS, row)).collect()
        })
    }

    /// The segments of a table, including those kept for older versions.
    pub fn segment_ids(&self, table: TableId) -> Result<HashSet<u64>> {
        self.guarded(|| {
            let segments = self.transaction.open_table(SEGMENTS).map_err(|error| self.error(error))?;
            let rows = segments.range((table, 0)..=(table, u64::MAX)).map_err(|error| self.error(error))?;
            rows.map(|row| Ok(row.map_err(|error| self.error(error))?.0.value().1)).collect()
        })
    }

    pub fn views(&self) -> Result<Vec<ViewRecord>> {
        self.all(VIEWS)
    }

    /// Every record of a table; none if the table does not exist yet, because no commit has needed it.
    pub(super) fn all<K: Key + 'static, T: DeserializeOwned>(&self, records: Records<'_, K>) -> Result<Vec<T>> {
        self.guarded(|| {
            let Some(table) = self.open_new(records)? else { return Ok(Vec::new()) };
            let rows = table.iter().map_err(|error| self.error(error))?;
            rows.map(|row| self.record(records, row)).collect()
        })
    }

    /// Opens a table that stores of the first format lack until they are written to.
    pub(super) fn open_new<K: Key, V: Value>(&self, definition: TableDefinition<'_, K, V>) -> Result<Option<ReadOnlyTable<K, V>>> {
        match self.transaction.open_table(definition) {
            Ok(table) => Ok(Some(table)),
            Err(TableError::TableDoesNotExist(_)) => Ok(None),
            Err(error) => Err(self.error(error)),
        }
    }

    pub(super) fn record<K: Key + 'static, T: DeserializeOwned>(
        &self,
        records: Records<'_, K>,
        row: redb::Result<Row<'_, K>>,
    ) -> Result<T> {
        let (key, record) = row.map_err(|error| self.error(error))?;
        self.decode(records, &key.value(), record.value())
    }

    pub(super) fn decode<K: Key + 'static, T: DeserializeOwned>(
        &self,
        records: Records<'_, K>,
        key: &K::SelfType<'_>,
        bytes: &[u8],
    ) -> Result<T> {
        self.database.decode(records, key, bytes)
    }

    /// redb panics if pages contradict each other. A catalog that is too large to be verified at the open may have such pages.
    pub(super) fn guarded<T>(&self, read: impl FnOnce() -> Result<T>) -> Result<T> {
        integrity::without_panic(read).unwrap_or_else(|what| Err(self.damaged(what)))
    }

    pub(super) fn damaged(&self, what: String) -> StoreError {
        self.database.damaged(what)
    }

    pub(super) fn error(&self, error: impl std::fmt::Display + 'static) -> StoreError {
        self.database.error(error)
    }
}

fn decode_schema(bytes: &[u8]) -> std::result::Result<Schema, String> {
    let schema = arrow_ipc::root_as_schema(bytes).map_err(|error| error.to_string())?;
    // `fb_to_schema` panics on types it does not know.
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| arrow_ipc::convert::fb_to_schema(schema)))
        .map_err(|_| "a schema is of an unknown type".to_string())
}
