//! Appends batches that a program hands over, instead of SQL text.

use arrow::array::RecordBatch;
use datafusion::common::TableReference;
use pmem_store::{DEFAULT_NAMESPACE, Durability, StoreError};
use tracing::Instrument;

use super::Session;
use crate::dml::Retry;
use crate::insert::rows_of_batch;
use crate::queries::{Query, StatementKind};
use common::error::EngineError;
use common::type_names::quoted;
use table::catalog::resolve;

impl Session {
    /// Adds the rows of a batch to a table as a single INSERT would: in the open transaction, or in one of their own. The batch has the
    /// table's columns, by name and in their order; values are cast to the columns' types. Returns the number of rows.
    pub async fn append(&self, table: &str, rows: &RecordBatch) -> Result<u64, EngineError> {
        // It takes a few microseconds, in which nobody could observe or stop it.
        if self.user().is_none() && self.append_at_once(table, rows)? {
            return Ok(rows.num_rows() as u64);
        }
        let entry = self.register_statement(&format!("APPEND INTO {table}"));
        let done = self.append_entered(entry.query(), table, rows).instrument(entry.query().span.clone()).await;
        let count = done.as_ref().copied().unwrap_or(0);
        entry.close(StatementKind::Write, count, done)
    }

    async fn append_entered(&self, query: &Query, table: &str, rows: &RecordBatch) -> Result<u64, EngineError> {
        let mut retry = Retry::new(!self.is_in_transaction());
        loop {
            // A stop comes before an attempt begins, or too late for it.
            query.commit_guard.begin_commit()?;
            if self.user().is_some() && self.append_at_once(table, rows)? {
                return Ok(rows.num_rows() as u64);
            }
            let error = match self.append_once(table, rows).await {
                Ok(count) => return Ok(count),
                Err(error) => error,
            };
            query.commit_guard.abandon_commit();
            if !self.is_tried_again(query, &mut retry, &error).await? {
                return Err(error);
            }
        }
    }

    /// Appends a few rows that are stored unchanged and need not be durable at once. Returns false, without any effect, for all others,
    /// and if the table is unknown or has changed.
    fn append_at_once(&self, table: &str, rows: &RecordBatch) -> Result<bool, EngineError> {
        let Some(target) = self.targets.plain(table) else { return Ok(false) };
        if self.catalog.temporary().get(table).is_some() {
            return Ok(false);
        }
        let durability = self.transaction.durability().unwrap_or(target.durability);
        if durability != Durability::Async || self.is_in_transaction() || !target.stores_as_it_is(rows) || !self.may_insert(&target)? {
            return Ok(false);
        }
        if self.engine.store.append_at_once(&target.version, rows)?.is_none() {
            return Ok(false);
        }
        self.engine.maintenance.wake();
        Ok(true)
    }

    async fn append_once(&self, table: &str, rows: &RecordBatch) -> Result<u64, EngineError> {
        self.check_not_failed()?;
        if !self.catalog.temporary().is_empty() {
            self.catalog.check_stored(&TableReference::parse_str(table), "adding a batch to")?;
        }
        let name = match quoted(table) == table {
            // Most names are a single word, which need not be parsed for each row.
            true => (DEFAULT_NAMESPACE.to_string(), table.to_string()),
            false => resolve(&TableReference::parse_str(table))?,
        };
        let Some(target) = self.target(name.clone())? else {
            return Err(StoreError::no_table(&name.0, &name.1).into());
        };
        // Other texts may refer to another table than their literal name.
        if !self.is_in_transaction() && quoted(table) == table {
            self.targets.keep_plain(&target);
        }
        let rows = rows_of_batch(&target, rows)?;
        self.write_rows(&target, rows).await
    }
}
