//! Changes the catalog inside one redb transaction.

use std::sync::Arc;

use arrow::datatypes::Schema;
use arrow_ipc::convert::IpcSchemaEncoder;
use arrow_ipc::writer::DictionaryTracker;
use redb::{Key, ReadableTable, WriteTransaction};
use serde::Serialize;

use super::database::{
    DELETIONS, Database, HISTORY, LOGS, NAMESPACES, SCHEMAS, SEGMENTS, SNAPSHOTS, STORE, STORE_KEY, TABLES, VERSIONS, VIEWS,
};
use super::features::{FEATURE_ENCODINGS, FEATURE_VERSIONS};
use super::records::{LogRecord, NamespaceRecord, SegmentRecord, StoreRecord, TableRecord, VersionRecord, ViewRecord};
use super::sum::{self, Records};
use crate::clock::now_ms;
use crate::deletions::Deletions;
use crate::error::Result;
use crate::names::{NamedSnapshot, TableId};
use crate::region::CommitInDoubt;

pub struct CatalogWriter {
    pub(super) transaction: WriteTransaction,
    pub(super) database: Arc<Database>,
    pub store: StoreRecord,
}

/// Runs one redb call chain on a table of the transaction and converts its errors.
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
            database.decode(STORE, &STORE_KEY, value.value())?
        };
        Ok(CatalogWriter { transaction, database: Arc::clone(database), store })
    }

    pub fn put_namespace(&self, name: &str, record: &NamespaceRecord) -> Result<()> {
        self.put(NAMESPACES, name, record)
    }

    pub fn remove_namespace(&self, name: &str) -> Result<()> {
        on_table!(self, NAMESPACES, |table| table.remove(name).map(|_| ()))
    }

    pub fn put_table(&self, record: &TableRecord) -> Result<()> {
        self.put(TABLES, (record.namespace.as_str(), record.name.as_str()), record)
    }

    pub fn remove_table_name(&self, namespace: &str, name: &str) -> Result<()> {
        on_table!(self, TABLES, |table| table.remove((namespace, name)).map(|_| ()))
    }

    /// Removes everything a table ever was, except for its name; returns its segments, including those kept
    /// for older versions.
    pub fn remove_table_data(&self, id: TableId) -> Result<Vec<u64>> {
        let mut segments = Vec::new();
        on_table!(self, SCHEMAS, |table| table.retain_in((id, 0)..=(id, u32::MAX), |_, _| false))?;
        on_table!(self, SEGMENTS, |table| table.retain_in((id, 0)..=(id, u64::MAX), |key, _| {
            segments.push(key.1);
            false
        }))?;
        on_table!(self, DELETIONS, |table| table.retain_in((id, 0, 0)..=(id, u64::MAX, u64::MAX), |_, _| false))?;
        on_table!(self, LOGS, |table| table.retain_in((id, 0)..=(id, u64::MAX), |_, _| false))?;
        on_table!(self, HISTORY, |table| table.retain_in((id, 0)..=(id, u64::MAX), |_, _| false))?;
        Ok(segments)
    }

    pub fn put_schema(&self, table: TableId, version: u32, schema: &Schema) -> Result<()> {
        // Without a tracker the encoder panics on a declared dictionary type.
        let mut dictionaries = DictionaryTracker::new(false);
        let mut encoder = IpcSchemaEncoder::new().with_dictionary_tracker(&mut dictionaries);
        let message = encoder.schema_to_fb(schema);
        let bytes = sum::sum_bytes(SCHEMAS, &(table, version), message.finished_data());
        on_table!(self, SCHEMAS, |schemas| schemas.insert((table, version), bytes.as_slice()).map(|_| ()))
    }

    pub fn put_history(&self, record: &TableRecord, version: u64) -> Result<()> {
        self.put(HISTORY, (record.id, version), record)
    }

    pub fn remove_history(&self, table: TableId, version: u64) -> Result<()> {
        on_table!(self, HISTORY, |history| history.remove((table, version)).map(|_| ()))
    }

    pub fn put_segment(&mut self, table: TableId, record: &SegmentRecord) -> Result<()> {
        if record.sealed.is_encoded {
            self.store.reader_features |= FEATURE_ENCODINGS;
        }
        self.put(SEGMENTS, (table, record.sealed.id), record)
    }

    /// Removes the segment and all its deletion vectors.
    pub fn remove_segment(&self, table: TableId, segment: u64) -> Result<()> {
        on_table!(self, SEGMENTS, |segments| segments.remove((table, segment)).map(|_| ()))?;
        on_table!(self, DELETIONS, |rows| rows.retain_in((table, segment, 0)..=(table, segment, u64::MAX), |_, _| false))
    }

    pub fn put_log(&self, table: TableId, record: &LogRecord) -> Result<()> {
        self.put(LOGS, (table, record.id), record)
    }

    pub fn remove_log(&self, table: TableId, log: u64) -> Result<()> {
        on_table!(self, LOGS, |logs| logs.remove((table, log)).map(|_| ()))
    }

    pub fn put_deletions(&self, table: TableId, segment: u64, version: u64, deletions: &Deletions) -> Result<()> {
        let bytes = deletions.to_bytes().map_err(|error| self.database.error(error))?;
        let bytes = sum::sum_bytes(DELETIONS, &(table, segment, version), &bytes);
        on_table!(self, DELETIONS, |rows| rows.insert((table, segment, version), bytes.as_slice()).map(|_| ()))
    }

    pub fn remove_deletions(&self, table: TableId, segment: u64, version: u64) -> Result<()> {
        on_table!(self, DELETIONS, |rows| rows.remove((table, segment, version)).map(|_| ()))
    }

    /// Removes rows from `row_count` on from all deletion vectors of a segment: these rows are lost, and new rows may get their positions.
    pub fn truncate_deletions(&self, table: TableId, segment: u64, row_count: u64) -> Result<()> {
        let range = (table, segment, 0)..=(table, segment, u64::MAX);
        let vectors = on_table!(self, DELETIONS, |rows| rows.range(range).and_then(|range| {
            let owned = range.map(|row| row.map(|(key, bytes)| (key.value().2, bytes.value().to_vec())));
            owned.collect::<std::result::Result<Vec<_>, _>>()
        }))?;
        for (version, bytes) in vectors {
            let bytes = sum::verified_bytes(DELETIONS, &(table, segment, version), &bytes).map_err(|what| self.database.damaged(what))?;
            let deletions = Deletions::from_bytes(bytes).map_err(|error| self.database.error(error))?;
            self.put_deletions(table, segment, version, &deletions.before(row_count))?;
        }
        Ok(())
    }

    /// The version of a segment's last deletion vector.
    pub fn deletions_version(&self, table: TableId, segment: u64) -> Result<Option<u64>> {
        let range = (table, segment, 0)..=(table, segment, u64::MAX);
        on_table!(self, DELETIONS, |rows| rows
            .range(range)
            .and_then(|mut range| range.next_back().transpose())
            .map(|row| row.map(|(key, _)| key.value().2)))
    }

    /// The version that wrote the newest record in the history of the table.
    pub fn history_version(&self, table: TableId) -> Result<Option<u64>> {
        let range = (table, 0)..=(table, u64::MAX);
        on_table!(self, HISTORY, |rows| rows
            .range(range)
            .and_then(|mut range| range.next_back().transpose())
            .map(|row| row.map(|(key, _)| key.value().1)))
    }

    pub fn put_view(&self, record: &ViewRecord) -> Result<()> {
        self.put(VIEWS, (record.namespace.as_str(), record.name.as_str()), record)
    }

    pub fn remove_view(&self, namespace: &str, name: &str) -> Result<()> {
        on_table!(self, VIEWS, |table| table.remove((namespace, name)).map(|_| ()))
    }

    pub fn put_snapshot(&self, record: &NamedSnapshot) -> Result<()> {
        self.put(SNAPSHOTS, record.name.as_str(), record)
    }

    pub fn remove_snapshot(&self, name: &str) -> Result<()> {
        on_table!(self, SNAPSHOTS, |table| table.remove(name).map(|_| ()))
    }

    /// Records a version that the catalog did not make, if it has no record of it yet.
    pub fn note_version(&self, version: u64, record: &VersionRecord) -> Result<()> {
        let has_record = on_table!(self, VERSIONS, |versions| versions.get(version).map(|row| row.is_some()))?;
        match has_record {
            true => Ok(()),
            false => self.put(VERSIONS, version, record),
        }
    }

    /// The publish: it is durable when this returns. After an error it may be durable, too; see [`Database::commit`].
    pub fn commit(mut self, version: u64, operation: &str, tables: Vec<TableId>) -> Result<()> {
        let unknown = self.database.poison().until_known(format!("the commit of version {version}"));
        self.store.version = version;
        self.store.reader_features |= FEATURE_VERSIONS;
        let record = VersionRecord { committed_at_ms: now_ms(), operation: operation.to_string(), tables };
        self.put(VERSIONS, version, &record)?;
        self.commit_with(unknown)
    }

    /// As [`CatalogWriter::commit`], but makes no version; `what` names the change.
    pub fn commit_unversioned(self, what: &str) -> Result<()> {
        let unknown = self.database.poison().until_known(format!("the commit of {what}"));
        self.commit_with(unknown)
    }

    fn commit_with(self, unknown: CommitInDoubt) -> Result<()> {
        self.put(STORE, STORE_KEY, &self.store)?;
        let CatalogWriter { transaction, database, .. } = self;
        database.commit(transaction, unknown)
    }

    pub(super) fn put<K: Key + 'static, T: Serialize>(&self, records: Records<'_, K>, key: K::SelfType<'_>, record: &T) -> Result<()> {
        let bytes = self.database.encode(records, &key, record)?;
        on_table!(self, records, |table| table.insert(key, bytes.as_slice()).map(|_| ()))
    }
}
