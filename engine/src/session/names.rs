//! What there is, for those who complete names and list tables.

use datafusion::common::TableReference;

use super::Session;
use crate::catalog::TableListing;
use crate::error::EngineError;
use crate::sql;
use crate::system::system_listing;

impl Session {
    /// Tables and views, for completion; those of the default schema without it.
    pub fn table_names(&self) -> Vec<String> {
        let name = |listed: TableListing| match listed.schema == pmem_store::DEFAULT_NAMESPACE {
            true => listed.name,
            false => format!("{}.{}", listed.schema, listed.name),
        };
        self.tables().map(|tables| tables.into_iter().map(name).collect()).unwrap_or_default()
    }

    /// Tables and views as of now, by schema and name.
    pub fn tables(&self) -> Result<Vec<TableListing>, EngineError> {
        self.catalog.refresh()?;
        let listing = self.catalog.listing();
        self.catalog.rest();
        Ok(listing?)
    }

    /// A stored table as of now; None for a view, and where there is none of the name.
    pub fn table(&self, schema: &str, name: &str) -> Result<Option<TableListing>, EngineError> {
        self.catalog.refresh()?;
        let listed = self.catalog.listed(schema, name);
        self.catalog.rest();
        Ok(listed?)
    }

    /// The tables of the schema `system`, which no other list has.
    pub fn system_tables(&self) -> Vec<TableListing> {
        system_listing()
    }

    pub fn schema_names(&self) -> Result<Vec<String>, EngineError> {
        self.catalog.refresh()?;
        let names = self.catalog.snapshot().namespaces();
        self.catalog.rest();
        Ok(names?)
    }

    /// The columns of a stored table; empty where there is none.
    pub fn column_names(&self, table: &str) -> Vec<String> {
        // With what was known before, if the store cannot be asked.
        let _ = self.catalog.refresh();
        let name = TableReference::parse_str(table);
        let namespace = name.schema().unwrap_or(pmem_store::DEFAULT_NAMESPACE);
        let table = self.catalog.snapshot().table(namespace, name.table());
        self.catalog.rest();
        let Ok(Some(table)) = table else { return Vec::new() };
        table.schema().fields().iter().map(|field| field.name().clone()).collect()
    }

    pub fn function_names(&self) -> Vec<String> {
        sql::function_names(&self.context.state())
    }
}
