//! What system tables are made from.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use pmem_store::{Snapshot, TableSnapshot};

use crate::access::Permit;
use crate::engine::EngineShared;
use crate::error::store_error;
use crate::write::TransactionSlot;

pub struct Source<'a> {
    pub engine: &'a EngineShared,
    /// Of the statement.
    pub snapshot: &'a Arc<Snapshot>,
    /// The session's.
    pub slot: &'a Arc<TransactionSlot>,
    pub options: &'a ConfigOptions,
    /// Of the user who asks; None: everything.
    pub permit: Option<&'a Permit>,
}

impl Source<'_> {
    pub fn is_for_all(&self) -> bool {
        self.permit.is_none_or(Permit::is_admin)
    }

    /// Whether who asks may know of the user or role.
    pub fn knows(&self, name: &str) -> bool {
        self.permit.is_none_or(|permit| permit.is_admin() || permit.has_name(name))
    }

    /// Every stored table, by schema and name.
    pub fn tables(&self) -> Result<Vec<TableSnapshot>> {
        let mut tables = Vec::new();
        for record in self.snapshot.tables().map_err(store_error)? {
            tables.extend(self.snapshot.table(&record.namespace, &record.name).map_err(store_error)?);
        }
        Ok(tables)
    }
}
