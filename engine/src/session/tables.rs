//! Gives table functions access to the tables of their session.

use std::sync::Arc;

use datafusion::catalog::{Session, TableProvider};
use datafusion::common::TableReference;
use pmem_store::Mode;

use crate::catalog::{StoreCatalog, StoreTable};
use crate::sql_planner::explain_error::near_table;
use kernels::table_argument::SessionTables;

/// The tables of a session of the engine.
pub fn tables_of(session: &dyn Session) -> Option<Arc<dyn SessionTables>> {
    Some(StoreCatalog::of(session)?)
}

impl SessionTables for StoreCatalog {
    fn is_temporary(&self, name: &TableReference) -> bool {
        self.temporary().named(name).is_some()
    }

    fn near_table(&self, name: &TableReference) -> Option<String> {
        near_table(self, name)
    }

    fn is_stored(&self, table: &dyn TableProvider) -> bool {
        table.is::<StoreTable>()
    }

    fn is_persistent(&self) -> bool {
        self.write_scope().store().mode() == Mode::Dax
    }
}
