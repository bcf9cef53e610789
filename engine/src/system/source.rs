//! What system tables are made from.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use pmem_store::{Snapshot, TableSnapshot};

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
}

impl Source<'_> {
    /// Every stored table, by schema and name.
    pub fn tables(&self) -> Result<Vec<TableSnapshot>> {
        let mut tables = Vec::new();
        for record in self.snapshot.tables().map_err(store_error)? {
            tables.extend(self.snapshot.table(&record.namespace, &record.name).map_err(store_error)?);
        }
        Ok(tables)
    }
}
