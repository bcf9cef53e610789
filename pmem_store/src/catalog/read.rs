//! Reads the catalog as it was at one moment.

use std::collections::HashSet;
use std::sync::Arc;

use arrow::datatypes::{Schema, SchemaRef};
use redb::{ReadTransaction, ReadableTable};
use serde::de::DeserializeOwned;

use super::database::{Database, NAMESPACES, SCHEMAS, SEGMENTS, STORE, STORE_KEY, TABLES, VIEWS};
use super::records::{SegmentRecord, StoreRecord, TableId, TableRecord, ViewRecord};
use crate::error::{Result, StoreError};

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
        let table = self.transaction.open_table(STORE).map_err(|error| self.error(error))?;
        let value = table.get(STORE_KEY).map_err(|error| self.error(error))?;
        let value = value.ok_or_else(|| self.error("it has no record of the store"))?;
        self.decode(value.value())
    }

    pub fn namespaces(&self) -> Result<Vec<String>> {
        let table = self.transaction.open_table(NAMESPACES).map_err(|error| self.error(error))?;
        let rows = table.iter().map_err(|error| self.error(error))?;
        rows.map(|row| row.map(|(key, _)| key.value().to_string()).map_err(|error| self.error(error))).collect()
    }

    pub fn tables(&self) -> Result<Vec<TableRecord>> {
        let table = self.transaction.open_table(TABLES).map_err(|error| self.error(error))?;
        let rows = table.iter().map_err(|error| self.error(error))?;
        rows.map(|row| self.decode(row.map_err(|error| self.error(error))?.1.value())).collect()
    }

    pub fn schema(&self, table: TableId, version: u32) -> Result<SchemaRef> {
        let schemas = self.transaction.open_table(SCHEMAS).map_err(|error| self.error(error))?;
        let value = schemas.get((table, version)).map_err(|error| self.error(error))?;
        let value = value.ok_or_else(|| self.error(format!("table {table} has no schema of version {version}")))?;
        decode_schema(value.value()).map(Arc::new).map_err(|error| self.error(error))
    }

    /// Also those that are kept for older versions.
    pub fn segments(&self, table: TableId) -> Result<Vec<SegmentRecord>> {
        let segments = self.transaction.open_table(SEGMENTS).map_err(|error| self.error(error))?;
        let rows = segments.range((table, 0)..=(table, u64::MAX)).map_err(|error| self.error(error))?;
        rows.map(|row| self.decode(row.map_err(|error| self.error(error))?.1.value())).collect()
    }

    /// Of a table, also those kept for older versions.
    pub fn segment_ids(&self, table: TableId) -> Result<HashSet<u64>> {
        let segments = self.transaction.open_table(SEGMENTS).map_err(|error| self.error(error))?;
        let rows = segments.range((table, 0)..=(table, u64::MAX)).map_err(|error| self.error(error))?;
        rows.map(|row| Ok(row.map_err(|error| self.error(error))?.0.value().1)).collect()
    }

    pub fn views(&self) -> Result<Vec<ViewRecord>> {
        let views = self.transaction.open_table(VIEWS).map_err(|error| self.error(error))?;
        let rows = views.iter().map_err(|error| self.error(error))?;
        rows.map(|row| self.decode(row.map_err(|error| self.error(error))?.1.value())).collect()
    }

    pub(super) fn decode<T: DeserializeOwned>(&self, bytes: &[u8]) -> Result<T> {
        serde_json::from_slice(bytes).map_err(|error| self.error(error))
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
