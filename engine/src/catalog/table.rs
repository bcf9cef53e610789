//! A table of the store as a DataFusion table.

use std::sync::{Arc, OnceLock};

use arrow::datatypes::SchemaRef;
use async_trait::async_trait;
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::{DFSchema, Result, Statistics};
use datafusion::datasource::source::DataSourceExec;
use datafusion::datasource::source_as_provider;
use datafusion::logical_expr::dml::InsertOp;
use datafusion::logical_expr::{DmlStatement, Expr, TableProviderFilterPushDown, TableType};
use datafusion::physical_plan::ExecutionPlan;
use pmem_store::TableSnapshot;

use crate::engine::EngineShared;
use crate::error::{EngineError, store_error};
use crate::scan::StoreScan;
use crate::sql::table_definition;
use crate::write;

#[derive(Debug)]
pub struct StoreTable {
    pub(crate) engine: Arc<EngineShared>,
    pub(crate) snapshot: TableSnapshot,
    /// The CREATE TABLE statement, made when it is asked for.
    definition: OnceLock<String>,
}

impl StoreTable {
    pub fn new(engine: Arc<EngineShared>, snapshot: TableSnapshot) -> Self {
        StoreTable { engine, snapshot, definition: OnceLock::new() }
    }
}

/// Rows can be written to tables of the store, and nowhere else.
pub fn check_writable(write: &DmlStatement) -> Result<(), EngineError> {
    let provider = source_as_provider(&write.target)?;
    if provider.downcast_ref::<StoreTable>().is_some() {
        return Ok(());
    }
    let kind = if provider.table_type() == TableType::View { "view" } else { "external table" };
    let hint = Some("write to a table; COPY … TO writes files");
    Err(EngineError::unsupported(format!("writing to the {kind} \"{}\"", write.table_name.table()), hint))
}

#[async_trait]
impl TableProvider for StoreTable {
    fn schema(&self) -> SchemaRef {
        Arc::clone(self.snapshot.schema())
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    fn get_table_definition(&self) -> Option<&str> {
        Some(self.definition.get_or_init(|| table_definition(&self.snapshot)))
    }

    async fn scan(
        &self,
        state: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let known = self.engine.statistics.get(&self.snapshot).map_err(store_error)?;
        let schema = DFSchema::try_from(self.snapshot.schema().as_ref().clone())?;
        let filters = filters.iter().map(|filter| state.create_physical_expr(filter.clone(), &schema));
        let filters = filters.collect::<Result<Vec<_>>>()?;
        let partitions = state.config().target_partitions();
        let scan = StoreScan::new(self.snapshot.clone(), known, projection, filters, limit, partitions)?;
        Ok(DataSourceExec::from_data_source(scan))
    }

    fn supports_filters_pushdown(&self, filters: &[&Expr]) -> Result<Vec<TableProviderFilterPushDown>> {
        let answer = |filter: &&Expr| match filter.is_volatile() {
            true => TableProviderFilterPushDown::Unsupported,
            false => TableProviderFilterPushDown::Exact,
        };
        Ok(filters.iter().map(answer).collect())
    }

    fn statistics(&self) -> Option<Statistics> {
        self.engine.statistics.get(&self.snapshot).ok().map(|known| known.statistics.clone())
    }

    async fn insert_into(
        &self,
        _state: &dyn Session,
        input: Arc<dyn ExecutionPlan>,
        operation: InsertOp,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        write::insert_plan(&self.engine, &self.snapshot, input, operation)
    }
}
