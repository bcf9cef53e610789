//! Tables that a statement's own query reads and no other statement can name: they are in the statement's own list of catalogs.

use std::sync::Arc;

use datafusion::catalog::{CatalogProvider, MemoryCatalogProvider, MemorySchemaProvider, SchemaProvider, TableProvider};
use datafusion::common::Result;
use datafusion::execution::SessionState;

const CATALOG: &str = "__quiver";
const NAMESPACE: &str = "statement";
/// With its catalog.
pub const SCHEMA: &str = "__quiver.statement";

pub type PrivateTable = (&'static str, Arc<dyn TableProvider>);

/// Puts the tables into the schema [`SCHEMA`] of the statement whose state it is.
pub fn register_private(state: &SessionState, tables: Vec<PrivateTable>) -> Result<()> {
    let (catalog, schema) = (MemoryCatalogProvider::new(), MemorySchemaProvider::new());
    for (name, table) in tables {
        schema.register_table(name.to_string(), table)?;
    }
    catalog.register_schema(NAMESPACE, Arc::new(schema))?;
    state.catalog_list().register_catalog(CATALOG.to_string(), Arc::new(catalog));
    Ok(())
}
