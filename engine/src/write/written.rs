//! Rows that are written and belong to no table yet.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, RecordBatch, RecordBatchOptions};
use arrow::compute::{CastOptions, concat_batches};
use arrow::datatypes::{DataType, Schema, SchemaRef};
use pmem_store::segment::{AroundHole, Elements};
use pmem_store::{Appender, SealedSegment, Store, StoreError, TableId, Transaction, ZONE_ROWS};

use crate::constraints::Enforcer;
use crate::engine::EngineShared;
use common::error::EngineError;
use common::types::physical_schema;
use files::import::valid;
use semantics::functions::{cast_nearest, with_floats, with_one_nan};

/// So many bytes of rows and no more go to a table's log; what is more makes a segment of its own.
pub const FEW_BYTES: usize = 1 << 20;
pub const FEW_ROWS: usize = ZONE_ROWS;

/// Of what a query may hold, so much at most is rows that wait to be written: what functions have made of them counts until then.
const WAITING_ONE_OF: usize = 4;

/// Takes rows until it is known whether they are few.
pub struct RowSink {
    store: Arc<Store>,
    table: TableId,
    physical: SchemaRef,
    waiting_bytes_max: usize,
    /// Until they are too many.
    few: Vec<RecordBatch>,
    few_bytes: usize,
    few_rows: usize,
    appender: Option<Appender>,
}

impl RowSink {
    /// `may_be_few`: the table is there already, so that its log can have them.
    pub fn new(engine: &EngineShared, table: TableId, declared: &SchemaRef, may_be_few: bool) -> Result<RowSink, EngineError> {
        let (store, physical) = (Arc::clone(&engine.store), physical_schema(declared));
        let waiting_bytes_max = engine.query_memory_limit_bytes / WAITING_ONE_OF;
        let mut sink = RowSink { store, table, physical, waiting_bytes_max, few: Vec::new(), few_bytes: 0, few_rows: 0, appender: None };
        if !may_be_few {
            sink.appender = Some(sink.new_appender()?);
        }
        Ok(sink)
    }

    fn new_appender(&self) -> Result<Appender, EngineError> {
        Ok(self.store.appender(self.table, Arc::clone(&self.physical))?.with_pending_bytes(self.waiting_bytes_max))
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

    /// Rows of the physical types, made where they lie. Only for a sink that has no few rows.
    pub fn write_in_place(
        &mut self,
        rows: AroundHole,
        make: impl FnOnce(Elements<'_>) -> Result<(), EngineError>,
    ) -> Result<(), EngineError> {
        match &mut self.appender {
            Some(appender) => appender.write_in_place(rows, make),
            None => Err(EngineError::internal("rows for a table's log were to be made in place")),
        }
    }

    /// Durable as files, but for a few rows, which are so with the commit.
    pub fn finish(self) -> Result<Written, EngineError> {
        let segments = self.appender.map(Appender::finish).transpose()?.unwrap_or_default();
        let few = match self.few_rows {
            0 => None,
            _ if self.few.is_empty() => None,
            _ => Some(physical_rows(&self.few, &self.physical)?),
        };
        Ok(Written { store: self.store, table: self.table, segments, few, enforcer: None })
    }
}

/// The types of decimals are relied on where these are made narrower. A file that is read where it lies may have others, and a
/// computation may have left anything beneath a NULL.
fn with_valid_decimals(batch: RecordBatch) -> Result<RecordBatch, EngineError> {
    let schema = batch.schema();
    if !schema.fields().iter().any(|field| field.data_type().is_decimal()) {
        return Ok(batch);
    }
    let columns = batch.columns().iter().zip(schema.fields()).map(|(column, field)| match field.data_type().is_decimal() {
        true => valid(column).map_err(|misfit| EngineError::data(format!("column \"{}\": {}", field.name(), misfit.problem), None)),
        false => Ok(Arc::clone(column)),
    });
    let rows = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    let columns = columns.collect::<Result<Vec<_>, _>>()?;
    Ok(RecordBatch::try_new_with_options(Arc::clone(&schema), columns, &rows).map_err(StoreError::from)?)
}

/// Decimals where the table has floats are the nearest ones, which they are not as the store casts. Files may have other NaNs
/// than the one that compares as NaN does.
fn with_floats_of(batch: RecordBatch, physical: &SchemaRef) -> Result<RecordBatch, EngineError> {
    if !physical.fields().iter().any(|field| field.data_type().is_floating() || field.data_type().is_nested()) {
        return Ok(batch);
    }
    let options = CastOptions { safe: false, ..CastOptions::default() };
    let schema = batch.schema();
    let columns = batch.columns().iter().zip(schema.fields()).zip(physical.fields());
    let columns = columns.map(|((column, found), wanted)| -> Result<_, StoreError> {
        let made = match with_floats(column.data_type(), wanted.data_type()) {
            Some(_) => cast_nearest(column, wanted.data_type(), &options)?,
            None => Arc::clone(column),
        };
        let made = with_one_nan(&made);
        let field = match made.data_type() == found.data_type() {
            true => Arc::clone(found),
            false => Arc::new(found.as_ref().clone().with_data_type(made.data_type().clone())),
        };
        Ok((field, made))
    });
    let (fields, columns): (Vec<_>, _) = columns.collect::<Result<Vec<_>, StoreError>>()?.into_iter().unzip();
    let schema = Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone()));
    let rows = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    Ok(RecordBatch::try_new_with_options(schema, columns, &rows).map_err(StoreError::from)?)
}

fn size_bytes(column: &ArrayRef) -> usize {
    // Of views Arrow counts the views alone.
    let behind_views = match column.data_type() {
        DataType::Utf8View => column.as_string_view().total_buffer_bytes_used(),
        DataType::BinaryView => column.as_binary_view().total_buffer_bytes_used(),
        _ => 0,
    };
    behind_views + column.to_data().get_slice_memory_size().unwrap_or(FEW_BYTES)
}

/// Dropped before a transaction has them, they are removed.
#[derive(Debug)]
pub struct Written {
    store: Arc<Store>,
    table: TableId,
    segments: Vec<SealedSegment>,
    few: Option<RecordBatch>,
    /// What the table's rules have seen of them.
    enforcer: Option<Enforcer>,
}

impl Written {
    pub fn enforced_by(mut self, enforcer: Enforcer) -> Written {
        self.enforcer = Some(enforcer);
        self
    }

    /// Adds the rows to their table, if its rules allow them there; rows that they replace are deleted
    /// before. Also without any: this is where a table that was dropped and made anew meanwhile is
    /// noticed. The transaction removes those that it does not commit.
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

impl Drop for Written {
    fn drop(&mut self) {
        self.store.discard(self.table, &self.segments);
    }
}

/// As they lie in a segment or log.
pub fn physical_rows(batches: &[RecordBatch], physical: &SchemaRef) -> Result<RecordBatch, StoreError> {
    if let [one] = batches
        && one.columns().iter().zip(physical.fields()).all(|(column, field)| column.data_type() == field.data_type())
    {
        let rows = RecordBatchOptions::new().with_row_count(Some(one.num_rows()));
        return Ok(RecordBatch::try_new_with_options(Arc::clone(physical), one.columns().to_vec(), &rows)?);
    }
    let options = CastOptions { safe: false, ..CastOptions::default() };
    let batches = batches.iter().map(|batch| -> Result<RecordBatch, StoreError> {
        let columns = batch.columns().iter().zip(physical.fields());
        let columns = columns.map(|(column, field)| cast_nearest(column, field.data_type(), &options));
        let rows = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        Ok(RecordBatch::try_new_with_options(Arc::clone(physical), columns.collect::<Result<_, _>>()?, &rows)?)
    });
    Ok(concat_batches(physical, &batches.collect::<Result<Vec<_>, _>>()?)?)
}
