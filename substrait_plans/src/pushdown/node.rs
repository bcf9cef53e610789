//! What a node is to its clients: it tells what a table is, runs plans, and hands out tables.

use std::fmt::Debug;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use async_trait::async_trait;
use datafusion::common::DataFusionError;
use engine::EngineError;
use futures::stream::BoxStream;

/// Plans only read, so that each may be run again.
#[async_trait]
pub trait Node: Debug + Send + Sync + 'static {
    /// As `quiver://host:port`, for people.
    fn address(&self) -> &str;

    async fn table(&self, namespace: &str, name: &str) -> Result<NodeTable, NodeError>;

    /// The rows that a Substrait plan gives there. Dropping them ends the plan.
    async fn run(&self, plan: Vec<u8>) -> Result<NodeRows, NodeError>;

    /// The whole table, as it lies.
    async fn fetch(&self, namespace: &str, name: &str) -> Result<NodeRows, NodeError>;

    /// What it has said of its tables is no longer true.
    fn forget(&self) {}
}

/// A table of a node, as of when it was asked.
#[derive(Debug, Clone)]
pub struct NodeTable {
    pub schema: SchemaRef,
    /// None: not known.
    pub rows: Option<u64>,
}

pub struct NodeRows {
    pub schema: SchemaRef,
    pub batches: BoxStream<'static, Result<RecordBatch, NodeError>>,
    pub report: Arc<NodeReport>,
}

/// What one plan or table took. It grows as the rows come, and is complete at their end.
#[derive(Debug, Default)]
pub struct NodeReport {
    /// Bytes of mapped buffers that the node's scans read where they lie.
    pub bytes_touched: AtomicU64,
    /// Of the rows that came out of the node's engine.
    pub bytes_returned: AtomicU64,
    /// Of the plan or request, before any protocol is put around it.
    pub bytes_sent: AtomicU64,
    /// Of the messages that have come: their headers, bodies and metadata, before any protocol is put around them.
    pub bytes_on_wire: AtomicU64,
}

impl NodeReport {
    pub fn add(counter: &AtomicU64, bytes: usize) {
        counter.fetch_add(bytes as u64, Ordering::Relaxed);
    }
}

#[derive(Debug, thiserror::Error)]
pub enum NodeError {
    /// Without the text that was given: there may be a password in it.
    #[error("this is no place of a table: {reason}")]
    Location { reason: String },
    #[error("the node {node} cannot be asked: {reason}")]
    Unreachable { node: String, reason: String, hint: Option<String> },
    /// It was asked, and has its reasons.
    #[error("the node {node} says: {message}")]
    Refused { node: String, message: String, hint: Option<String> },
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
