//! What the catalog needs of an engine; its schema `system` is one of the things.

use std::sync::Arc;

use datafusion::catalog::SchemaProvider;
use python_functions::PythonWorkers;

use super::provider::SystemSchema;
use crate::shared::EngineShared;
use common::error::EngineError;
use common::file_directories::FileDirectories;
use table::catalog::{CatalogContext, PlanFunctions, StoreCatalog};
use table::remote_tables::RemoteTables;
use table::scan::StatisticsCache;
use wasm_functions::Modules;

/// In the store's directory.
const COMPILED_MODULES: &str = "compiled";

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

    fn modules(&self) -> Result<&Modules, EngineError> {
        if let Some(modules) = self.functions.modules.get() {
            return Ok(modules);
        }
        // Native code is a cache: whoever only reads a store adds nothing to it.
        let directory = (!self.store.is_read_only()).then(|| self.store.path().join(COMPILED_MODULES));
        let modules = Modules::new(directory).map_err(|error| EngineError::internal(error.to_string()))?;
        Ok(self.functions.modules.get_or_init(|| modules))
    }

    fn python(&self) -> Option<&Arc<PythonWorkers>> {
        self.functions.python.as_ref()
    }

    fn plan_functions(&self) -> &PlanFunctions {
        &self.functions.of_plans
    }

    fn system_schema(self: Arc<Self>, catalog: &StoreCatalog, older: Option<Arc<dyn SchemaProvider>>) -> Arc<dyn SchemaProvider> {
        let schema = SystemSchema::new(&self, catalog.snapshot(), catalog.transaction(), older, catalog.authorization());
        Arc::new(schema.with_temporary(catalog.temporary()).with_zone(catalog.zone()))
    }
}
