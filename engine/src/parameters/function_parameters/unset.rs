//! The table of a function whose arguments have no values yet.

use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use async_trait::async_trait;
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::Result;
use datafusion::logical_expr::{Expr, TableType};
use datafusion::physical_plan::ExecutionPlan;

use common::error::EngineError;

#[derive(Debug)]
pub struct UnsetTable(pub SchemaRef);

#[async_trait]
impl TableProvider for UnsetTable {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.0)
    }

    fn table_type(&self) -> TableType {
        TableType::Temporary
    }

    async fn scan(&self, _: &dyn Session, _: Option<&Vec<usize>>, _: &[Expr], _: Option<usize>) -> Result<Arc<dyn ExecutionPlan>> {
        Err(EngineError::internal("a table function is run whose parameters have no values").into())
    }
}
