//! What the catalog needs of an engine; its schema `system` is one of the things.

use std::sync::Arc;

use datafusion::catalog::SchemaProvider;

use super::provider::SystemSchema;
use crate::shared::EngineShared;
use common::file_directories::FileDirectories;
use table::catalog::{CatalogContext, StoreCatalog};
use table::remote_tables::RemoteTables;
use table::scan::StatisticsCache;

impl CatalogContext for EngineShared {
    fn statistics(&self) -> &StatisticsCache {
        &self.statistics
    }

    fn remote_tables(&self) -> Option<&Arc<dyn RemoteTables>> {
        self.remote_tables.as_ref()
    }

    fn file_directories(&self) -> &FileDirectories {
        &self.file_directories
    }

    fn system_schema(self: Arc<Self>, catalog: &StoreCatalog, older: Option<Arc<dyn SchemaProvider>>) -> Arc<dyn SchemaProvider> {
        let schema = SystemSchema::new(&self, catalog.snapshot(), catalog.transaction(), older, catalog.authorization());
        Arc::new(schema.with_temporary(catalog.temporary()).with_zone(catalog.zone()))
    }
}
