//! Tables for a statement's own query that no other statement can name: they are registered in the statement's own catalog list.

use std::sync::Arc;

use datafusion::catalog::{CatalogProvider, MemoryCatalogProvider, MemorySchemaProvider, SchemaProvider, TableProvider};
use datafusion::common::Result;
use datafusion::execution::SessionState;

const CATALOG: &str = "__quiver";
const NAMESPACE: &str = "statement";
/// Including its catalog.
pub const SCHEMA: &str = "__quiver.statement";

pub type PrivateTable = (&'static str, Arc<dyn TableProvider>);

/// Registers the tables in the schema [`SCHEMA`] of the statement's state.
pub fn register_private(state: &SessionState, tables: Vec<PrivateTable>) -> Result<()> {
    let (catalog, schema) = (MemoryCatalogProvider::new(), MemorySchemaProvider::new());
    for (name, table) in tables {
        schema.register_table(name.to_string(), table)?;
    }
    catalog.register_schema(NAMESPACE, Arc::new(schema))?;
    state.catalog_list().register_catalog(CATALOG.to_string(), Arc::new(catalog));
    Ok(())
}
