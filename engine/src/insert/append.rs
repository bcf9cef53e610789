//! Batches that a program hands over, instead of SQL text.

use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch};
use arrow::compute::{CastOptions, SortColumn, SortOptions, lexsort_to_indices, take_record_batch};
use arrow::datatypes::SchemaRef;
use arrow::error::ArrowError;
use datafusion::common::TableReference;
use pmem_store::{DEFAULT_NAMESPACE, Durability, StoreError};
use tracing::Instrument;

use super::target::Target;
use crate::dml::Retry;
use crate::output::StatementKind;
use crate::queries::Query;
use crate::session::Session;
use crate::statements::ddl::resolve;
use crate::write::check_shapes;
use common::error::EngineError;
use common::type_names::quoted;
use semantics::functions::{cast_nearest, own_values, with_one_nan};

impl Session {
    /// Adds the rows of a batch to a table as one INSERT would: in the open transaction, or in one of their own. The
    /// batch has the table's columns, by name and in their order; values are cast to the columns' types. The
    /// number of rows.
    pub async fn append(&self, table: &str, rows: &RecordBatch) -> Result<u64, EngineError> {
        // Over in a few microseconds, in which nobody could look for it.
        if self.user().is_none() && self.append_at_once(table, rows)? {
            return Ok(rows.num_rows() as u64);
        }
        let entry = self.enter(&format!("APPEND INTO {table}"));
        let done = self.append_entered(entry.query(), table, rows).instrument(entry.query().span.clone()).await;
        let count = done.as_ref().copied().unwrap_or(0);
        entry.close(StatementKind::Write, count, done)
    }

    async fn append_entered(&self, query: &Query, table: &str, rows: &RecordBatch) -> Result<u64, EngineError> {
        let mut retry = Retry::new(!self.is_in_transaction());
        loop {
            // Who ends it comes before an attempt, or too late for it.
            query.gate.seal()?;
            if self.user().is_some() && self.append_at_once(table, rows)? {
                return Ok(rows.num_rows() as u64);
            }
            let error = match self.append_once(table, rows).await {
                Ok(count) => return Ok(count),
                Err(error) => error,
            };
            query.gate.unseal();
            if !self.is_tried_again(query, &mut retry, &error).await? {
                return Err(error);
            }
        }
    }

    /// Few rows that are stored as they are and need not be durable at once. False, and nothing is done, for all
    /// others, and where the table is not known or has changed.
    fn append_at_once(&self, table: &str, rows: &RecordBatch) -> Result<bool, EngineError> {
        let Some(target) = self.targets.plain(table) else { return Ok(false) };
        if self.catalog.volatile().get(table).is_some() {
            return Ok(false);
        }
        let durability = self.transaction.durability().unwrap_or(target.durability);
        if durability != Durability::Async || self.is_in_transaction() || !target.stores_as_it_is(rows) || !self.may_insert(&target)? {
            return Ok(false);
        }
        if self.engine.store.append_at_once(&target.known, rows)?.is_none() {
            return Ok(false);
        }
        self.engine.maintenance.wake();
        Ok(true)
    }

    async fn append_once(&self, table: &str, rows: &RecordBatch) -> Result<u64, EngineError> {
        self.check_not_failed()?;
        if !self.catalog.volatile().is_empty() {
            self.catalog.check_stored(&TableReference::parse_str(table), "adding a batch to")?;
        }
        let name = match quoted(table) == table {
            // Most are one word, which need not be parsed for each row.
            true => (DEFAULT_NAMESPACE.to_string(), table.to_string()),
            false => resolve(&TableReference::parse_str(table))?,
        };
        let Some(target) = self.target(name.clone())? else {
            return Err(StoreError::no_table(&name.0, &name.1).into());
        };
        // Other texts may mean something else than the name that they are.
        if !self.is_in_transaction() && quoted(table) == table {
            self.targets.keep_plain(&target);
        }
        let rows = sorted(&target, declared_rows(&target, rows)?).map_err(StoreError::from)?;
        self.write_rows(&target, rows).await
    }
}

/// The batch as the table declares its columns.
fn declared_rows(target: &Target, rows: &RecordBatch) -> Result<RecordBatch, EngineError> {
    let declared = Arc::clone(&target.nullable);
    if !names(rows.schema_ref()).eq(names(&declared)) {
        let [found, expected] = [rows.schema_ref(), &declared].map(|schema| names(schema).collect::<Vec<_>>().join(", "));
        let message = format!("the batch has the columns ({found}), the table \"{}\" ({expected})", target.write.table);
        let hint = Some("give all columns of the table in their order".to_string());
        return Err(EngineError::Sql { message, position: None, hint });
    }
    check_shapes(&declared, rows.schema_ref())?;
    let options = CastOptions { safe: false, ..CastOptions::default() };
    let columns = rows.columns().iter().zip(rows.schema_ref().fields()).zip(declared.fields());
    let columns = columns.map(|((column, source), field)| -> Result<ArrayRef, EngineError> {
        if column.data_type() == field.data_type() {
            return Ok(with_one_nan(column));
        }
        if let Some(made) = own_values(column, source, field) {
            return Ok(with_one_nan(&made?));
        }
        Ok(with_one_nan(&cast_nearest(column, field.data_type(), &options).map_err(StoreError::from)?))
    });
    let columns = columns.collect::<Result<Vec<_>, EngineError>>()?;
    Ok(RecordBatch::try_new(declared, columns).map_err(StoreError::from)?)
}

fn names(schema: &SchemaRef) -> impl Iterator<Item = &str> {
    schema.fields().iter().map(|field| field.name().as_str())
}

/// In the order of the table's key: many rows make a segment, which is taken to be in it.
fn sorted(target: &Target, rows: RecordBatch) -> Result<RecordBatch, ArrowError> {
    let key = &target.write.cluster_key;
    if key.is_empty() || rows.num_rows() < 2 {
        return Ok(rows);
    }
    let column = |order: &pmem_store::ColumnOrder| -> Result<SortColumn, ArrowError> {
        let values = Arc::clone(rows.column(rows.schema().index_of(&order.column)?));
        let options = SortOptions { descending: order.descending, nulls_first: order.nulls_first };
        Ok(SortColumn { values, options: Some(options) })
    };
    let columns = key.iter().map(column).collect::<Result<Vec<_>, _>>()?;
    take_record_batch(&rows, &lexsort_to_indices(&columns, None)?)
}
