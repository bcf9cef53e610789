//! Remote tables for an engine: `CREATE EXTERNAL TABLE … STORED AS QUIVER`.

use std::fmt::Debug;
use std::sync::Arc;

use async_trait::async_trait;
use datafusion::catalog::TableProvider;
use datafusion::optimizer::OptimizerRule;
use engine::{EngineError, Pushdown, RemoteTables};

use super::node::{Node, NodeError};
use super::rule::PushdownRule;
use super::table::RemoteTable;

/// Finds nodes; whoever has network access implements it.
pub trait Network: Debug + Send + Sync + 'static {
    /// Resolves `quiver://host:port/schema.table`. It returns the same node each time, so that operators on several tables of one node can
    /// run there together.
    ///
    /// # Errors
    ///
    /// The location is invalid. The node is not contacted yet.
    fn place(&self, location: &str) -> Result<TableLocation, NodeError>;
}

#[derive(Debug)]
pub struct TableLocation {
    pub node: Arc<dyn Node>,
    pub namespace: String,
    pub name: String,
}

/// For [`engine::EngineOptions::remote_tables`].
pub fn remote_tables(network: Arc<dyn Network>) -> Arc<dyn RemoteTables> {
    Arc::new(Nodes(network))
}

#[derive(Debug)]
struct Nodes(Arc<dyn Network>);

#[async_trait]
impl RemoteTables for Nodes {
    async fn open(&self, location: &str, pushdown: Pushdown) -> Result<Arc<dyn TableProvider>, EngineError> {
        let TableLocation { node, namespace, name } = self.0.place(location)?;
        Ok(Arc::new(RemoteTable::open(node, namespace, name, pushdown).await?))
    }

    fn narrowed(&self, table: &Arc<dyn TableProvider>, columns: &[usize]) -> Result<Option<Arc<dyn TableProvider>>, EngineError> {
        match table.downcast_ref::<RemoteTable>() {
            Some(remote) => Ok(Some(Arc::new(remote.narrowed(columns)?))),
            None => Ok(None),
        }
    }

    fn optimizer_rule(&self) -> Arc<dyn OptimizerRule + Send + Sync> {
        Arc::new(PushdownRule)
    }
}
