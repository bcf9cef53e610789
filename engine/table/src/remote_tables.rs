//! Access to tables of other nodes. The engine has no network code; the program that opens it may supply a client. A server supplies
//! none, because its users could then reach whatever the server can reach.

use std::fmt::Debug;
use std::sync::Arc;

use async_trait::async_trait;
use datafusion::catalog::TableProvider;
use datafusion::optimizer::OptimizerRule;

use common::engine_settings::Pushdown;
use common::error::EngineError;

/// A client for tables of other nodes.
#[async_trait]
pub trait RemoteTables: Debug + Send + Sync {
    /// The table at `quiver://host:port/schema.table`, for one statement. It may ask the node for the schema.
    async fn open(&self, location: &str, pushdown: Pushdown) -> Result<Arc<dyn TableProvider>, EngineError>;

    /// A table that was opened here, reduced to the columns at these positions, in their order; `None` for any other table. Of a table of
    /// 10,000 columns a statement sees only those that it may reference.
    fn narrowed(&self, table: &Arc<dyn TableProvider>, columns: &[usize]) -> Result<Option<Arc<dyn TableProvider>>, EngineError>;

    /// Runs after all other rules of a session, and moves what it can to the nodes.
    fn optimizer_rule(&self) -> Arc<dyn OptimizerRule + Send + Sync>;
}
