//! A snapshot is what a reader sees: the store at one version.

use std::collections::HashSet;
use std::sync::Arc;

use arrow::datatypes::SchemaRef;

use crate::catalog::{NamedSnapshot, TableId, TableRecord, ViewRecord};
use crate::error::Result;
use crate::shared::{Pin, Touches};
use crate::state::{CatalogState, ColumnInfo, TableData, TableSegment, TableState, Tail};

/// Which objects of a store a user may see.
pub trait Visibility: std::fmt::Debug + Send + Sync {
    /// Whether the namespace is visible even if nothing in it is.
    fn has_namespace(&self, name: &str) -> bool;
    fn has_table(&self, table: &TableRecord) -> bool;
    fn has_view(&self, view: &ViewRecord) -> bool;
    /// For an object that is neither table nor view.
    fn has_object(&self, object: ObjectOwner<'_>) -> bool;
}

/// What decides who may see an object, and change it.
#[derive(Debug, Clone, Copy)]
pub struct ObjectOwner<'a> {
    pub id: TableId,
    pub namespace: &'a str,
    /// EXECUTE on its schema applies to it.
    pub is_function: bool,
    /// The user who made it; `None` for what the process itself made.
    pub owner: Option<&'a str>,
    /// A later user of the same name does not own it.
    pub created_at_ms: u64,
}

/// The store at one version, or as an uncommitted transaction sees it.
///
/// Invariant: no question to a snapshot reveals an object that its visibility hides.
#[derive(Debug)]
pub struct Snapshot {
    pub(crate) state: CatalogState,
    pub(crate) pin: Arc<Pin>,
    /// `None`: everything is visible.
    visibility: Option<Arc<dyn Visibility>>,
}

impl Snapshot {
    pub(crate) fn new(state: CatalogState, pin: Arc<Pin>) -> Snapshot {
        Snapshot { state, pin, visibility: None }
    }

    /// The same snapshot, restricted to the objects that a user may see.
    pub fn seen_with(&self, visibility: Arc<dyn Visibility>) -> Snapshot {
        Snapshot { state: self.state.clone(), pin: Arc::clone(&self.pin), visibility: Some(visibility) }
    }

    fn sees_table(&self, table: &TableState) -> bool {
        self.visibility.as_ref().is_none_or(|visibility| visibility.has_table(&table.record))
    }

    fn sees_view(&self, view: &ViewRecord) -> bool {
        self.visibility.as_ref().is_none_or(|visibility| visibility.has_view(view))
    }

    /// A namespace is visible, too, if something in it is.
    fn sees_namespace(&self, name: &str) -> bool {
        let Some(visibility) = &self.visibility else { return true };
        visibility.has_namespace(name)
            || self.state.tables.iter().any(|table| table.record.namespace == name && self.sees_table(table))
            || self.state.views.values().any(|view| view.namespace == name && self.sees_view(view))
    }

    fn seen_tables(&self) -> impl Iterator<Item = &Arc<TableState>> {
        self.state.tables.iter().filter(|table| self.sees_table(table))
    }

    pub fn version(&self) -> u64 {
        self.pin.version
    }

    pub fn namespaces(&self) -> Result<Vec<String>> {
        let Some(visibility) = &self.visibility else { return Ok(self.state.namespaces.iter().cloned().collect()) };
        let of_tables = self.seen_tables().map(|table| table.record.namespace.as_str());
        let of_views = self.state.views.values().filter(|view| self.sees_view(view)).map(|view| view.namespace.as_str());
        let with_something: HashSet<&str> = of_tables.chain(of_views).collect();
        let is_seen = |name: &&String| visibility.has_namespace(name) || with_something.contains(name.as_str());
        Ok(self.state.namespaces.iter().filter(is_seen).cloned().collect())
    }

    /// Every table, without its segments.
    pub fn tables(&self) -> Result<Vec<TableRecord>> {
        Ok(self.seen_tables().map(|table| table.record.clone()).collect())
    }

    /// The tables that were read or written since the store was opened, without their segments.
    pub fn tables_in_use(&self) -> Vec<TableRecord> {
        self.seen_tables().filter(|table| table.loaded().is_some()).map(|table| table.record.clone()).collect()
    }

    /// The version that last changed this table; `None` if there is no such table. It reads nothing of the table.
    pub fn changed_version(&self, id: TableId) -> Option<u64> {
        self.with_id(id).map(|table| table.record.changed_version)
    }

    pub fn has_namespace(&self, name: &str) -> bool {
        self.state.namespaces.contains(name) && self.sees_namespace(name)
    }

    pub fn views(&self) -> Result<Vec<ViewRecord>> {
        Ok(self.state.views.values().filter(|view| self.sees_view(view)).cloned().collect())
    }

    pub fn view(&self, namespace: &str, name: &str) -> Result<Option<ViewRecord>> {
        let view = self.state.views.get(&(namespace.to_string(), name.to_string()));
        Ok(view.filter(|view| self.sees_view(view)).cloned())
    }

    /// Names of tables and views that exist but are hidden; texts that contain them must not be shown to the user.
    pub fn unseen_names(&self) -> HashSet<&str> {
        let tables = self.state.tables.iter().filter(|table| !self.sees_table(table)).map(|table| table.record.name.as_str());
        let views = self.state.views.values().filter(|view| !self.sees_view(view)).map(|view| view.name.as_str());
        tables.chain(views).collect()
    }

    pub fn named_snapshots(&self) -> Vec<NamedSnapshot> {
        self.state.snapshots.values().cloned().collect()
    }

    pub fn table(&self, namespace: &str, name: &str) -> Result<Option<TableSnapshot>> {
        let table = self.state.table(namespace, name).filter(|table| self.sees_table(table));
        table.map(|table| self.table_of(table)).transpose()
    }

    /// The record of a table, without its segments.
    pub fn table_record(&self, namespace: &str, name: &str) -> Option<&TableRecord> {
        self.state.table(namespace, name).filter(|table| self.sees_table(table)).map(|table| &table.record)
    }

    pub fn table_record_of(&self, id: TableId) -> Option<&TableRecord> {
        self.with_id(id).map(|table| &table.record)
    }

    /// Whether some objects may be hidden from its user.
    pub(crate) fn is_restricted(&self) -> bool {
        self.visibility.is_some()
    }

    pub(crate) fn sees_object(&self, object: ObjectOwner<'_>) -> bool {
        self.visibility.as_ref().is_none_or(|visibility| visibility.has_object(object))
    }

    /// A table whose rows the store reads for itself, whatever a user may see.
    pub(crate) fn unrestricted_table(&self, namespace: &str, name: &str) -> Result<Option<TableSnapshot>> {
        self.state.table(namespace, name).map(|table| self.table_of(table)).transpose()
    }

    /// The table with this id, whatever its name is.
    pub fn table_by_id(&self, id: TableId) -> Result<Option<TableSnapshot>> {
        self.with_id(id).map(|table| self.table_of(table)).transpose()
    }

    /// As [`Snapshot::table_by_id`], for a caller that looks at every table once: the table does not count as in
    /// use afterwards.
    pub fn glance(&self, id: TableId) -> Result<Option<TableSnapshot>> {
        let Some(table) = self.with_id(id) else { return Ok(None) };
        TableSnapshot::new(Arc::new(table.record.clone()), table.glance()?, Arc::clone(&self.pin)).map(Some)
    }

    fn with_id(&self, id: TableId) -> Option<&Arc<TableState>> {
        self.state.table_by_id(id).filter(|table| self.sees_table(table))
    }

    fn table_of(&self, table: &TableState) -> Result<TableSnapshot> {
        TableSnapshot::new(Arc::new(table.record.clone()), table.data()?, Arc::clone(&self.pin))
    }
}

/// A table at one version.
#[derive(Debug, Clone)]
pub struct TableSnapshot {
    record: Arc<TableRecord>,
    data: Arc<TableData>,
    segments: Arc<[TableSegment]>,
    tails: Arc<[Tail]>,
    pin: Arc<Pin>,
}

impl TableSnapshot {
    pub(crate) fn new(record: Arc<TableRecord>, data: Arc<TableData>, pin: Arc<Pin>) -> Result<TableSnapshot> {
        let segments = data.segments.values().cloned().collect();
        let logs = data.logs.values().map(|log| Tail::of_log(log, pin.version));
        let tails = logs.chain(data.pending.iter().map(|pending| Ok(Tail::of_pending(pending))));
        let tails: Vec<Tail> = tails.collect::<Result<_>>()?;
        let tails = tails.into_iter().filter(|tail| tail.stored_rows() > 0).collect();
        Ok(TableSnapshot { record, data, segments, tails, pin })
    }

    pub fn record(&self) -> &TableRecord {
        &self.record
    }

    pub(crate) fn shared_record(&self) -> &Arc<TableRecord> {
        &self.record
    }

    pub fn version(&self) -> u64 {
        self.pin.version
    }

    /// The declared schema; the physical schemas of the segments may differ from it.
    pub fn schema(&self) -> &SchemaRef {
        &self.data.schema
    }

    /// What the catalog knows of each column besides its type.
    pub fn columns(&self) -> &[ColumnInfo] {
        &self.data.columns
    }

    /// In the order in which they were added.
    pub fn segments(&self) -> &[TableSegment] {
        &self.segments
    }

    /// Rows that are in no segment yet, in the order in which they were added.
    pub fn tails(&self) -> &[Tail] {
        &self.tails
    }

    /// The number of rows that are not deleted.
    pub fn row_count(&self) -> u64 {
        let sealed: u64 = self.segments.iter().map(TableSegment::row_count).sum();
        sealed + self.tails.iter().map(Tail::row_count).sum::<u64>()
    }

    /// The reads of the table since the store was opened.
    pub fn touches(&self) -> Arc<Touches> {
        self.pin.touches(self.record.id)
    }

    /// Counts a read of a blob of a slower tier, if anybody decides anything by it.
    pub(crate) fn count_read_of_blob(&self, blob: u64, bytes: u64) {
        if self.touches().is_watched() {
            self.pin.touches(blob).add_of_tier(bytes);
        }
    }

    /// The bytes of the segments with their side files.
    pub fn size_bytes(&self) -> u64 {
        let sealed = self.segments.iter().map(|segment| &segment.record.sealed);
        let sealed: u64 = sealed.map(|sealed| sealed.size_bytes + sealed.side_size_bytes).sum();
        sealed + self.tails.iter().map(Tail::size_bytes).sum::<u64>()
    }

    /// Tables with the same data have the same columns, segments and deleted rows, so what was computed from one holds for the
    /// other. It may be kept, and compared by address. Tails grow without changing it.
    pub fn data(&self) -> &Arc<TableData> {
        &self.data
    }
}
