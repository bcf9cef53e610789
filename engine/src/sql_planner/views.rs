//! The text of a view is planned as a statement is.

use async_trait::async_trait;
use datafusion::common::{DataFusionError, Result};
use datafusion::execution::SessionState;
use datafusion::logical_expr::LogicalPlan;
use datafusion::sql::parser::Statement;

use super::explain_error::explained;
use super::plan::planned;
use crate::catalog::{StoreCatalog, ViewPlanner};
use common::error::EngineError;

#[derive(Debug)]
pub struct SqlViewPlanner;

#[async_trait]
impl ViewPlanner for SqlViewPlanner {
    async fn plan(&self, state: &SessionState, statement: Statement) -> Result<LogicalPlan> {
        planned(state, statement).await
    }

    fn explained(&self, state: &SessionState, catalog: &StoreCatalog, error: DataFusionError) -> EngineError {
        explained("", state, catalog, error)
    }
}
