//! The namespaces of the catalog, each as a schema of DataFusion.

use std::sync::Arc;

use datafusion::catalog::{CatalogProvider, SchemaProvider};

use super::information_schema::InformationSchema;
use super::provider::CatalogHandle;
use super::schema::StoreSchema;
use crate::temporary::TemporarySchema;
use common::names::{INFORMATION_SCHEMA, SYSTEM, TEMP};

impl CatalogProvider for CatalogHandle {
    fn schema_names(&self) -> Vec<String> {
        let mut names = self.0.snapshot().namespaces().unwrap_or_default();
        if !names.iter().any(|name| name == SYSTEM) {
            names.push(SYSTEM.to_string());
        }
        if !self.0.temporary().is_empty() && !names.iter().any(|name| name == TEMP) {
            names.push(TEMP.to_string());
        }
        names
    }

    fn schema(&self, name: &str) -> Option<Arc<dyn SchemaProvider>> {
        if name == SYSTEM {
            let has_older = self.0.snapshot().has_namespace(SYSTEM);
            let older = has_older.then(|| Arc::new(StoreSchema::new(Arc::clone(&self.0), name)) as Arc<dyn SchemaProvider>);
            return Some(Arc::clone(&self.0.engine).system_schema(&self.0, older));
        }
        if name == INFORMATION_SCHEMA {
            return InformationSchema::new(&self.0).map(|schema| Arc::new(schema) as Arc<dyn SchemaProvider>);
        }
        if name == TEMP && !self.0.temporary().is_empty() {
            let has_older = self.0.snapshot().has_namespace(TEMP);
            let older = has_older.then(|| Arc::new(StoreSchema::new(Arc::clone(&self.0), name)) as Arc<dyn SchemaProvider>);
            return Some(Arc::new(TemporarySchema::new(self.0.temporary(), self.0.write_scope(), self.0.zone(), older)));
        }
        self.0.snapshot().has_namespace(name).then(|| Arc::new(StoreSchema::new(Arc::clone(&self.0), name)) as Arc<dyn SchemaProvider>)
    }
}
