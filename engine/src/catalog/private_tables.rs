//! Tables that a statement's own query reads and no statement can name.

use std::sync::Arc;

use async_trait::async_trait;
use datafusion::catalog::{SchemaProvider, TableProvider};
use datafusion::common::Result;

/// A schema that is there while a statement that changes rows is planned.
pub const SCHEMA: &str = "__quiver";

pub type PrivateTable = (&'static str, Arc<dyn TableProvider>);

tokio::task_local! {
    static TABLES: Vec<PrivateTable>;
}

/// Runs `planning` with `tables` in the schema [`SCHEMA`].
pub async fn with_tables<F: Future>(tables: Vec<PrivateTable>, planning: F) -> F::Output {
    TABLES.scope(tables, Box::pin(planning)).await
}

/// `planning` with the tables that are there now, on whichever thread.
pub fn with_the_same_tables<F: Future>(planning: F) -> impl Future<Output = F::Output> {
    let tables = TABLES.try_with(Vec::clone).ok();
    async move {
        match tables {
            Some(tables) => with_tables(tables, planning).await,
            None => planning.await,
        }
    }
}

pub fn private_schema(name: &str) -> Option<Arc<dyn SchemaProvider>> {
    if name != SCHEMA {
        return None;
    }
    let tables = TABLES.try_with(Vec::clone).ok()?;
    Some(Arc::new(PrivateSchema { tables }))
}

#[derive(Debug)]
struct PrivateSchema {
    tables: Vec<PrivateTable>,
}

#[async_trait]
impl SchemaProvider for PrivateSchema {
    fn table_names(&self) -> Vec<String> {
        self.tables.iter().map(|(name, _)| name.to_string()).collect()
    }

    async fn table(&self, name: &str) -> Result<Option<Arc<dyn TableProvider>>> {
        let found = self.tables.iter().find(|(known, _)| *known == name);
        Ok(found.map(|(_, table)| Arc::clone(table)))
    }

    fn table_exist(&self, name: &str) -> bool {
        self.tables.iter().any(|(known, _)| *known == name)
    }
}
