//! Gives table functions access to the tables of their session.

use std::sync::Arc;

use datafusion::catalog::{Session, TableProvider};
use datafusion::common::TableReference;
use pmem_store::Mode;

use crate::sql_planner::explain_error::near_table;
use kernels::table_argument::SessionTables;
use table::catalog::{StoreCatalog, StoreTable};

/// The tables of a session of the engine.
pub fn tables_of(session: &dyn Session) -> Option<Arc<dyn SessionTables>> {
    Some(Arc::new(TablesOfCatalog(StoreCatalog::of(session)?)))
}

struct TablesOfCatalog(Arc<StoreCatalog>);

impl SessionTables for TablesOfCatalog {
    fn is_temporary(&self, name: &TableReference) -> bool {
        self.0.temporary().named(name).is_some()
    }

    fn near_table(&self, name: &TableReference) -> Option<String> {
        near_table(&self.0, name)
    }

    fn is_stored(&self, table: &dyn TableProvider) -> bool {
        table.is::<StoreTable>()
    }

    fn is_persistent(&self) -> bool {
        self.0.write_scope().store().mode() == Mode::Dax
    }
}
