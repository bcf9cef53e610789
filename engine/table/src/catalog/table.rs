//! A stored table as a DataFusion table.

use std::collections::HashSet;
use std::sync::{Arc, OnceLock};

use arrow::datatypes::SchemaRef;
use async_trait::async_trait;
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::{Result, Statistics};
use datafusion::datasource::source::DataSourceExec;
use datafusion::logical_expr::dml::InsertOp;
use datafusion::logical_expr::{Expr, TableProviderFilterPushDown, TableType};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_plan::ExecutionPlan;
use pmem_store::{StagedVersion, StoreError, TableSnapshot, ViewRecord};

use super::context::CatalogContext;
use super::pruned_table::physical_filters;
use crate::access::{Authorization, check_not_audit};
use crate::constraints::planned_defaults;
use crate::definition::{EXTERNAL, table_definition};
use crate::scan::row_id::{ROW_ID, with_row_id};
use crate::scan::{RowsIdentity, ScanTemplateExec, StoreScan, TableStatistics, statistics_of, statistics_of_some};
use crate::time_zone::schema_in_zone;
use crate::write::{self, WriteScope};
use common::error::{EngineError, store_error};
use common::privilege::Privilege;
use common::type_names::qualified;

#[derive(Debug)]
pub struct StoreTable {
    engine: Arc<dyn CatalogContext>,
    pub snapshot: TableSnapshot,
    scope: WriteScope,
    /// The table's columns as the session sees them.
    columns: SchemaRef,
    /// The columns that the table exposes: the above, and the row id for statements that change rows.
    schema: SchemaRef,
    /// The CREATE TABLE statement, built on demand.
    definition: OnceLock<String>,
    /// By column, planned on demand.
    defaults: OnceLock<Vec<Option<Expr>>>,
    /// The planner and the scan both need the statistics, so they are computed once: those of a log are cached nowhere else.
    statistics: OnceLock<Arc<TableStatistics>>,
    /// An earlier version of the table: it cannot be written to, and its statistics are not worth caching.
    is_older: bool,
    /// How long ago it was followed by a newer one, if nobody has named it.
    staleness_ms: u64,
    /// The segments and logs whose rows the table shows; `None`: all of them.
    segments: Option<Arc<HashSet<u64>>>,
    /// The rights of the statement; `None`: everything.
    authorization: Option<Arc<Authorization>>,
}

impl StoreTable {
    pub fn new(engine: Arc<dyn CatalogContext>, snapshot: TableSnapshot, scope: WriteScope) -> Self {
        let (columns, schema) = (Arc::clone(snapshot.schema()), Arc::clone(snapshot.schema()));
        let (definition, defaults, statistics) = (OnceLock::new(), OnceLock::new(), OnceLock::new());
        StoreTable {
            engine,
            snapshot,
            scope,
            columns,
            schema,
            definition,
            defaults,
            statistics,
            is_older: false,
            staleness_ms: 0,
            segments: None,
            authorization: None,
        }
    }

    /// The table at another version than that of the statement.
    pub fn older(engine: Arc<dyn CatalogContext>, snapshot: TableSnapshot, scope: WriteScope) -> Self {
        StoreTable { is_older: true, ..StoreTable::new(engine, snapshot, scope) }
    }

    /// The last version of the table that is near, which a query reads under the setting `consistency`.
    pub fn staged(engine: Arc<dyn CatalogContext>, staged: StagedVersion, scope: WriteScope) -> Self {
        StoreTable { staleness_ms: staged.staleness_ms, ..StoreTable::older(engine, staged.table, scope) }
    }

    pub fn with_permit(self, authorization: Option<Arc<Authorization>>) -> Self {
        StoreTable { authorization, ..self }
    }

    pub fn in_zone(self, zone: Option<&str>) -> Self {
        let columns = schema_in_zone(self.snapshot.schema(), zone);
        StoreTable { schema: Arc::clone(&columns), columns, ..self }
    }

    /// The table's columns, without the row id.
    pub fn columns(&self) -> &SchemaRef {
        &self.columns
    }

    /// An error if the statement lacks this privilege on the table.
    pub fn check(&self, privilege: Privilege) -> Result<(), EngineError> {
        let record = self.snapshot.record();
        if privilege != Privilege::Select {
            check_not_audit(&record.namespace, &record.name)?;
        }
        self.authorization.as_ref().map_or(Ok(()), |authorization| authorization.table(privilege, record))
    }

    fn table_statistics(&self) -> Result<Arc<TableStatistics>, StoreError> {
        if let Some(statistics) = self.statistics.get() {
            return Ok(Arc::clone(statistics));
        }
        let statistics = match &self.segments {
            Some(ids) => Arc::new(statistics_of_some(&self.snapshot, |id| ids.contains(&id))?),
            None if self.is_older => statistics_of(&self.snapshot)?,
            None => self.engine.statistics().get(&self.snapshot)?,
        };
        let statistics = match Arc::ptr_eq(&self.columns, self.snapshot.schema()) {
            true => statistics,
            false => Arc::new(statistics.in_session(&self.columns)),
        };
        Ok(Arc::clone(self.statistics.get_or_init(|| statistics)))
    }
}

impl StoreTable {
    /// The same table with one more column, the row id.
    pub fn with_row_ids(&self) -> StoreTable {
        self.copy(with_row_id(&self.columns), self.segments.clone(), self.statistics.clone())
    }

    /// The same table restricted to the rows of these segments and logs. It cannot be written to.
    pub fn of_segments(&self, ids: &[u64]) -> Result<StoreTable, EngineError> {
        // Only users with SELECT may know the segments of a table.
        self.check(Privilege::Select)?;
        let segments = self.snapshot.segments().iter().map(|segment| segment.id());
        let there: HashSet<u64> = segments.chain(self.snapshot.tails().iter().map(|tail| tail.id())).collect();
        if let Some(id) = ids.iter().find(|id| !there.contains(id)) {
            let (record, version) = (self.snapshot.record(), self.snapshot.version());
            let message = format!("there is no segment {id} in {} at version {version}", qualified(&record.namespace, &record.name));
            let hint = "system.segments lists those there are now; name the version that the segments are of, as long as it is kept";
            return Err(EngineError::Sql { message, position: None, hint: Some(hint.into()) });
        }
        let segments = Some(Arc::new(ids.iter().copied().collect()));
        Ok(self.copy(Arc::clone(&self.schema), segments, OnceLock::new()))
    }

    /// The same table with other columns or rows. `statistics` are those of the rows that it shows.
    fn copy(&self, schema: SchemaRef, segments: Option<Arc<HashSet<u64>>>, statistics: OnceLock<Arc<TableStatistics>>) -> StoreTable {
        StoreTable {
            engine: Arc::clone(&self.engine),
            snapshot: self.snapshot.clone(),
            scope: self.scope.clone(),
            columns: Arc::clone(&self.columns),
            schema,
            definition: OnceLock::new(),
            defaults: self.defaults.clone(),
            statistics,
            is_older: self.is_older,
            staleness_ms: self.staleness_ms,
            segments,
            authorization: self.authorization.clone(),
        }
    }

    /// Which rows a scan reads; an error if the statement may not read them.
    pub fn rows_identity(&self) -> Result<RowsIdentity> {
        self.check(Privilege::Select)?;
        Ok(RowsIdentity::of(&self.table_statistics().map_err(store_error)?))
    }

    /// The scan of a plan that was kept over a table with the same rows.
    pub fn scan_again(&self, template: &ScanTemplateExec, filters: Vec<Arc<dyn PhysicalExpr>>) -> Result<Arc<dyn ExecutionPlan>> {
        self.check(Privilege::Select)?;
        let scan = template.scan(&self.snapshot, self.table_statistics().map_err(store_error)?, filters);
        Ok(DataSourceExec::from_data_source(scan.with_staleness(self.staleness_ms)))
    }

    /// Whether it is an earlier version, which never changes.
    pub fn is_older(&self) -> bool {
        self.is_older
    }

    pub fn write_scope(&self) -> &WriteScope {
        &self.scope
    }
}

/// The error for rows sent to a view or an external table; no planner has checked these.
pub fn not_writable_view(view: &ViewRecord) -> EngineError {
    no_table_to_write(&view.name, view.kind != EXTERNAL)
}

/// The error for writing to something that is neither a stored nor a temporary nor a system table.
pub fn no_table_to_write(name: &str, is_view: bool) -> EngineError {
    let kind = if is_view { "view" } else { "external table" };
    EngineError::unsupported(format!("writing to the {kind} \"{name}\""), Some("write to a table; COPY … TO writes files"))
}

#[async_trait]
impl TableProvider for StoreTable {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    fn get_table_definition(&self) -> Option<&str> {
        Some(self.definition.get_or_init(|| table_definition(&self.snapshot)))
    }

    fn get_column_default(&self, column: &str) -> Option<&Expr> {
        let defaults = self.defaults.get_or_init(|| planned_defaults(self.engine.rules(), &self.snapshot));
        let place = self.snapshot.schema().index_of(column).ok()?;
        defaults.get(place)?.as_ref()
    }

    async fn scan(
        &self,
        state: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        // Rows are read here and nowhere else.
        self.check(Privilege::Select)?;
        let statistics = self.table_statistics().map_err(store_error)?;
        let filters = physical_filters(state, &self.schema, filters)?;
        let partitions = state.config().target_partitions();
        let scan = StoreScan::new(self.snapshot.clone(), Arc::clone(&self.schema), statistics, projection, filters, limit, partitions)?;
        Ok(DataSourceExec::from_data_source(scan.with_staleness(self.staleness_ms)))
    }

    fn supports_filters_pushdown(&self, filters: &[&Expr]) -> Result<Vec<TableProviderFilterPushDown>> {
        let names_row_id = |filter: &Expr| filter.column_refs().iter().any(|column| column.name == ROW_ID);
        let answer = |filter: &&Expr| match filter.is_volatile() || names_row_id(filter) {
            true => TableProviderFilterPushDown::Unsupported,
            false => TableProviderFilterPushDown::Exact,
        };
        Ok(filters.iter().map(answer).collect())
    }

    fn statistics(&self) -> Option<Statistics> {
        self.table_statistics().ok().map(|statistics| statistics.of_columns(0..self.columns.fields().len()))
    }

    async fn insert_into(
        &self,
        _state: &dyn Session,
        input: Arc<dyn ExecutionPlan>,
        operation: InsertOp,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        self.check(Privilege::Insert)?;
        if operation != InsertOp::Append {
            self.check(Privilege::Delete)?;
        }
        write::insert_plan(self.scope.clone(), &self.snapshot, input, operation)
    }
}
