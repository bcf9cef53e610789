//! Caches the descriptions of a node's tables for a moment: that of a table with 10,000 columns takes a megabyte.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use engine::PortableFunction;
use parking_lot::Mutex;

use super::node::{Node, NodeError, NodeRows, NodeTable};

/// An added column becomes visible after this time. A dropped column or a changed type is noticed at the next use: the node refuses a plan
/// that names it, and rows of a whole table are compared with the cached schema. NOT NULL is never relied on, because a plan need not name
/// what was removed for it.
const KEPT: Duration = Duration::from_secs(30);
/// Further tables are not cached.
const TABLES_MAX: usize = 1_000;
/// Beyond this number, definitions are sent again.
const FUNCTIONS_MAX: usize = 1_000;

/// A node with a cache for its table descriptions.
#[derive(Debug)]
pub struct CachedNode {
    node: Arc<dyn Node>,
    tables: Mutex<HashMap<(String, String), (Instant, NodeTable)>>,
    /// The hashes of the functions that were sent.
    functions: Mutex<HashSet<String>>,
}

impl CachedNode {
    pub fn new(node: Arc<dyn Node>) -> CachedNode {
        CachedNode { node, tables: Mutex::default(), functions: Mutex::default() }
    }

    /// After a refusal the cached table may be outdated, so it is dropped.
    fn checked<T>(&self, answer: Result<T, NodeError>) -> Result<T, NodeError> {
        if matches!(answer, Err(NodeError::Refused { .. } | NodeError::Unlike { .. })) {
            self.forget();
        }
        answer
    }
}

#[async_trait]
impl Node for CachedNode {
    fn address(&self) -> &str {
        self.node.address()
    }

    async fn table(&self, namespace: &str, name: &str) -> Result<NodeTable, NodeError> {
        let key = (namespace.to_string(), name.to_string());
        if let Some((since, table)) = self.tables.lock().get(&key)
            && since.elapsed() < KEPT
        {
            return Ok(table.clone());
        }
        let table = self.node.table(namespace, name).await?;
        let mut tables = self.tables.lock();
        tables.retain(|_, (since, _)| since.elapsed() < KEPT);
        if tables.len() < TABLES_MAX {
            tables.insert(key, (Instant::now(), table.clone()));
        }
        Ok(table)
    }

    async fn run(&self, plan: Vec<u8>) -> Result<NodeRows, NodeError> {
        self.checked(self.node.run(plan).await)
    }

    async fn fetch(&self, namespace: &str, name: &str) -> Result<NodeRows, NodeError> {
        self.checked(self.node.fetch(namespace, name).await)
    }

    fn forget(&self) {
        self.tables.lock().clear();
        self.functions.lock().clear();
    }

    fn has_functions(&self, functions: &[Arc<PortableFunction>]) -> bool {
        let sent = self.functions.lock();
        functions.iter().all(|function| sent.contains(&function.hash))
    }

    fn note_functions(&self, functions: &[Arc<PortableFunction>]) {
        let mut sent = self.functions.lock();
        if sent.len() >= FUNCTIONS_MAX {
            sent.clear();
        }
        sent.extend(functions.iter().map(|function| function.hash.clone()));
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use arrow::datatypes::Schema;

    use super::*;

    #[derive(Debug, Default)]
    struct Counting(AtomicUsize);

    #[async_trait]
    impl Node for Counting {
        fn address(&self) -> &str {
            "quiver://test:1"
        }

        async fn table(&self, _: &str, _: &str) -> Result<NodeTable, NodeError> {
            self.0.fetch_add(1, Ordering::Relaxed);
            Ok(NodeTable { schema: Arc::new(Schema::empty()), rows: None, languages: Arc::default() })
        }

        async fn run(&self, _: Vec<u8>) -> Result<NodeRows, NodeError> {
            Err(NodeError::Refused { node: "quiver://test:1".into(), message: "no".into(), hint: None, kind: None })
        }

        async fn fetch(&self, _: &str, _: &str) -> Result<NodeRows, NodeError> {
            Err(NodeError::Unreachable { node: "quiver://test:1".into(), reason: "no".into(), hint: None })
        }
    }

    #[tokio::test]
    async fn a_table_is_asked_for_once_and_again_after_a_refusal() {
        let counting = Arc::new(Counting::default());
        let request_count = || counting.0.load(Ordering::Relaxed);
        let cached_node = CachedNode::new(Arc::<Counting>::clone(&counting));
        for _ in 0..3 {
            cached_node.table("main", "t").await.unwrap();
        }
        assert_eq!(request_count(), 1);
        cached_node.table("main", "u").await.unwrap();
        assert_eq!(request_count(), 2);
        assert!(cached_node.fetch("main", "t").await.is_err());
        cached_node.table("main", "t").await.unwrap();
        assert_eq!(request_count(), 2);
        assert!(cached_node.run(Vec::new()).await.is_err());
        cached_node.table("main", "t").await.unwrap();
        assert_eq!(request_count(), 3);
    }
}
