//! An open transaction.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use arrow::array::RecordBatch;
use roaring::RoaringBitmap;

use super::apply;
use super::change::{Change, DeletedRows};
use super::parts::{NewTable, TableAlteration};
use crate::access::{Author, rights_first};
use crate::catalog::{TableId, ViewRecord};
use crate::error::{Result, StoreError};
use crate::logs::Durability;
use crate::segment::SealedSegment;
use crate::shared::{ClearedRows, Replacement, TransactionPin};
use crate::snapshot::Snapshot;
use crate::state::{CatalogState, ColumnInfo};
use crate::store::{Store, StoreCore};

/// Checks the state that a transaction is about to commit. It is called twice: first
/// while others may commit, and then while nobody can, when it may skip what it has checked already.
pub type CommitCheck = Box<dyn Fn(&Arc<Snapshot>) -> Result<()> + Send>;

/// If it is dropped without [`Transaction::commit`], it changes nothing, and its segments are removed.
pub struct Transaction {
    pub(super) core: Arc<StoreCore>,
    pub(super) base: Arc<Snapshot>,
    pub(super) state: CatalogState,
    pub(super) changes: Vec<Change>,
    pub(super) checks: Vec<CommitCheck>,
    /// It takes precedence over the table's option.
    pub(super) durability: Option<Durability>,
    /// The author owns what is made here, and needs the privilege to drop what is dropped.
    pub(super) author: Option<Arc<dyn Author>>,
    /// It keeps the moves of rows since the begin.
    _base: TransactionPin,
}

impl Transaction {
    pub(crate) fn new(core: Arc<StoreCore>, base: Arc<Snapshot>) -> Self {
        let state = base.state.clone();
        let _base = TransactionPin::new(base.version(), &core.shared);
        Transaction { core, base, state, changes: Vec::new(), checks: Vec::new(), durability: None, author: None, _base }
    }

    /// What this transaction sees: the version it began with and its own changes.
    pub fn snapshot(&self) -> Arc<Snapshot> {
        if self.changes.is_empty() {
            return Arc::clone(&self.base);
        }
        Arc::new(Snapshot::new(self.state.clone(), Arc::clone(&self.base.pin)))
    }

    pub(crate) fn store(&self) -> Store {
        Store { core: Arc::clone(&self.core) }
    }

    pub fn base(&self) -> &Arc<Snapshot> {
        &self.base
    }

    pub fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }

    /// Whether its content differs from the version it began with; names of versions do not count.
    pub fn has_changed(&self) -> bool {
        let (now, base) = (&self.state, &self.base.state);
        !(now.tables.is_copy_of(&base.tables) && Arc::ptr_eq(&now.views, &base.views) && now.namespaces == base.namespaces)
    }

    /// The number of its changes.
    pub fn change_count(&self) -> usize {
        self.changes.len()
    }

    /// Adds a check of the state that this transaction is about to commit.
    pub fn check_on_commit(&mut self, check: CommitCheck) {
        self.checks.push(check);
    }

    /// A point that [`Transaction::rollback_to`] can return to.
    pub fn savepoint(&self) -> Savepoint {
        Savepoint { state: self.state.clone(), changes: self.changes.len(), checks: self.checks.len() }
    }

    /// Undoes all changes since the savepoint. It must belong to this transaction and must not
    /// come after a savepoint that was rolled back to since.
    pub fn rollback_to(&mut self, savepoint: &Savepoint) {
        self.state = savepoint.state.clone();
        self.checks.truncate(savepoint.checks);
        for change in self.changes.drain(savepoint.changes.min(self.changes.len())..) {
            change.discard(&self.core);
        }
    }

    pub fn create_namespace(&mut self, name: &str) -> Result<()> {
        self.change(Change::CreateNamespace { name: name.to_string() })
    }

    pub fn drop_namespace(&mut self, name: &str, cascade: bool) -> Result<()> {
        self.change(Change::DropNamespace { name: name.to_string(), cascade })
    }

    /// Creates an empty table with an id from [`Store::new_table_id`](crate::Store::new_table_id);
    /// `replace` drops a table of that name first.
    pub fn create_table(&mut self, id: TableId, new: NewTable<'_>, replace: bool) -> Result<()> {
        let mut columns = new.columns;
        columns.resize(new.schema.fields().len(), ColumnInfo::default());
        columns.iter_mut().zip(0..).for_each(|(column, id)| column.id = id);
        self.change(Change::CreateTable {
            id,
            namespace: new.namespace.to_string(),
            name: new.name.to_string(),
            schema: Arc::new(new.schema.clone()),
            columns,
            cluster_key: new.cluster_key,
            constraints: new.constraints,
            options: new.options,
            replace,
        })
    }

    /// Adds sealed segments to the table `id`, which must still be there with the same columns.
    pub fn add_segments(&mut self, table: TableId, segments: Vec<SealedSegment>, sorted: bool) -> Result<()> {
        let Some(entry) = self.state.table_by_id(table) else {
            self.core.discard(table, &segments);
            return Err(StoreError::DoesNotExist { kind: "table", name: table.to_string() });
        };
        let schema_version = entry.record.schema_version;
        self.change(Change::AddSegments { table, segments, sorted, schema_version })
    }

    /// How durable the rows are when the commit returns, if all it does is to add a few rows; every other commit is durable
    /// then. Without this the table's option `durability` decides.
    pub fn set_durability(&mut self, durability: Durability) {
        self.durability = Some(durability);
    }

    /// Sets the user who will own the schemas, tables and views that it makes, and who needs the privileges to drop what it drops.
    pub fn set_author(&mut self, author: &Arc<dyn Author>) {
        self.author = Some(Arc::clone(author));
    }

    /// Adds rows of the table's physical schema. The commit writes them to its log: right for a
    /// few rows, which are not worth a segment.
    pub fn append_rows(&mut self, table: TableId, rows: RecordBatch) -> Result<()> {
        let Some(entry) = self.state.table_by_id(table) else {
            return Err(StoreError::DoesNotExist { kind: "table", name: table.to_string() });
        };
        let schema_version = entry.record.schema_version;
        let id = self.core.next_segment.fetch_add(1, Ordering::Relaxed);
        self.change(Change::AppendRows { table, id, rows, schema_version })
    }

    /// Closes a log of the table, so that it can be sealed.
    pub fn close_log(&mut self, table: TableId, log: u64) -> Result<()> {
        self.change(Change::CloseLog { table, log })
    }

    /// Drops a closed log that has no rows.
    pub fn drop_log(&mut self, table: TableId, log: u64) -> Result<()> {
        self.change(Change::DropLog { table, log })
    }

    /// Replaces the closed log that has the segment's id with the segment.
    pub fn seal_log(&mut self, table: TableId, sealed: SealedSegment) -> Result<()> {
        self.change(Change::SealLog { table, sealed })
    }

    /// Deletes rows of segments of the table; `rows` are positions by segment id. Rows that are
    /// deleted already are no error. Returns the number of newly deleted rows.
    pub fn delete_rows(&mut self, table: TableId, rows: BTreeMap<u64, RoaringBitmap>) -> Result<u64> {
        let Some(entry) = self.state.table_by_id(table) else {
            return Err(StoreError::DoesNotExist { kind: "table", name: table.to_string() });
        };
        let data = entry.data()?;
        let mut count = 0;
        let mut deleted = Vec::with_capacity(rows.len());
        for (segment, rows) in rows {
            let base = data.deletions_of(segment).cloned();
            count += rows.len() - base.as_ref().map_or(0, |base| base.rows().intersection_len(&rows));
            deleted.push(DeletedRows { segment, rows, base });
        }
        self.change(Change::DeleteRows { table, deleted })?;
        Ok(count)
    }

    /// Removes every row of a table.
    pub fn clear_table(&mut self, namespace: &str, name: &str) -> Result<()> {
        let (table, rows) = {
            let table = self.state.require_table(namespace, name)?;
            let (data, base) = (table.data()?, self.base.version());
            let logs = data.logs.iter().map(|(id, log)| (*id, log.log.rows_at(base)));
            (table.record.id, ClearedRows { segments: data.segments.keys().copied().collect(), logs: logs.collect() })
        };
        self.change(Change::ClearTable { table, rows })
    }

    pub fn drop_table(&mut self, namespace: &str, name: &str) -> Result<()> {
        let table = self.state.require_table(namespace, name)?.record.id;
        self.change(Change::DropTable { table, name: name.to_string() })
    }

    /// Replaces segments with others that hold the same rows.
    pub fn replace_segments(&mut self, replacement: Replacement) -> Result<()> {
        self.change(Change::ReplaceSegments(Arc::new(replacement)))
    }

    /// A view that replaces another one keeps its id.
    pub fn create_view(&mut self, mut record: ViewRecord, replace: bool) -> Result<()> {
        record.id = self.store().new_table_id();
        self.change(Change::CreateView { record, replace })
    }

    pub fn drop_view(&mut self, namespace: &str, name: &str) -> Result<()> {
        self.change(Change::DropView { namespace: namespace.to_string(), name: name.to_string() })
    }

    /// Changes the definition of a table but not its rows: name, columns, key, constraints, options.
    pub fn alter_table(&mut self, namespace: &str, name: &str, alteration: TableAlteration) -> Result<()> {
        let entry = self.state.require_table(namespace, name)?;
        let (table, base_schema_version) = (entry.record.id, entry.record.schema_version);
        if alteration.redefines() {
            self.settle(table)?;
        }
        self.change(Change::AlterTable { table, base_schema_version, alteration })
    }

    pub(crate) fn require_reader_features(&mut self, features: u64) -> Result<()> {
        self.change(Change::RequireReaderFeatures(features))
    }

    /// Names the version that this transaction began with; it stays readable until the name is dropped.
    pub fn create_snapshot(&mut self, name: &str) -> Result<u64> {
        let version = self.base.version();
        self.change(Change::CreateSnapshot { name: name.to_string(), version })?;
        Ok(version)
    }

    pub fn drop_snapshot(&mut self, name: &str) -> Result<()> {
        self.change(Change::DropSnapshot { name: name.to_string() })
    }

    pub(super) fn change(&mut self, change: Change) -> Result<()> {
        let version = self.base.version() + 1;
        let applied = apply::apply(&change, &mut self.state, version, &self.core.shared);
        match applied {
            Ok(()) => {
                self.changes.push(change);
                Ok(())
            }
            Err(error) => {
                change.discard(&self.core);
                Err(rights_first(self.author.as_ref(), error))
            }
        }
    }
}

impl std::fmt::Debug for Transaction {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Transaction").field("base", &self.base.version()).field("changes", &self.changes.len()).finish()
    }
}

impl Drop for Transaction {
    fn drop(&mut self) {
        for change in &self.changes {
            change.discard(&self.core);
        }
    }
}

/// The state of a transaction at one moment.
#[derive(Debug, Clone)]
pub struct Savepoint {
    state: CatalogState,
    changes: usize,
    checks: usize,
}
