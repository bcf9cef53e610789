//! Files as a DataFusion table.

use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use async_trait::async_trait;
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::Result;
use datafusion::datasource::source::DataSourceExec;
use datafusion::logical_expr::{Expr, TableProviderFilterPushDown, TableType};
use datafusion::physical_expr::conjunction_opt;
use datafusion::physical_optimizer::pruning::PruningPredicateBuilder;
use datafusion::physical_plan::ExecutionPlan;

use crate::blocking::blocking;
use crate::catalog::pruned_table::physical_filters;
use common::error::EngineError;
use files::import::FileScan;

#[derive(Debug)]
pub struct FileTable {
    files: FileScan,
    schema: SchemaRef,
    /// The statement that made an external table.
    definition: Option<String>,
}

impl FileTable {
    pub fn new(files: FileScan) -> FileTable {
        FileTable { schema: files.schema(), files, definition: None }
    }

    pub fn with_definition(self, definition: String) -> FileTable {
        FileTable { definition: Some(definition), ..self }
    }
}

#[async_trait]
impl TableProvider for FileTable {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    fn get_table_definition(&self) -> Option<&str> {
        self.definition.as_deref()
    }

    async fn scan(
        &self,
        state: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let filter = conjunction_opt(physical_filters(state, &self.schema, filters)?);
        let filter =
            filter.and_then(|filter| PruningPredicateBuilder::new().with_file_schema(Arc::clone(&self.schema)).try_build(filter).ok());
        let (files, projection, partitions) = (self.files.clone(), projection.cloned(), state.config().target_partitions());
        // Reads the footers of Parquet files.
        let source = blocking(move || Ok(files.source(projection.as_deref(), filter.as_ref(), limit, partitions)?)).await;
        Ok(DataSourceExec::from_data_source(source.map_err(EngineError::into_datafusion)?))
    }

    /// A filter leaves out row groups of Parquet files, and not single rows.
    fn supports_filters_pushdown(&self, filters: &[&Expr]) -> Result<Vec<TableProviderFilterPushDown>> {
        let answer = |filter: &&Expr| match filter.is_volatile() {
            true => TableProviderFilterPushDown::Unsupported,
            false => TableProviderFilterPushDown::Inexact,
        };
        Ok(filters.iter().map(answer).collect())
    }
}
