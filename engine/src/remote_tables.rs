//! The way to tables of other nodes. The engine has no network. Whoever opens it may give it one; a server gives it none, because whom it
//! works for would then reach whatever the server reaches.

use std::fmt::Debug;
use std::sync::Arc;

use async_trait::async_trait;
use datafusion::catalog::TableProvider;
use datafusion::optimizer::OptimizerRule;

use common::engine_settings::Pushdown;
use common::error::EngineError;

/// A way to tables of other nodes.
#[async_trait]
pub trait RemoteTables: Debug + Send + Sync {
    /// The table at `quiver://host:port/schema.table`, for one statement. It may ask the node what the table is.
    async fn open(&self, location: &str, pushdown: Pushdown) -> Result<Arc<dyn TableProvider>, EngineError>;

    /// A table that was opened, as if it had no columns but those at these places, in their order. Of a table of 10,000 columns a
    /// statement sees those that it may mean.
    fn narrowed(&self, table: Arc<dyn TableProvider>, columns: &[usize]) -> Result<Arc<dyn TableProvider>, EngineError>;

    /// Goes behind all other rules of a session, and moves what it can to the nodes.
    fn optimizer_rule(&self) -> Arc<dyn OptimizerRule + Send + Sync>;
}
