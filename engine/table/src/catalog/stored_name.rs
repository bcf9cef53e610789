//! Resolves a name in a statement to a stored table.

use datafusion::common::TableReference;
use pmem_store::DEFAULT_NAMESPACE;

use common::error::EngineError;
use common::names::{CATALOG, INFORMATION_SCHEMA, SYSTEM};

/// Namespace and name of a table; the catalog must be this store.
pub fn resolve(name: &TableReference) -> Result<(String, String), EngineError> {
    if let Some(catalog) = name.catalog().filter(|catalog| *catalog != CATALOG) {
        let message = format!("database \"{catalog}\" does not exist; the one of a store is \"{CATALOG}\"");
        return Err(EngineError::Sql { message, position: None, hint: None });
    }
    let namespace = name.schema().unwrap_or(DEFAULT_NAMESPACE).to_string();
    if namespace == INFORMATION_SCHEMA {
        return Err(EngineError::unsupported("changing information_schema", None));
    }
    if namespace == SYSTEM {
        return Err(EngineError::unsupported(
            "changing the schema system",
            Some("its tables show the state of the store and can only be read"),
        ));
    }
    Ok((namespace, name.table().to_string()))
}
