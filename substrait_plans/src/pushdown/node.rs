//! The interface of a node for its clients: it describes tables, runs plans, and returns tables.

use std::fmt::Debug;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use async_trait::async_trait;
use datafusion::common::DataFusionError;
use engine::{EngineError, PortableFunction};
use futures::stream::BoxStream;

/// Plans only read, so each may be run again.
#[async_trait]
pub trait Node: Debug + Send + Sync + 'static {
    /// The address `quiver://host:port`, for messages.
    fn address(&self) -> &str;

    async fn table(&self, namespace: &str, name: &str) -> Result<NodeTable, NodeError>;

    /// Runs a Substrait plan and returns its rows. Dropping them cancels the plan.
    async fn run(&self, plan: Vec<u8>) -> Result<NodeRows, NodeError>;

    /// Returns the whole table as it is stored.
    async fn fetch(&self, namespace: &str, name: &str) -> Result<NodeRows, NodeError>;

    /// Drops cached answers about tables, which are no longer valid.
    fn forget(&self) {}

    /// Whether all of these functions were sent to the node. It may have dropped them since.
    fn has_functions(&self, _functions: &[Arc<PortableFunction>]) -> bool {
        false
    }

    /// Remembers that these functions were sent to the node.
    fn note_functions(&self, _functions: &[Arc<PortableFunction>]) {}
}

/// A table of a node at the time of the request.
#[derive(Debug, Clone)]
pub struct NodeTable {
    pub schema: SchemaRef,
    /// `None` if it is unknown.
    pub rows: Option<u64>,
    /// The languages of functions that plans may define.
    pub languages: Arc<[String]>,
}

pub struct NodeRows {
    pub schema: SchemaRef,
    pub batches: BoxStream<'static, Result<RecordBatch, NodeError>>,
    pub report: Arc<NodeReport>,
}

/// The cost of one plan or table. The numbers grow as rows arrive, and are final at their end.
#[derive(Debug, Default)]
pub struct NodeReport {
    /// The bytes of mapped buffers that the node's scans read in place.
    pub bytes_touched: AtomicU64,
    /// The bytes of the rows that the node's engine returned.
    pub bytes_returned: AtomicU64,
    /// The bytes of the plan or request, without protocol overhead.
    pub bytes_sent: AtomicU64,
    /// The bytes of received messages: their headers, bodies and metadata, without protocol overhead.
    pub bytes_on_wire: AtomicU64,
}

impl NodeReport {
    pub fn add(counter: &AtomicU64, bytes: usize) {
        counter.fetch_add(bytes as u64, Ordering::Relaxed);
    }
}

#[derive(Debug, thiserror::Error)]
pub enum NodeError {
    /// The location itself is not shown: it may contain a password.
    #[error("this is no place of a table: {reason}")]
    Location { reason: String },
    #[error("the node {node} cannot be asked: {reason}")]
    Unreachable { node: String, reason: String, hint: Option<String> },
    /// The node answered with an error. `kind` is a name of [`engine::ErrorKind`].
    #[error("the node {node} says: {message}")]
    Refused { node: String, message: String, hint: Option<String>, kind: Option<String> },
    #[error("the node {node} sends {what}")]
    Unlike { node: String, what: String },
}

impl NodeError {
    pub fn hint(&self) -> Option<&str> {
        match self {
            NodeError::Location { .. } => Some("write quiver://host:port/schema.table, or quiver+tls:// with TLS"),
            NodeError::Unreachable { hint, .. } | NodeError::Refused { hint, .. } => hint.as_deref(),
            NodeError::Unlike { .. } => Some("see that both sides are of the same version; the next statement asks anew what the table is"),
        }
    }
}

impl From<NodeError> for EngineError {
    fn from(error: NodeError) -> Self {
        let (message, hint) = (error.to_string(), error.hint().map(str::to_string));
        match error {
            NodeError::Unreachable { .. } => EngineError::Unreachable { message, hint },
            NodeError::Location { .. } | NodeError::Refused { .. } | NodeError::Unlike { .. } => EngineError::Execution { message, hint },
        }
    }
}

pub(super) fn failed(error: NodeError) -> DataFusionError {
    EngineError::from(error).into()
}
