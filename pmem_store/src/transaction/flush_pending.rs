//! Makes a segment of the pending rows of a transaction before their table's columns change.

use std::collections::BTreeMap;
use std::sync::Arc;

use roaring::RoaringBitmap;

use super::Transaction;
use super::materialize::live;
use crate::catalog::TableId;
use crate::error::Result;
use crate::store::Store;

impl Transaction {
    /// The changes record it too, so that applying them again has the same result: the pending rows are
    /// deleted, and come back as a segment.
    pub(super) fn settle(&mut self, table: TableId) -> Result<()> {
        let Some(entry) = self.state.table_by_id(table) else { return Ok(()) };
        let data = entry.data()?;
        let Some(rows) = live(&data.pending)? else { return Ok(()) };
        let waiting: BTreeMap<u64, RoaringBitmap> =
            data.pending.iter().map(|pending| (pending.id, (0..pending.rows.num_rows() as u32).collect())).collect();
        let mut appender = Store { core: Arc::clone(&self.core) }.appender(table, rows.schema())?;
        appender.write(rows)?;
        self.add_segments(table, appender.finish()?, false)?;
        self.delete_rows(table, waiting)?;
        Ok(())
    }
}
