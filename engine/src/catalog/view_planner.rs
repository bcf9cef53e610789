//! Who plans the text of a view. Statements are planned above the catalog, which asks for it here.

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

    /// What is wrong with it, as it is told to people.
    fn explained(&self, state: &SessionState, catalog: &StoreCatalog, error: DataFusionError) -> EngineError;
}
