//! A node without a network: another statement of the same session, which gets plans as bytes.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use async_trait::async_trait;
use engine::{Binding, EngineError, QueryOutput, Session};
use futures::{StreamExt, TryStreamExt};
use substrait_plans::pushdown::{Node, NodeError, NodeReport, NodeRows, NodeTable};

pub const ADDRESS: &str = "quiver://this-process:1";

/// The session itself, so that what its transaction has changed is seen.
pub struct SessionNode(pub Arc<Session>);

impl fmt::Debug for SessionNode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SessionNode")
    }
}

fn refused(error: impl fmt::Display) -> NodeError {
    NodeError::Refused { node: ADDRESS.into(), message: error.to_string(), hint: None, kind: None }
}

fn rows(output: QueryOutput, sent: usize) -> NodeRows {
    let report = Arc::new(NodeReport::default());
    report.bytes_sent.store(sent as u64, Ordering::Relaxed);
    let schema = output.schema();
    let batches = output.map_err(|error: EngineError| refused(error)).boxed();
    NodeRows { schema, batches, report }
}

#[async_trait]
impl Node for SessionNode {
    fn address(&self) -> &str {
        ADDRESS
    }

    async fn table(&self, namespace: &str, name: &str) -> Result<NodeTable, NodeError> {
        let rows = self.fetch(namespace, name).await?;
        Ok(NodeTable { schema: rows.schema, rows: None, languages: Arc::default() })
    }

    async fn run(&self, plan: Vec<u8>) -> Result<NodeRows, NodeError> {
        let output = substrait_plans::run(&self.0, &plan, &Binding::default()).await;
        Ok(rows(output.map_err(refused)?, plan.len()))
    }

    async fn fetch(&self, namespace: &str, name: &str) -> Result<NodeRows, NodeError> {
        let quoted = |name: &str| format!("\"{}\"", name.replace('"', "\"\""));
        let sql = format!("SELECT * FROM {}.{}", quoted(namespace), quoted(name));
        let output = self.0.execute(&sql).await.map_err(refused)?;
        Ok(rows(output, sql.len()))
    }
}
