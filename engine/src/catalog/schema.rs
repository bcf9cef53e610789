//! One namespace of the store as a DataFusion schema.

use std::sync::Arc;

use async_trait::async_trait;
use datafusion::catalog::{SchemaProvider, TableProvider};
use datafusion::common::Result;
use datafusion::logical_expr::TableType;
use pmem_store::Snapshot;

use super::provider::StoreCatalog;
use super::table::StoreTable;
use super::view;
use crate::error::store_error;

#[derive(Debug)]
pub struct StoreSchema {
    catalog: Arc<StoreCatalog>,
    namespace: String,
    snapshot: Arc<Snapshot>,
}

impl StoreSchema {
    pub fn new(catalog: Arc<StoreCatalog>, namespace: &str) -> Self {
        let snapshot = catalog.snapshot();
        StoreSchema { catalog, namespace: namespace.to_string(), snapshot }
    }
}

#[async_trait]
impl SchemaProvider for StoreSchema {
    fn table_names(&self) -> Vec<String> {
        let tables = self.snapshot.tables().unwrap_or_default().into_iter();
        let tables = tables.filter(|table| table.namespace == self.namespace).map(|table| table.name);
        let views = self.snapshot.views().unwrap_or_default().into_iter();
        let views = views.filter(|view| view.namespace == self.namespace).map(|view| view.name);
        tables.chain(views).collect()
    }

    async fn table(&self, name: &str) -> Result<Option<Arc<dyn TableProvider>>> {
        if let Some(snapshot) = self.snapshot.table(&self.namespace, name).map_err(store_error)? {
            let engine = Arc::clone(&self.catalog.engine);
            return Ok(Some(Arc::new(StoreTable::new(engine, snapshot))));
        }
        match self.snapshot.view(&self.namespace, name).map_err(store_error)? {
            Some(record) => match view::provider(&self.catalog, &record).await {
                Ok(provider) => Ok(Some(provider)),
                // One that cannot be used hides nothing else from information_schema.
                Err(_) if !view::is_planning() => Ok(None),
                Err(error) => Err(error),
            },
            None => Ok(None),
        }
    }

    async fn table_type(&self, name: &str) -> Result<Option<TableType>> {
        if self.snapshot.table(&self.namespace, name).map_err(store_error)?.is_some() {
            return Ok(Some(TableType::Base));
        }
        let view = self.snapshot.view(&self.namespace, name).map_err(store_error)?;
        Ok(view.map(|view| if view.kind == view::EXTERNAL { TableType::Base } else { TableType::View }))
    }

    fn table_exist(&self, name: &str) -> bool {
        let table = self.snapshot.table(&self.namespace, name).ok().flatten();
        table.is_some() || self.snapshot.view(&self.namespace, name).ok().flatten().is_some()
    }
}
