//! Changes the catalog inside one redb transaction.

use std::sync::Arc;

use arrow::datatypes::Schema;
use arrow_ipc::convert::IpcSchemaEncoder;
use arrow_ipc::writer::DictionaryTracker;
use redb::{ReadableTable, WriteTransaction};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::database::{Database, NAMESPACES, SCHEMAS, SEGMENTS, STORE, STORE_KEY, TABLES, VERSIONS, VIEWS};
use super::records::{NamespaceRecord, SegmentRecord, StoreRecord, TableId, TableRecord, VersionRecord, ViewRecord};
use crate::error::{Result, StoreError};

pub struct CatalogWriter {
    transaction: WriteTransaction,
    database: Arc<Database>,
    pub store: StoreRecord,
}

/// Runs one redb call chain on a table of the transaction, with errors as ours.
macro_rules! on_table {
    ($self:ident, $definition:expr, |$table:ident| $body:expr) => {{
        #[allow(unused_mut)]
        let mut $table = $self.transaction.open_table($definition).map_err(|error| $self.database.error(error))?;
        $body.map_err(|error| $self.database.error(error))
    }};
}

impl CatalogWriter {
    pub fn begin(database: &Arc<Database>) -> Result<CatalogWriter> {
        let transaction = database.begin_write()?;
        let store = {
            let table = transaction.open_table(STORE).map_err(|error| database.error(error))?;
            let value = table.get(STORE_KEY).map_err(|error| database.error(error))?;
            let value = value.ok_or_else(|| database.error("it has no record of the store"))?;
            serde_json::from_slice(value.value()).map_err(|error| database.error(error))?
        };
        Ok(CatalogWriter { transaction, database: Arc::clone(database), store })
    }

    /// The version this transaction will be.
    pub fn version(&self) -> u64 {
        self.store.version + 1
    }

    pub fn has_namespace(&self, name: &str) -> Result<bool> {
        on_table!(self, NAMESPACES, |table| table.get(name).map(|row| row.is_some()))
    }

    pub fn put_namespace(&self, name: &str) -> Result<()> {
        let bytes = self.encode(&NamespaceRecord { created_version: self.version() })?;
        on_table!(self, NAMESPACES, |table| table.insert(name, bytes.as_slice()).map(|_| ()))
    }

    pub fn remove_namespace(&self, name: &str) -> Result<()> {
        on_table!(self, NAMESPACES, |table| table.remove(name).map(|_| ()))
    }

    pub fn table(&self, namespace: &str, name: &str) -> Result<Option<TableRecord>> {
        let bytes = on_table!(self, TABLES, |table| table.get((namespace, name)).map(|row| row.map(|row| row.value().to_vec())))?;
        bytes.map(|bytes| self.decode(&bytes)).transpose()
    }

    pub fn put_table(&self, record: &TableRecord) -> Result<()> {
        let bytes = self.encode(record)?;
        on_table!(self, TABLES, |table| table
            .insert((record.namespace.as_str(), record.name.as_str()), bytes.as_slice())
            .map(|_| ()))
    }

    pub fn remove_table(&self, record: &TableRecord) -> Result<()> {
        on_table!(self, TABLES, |table| table.remove((record.namespace.as_str(), record.name.as_str())).map(|_| ()))?;
        on_table!(self, SCHEMAS, |table| table.retain_in((record.id, 0)..=(record.id, u32::MAX), |_, _| false))
    }

    pub fn put_schema(&self, table: TableId, version: u32, schema: &Schema) -> Result<()> {
        // Without a tracker the encoder panics on a declared dictionary type.
        let mut dictionaries = DictionaryTracker::new(false);
        let mut encoder = IpcSchemaEncoder::new().with_dictionary_tracker(&mut dictionaries);
        let message = encoder.schema_to_fb(schema);
        on_table!(self, SCHEMAS, |schemas| schemas.insert((table, version), message.finished_data()).map(|_| ()))
    }

    pub fn put_segment(&self, table: TableId, record: &SegmentRecord) -> Result<()> {
        let bytes = self.encode(record)?;
        on_table!(self, SEGMENTS, |segments| segments.insert((table, record.sealed.id), bytes.as_slice()).map(|_| ()))
    }

    /// Removes every segment of a table and returns their ids.
    pub fn remove_segments(&self, table: TableId) -> Result<Vec<u64>> {
        let mut removed = Vec::new();
        on_table!(self, SEGMENTS, |segments| segments.retain_in((table, 0)..=(table, u64::MAX), |key, _| {
            removed.push(key.1);
            false
        }))?;
        Ok(removed)
    }

    pub fn view(&self, namespace: &str, name: &str) -> Result<Option<ViewRecord>> {
        let bytes = on_table!(self, VIEWS, |table| table.get((namespace, name)).map(|row| row.map(|row| row.value().to_vec())))?;
        bytes.map(|bytes| self.decode(&bytes)).transpose()
    }

    pub fn put_view(&self, record: &ViewRecord) -> Result<()> {
        let bytes = self.encode(record)?;
        on_table!(self, VIEWS, |table| table
            .insert((record.namespace.as_str(), record.name.as_str()), bytes.as_slice())
            .map(|_| ()))
    }

    pub fn remove_view(&self, namespace: &str, name: &str) -> Result<()> {
        on_table!(self, VIEWS, |table| table.remove((namespace, name)).map(|_| ()))
    }

    /// Names of the tables and views of a namespace.
    pub fn names_in(&self, namespace: &str) -> Result<(Vec<String>, Vec<String>)> {
        let fail = |error: redb::StorageError| self.database.error(error);
        let mut names = (Vec::new(), Vec::new());
        let tables = self.transaction.open_table(TABLES).map_err(|error| self.database.error(error))?;
        for row in tables.range((namespace, "")..).map_err(fail)? {
            let (key, _) = row.map_err(fail)?;
            if key.value().0 != namespace {
                break;
            }
            names.0.push(key.value().1.to_string());
        }
        let views = self.transaction.open_table(VIEWS).map_err(|error| self.database.error(error))?;
        for row in views.range((namespace, "")..).map_err(fail)? {
            let (key, _) = row.map_err(fail)?;
            if key.value().0 != namespace {
                break;
            }
            names.1.push(key.value().1.to_string());
        }
        Ok(names)
    }

    /// The publish: durable when this returns.
    pub fn commit(mut self, operation: &str) -> Result<u64> {
        let version = self.version();
        self.store.version = version;
        let committed_at_ms = crate::store::now_ms();
        let record = self.encode(&VersionRecord { committed_at_ms, operation: operation.to_string() })?;
        on_table!(self, VERSIONS, |versions| versions.insert(version, record.as_slice()).map(|_| ()))?;
        let store = self.encode(&self.store)?;
        on_table!(self, STORE, |table| table.insert(STORE_KEY, store.as_slice()).map(|_| ()))?;
        let CatalogWriter { transaction, database, .. } = self;
        transaction.commit().map_err(|error| database.error(error))?;
        Ok(version)
    }

    fn encode<T: Serialize>(&self, record: &T) -> Result<Vec<u8>> {
        serde_json::to_vec(record).map_err(|error| self.database.error(error))
    }

    fn decode<T: DeserializeOwned>(&self, bytes: &[u8]) -> Result<T> {
        serde_json::from_slice(bytes).map_err(|error| StoreError::Catalog {
            path: self.database.path().to_path_buf(),
            what: error.to_string(),
        })
    }
}
