//! The schema `temp`: the temporary tables of the current session.

use std::sync::Arc;

use async_trait::async_trait;
use datafusion::catalog::{SchemaProvider, TableProvider};
use datafusion::common::Result;
use datafusion::logical_expr::TableType;

use super::table::TemporaryTable;
use super::tables::TemporaryTables;
use crate::write::WriteScope;
use common::error::EngineError;
use sql::split_name;

#[derive(Debug)]
pub struct TemporarySchema {
    tables: Arc<TemporaryTables>,
    scope: WriteScope,
    /// The session's time zone.
    zone: Option<String>,
    /// Stored tables in a schema of this name that is older than the schema `temp`.
    older: Option<Arc<dyn SchemaProvider>>,
}

impl TemporarySchema {
    pub fn new(
        tables: Arc<TemporaryTables>,
        scope: WriteScope,
        zone: Option<String>,
        older: Option<Arc<dyn SchemaProvider>>,
    ) -> TemporarySchema {
        TemporarySchema { tables, scope, zone, older }
    }

    pub fn find(&self, name: &str) -> Option<Arc<dyn TableProvider>> {
        let rows = self.tables.get(name)?;
        Some(Arc::new(TemporaryTable::new(Arc::clone(&self.tables), rows, self.scope.clone(), self.zone.as_deref())))
    }
}

#[async_trait]
impl SchemaProvider for TemporarySchema {
    fn table_names(&self) -> Vec<String> {
        let own: Vec<String> = self.tables.all().iter().map(|table| table.name.clone()).collect();
        let older = self.older.as_ref().map(|older| older.table_names()).unwrap_or_default();
        let older = older.into_iter().filter(|name| !own.contains(name)).collect::<Vec<_>>();
        own.into_iter().chain(older).collect()
    }

    async fn table(&self, name: &str) -> Result<Option<Arc<dyn TableProvider>>> {
        if let Some((table, _)) = split_name(name).filter(|(table, _)| self.tables.get(table).is_some()) {
            let what = format!("a version of the temporary table \"{table}\", which has none,");
            return Err(EngineError::unsupported(what, Some("leave FOR … AS OF out, or name a stored table with its schema")).into());
        }
        match (self.find(name), &self.older) {
            (Some(table), _) => Ok(Some(table)),
            (None, Some(older)) => older.table(name).await,
            (None, None) => Ok(None),
        }
    }

    async fn table_type(&self, name: &str) -> Result<Option<TableType>> {
        match (self.tables.get(name), &self.older) {
            (Some(_), _) => Ok(Some(TableType::Temporary)),
            (None, Some(older)) => older.table_type(name).await,
            (None, None) => Ok(None),
        }
    }

    fn table_exist(&self, name: &str) -> bool {
        self.tables.get(name).is_some() || self.older.as_ref().is_some_and(|older| older.table_exist(name))
    }
}
