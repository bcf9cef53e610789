//! Rows in memory, in the batches that a query returned.
//!
//! A batch is kept as it is: it shares its buffers with their other users, and buffers in a mapped segment stay there.

use std::sync::Arc;

use arrow::array::{Array, RecordBatch, RecordBatchOptions};
use arrow::compute::{cast, concat_batches};
use arrow::datatypes::SchemaRef;
use arrow::error::ArrowError;
use datafusion::common::DataFusionError;
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryPool, MemoryReservation};
use pmem_store::{DEFAULT_NAMESPACE, Segment, StoreError, ZONE_ROWS};

use crate::write::{Declarations, WriteMode, WriteTarget, check_not_null};
use common::error::EngineError;
use common::memory::LiveMemory;
use common::report::{ReportCollector, TemporaryReads};

/// Chunks of up to this size are merged while they have few rows.
const JOINED_BYTES_MAX: usize = 1 << 20;

/// The rows that one statement has added to a table, or several statements that added few rows each.
#[derive(Debug)]
pub struct Chunk {
    batches: Vec<RecordBatch>,
    row_count: usize,
    size_bytes: usize,
    /// By column.
    null_counts: Vec<usize>,
    /// Segments in which some of the rows are.
    segments: Vec<Arc<Segment>>,
    /// Allocations that `memory` counts.
    allocations: Vec<usize>,
    memory: MemoryReservation,
}

impl TemporaryReads for Chunk {
    fn allocations(&self) -> &[usize] {
        &self.allocations
    }
}

impl Chunk {
    fn new(columns: usize, memory: MemoryReservation) -> Chunk {
        let null_counts = vec![0; columns];
        Chunk { batches: Vec::new(), row_count: 0, size_bytes: 0, null_counts, segments: Vec::new(), allocations: Vec::new(), memory }
    }

    pub fn batches(&self) -> &[RecordBatch] {
        &self.batches
    }

    pub fn segments(&self) -> &[Arc<Segment>] {
        &self.segments
    }

    pub fn row_count(&self) -> usize {
        self.row_count
    }

    /// The size of the rows, wherever they are stored.
    pub fn size_bytes(&self) -> usize {
        self.size_bytes
    }

    pub fn null_count(&self, column: usize) -> usize {
        self.null_counts.get(column).copied().unwrap_or(0)
    }

    /// Counts the memory first, so that an error leaves the chunk unchanged.
    fn push(&mut self, batch: RecordBatch, live_memory: &mut LiveMemory) -> Result<(), DataFusionError> {
        self.memory.try_grow(live_memory.take(&batch))?;
        self.row_count += batch.num_rows();
        for (column, null_count) in batch.columns().iter().zip(&mut self.null_counts) {
            self.size_bytes += column.to_data().get_slice_memory_size().unwrap_or_else(|_| column.get_array_memory_size());
            *null_count += column.logical_null_count();
        }
        self.batches.push(batch);
        Ok(())
    }

    /// The rows of both as one batch, if that copies little.
    pub fn joined(&self, next: &Chunk) -> Option<Chunk> {
        let is_small = self.row_count + next.row_count <= ZONE_ROWS && self.size_bytes + next.size_bytes <= JOINED_BYTES_MAX;
        let schema = self.batches.first().filter(|_| is_small)?.schema();
        let batch = concat_batches(&schema, self.batches.iter().chain(&next.batches)).ok()?;
        let mut joined = Chunk::new(self.null_counts.len(), next.memory.new_empty());
        let mut live_memory = LiveMemory::default();
        joined.push(batch, &mut live_memory).ok()?;
        joined.allocations = live_memory.allocations();
        // Long strings share buffers with the original batches, and may be in a segment.
        joined.segments = self.segments.iter().chain(&next.segments).cloned().collect();
        Some(joined)
    }
}

/// Rows that are being added to a temporary table. If it is dropped unfinished, it frees them.
pub struct ChunkBuilder {
    /// The checks for the rows.
    target: WriteTarget,
    collector: Arc<ReportCollector>,
    live_memory: LiveMemory,
    chunk: Chunk,
}

impl ChunkBuilder {
    /// `collector` is that of the query that returns the rows, `pool` its memory.
    pub fn new(name: &str, schema: SchemaRef, pool: &Arc<dyn MemoryPool>, collector: Arc<ReportCollector>) -> ChunkBuilder {
        let memory = MemoryConsumer::new(format!("the temporary table \"{name}\"")).register(pool);
        let chunk = Chunk::new(schema.fields().len(), memory);
        let what = WriteMode::New { replace: false, declared: Declarations::default() };
        let (namespace, table) = (DEFAULT_NAMESPACE.to_string(), name.to_string());
        let target = WriteTarget { namespace, table, schema, cluster_key: Vec::new(), what };
        ChunkBuilder { target, collector, live_memory: LiveMemory::default(), chunk }
    }

    pub fn add(&mut self, batch: RecordBatch) -> Result<(), EngineError> {
        if batch.num_rows() == 0 {
            return Ok(());
        }
        check_not_null(&batch, &self.target, self.chunk.row_count as u64)?;
        let batch = declared(batch, &self.target.schema).map_err(StoreError::from)?;
        self.live_memory.look_at(&self.collector);
        self.chunk.push(batch, &mut self.live_memory).map_err(|error| too_large(&self.target.table, error))
    }

    /// The rows. It checks that none was computed from a segment that was truncated meanwhile.
    pub fn finish(self) -> Result<Chunk, EngineError> {
        self.collector.check_segments()?;
        Ok(Chunk { allocations: self.live_memory.allocations(), segments: self.live_memory.into_segments(), ..self.chunk })
    }

    pub fn row_count(&self) -> usize {
        self.chunk.row_count
    }

    pub fn schema(&self) -> SchemaRef {
        Arc::clone(&self.target.schema)
    }
}

/// The batch in its declared types; a column is cast only if DataFusion returned another type than it had planned.
fn declared(batch: RecordBatch, schema: &SchemaRef) -> Result<RecordBatch, ArrowError> {
    let columns = batch.columns().iter().zip(schema.fields()).map(|(column, field)| match column.data_type() == field.data_type() {
        true => Ok(Arc::clone(column)),
        false => cast(column, field.data_type()),
    });
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    RecordBatch::try_new_with_options(Arc::clone(schema), columns.collect::<Result<_, _>>()?, &options)
}

fn too_large(table: &str, error: DataFusionError) -> EngineError {
    match EngineError::from(error) {
        EngineError::Memory { message } => {
            let instead = format!("store this one, with SELECT … INTO TABLE {table} or CREATE TABLE {table} AS");
            EngineError::Memory { message: format!("{message}; temporary tables are in memory: {instead}") }
        }
        error => error,
    }
}
