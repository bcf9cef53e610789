//! The trait that plans the text of views. Planning is above the catalog, which calls it through this trait.

use std::fmt::Debug;

use async_trait::async_trait;
use datafusion::common::{DataFusionError, Result};
use datafusion::execution::SessionState;
use datafusion::logical_expr::LogicalPlan;
use datafusion::sql::parser::Statement;

use super::provider::StoreCatalog;
use common::error::EngineError;

#[async_trait]
pub trait ViewPlanner: Debug + Send + Sync {
    /// The plan of the text of a view.
    async fn plan(&self, state: &SessionState, statement: Statement) -> Result<LogicalPlan>;

    /// The error as users see it.
    fn explained(&self, state: &SessionState, catalog: &StoreCatalog, error: DataFusionError) -> EngineError;
}
