//! The schema and its tables as DataFusion sees them.

use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use async_trait::async_trait;
use datafusion::catalog::{SchemaProvider, Session, TableProvider};
use datafusion::common::Result;
use datafusion::datasource::memory::MemorySourceConfig;
use datafusion::logical_expr::{Expr, TableProviderFilterPushDown, TableType};
use datafusion::physical_plan::ExecutionPlan;
use pmem_store::Snapshot;

use super::blobs::BlobsTable;
use super::source::Source;
use super::{
    arrays, columns, compactions, functions, grants, group_members, moves, objects, prefetches, queries, segments, settings, snapshots,
    tables, tags, transactions, users,
};
use crate::shared::EngineShared;
use table::access::Authorization;
use table::temporary::TemporaryTables;
use table::time_zone::{plan_in_zone, schema_in_zone};
use table::transactions::TransactionSlot;

/// Builds the rows; without a source there are none, only the columns.
type Rows = fn(Option<&Source<'_>>) -> Result<RecordBatch>;

const TABLES: [(&str, Rows); 18] = [
    ("arrays", arrays::rows),
    ("columns", columns::rows),
    ("compactions", compactions::rows),
    ("functions", functions::rows),
    ("grants", grants::rows),
    ("group_members", group_members::rows),
    ("moves", moves::rows),
    ("prefetches", prefetches::rows),
    ("objects", objects::rows),
    ("queries", queries::rows),
    ("roles", users::roles),
    ("segments", segments::rows),
    ("settings", settings::rows),
    ("snapshots", snapshots::rows),
    ("tables", tables::rows),
    ("tags", tags::rows),
    ("transactions", transactions::rows),
    ("users", users::users),
];

/// Its rows are not made at once.
const BLOBS: &str = "blobs";

/// Sorted.
pub fn table_names() -> impl Iterator<Item = &'static str> {
    let mut names: Vec<&str> = [BLOBS].into_iter().chain(TABLES.iter().map(|(name, _)| *name)).collect();
    names.sort_unstable();
    names.into_iter()
}

#[derive(Debug)]
pub struct SystemSchema {
    engine: Arc<EngineShared>,
    snapshot: Arc<Snapshot>,
    slot: Arc<TransactionSlot>,
    /// User tables in a schema of this name that is older than the system schema.
    older: Option<Arc<dyn SchemaProvider>>,
    authorization: Option<Arc<Authorization>>,
    temporary: Arc<TemporaryTables>,
    /// The session's time zone.
    zone: Option<String>,
}

impl SystemSchema {
    pub fn new(
        engine: &Arc<EngineShared>,
        snapshot: Arc<Snapshot>,
        slot: &Arc<TransactionSlot>,
        older: Option<Arc<dyn SchemaProvider>>,
        authorization: Option<Arc<Authorization>>,
    ) -> SystemSchema {
        SystemSchema {
            engine: Arc::clone(engine),
            snapshot,
            slot: Arc::clone(slot),
            older,
            authorization,
            temporary: Arc::default(),
            zone: None,
        }
    }

    pub fn with_zone(self, zone: Option<String>) -> SystemSchema {
        SystemSchema { zone, ..self }
    }

    /// Adds the temporary tables of the session.
    pub fn with_temporary(self, temporary: Arc<TemporaryTables>) -> SystemSchema {
        SystemSchema { temporary, ..self }
    }
}

fn find(name: &str) -> Option<Rows> {
    TABLES.iter().find(|(other, _)| *other == name).map(|(_, rows)| *rows)
}

fn is_ours(name: &str) -> bool {
    table_names().any(|other| other == name)
}

#[async_trait]
impl SchemaProvider for SystemSchema {
    fn table_names(&self) -> Vec<String> {
        let own = self.older.as_ref().map(|older| older.table_names()).unwrap_or_default();
        table_names().map(str::to_string).chain(own.into_iter().filter(|name| !is_ours(name))).collect()
    }

    async fn table(&self, name: &str) -> Result<Option<Arc<dyn TableProvider>>> {
        if name == BLOBS {
            return Ok(Some(Arc::new(BlobsTable::new(&self.snapshot))));
        }
        match (find(name), &self.older) {
            (Some(rows), _) => Ok(Some(Arc::new(SystemTable {
                engine: Arc::clone(&self.engine),
                snapshot: Arc::clone(&self.snapshot),
                slot: Arc::clone(&self.slot),
                authorization: self.authorization.clone(),
                temporary: Arc::clone(&self.temporary),
                schema: schema_in_zone(&rows(None)?.schema(), self.zone.as_deref()),
                rows,
            }))),
            (None, Some(older)) => older.table(name).await,
            (None, None) => Ok(None),
        }
    }

    async fn table_type(&self, name: &str) -> Result<Option<TableType>> {
        match (is_ours(name), &self.older) {
            (true, _) => Ok(Some(TableType::View)),
            (false, Some(older)) => older.table_type(name).await,
            (false, None) => Ok(None),
        }
    }

    fn table_exist(&self, name: &str) -> bool {
        is_ours(name) || self.older.as_ref().is_some_and(|older| older.table_exist(name))
    }
}

#[derive(Debug)]
pub struct SystemTable {
    engine: Arc<EngineShared>,
    snapshot: Arc<Snapshot>,
    slot: Arc<TransactionSlot>,
    authorization: Option<Arc<Authorization>>,
    temporary: Arc<TemporaryTables>,
    schema: SchemaRef,
    rows: Rows,
}

#[async_trait]
impl TableProvider for SystemTable {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn table_type(&self) -> TableType {
        TableType::View
    }

    /// DataFusion evaluates them once more, so a table may ignore them.
    fn supports_filters_pushdown(&self, filters: &[&Expr]) -> Result<Vec<TableProviderFilterPushDown>> {
        Ok(vec![TableProviderFilterPushDown::Inexact; filters.len()])
    }

    async fn scan(
        &self,
        state: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        _limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let source = Source {
            engine: &self.engine,
            snapshot: &self.snapshot,
            slot: &self.slot,
            options: state.config_options(),
            authorization: self.authorization.as_deref(),
            temporary: &self.temporary,
            filters,
        };
        let rows = (self.rows)(Some(&source))?;
        let scan = MemorySourceConfig::try_new_exec(&[vec![rows.clone()]], rows.schema(), projection.cloned())?;
        let schema = projection.map_or_else(|| Ok(self.schema()), |places| self.schema.project(places).map(Arc::new))?;
        plan_in_zone(scan, &schema)
    }
}
