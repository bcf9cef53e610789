//! Staged rows: written to the store, but not yet part of a table.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, RecordBatch};
use arrow::datatypes::{DataType, SchemaRef};
use pmem_store::segment::{Elements, OtherColumns};
use pmem_store::{Appender, SealedSegment, Store, StoreError, TableId, Transaction, ZONE_ROWS};

use crate::constraints::Enforcer;
use crate::physical::{physical_rows, with_floats_of, with_valid_decimals};
use crate::store_context::StoreContext;
use common::error::EngineError;
use common::types::physical_schema;

/// Up to this many bytes of rows go to a table's log; more rows make a segment of their own.
pub const FEW_BYTES: usize = 1 << 20;
pub const FEW_ROWS: usize = ZONE_ROWS;

/// At most this fraction of a query's memory is for rows that wait to be written: until then their memory counts.
const WAITING_ONE_OF: usize = 4;

/// Buffers rows until it is known whether they are few.
pub struct RowSink {
    store: Arc<Store>,
    table: TableId,
    physical: SchemaRef,
    has_plain_columns: bool,
    waiting_bytes_max: usize,
    /// Used until there are too many rows.
    few: Vec<RecordBatch>,
    few_bytes: usize,
    few_rows: usize,
    appender: Option<Appender>,
}

impl RowSink {
    /// `may_be_few` is true if the table exists, so that its log can take the rows.
    pub fn new(
        engine: &dyn StoreContext,
        table: TableId,
        declared: &SchemaRef,
        has_plain_columns: bool,
        may_be_few: bool,
    ) -> Result<RowSink, EngineError> {
        let (store, physical) = (Arc::clone(engine.store()), physical_schema(declared));
        let waiting_bytes_max = engine.query_memory_limit_bytes() / WAITING_ONE_OF;
        let mut sink = RowSink {
            store,
            table,
            physical,
            has_plain_columns,
            waiting_bytes_max,
            few: Vec::new(),
            few_bytes: 0,
            few_rows: 0,
            appender: None,
        };
        if !may_be_few {
            sink.appender = Some(sink.new_appender()?);
        }
        Ok(sink)
    }

    fn new_appender(&self) -> Result<Appender, EngineError> {
        let appender = self.store.appender(self.table, Arc::clone(&self.physical))?.with_pending_bytes(self.waiting_bytes_max);
        Ok(if self.has_plain_columns { appender.with_plain_columns() } else { appender })
    }

    /// Blocks while it writes to the mapped file.
    pub fn write(&mut self, batch: RecordBatch) -> Result<(), EngineError> {
        let batch = with_floats_of(with_valid_decimals(batch)?, &self.physical)?;
        if let Some(appender) = &mut self.appender {
            return Ok(appender.write(batch)?);
        }
        self.few_rows += batch.num_rows();
        self.few_bytes += batch.columns().iter().map(size_bytes).sum::<usize>();
        self.few.push(batch);
        if self.few_rows > FEW_ROWS || self.few_bytes > FEW_BYTES {
            let mut appender = self.new_appender()?;
            self.few.drain(..).try_for_each(|batch| appender.write(batch))?;
            self.appender = Some(appender);
        }
        Ok(())
    }

    /// Writes rows in the physical types that are built in place. Only for a sink without buffered rows.
    pub fn write_in_place(
        &mut self,
        rows: OtherColumns,
        make: impl FnOnce(Elements<'_>) -> Result<(), EngineError>,
    ) -> Result<(), EngineError> {
        match &mut self.appender {
            Some(appender) => appender.write_in_place(rows, make),
            None => Err(EngineError::internal("rows for a table's log were to be made in place")),
        }
    }

    /// The files are durable afterwards; a few rows become durable with the commit.
    pub fn finish(self) -> Result<StagedRows, EngineError> {
        let segments = self.appender.map(Appender::finish).transpose()?.unwrap_or_default();
        let few = match self.few_rows {
            0 => None,
            _ if self.few.is_empty() => None,
            _ => Some(physical_rows(&self.few, &self.physical)?),
        };
        Ok(StagedRows { store: self.store, table: self.table, segments, few, enforcer: None })
    }
}

fn size_bytes(column: &ArrayRef) -> usize {
    // For view arrays Arrow counts only the views.
    let behind_views = match column.data_type() {
        DataType::Utf8View => column.as_string_view().total_buffer_bytes_used(),
        DataType::BinaryView => column.as_binary_view().total_buffer_bytes_used(),
        _ => 0,
    };
    behind_views + column.to_data().get_slice_memory_size().unwrap_or(FEW_BYTES)
}

/// If they are dropped before a transaction takes them, their files are removed.
#[derive(Debug)]
pub struct StagedRows {
    store: Arc<Store>,
    table: TableId,
    segments: Vec<SealedSegment>,
    few: Option<RecordBatch>,
    /// The enforcer that has seen them.
    enforcer: Option<Enforcer>,
}

impl StagedRows {
    pub fn enforced_by(mut self, enforcer: Enforcer) -> StagedRows {
        self.enforcer = Some(enforcer);
        self
    }

    /// Adds the rows to their table, if its rules allow them; rows that they replace are deleted before. It is also called without rows,
    /// because it notices a table that was dropped and created anew meanwhile. The transaction removes files that it does not commit.
    pub fn add_to(mut self, transaction: &mut Transaction, sorted: bool) -> Result<(), StoreError> {
        match self.enforcer.take() {
            Some(enforcer) => enforcer.finish(transaction, self.table, |transaction| self.append(transaction, sorted)),
            None => self.append(transaction, sorted),
        }
    }

    fn append(&mut self, transaction: &mut Transaction, sorted: bool) -> Result<(), StoreError> {
        if let Some(rows) = self.few.take() {
            return transaction.append_rows(self.table, rows);
        }
        transaction.add_segments(self.table, std::mem::take(&mut self.segments), sorted)
    }
}

impl Drop for StagedRows {
    fn drop(&mut self) {
        self.store.discard(self.table, &self.segments);
    }
}
