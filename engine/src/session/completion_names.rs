//! Names for completion and for lists of tables.

use std::collections::HashSet;
use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use datafusion::catalog::CatalogProvider;
use datafusion::common::TableReference;

use super::Session;
use crate::sql_planner::explain_error::function_names;
use crate::system::system_listing;
use common::error::EngineError;
use common::names::TEMP;
use table::catalog::{CatalogHandle, TableListing};
use table::temporary::VOLATILE;

impl Session {
    /// Tables and views for completion, including temporary ones; names in the default schema are unqualified.
    pub fn table_names(&self) -> Vec<String> {
        let name = |listed: TableListing| match listed.schema == pmem_store::DEFAULT_NAMESPACE || listed.kind == VOLATILE {
            true => listed.name,
            false => format!("{}.{}", listed.schema, listed.name),
        };
        let mut names: Vec<String> = self.tables().map(|tables| tables.into_iter().map(name).collect()).unwrap_or_default();
        let mut distinct_names = HashSet::new();
        names.retain(|name| distinct_names.insert(name.clone()));
        names
    }

    /// The current tables and views, by schema and name.
    pub fn tables(&self) -> Result<Vec<TableListing>, EngineError> {
        Ok(self.catalog.now()?.listing(&self.catalog.temporary())?)
    }

    /// A stored table as of now; `None` for a view, or if there is none of this name.
    pub fn table(&self, schema: &str, name: &str) -> Result<Option<TableListing>, EngineError> {
        Ok(self.catalog.now()?.listed(schema, name)?)
    }

    /// Whether the session's user can see a table or view of this name, in any schema.
    pub fn has_table(&self, schema: &str, name: &str) -> Result<bool, EngineError> {
        let schema = CatalogHandle(Arc::clone(&self.catalog)).schema(schema);
        Ok(schema.is_some_and(|schema| schema.table_exist(name)))
    }

    /// The tables of the schema `system`, which no other list contains.
    pub fn system_tables(&self) -> Vec<TableListing> {
        system_listing()
    }

    pub fn schema_names(&self) -> Result<Vec<String>, EngineError> {
        let mut names = self.catalog.now()?.snapshot.namespaces()?;
        if !self.catalog.temporary().is_empty() && !names.iter().any(|name| name == TEMP) {
            names.push(TEMP.to_string());
        }
        Ok(names)
    }

    /// The columns of a stored or temporary table; empty if there is none.
    pub fn column_names(&self, table: &str) -> Vec<String> {
        let names = |schema: &SchemaRef| schema.fields().iter().map(|field| field.name().clone()).collect();
        if let Some(temporary) = self.catalog.temporary().named(&TableReference::parse_str(table)) {
            return names(&temporary.schema);
        }
        let Ok(now) = self.catalog.now() else { return Vec::new() };
        let name = TableReference::parse_str(table);
        let namespace = name.schema().unwrap_or(pmem_store::DEFAULT_NAMESPACE);
        let Ok(Some(table)) = now.snapshot.table(namespace, name.table()) else { return Vec::new() };
        names(table.schema())
    }

    /// Includes table functions.
    pub fn function_names(&self) -> Vec<String> {
        let state = self.context.state();
        let mut names = function_names(&state);
        names.extend(state.table_functions().keys().cloned());
        names.sort_unstable();
        names.dedup();
        names
    }
}
