//! A table of a node for DataFusion in another library of the same process, such as Python's package `datafusion`.
//!
//! This interface passes the columns, filters and limit of a scan, but no operators above the scan.

use std::sync::{Arc, LazyLock};

use arrow::datatypes::SchemaRef;
use async_trait::async_trait;
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::{Result, Statistics};
use datafusion::execution::TaskContextProvider;
use datafusion::logical_expr::{Expr, TableProviderFilterPushDown, TableType};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::prelude::SessionContext;
use datafusion_ffi::table_provider::FFI_TableProvider;
use tokio::runtime::Handle;

use super::exec::RemoteExec;
use super::table::RemoteTable;

/// The content of a capsule named `datafusion_table_provider`.
pub type ForeignTable = FFI_TableProvider;

/// Filters come as bytes with names of functions, which are resolved here. It is static, because tables refer to it without owning it.
static FUNCTIONS: LazyLock<Arc<SessionContext>> = LazyLock::new(|| Arc::new(SessionContext::new()));

/// The table for the other library. Its streams run on `runtime`, which must live as long as they may be read.
pub fn foreign_table(table: RemoteTable, runtime: Handle) -> ForeignTable {
    let functions: Arc<dyn TaskContextProvider> = Arc::<SessionContext>::clone(&FUNCTIONS);
    FFI_TableProvider::new(Arc::new(NamedRemoteTable(table)), true, Some(runtime), &functions, None)
}

/// EXPLAIN shows only the name of another library's operator.
#[derive(Debug)]
struct NamedRemoteTable(RemoteTable);

#[async_trait]
impl TableProvider for NamedRemoteTable {
    fn schema(&self) -> SchemaRef {
        self.0.schema()
    }

    fn table_type(&self) -> TableType {
        self.0.table_type()
    }

    async fn scan(
        &self,
        state: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let plan = self.0.planned(state, projection, filters, limit)?;
        match plan.downcast_ref::<RemoteExec>() {
            Some(scan) => Ok(Arc::new(scan.with_telling_name())),
            None => Ok(plan),
        }
    }

    fn supports_filters_pushdown(&self, filters: &[&Expr]) -> Result<Vec<TableProviderFilterPushDown>> {
        self.0.supports_filters_pushdown(filters)
    }

    fn statistics(&self) -> Option<Statistics> {
        self.0.statistics()
    }
}
