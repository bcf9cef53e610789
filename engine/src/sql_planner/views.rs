//! Plans the text of a view as a statement.

use std::sync::Arc;

use async_trait::async_trait;
use datafusion::common::{DataFusionError, Result};
use datafusion::execution::SessionState;
use datafusion::logical_expr::LogicalPlan;
use datafusion::sql::parser::Statement;

use super::explain_error::explain_error;
use super::plan::{planned, with_headers};
use common::error::EngineError;
use sql::headers::Headers;
use table::catalog::{StatementTables, StoreCatalog, ViewPlanner};

#[derive(Debug)]
pub struct SqlViewPlanner;

#[async_trait]
impl ViewPlanner for SqlViewPlanner {
    async fn plan(&self, state: &SessionState, statement: Statement) -> Result<LogicalPlan> {
        let plan = Arc::new(planned(&mut StatementTables::new(state, Vec::new()), statement).await?);
        Ok(Arc::unwrap_or_clone(with_headers(plan, &Headers::default())))
    }

    fn explained(&self, state: &SessionState, catalog: &StoreCatalog, error: DataFusionError) -> EngineError {
        explain_error("", state, catalog, error)
    }
}
