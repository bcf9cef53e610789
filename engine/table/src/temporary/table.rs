//! A temporary table as a DataFusion table.

use std::sync::{Arc, OnceLock};

use arrow::datatypes::SchemaRef;
use async_trait::async_trait;
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::{Result, Statistics, not_impl_err};
use datafusion::datasource::sink::DataSinkExec;
use datafusion::datasource::source::DataSourceExec;
use datafusion::logical_expr::dml::InsertOp;
use datafusion::logical_expr::{Expr, TableType};
use datafusion::physical_plan::ExecutionPlan;

use super::scan::TemporaryScan;
use super::sink::TemporarySink;
use super::tables::{TemporaryRows, TemporaryTables};
use crate::time_zone::{plan_in_zone, schema_in_zone};
use crate::write::WriteScope;

#[derive(Debug)]
pub struct TemporaryTable {
    tables: Arc<TemporaryTables>,
    /// As the statement found it.
    rows: Arc<TemporaryRows>,
    scope: WriteScope,
    /// Its columns as the session sees them.
    schema: SchemaRef,
    definition: OnceLock<String>,
}

impl TemporaryTable {
    pub fn new(tables: Arc<TemporaryTables>, rows: Arc<TemporaryRows>, scope: WriteScope, zone: Option<&str>) -> TemporaryTable {
        let schema = schema_in_zone(&rows.schema, zone);
        TemporaryTable { tables, rows, scope, schema, definition: OnceLock::new() }
    }
}

#[async_trait]
impl TableProvider for TemporaryTable {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn table_type(&self) -> TableType {
        TableType::Temporary
    }

    fn get_table_definition(&self) -> Option<&str> {
        Some(self.definition.get_or_init(|| self.rows.definition()))
    }

    /// It belongs to its session, so no privilege is needed.
    async fn scan(
        &self,
        state: &dyn Session,
        projection: Option<&Vec<usize>>,
        _filters: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let partitions = state.config().target_partitions();
        let scan = TemporaryScan::new(Arc::clone(&self.rows), projection, limit, partitions)?;
        let schema = projection.map_or_else(|| Ok(Arc::clone(&self.schema)), |places| self.schema.project(places).map(Arc::new))?;
        plan_in_zone(DataSourceExec::from_data_source(scan), &schema)
    }

    fn statistics(&self) -> Option<Statistics> {
        Some(self.rows.statistics())
    }

    async fn insert_into(&self, _: &dyn Session, input: Arc<dyn ExecutionPlan>, operation: InsertOp) -> Result<Arc<dyn ExecutionPlan>> {
        let replace = match operation {
            InsertOp::Append => false,
            InsertOp::Overwrite => true,
            InsertOp::Replace => return not_impl_err!("REPLACE INTO is not supported"),
        };
        let sink = TemporarySink::new(Arc::clone(&self.tables), Arc::clone(&self.rows), self.scope.clone(), replace);
        Ok(Arc::new(DataSinkExec::new(input, Arc::new(sink), None)))
    }
}
