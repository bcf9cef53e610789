//! The catalog `quiver`: the namespaces of the store as of the running statement.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Weak};

use datafusion::catalog::{CatalogProviderList, MemoryCatalogProviderList, Session};
use datafusion::common::TableReference;
use datafusion::execution::SessionState;
use parking_lot::{Mutex, RwLock};
use pmem_store::{Author, Snapshot, StagedVersion, StoreError, TableId, TableSnapshot};

use super::context::CatalogContext;
use super::listing::TableListing;
use super::view_planner::ViewPlanner;
use crate::access::{Authorization, SessionAccess, visible_snapshot};
use crate::commit_guard::CommitGuard;
use crate::temporary::{TemporaryRows, TemporaryTables, VOLATILE};
use crate::transactions::TransactionSlot;
use crate::write::WriteScope;
use common::error::EngineError;
use common::file_directories::FileDirectories;
use common::memory::StatementMemory;
use common::names::{CATALOG, TEMP};
use common::privilege::Privilege;

/// Bodies of functions that one statement may have planned.
const BODIES_MAX: usize = 1_000;

/// By table; `None` for one whose last commit is read.
type StagedVersions = HashMap<TableId, Option<StagedVersion>>;

/// The catalog of a session, or that of a statement, which is derived from it.
#[derive(Debug, Clone)]
pub struct StoreCatalog {
    pub(super) engine: Arc<dyn CatalogContext>,
    /// The snapshot of the statement. `None` for the session's own catalog, which resolves names as of now: so an idle session pins no
    /// files.
    statement: Option<StatementSnapshot>,
    /// The commit guard of the statement, which others may stop.
    commit_guard: Option<Arc<CommitGuard>>,
    /// That of the statement, in which the texts of its views and functions are planned.
    pub(super) memory: Option<StatementMemory>,
    /// The nesting depth of the view whose text is being resolved.
    pub(super) view_depth: usize,
    /// The version whose functions are called; `None`: that of the statement.
    pub(super) functions_version: Option<u64>,
    /// How many bodies of functions were planned for the statement.
    planned_bodies: Arc<AtomicUsize>,
    /// For information_schema, so that a broken view does not hide other objects.
    pub(super) omits_broken_views: bool,
    /// What the statement reads instead of the last commit of each table, if it may: see [`StoreCatalog::staged_version`].
    staged_versions: Arc<Mutex<Option<StagedVersions>>>,
    /// For plans that show all columns of tables, such as those for other systems.
    pub(super) shows_all_columns: bool,
    /// The session's user; `None` for the process itself, which has all rights.
    access: Option<Arc<SessionAccess>>,
    /// The last version that was seen.
    last_version: Arc<AtomicU64>,
    /// For planning the text of views; set once the session exists.
    pub(super) state: Arc<RwLock<Weak<RwLock<SessionState>>>>,
    /// Plans the text of views.
    pub(super) views: Arc<dyn ViewPlanner>,
    /// The session's transaction: names resolve to its changes.
    transaction: Arc<TransactionSlot>,
    /// The temporary tables of the session, shared with the sessions of its transactions.
    temporary: Arc<RwLock<Arc<TemporaryTables>>>,
}

/// What a statement sees, and what it is allowed to do.
#[derive(Debug, Clone)]
pub struct StatementSnapshot {
    pub snapshot: Arc<Snapshot>,
    /// `None`: everything.
    pub authorization: Option<Arc<Authorization>>,
}

impl StatementSnapshot {
    fn new(snapshot: Arc<Snapshot>, authorization: Option<Arc<Authorization>>) -> StatementSnapshot {
        StatementSnapshot { snapshot: visible_snapshot(snapshot, authorization.as_ref()), authorization }
    }

    /// A table. Users without SELECT on it do not see the number of rows.
    pub fn listed(&self, namespace: &str, name: &str) -> Result<Option<TableListing>, StoreError> {
        let Some(table) = self.snapshot.table(namespace, name)? else { return Ok(None) };
        let record = table.record();
        let authorization = self.authorization.as_ref();
        let is_read = authorization.is_none_or(|authorization| authorization.on_table(record.id, &record.namespace).has(Privilege::Select));
        Ok(Some(TableListing {
            schema: record.namespace.clone(),
            name: record.name.clone(),
            kind: record.kind().word().into(),
            // An array has cells.
            rows: (is_read && !record.is_array()).then(|| table.row_count()),
            size_bytes: is_read.then(|| table.size_bytes()),
        }))
    }

    /// Tables and views, by namespace and name.
    pub fn listing(&self, temporary: &TemporaryTables) -> Result<Vec<TableListing>, StoreError> {
        let mut listing = Vec::new();
        for record in self.snapshot.tables()? {
            match self.listed(&record.namespace, &record.name) {
                // A query of this table gets the error. The list of tables does not fail because of it.
                Err(StoreError::LogDamaged { .. }) => {
                    let kind = record.kind().word().to_string();
                    let (schema, name) = (record.namespace, record.name);
                    listing.push(TableListing { schema, name, kind, rows: None, size_bytes: None });
                }
                listed => listing.extend(listed?),
            }
        }
        listing.extend(self.snapshot.views()?.into_iter().map(|view| TableListing {
            schema: view.namespace,
            name: view.name,
            kind: view.kind,
            rows: None,
            size_bytes: None,
        }));
        listing.extend(temporary.all().iter().map(|table| list_temporary(table)));
        listing.sort_by(|a, b| (&a.schema, &a.name).cmp(&(&b.schema, &b.name)));
        Ok(listing)
    }
}

impl StoreCatalog {
    pub fn new(
        engine: Arc<dyn CatalogContext>,
        snapshot: Arc<Snapshot>,
        transaction: Arc<TransactionSlot>,
        access: Option<Arc<SessionAccess>>,
        views: Arc<dyn ViewPlanner>,
    ) -> Arc<Self> {
        let (last_version, state, temporary) = (Arc::new(AtomicU64::new(snapshot.version())), Arc::default(), Arc::default());
        Arc::new(StoreCatalog {
            engine,
            statement: None,
            commit_guard: None,
            memory: None,
            view_depth: 0,
            functions_version: None,
            planned_bodies: Arc::default(),
            omits_broken_views: false,
            staged_versions: Arc::default(),
            shows_all_columns: false,
            access,
            last_version,
            state,
            views,
            transaction,
            temporary,
        })
    }

    /// The catalog of an engine's session; `None` if DataFusion has created the session itself.
    pub fn of(session: &dyn Session) -> Option<Arc<StoreCatalog>> {
        let catalog = session.as_any().downcast_ref::<SessionState>()?.catalog_list().catalog(CATALOG)?;
        Some(Arc::clone(&catalog.downcast_ref::<CatalogHandle>()?.0))
    }

    pub fn user(&self) -> Option<&str> {
        self.access.as_deref().map(Author::name)
    }

    /// Checks the operation of a statement against the rights of its user; a session of the process itself has all rights.
    pub fn check(&self, check: impl FnOnce(&Authorization) -> Result<(), EngineError>) -> Result<(), EngineError> {
        self.authorization().map_or(Ok(()), |authorization| check(&authorization))
    }

    /// The rights of the session's user as of now, not as of the statement that is planned; `None`: everything.
    pub fn authorization_now(&self) -> Result<Option<Arc<Authorization>>, EngineError> {
        match &self.access {
            Some(access) => Ok(Some(Arc::new(access.authorization(self.transaction.base())?))),
            None => Ok(None),
        }
    }

    /// The rights of the statement that is being planned; `None`: everything.
    pub fn authorization(&self) -> Option<Arc<Authorization>> {
        self.access.as_ref()?;
        self.statement_snapshot().authorization
    }

    /// Where statements may read and write files.
    pub fn file_directories(&self) -> &FileDirectories {
        self.engine.file_directories()
    }

    pub fn transaction(&self) -> &Arc<TransactionSlot> {
        &self.transaction
    }

    pub fn temporary(&self) -> Arc<TemporaryTables> {
        Arc::clone(&self.temporary.read())
    }

    /// From now on its session uses the temporary tables of another one.
    pub fn share_temporary_tables(&self, other: &StoreCatalog) {
        *self.temporary.write() = other.temporary();
    }

    /// An error if the name refers to a temporary table: the operation needs a stored table.
    pub fn check_stored(&self, name: &TableReference, what: &str) -> Result<(), EngineError> {
        match self.temporary().named(name) {
            Some(table) => Err(not_for_temporary(&table.name, what)),
            None => Ok(()),
        }
    }

    /// The scope in which the statement that is being planned writes.
    pub fn write_scope(&self) -> WriteScope {
        WriteScope::new(self.engine.clone(), &self.transaction, self.snapshot(), self.commit_guard.clone())
    }

    /// The session's time zone.
    pub fn zone(&self) -> Option<String> {
        let state = self.state.read().upgrade()?;
        let state = state.read();
        state.config_options().execution.time_zone.clone()
    }

    pub fn snapshot(&self) -> Arc<Snapshot> {
        self.statement_snapshot().snapshot
    }

    fn statement_snapshot(&self) -> StatementSnapshot {
        if let Some(statement) = &self.statement {
            return statement.clone();
        }
        let snapshot = self.transaction.snapshot().unwrap_or_else(|| Arc::clone(self.engine.store().begin_read_only().base()));
        let authorization =
            self.access.as_ref().map(|access| Arc::new(access.authorization(self.transaction.base()).unwrap_or_else(|_| access.nothing())));
        StatementSnapshot::new(snapshot, authorization)
    }

    /// The current snapshot, for callers that do not use the snapshot of the statement that is being planned.
    pub fn now(&self) -> Result<StatementSnapshot, EngineError> {
        let snapshot = self.transaction.snapshot().map_or_else(|| self.engine.store().snapshot(), Ok)?;
        Ok(StatementSnapshot::new(snapshot, self.authorization_now()?))
    }

    /// The catalog for a new statement: it resolves names in the open transaction, or else in the last commit.
    pub fn for_statement(&self, commit_guard: Option<&Arc<CommitGuard>>) -> Result<Arc<StoreCatalog>, EngineError> {
        let authorization = self.authorization_now()?;
        let snapshot = self.transaction.snapshot().map_or_else(|| self.last_commit(), Ok)?;
        let statement = Some(StatementSnapshot::new(snapshot, authorization));
        let (commit_guard, staged_versions, planned_bodies) = (commit_guard.cloned(), Arc::default(), Arc::default());
        Ok(Arc::new(StoreCatalog { statement, commit_guard, staged_versions, planned_bodies, ..self.clone() }))
    }

    /// From now on names of the statement, which is a query, refer to versions that are near. A transaction reads one version.
    pub fn read_staged_versions(&self) {
        *self.staged_versions.lock() = (!self.transaction.is_open()).then(HashMap::new);
    }

    /// The version of a table that the statement reads instead of the last commit: the same one wherever it names the table.
    pub(super) fn staged_version(&self, table: &TableSnapshot) -> Result<Option<StagedVersion>, StoreError> {
        let mut staged_versions = self.staged_versions.lock();
        let Some(known) = staged_versions.as_mut() else { return Ok(None) };
        let id = table.record().id;
        if let Some(staged) = known.get(&id) {
            return Ok(staged.clone());
        }
        let staged = self.engine.store().last_staged_version(table)?;
        known.insert(id, staged.clone());
        Ok(staged)
    }

    fn last_commit(&self) -> Result<Arc<Snapshot>, EngineError> {
        let snapshot = self.engine.store().snapshot()?;
        if self.last_version.swap(snapshot.version(), Ordering::Relaxed) != snapshot.version() {
            self.engine.statistics().forget_all_but(|id, changed_version| snapshot.changed_version(id) == Some(changed_version));
            self.engine.rules().key_filters.forget_all_but(|id| snapshot.changed_version(id).is_some());
        }
        Ok(snapshot)
    }

    /// The catalog for the text of a view that was found in this one.
    pub(super) fn for_view(&self) -> Arc<StoreCatalog> {
        Arc::new(StoreCatalog { view_depth: self.view_depth + 1, omits_broken_views: false, ..self.clone() })
    }

    /// The catalog for a statement that has this memory.
    pub fn with_memory(&self, memory: StatementMemory) -> Arc<StoreCatalog> {
        Arc::new(StoreCatalog { memory: Some(memory), ..self.clone() })
    }

    /// The catalog for a statement that calls the functions of an older version.
    pub(super) fn with_functions_of(&self, version: Option<u64>) -> Arc<StoreCatalog> {
        let functions_version = version.or(self.functions_version);
        Arc::new(StoreCatalog { functions_version, ..self.clone() })
    }

    /// Before a body of a function is planned. Functions that call two others each, in many levels, would be planned for hours.
    pub(super) fn count_body(&self) -> Result<(), EngineError> {
        if let Some(stop) = self.commit_guard.as_ref().and_then(|guard| guard.stopped()) {
            return Err(stop.error());
        }
        match self.planned_bodies.fetch_add(1, Ordering::Relaxed) < BODIES_MAX {
            true => Ok(()),
            false => Err(EngineError::Sql {
                message: format!("the statement stands for more than {BODIES_MAX} calls of functions in each other"),
                position: None,
                hint: Some("write a part of the rows or values into a table first".into()),
            }),
        }
    }

    pub(super) fn for_information_schema(&self) -> Arc<StoreCatalog> {
        Arc::new(StoreCatalog { omits_broken_views: true, ..self.clone() })
    }

    /// The catalog for a plan that shows all columns of tables, also of those in views.
    pub fn with_all_columns(&self) -> Arc<StoreCatalog> {
        Arc::new(StoreCatalog { shows_all_columns: true, ..self.clone() })
    }

    /// A catalog list with this catalog, for a state of DataFusion.
    pub fn catalog_list(self: &Arc<Self>) -> Arc<dyn CatalogProviderList> {
        let list = MemoryCatalogProviderList::new();
        list.register_catalog(CATALOG.to_string(), Arc::new(CatalogHandle(Arc::clone(self))));
        Arc::new(list)
    }

    pub fn use_session(&self, state: Weak<RwLock<SessionState>>) {
        *self.state.write() = state;
    }

    /// Tables and views, by namespace and name.
    pub fn listing(&self) -> Result<Vec<TableListing>, StoreError> {
        self.statement_snapshot().listing(&self.temporary())
    }
}

fn list_temporary(table: &TemporaryRows) -> TableListing {
    TableListing {
        schema: TEMP.into(),
        name: table.name.clone(),
        kind: VOLATILE.into(),
        rows: Some(table.row_count() as u64),
        size_bytes: Some(table.size_bytes() as u64),
    }
}

/// `what` is the beginning of a message, up to the name of the table.
pub fn not_for_temporary(name: &str, what: &str) -> EngineError {
    let hint = "INSERT adds rows to it, and CREATE OR REPLACE VOLATILE TABLE makes it anew; a stored table of the name is meant where it is \
                named with its schema, as main.t";
    EngineError::unsupported(format!("{what} the temporary table \"{name}\""), Some(hint))
}

/// DataFusion asks for the catalog through this handle, so that schemas can point back to it.
#[derive(Debug)]
pub struct CatalogHandle(pub Arc<StoreCatalog>);
