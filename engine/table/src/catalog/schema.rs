//! One namespace of the store as a DataFusion schema.

use std::sync::Arc;

use async_trait::async_trait;
use datafusion::catalog::{SchemaProvider, TableProvider};
use datafusion::common::Result;
use datafusion::logical_expr::TableType;
use pmem_store::{Snapshot, ViewRecord};

use super::arrays::relation;
use super::provider::StoreCatalog;
use super::table::StoreTable;
use super::view;
use crate::access::Authorization;
use crate::catalog::past_table::{PastTable, table_at};
use crate::definition::EXTERNAL;
use common::error::{EngineError, store_error};
use common::privilege::Privilege;
use sql::split_name;

#[derive(Debug)]
pub struct StoreSchema {
    catalog: Arc<StoreCatalog>,
    namespace: String,
    snapshot: Arc<Snapshot>,
    authorization: Option<Arc<Authorization>>,
}

impl StoreSchema {
    pub fn new(catalog: Arc<StoreCatalog>, namespace: &str) -> Self {
        let (snapshot, authorization) = (catalog.snapshot(), catalog.authorization());
        StoreSchema { catalog, namespace: namespace.to_string(), snapshot, authorization }
    }
}

impl StoreSchema {
    async fn view(&self, record: &ViewRecord) -> Result<Arc<dyn TableProvider>> {
        if let Some(authorization) = &self.authorization {
            authorization.view(Privilege::Select, record)?;
        }
        view::provider(&self.catalog, record).await
    }

    /// A table as of an earlier version; `clause` says which.
    fn past_table(&self, table: &str, clause: &str) -> Result<Option<Arc<dyn TableProvider>>, EngineError> {
        let state = self.catalog.state.read().upgrade();
        let Some(state) = state.map(|state| state.read().clone()) else {
            return Err(EngineError::internal("a table's version is asked for outside a session"));
        };
        let (engine, name) = (Arc::clone(&self.catalog.engine), (self.namespace.as_str(), table));
        match table_at(&state, engine.store(), &self.snapshot, name, clause)? {
            PastTable::Found(past) => {
                let table = StoreTable::older(engine, *past, self.catalog.write_scope());
                Ok(Some(relation(table.with_permit(self.authorization.clone()).in_zone(self.catalog.zone().as_deref()))?))
            }
            PastTable::None => Ok(None),
            PastTable::View => {
                let hint = "it is planned anew whenever it is used: write the clause behind the tables in its text";
                Err(EngineError::unsupported(format!("a version of \"{table}\", which is not a stored table,"), Some(hint)))
            }
        }
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
        if let Some((table, clause)) = split_name(name) {
            return Ok(self.past_table(table, clause)?);
        }
        if let Some(snapshot) = self.snapshot.table(&self.namespace, name).map_err(store_error)? {
            let (engine, scope) = (Arc::clone(&self.catalog.engine), self.catalog.write_scope());
            let table = match self.catalog.staged_version(&snapshot).map_err(store_error)? {
                Some(staged) => StoreTable::staged(engine, staged, scope),
                None => StoreTable::new(engine, snapshot, scope),
            };
            return Ok(Some(relation(table.with_permit(self.authorization.clone()).in_zone(self.catalog.zone().as_deref()))?));
        }
        match self.snapshot.view(&self.namespace, name).map_err(store_error)? {
            // The view's text is planned with the rights of its reader.
            Some(record) => match self.view(&record).await {
                Ok(provider) => Ok(Some(provider)),
                // A broken view does not hide other objects from information_schema.
                Err(_) if self.catalog.omits_broken_views => Ok(None),
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
        Ok(view.map(|view| if view.kind == EXTERNAL { TableType::Base } else { TableType::View }))
    }

    fn table_exist(&self, name: &str) -> bool {
        let table = self.snapshot.table(&self.namespace, name).ok().flatten();
        table.is_some() || self.snapshot.view(&self.namespace, name).ok().flatten().is_some()
    }
}
