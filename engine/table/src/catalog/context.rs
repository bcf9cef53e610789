//! The trait by which the catalog reaches what the engine shares among its sessions, and the schema that shows the state of the engine.

use std::sync::Arc;

use datafusion::catalog::SchemaProvider;

use super::plan_functions::PlanFunctions;
use super::provider::StoreCatalog;
use crate::remote_tables::RemoteTables;
use crate::scan::StatisticsCache;
use crate::store_context::StoreContext;
use common::error::EngineError;
use common::file_directories::FileDirectories;
use python_functions::PythonWorkers;
use wasm_functions::Modules;

pub trait CatalogContext: StoreContext {
    fn statistics(&self) -> &StatisticsCache;

    /// `None` where tables of other nodes may not be read.
    fn remote_tables(&self) -> Option<&Arc<dyn RemoteTables>>;

    /// Where statements may read and write files.
    fn file_directories(&self) -> &FileDirectories;

    /// The modules of functions in WebAssembly.
    fn modules(&self) -> Result<&Modules, EngineError>;

    /// The processes of functions in Python; `None` where there may be none.
    fn python(&self) -> Option<&Arc<PythonWorkers>>;

    /// Functions that came with plans of other nodes.
    fn plan_functions(&self) -> &PlanFunctions;

    /// The schema `system` as a statement with this catalog sees it. `older` has the tables of the store in a schema of this name.
    fn system_schema(self: Arc<Self>, catalog: &StoreCatalog, older: Option<Arc<dyn SchemaProvider>>) -> Arc<dyn SchemaProvider>;
}
