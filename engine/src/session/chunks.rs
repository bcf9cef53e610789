//! Chunks of an array, without a statement.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::{Array, AsArray};
use arrow::buffer::Buffer;
use arrow::datatypes::Int64Type;
use pmem_store::objects::StoredBytes;
use pmem_store::{Segment, StoreError, Tier, said_name};

use super::Session;
use common::error::EngineError;
use common::privilege::Privilege;
use common::type_names::{declared_name, qualified};
use table::definition::definition_of_array;
use table::scan::ScanPart;

/// Chunks of an array, all at one version.
#[derive(Debug)]
pub struct ArrayChunks {
    pub version: u64,
    /// The id of the array.
    pub object_id: u64,
    /// The type of the cells, as CREATE ARRAY has it.
    pub cell_type: String,
    /// The cells of a chunk along each dimension.
    pub chunk: Vec<u64>,
    /// For each requested chunk its cells, in row-major order; `None` if it was never written.
    pub cells: Vec<Option<StoredBytes>>,
}

impl Session {
    /// Chunks by their numbers along each dimension, where they lie; nothing is fetched from an object store. It sees what a statement would see.
    ///
    /// # Errors
    ///
    /// There is no such array, a chunk has another number of numbers than the array has dimensions, or the user may not read it.
    pub fn read_chunks(&self, schema: &str, name: &str, numbers: &[Vec<i64>]) -> Result<ArrayChunks, EngineError> {
        self.audited(&format!("READ CHUNKS {}", qualified(schema, name)), || self.chunks(schema, name, numbers))
    }

    fn chunks(&self, schema: &str, name: &str, numbers: &[Vec<i64>]) -> Result<ArrayChunks, EngineError> {
        self.check_not_failed()?;
        let now = self.catalog.now()?;
        let stored = now.snapshot.table(schema, name)?;
        if let (Some(stored), Some(authorization)) = (&stored, &now.authorization) {
            authorization.table(Privilege::Select, stored.record())?;
        }
        let missing = || StoreError::DoesNotExist { kind: "array", name: said_name(schema, name) };
        let table = stored.filter(|table| table.record().is_array()).ok_or_else(missing)?;
        let array = definition_of_array(&table).transpose()?.ok_or_else(missing)?;
        let dimensions = array.dimensions.len();
        if let Some(wrong) = numbers.iter().find(|numbers| numbers.len() != dimensions) {
            let message = format!("the array has {dimensions} dimensions, and the chunk {} numbers", wrong.len());
            return Err(EngineError::Sql { message, position: None, hint: None });
        }
        let mut request = ChunkRequest::new(numbers, dimensions);
        let column = table.schema().fields().len() - 1;
        let mut cells = vec![None; numbers.len()];
        for part in &self.engine.statistics.get(&table)?.parts {
            let segment = part.segment();
            let is_near = segment.is_none_or(|segment| segment.tier() == Tier::Pmem);
            let is_far =
                |batch| segment.is_some_and(|segment| segment.durable_tier() == Tier::Object && !segment.is_fetched(batch, &[column]));
            if let Some(segment) = segment.filter(|segment| request.is_far(part, segment)) {
                // Only a query can tell whether it has the others.
                for position in request.positions.drain().flat_map(|(_, positions)| positions) {
                    cells[position] = Some(StoredBytes { bytes: None, segment: Some(Arc::clone(segment)) });
                }
                break;
            }
            for (batch, rows) in request.take_rows_in(part)? {
                let tensors = if is_far(batch) { None } else { Some(part.batch(batch, &[column])?) };
                for (row, positions) in rows {
                    let bytes = tensors.as_ref().map(|tensors| {
                        let values = tensors.column(0).as_fixed_size_list().value(row).to_data();
                        values.buffers()[0].slice_with_length(values.offset() * array.width(), values.len() * array.width())
                    });
                    let length = bytes.as_ref().map_or(0, Buffer::len) as u64;
                    match is_near {
                        true => table.touches().add(length),
                        false => table.touches().add_of_tier(length),
                    }
                    for position in positions {
                        cells[position] = Some(StoredBytes { bytes: bytes.clone(), segment: segment.cloned() });
                    }
                }
            }
        }
        let cell_type = declared_name(&array.element);
        let chunk = array.dimensions.iter().map(|dimension| dimension.chunk).collect();
        Ok(ArrayChunks { version: now.snapshot.version(), object_id: table.record().id, cell_type, chunk, cells })
    }
}

/// The requested chunks that were not found yet.
struct ChunkRequest<'a> {
    /// The positions among the requested chunks, by number.
    positions: HashMap<&'a [i64], Vec<usize>>,
    /// The least and the greatest number along each dimension.
    bounds: Vec<(i64, i64)>,
}

/// Rows of a batch, each with the positions among the requested chunks that it is for.
type Rows = Vec<(usize, Vec<usize>)>;

impl<'a> ChunkRequest<'a> {
    fn new(numbers: &'a [Vec<i64>], dimensions: usize) -> ChunkRequest<'a> {
        let mut positions: HashMap<&[i64], Vec<usize>> = HashMap::with_capacity(numbers.len());
        for (position, numbers) in numbers.iter().enumerate() {
            positions.entry(numbers).or_default().push(position);
        }
        let along = |dimension: usize| numbers.iter().map(move |numbers| numbers[dimension]);
        let bounds = (0..dimensions).filter_map(|dimension| along(dimension).min().zip(along(dimension).max())).collect();
        ChunkRequest { positions, bounds }
    }

    /// Whether the statistics of the part allow one of these chunks, so that none of its rows is read in vain.
    fn may_be_in(&self, part: &ScanPart) -> bool {
        self.bounds.iter().enumerate().all(|(column, (low, high))| {
            let Some(zones) = part.zones(column) else { return true };
            let bounds = (zones.min.as_primitive_opt::<Int64Type>(), zones.max.as_primitive_opt::<Int64Type>());
            let (Some(least), Some(greatest)) = bounds else { return true };
            // A bound that is missing is unknown.
            let overlaps = |(least, greatest): (Option<i64>, Option<i64>)| {
                least.is_none_or(|least| least <= *high) && greatest.is_none_or(|greatest| greatest >= *low)
            };
            least.iter().zip(greatest).any(overlaps)
        })
    }

    /// Whether the numbers of its chunks would have to be fetched from an object store.
    fn is_far(&self, part: &ScanPart, segment: &Segment) -> bool {
        let dimensions: Vec<usize> = (0..self.bounds.len()).collect();
        let is_missing = |batch| !segment.is_fetched(batch, &dimensions);
        segment.durable_tier() == Tier::Object && self.may_be_in(part) && (0..segment.batch_count()).any(is_missing)
    }

    /// By batch, the undeleted rows of these chunks. An array has one such row for each chunk, so that nobody looks for it any more.
    fn take_rows_in(&mut self, part: &ScanPart) -> Result<Vec<(usize, Rows)>, EngineError> {
        let mut found = Vec::new();
        if self.positions.is_empty() || !self.may_be_in(part) {
            return Ok(found);
        }
        let dimensions: Vec<usize> = (0..self.bounds.len()).collect();
        let mut key = vec![0; dimensions.len()];
        for batch in 0..part.batch_count() {
            let numbers = part.batch(batch, &dimensions)?;
            let columns: Vec<&[i64]> = numbers.columns().iter().map(|column| &column.as_primitive::<Int64Type>().values()[..]).collect();
            let first = part.batch_rows(batch).start;
            let is_deleted = |row: usize| part.deletions().is_some_and(|deletions| deletions.rows().contains((first + row) as u32));
            let is_between =
                |row: usize| columns.iter().zip(&self.bounds).all(|(column, (low, high))| (*low..=*high).contains(&column[row]));
            let mut rows = Rows::new();
            for row in (0..numbers.num_rows()).filter(|row| is_between(*row)) {
                key.iter_mut().zip(&columns).for_each(|(number, column)| *number = column[row]);
                if self.positions.contains_key(key.as_slice()) && !is_deleted(row) {
                    rows.push((row, self.positions.remove(key.as_slice()).unwrap_or_default()));
                }
                if self.positions.is_empty() {
                    break;
                }
            }
            if !rows.is_empty() {
                found.push((batch, rows));
            }
            if self.positions.is_empty() {
                break;
            }
        }
        Ok(found)
    }
}
