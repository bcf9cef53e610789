//! A part of a table as a scan reads it: a segment, or rows that are not in a segment yet, with the table's current columns and without
//! deleted rows.

use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, RecordBatchOptions, UInt64Array};
use arrow::compute::{CastOptions, cast_with_options};
use arrow::datatypes::{DataType, Schema, SchemaRef};
use datafusion::common::{Result, ScalarValue};
use parking_lot::Mutex;
use pmem_store::segment::{DistinctSketch, Extreme, ZoneColumn};
use pmem_store::{Deletions, Segment, StoreError, TableSegment, TableSnapshot, Tail, ZONE_ROWS};

use super::row_id;
use super::selection::Selection;
use common::error::store_error;

/// How many projected schemas a part caches.
const SCHEMAS_MAX: usize = 64;

#[derive(Debug)]
pub struct ScanPart {
    id: u64,
    rows: PartRows,
    /// Rows per zone, including deleted ones.
    zone_rows: UInt64Array,
    deletions: Option<Arc<Deletions>>,
    /// The physical schema of the table, which batches have.
    physical: SchemaRef,
    /// The source of each column of `physical`; `None` if the segment has exactly these columns.
    sources: Option<Vec<ColumnSource>>,
    /// If there are sources: the schemas of batches, by projection.
    schemas: Mutex<Vec<(Vec<usize>, SchemaRef)>>,
}

#[derive(Debug)]
enum PartRows {
    Segment(Arc<Segment>),
    /// It has no statistics: every zone of it is read.
    Tail(Tail),
}

/// The source of a column.
#[derive(Debug)]
enum ColumnSource {
    /// The segment's column of this index, with the same type.
    Same(usize),
    /// The segment's column of this index, with a narrower type.
    Widened(usize),
    /// The segment was written before the column was added.
    Constant(ScalarValue),
}

impl ScanPart {
    pub fn open(table: &TableSnapshot, segment: &TableSegment, physical: &SchemaRef) -> Result<ScanPart, StoreError> {
        let opened = segment.open()?;
        let sources = sources(table, physical, opened.schema(), segment.columns().map(|places| &**places))?;
        Ok(ScanPart {
            id: segment.id(),
            zone_rows: opened.statistics().row_counts().clone(),
            rows: PartRows::Segment(opened),
            deletions: segment.deletions().cloned(),
            physical: Arc::clone(physical),
            sources,
            schemas: Mutex::default(),
        })
    }

    pub fn of_tail(table: &TableSnapshot, tail: &Tail, physical: &SchemaRef) -> Result<ScanPart, StoreError> {
        let rows = tail.stored_rows();
        let zone = |index: usize| (rows - (index * ZONE_ROWS) as u64).min(ZONE_ROWS as u64);
        Ok(ScanPart {
            id: tail.id(),
            sources: sources(table, physical, &tail.schema(), tail.columns().map(|places| &**places))?,
            zone_rows: (0..tail.chunk_count()).map(zone).collect::<Vec<u64>>().into(),
            deletions: tail.deletions().cloned(),
            rows: PartRows::Tail(tail.clone()),
            physical: Arc::clone(physical),
            schemas: Mutex::default(),
        })
    }

    /// The physical schema of its table.
    pub fn physical(&self) -> &SchemaRef {
        &self.physical
    }

    /// The id that row ids contain.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// `None` for rows that are not in a segment yet.
    pub fn segment_id(&self) -> Option<u64> {
        self.segment().map(|_| self.id)
    }

    /// Whether the rows are in a log file.
    pub fn is_log(&self) -> bool {
        matches!(&self.rows, PartRows::Tail(tail) if tail.mapping().is_some())
    }

    /// `None` for rows that are not in a segment yet.
    pub fn segment(&self) -> Option<&Arc<Segment>> {
        match &self.rows {
            PartRows::Segment(segment) => Some(segment),
            PartRows::Tail(_) => None,
        }
    }

    pub fn deletions(&self) -> Option<&Arc<Deletions>> {
        self.deletions.as_ref()
    }

    pub fn zone_count(&self) -> usize {
        self.zone_rows.len()
    }

    /// Rows per zone, including deleted ones.
    pub fn zone_rows(&self) -> &UInt64Array {
        &self.zone_rows
    }

    pub fn batch_count(&self) -> usize {
        match &self.rows {
            PartRows::Segment(segment) => segment.batch_count(),
            PartRows::Tail(tail) => tail.chunk_count(),
        }
    }

    /// The rows of a batch, as positions in the part.
    pub fn batch_rows(&self, batch: usize) -> std::ops::Range<usize> {
        match &self.rows {
            PartRows::Segment(segment) => segment.batch_rows(batch),
            PartRows::Tail(_) => {
                let start = batch * ZONE_ROWS;
                start..start + self.zone_rows.value(batch) as usize
            }
        }
    }

    pub fn row_count(&self) -> usize {
        match &self.rows {
            PartRows::Segment(segment) => segment.row_count(),
            PartRows::Tail(tail) => tail.stored_rows() as usize,
        }
    }

    pub fn size_bytes(&self) -> u64 {
        match &self.rows {
            PartRows::Segment(segment) => segment.size_bytes(),
            PartRows::Tail(tail) => tail.size_bytes(),
        }
    }

    /// Zone statistics of a column, if they are known in its current type.
    pub fn zones(&self, column: usize) -> Option<ZoneColumn> {
        let segment = self.segment()?;
        self.same(column).map(|column| segment.statistics().column(column))
    }

    /// The zones with the least and the greatest bound of a column, if they are known in its current type.
    pub fn extremes(&self, column: usize) -> Option<[Extreme; 2]> {
        let segment = self.segment()?;
        self.same(column).map(|column| segment.statistics().extremes(column))
    }

    /// Including deleted rows.
    pub fn null_count(&self, column: usize) -> Option<u64> {
        Some(self.segment()?.statistics().null_count(self.place(column)?))
    }

    /// Adds the distinct values of a column to `sketch`; returns false if they are unknown, and then it is of no use.
    pub fn merge_distinct(&self, column: usize, sketch: &mut DistinctSketch) -> bool {
        let source = self.segment().zip(self.place(column));
        source.is_some_and(|(segment, place)| segment.statistics().merge_distinct(place, sketch))
    }

    /// The value that a column has in all rows, if it was added later.
    pub fn constant(&self, column: usize) -> Option<&ScalarValue> {
        match self.sources.as_ref()?.get(column)? {
            ColumnSource::Constant(value) => Some(value),
            _ => None,
        }
    }

    /// The positions of the columns in the segment's file, possibly in a narrower type. `None` if there is no such file, or if it lacks
    /// one of them.
    pub fn places(&self, columns: &[usize]) -> Option<Vec<usize>> {
        self.segment()?;
        columns.iter().map(|column| self.place(*column)).collect()
    }

    /// The positions of those of the columns that the file has.
    pub fn stored_places(&self, columns: &[usize]) -> Vec<usize> {
        columns.iter().filter_map(|column| self.place(*column)).collect()
    }

    /// The position of a column in the file, possibly in a narrower type. `None` if it was added later.
    fn place(&self, column: usize) -> Option<usize> {
        match &self.sources {
            None => Some(column),
            Some(sources) => match sources.get(column)? {
                ColumnSource::Same(place) | ColumnSource::Widened(place) => Some(*place),
                ColumnSource::Constant(_) => None,
            },
        }
    }

    fn same(&self, column: usize) -> Option<usize> {
        match &self.sources {
            None => Some(column),
            Some(sources) => match sources.get(column)? {
                ColumnSource::Same(column) => Some(*column),
                _ => None,
            },
        }
    }

    /// A batch with some columns of the table's physical schema, without a copy if they are stored in that type.
    pub fn batch(&self, batch: usize, columns: &[usize]) -> Result<RecordBatch> {
        let Some(sources) = &self.sources else {
            return self.stored(batch, columns);
        };
        let rows = self.batch_rows(batch).len();
        let arrays = columns.iter().map(|column| {
            let data_type = self.physical.field(*column).data_type();
            match &sources[*column] {
                ColumnSource::Same(place) => Ok(Arc::clone(self.stored(batch, &[*place])?.column(0))),
                ColumnSource::Widened(place) => widen(self.stored(batch, &[*place])?.column(0), data_type),
                ColumnSource::Constant(value) => value.to_array_of_size(rows),
            }
        });
        let arrays = arrays.collect::<Result<Vec<_>>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        Ok(RecordBatch::try_new_with_options(self.schema_of(columns), arrays, &options)?)
    }

    /// Cached, because a scan asks for the same columns again and again.
    fn schema_of(&self, columns: &[usize]) -> SchemaRef {
        let mut schemas = self.schemas.lock();
        if let Some((_, schema)) = schemas.iter().find(|(of, _)| of == columns) {
            return Arc::clone(schema);
        }
        // Added or widened columns may have NULLs, whatever the schema says.
        let fields = columns.iter().map(|column| &self.physical.fields()[*column]).map(|field| match field.is_nullable() {
            // Shared, because there may be many columns, projections and parts.
            true => Arc::clone(field),
            false => Arc::new(field.as_ref().clone().with_nullable(true)),
        });
        let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        // Statements use more and more projections, and the part outlives them.
        if schemas.len() == SCHEMAS_MAX {
            schemas.clear();
        }
        schemas.push((columns.to_vec(), Arc::clone(&schema)));
        schema
    }

    /// Columns in their stored types.
    fn stored(&self, batch: usize, places: &[usize]) -> Result<RecordBatch> {
        match &self.rows {
            PartRows::Segment(segment) => segment.batch(batch, places).map_err(store_error),
            PartRows::Tail(tail) => Ok(tail.chunk(batch).map_err(store_error)?.project(places)?),
        }
    }

    /// Slices `rows` rows from `start` out of the columns of a [`ScanPart::batch`].
    pub fn zone(&self, columns: &RecordBatch, start: usize, rows: usize) -> Result<RecordBatch> {
        match &self.rows {
            PartRows::Segment(segment) => segment.zone(columns, start, rows).map_err(store_error),
            PartRows::Tail(_) => Ok(columns.slice(start, rows)),
        }
    }

    /// The row ids of `start..start + rows`, which other statements use to name these rows.
    pub fn row_ids(&self, start: usize, rows: usize) -> Result<ArrayRef> {
        let first = row_id::encode(self.id, start)?;
        Ok(Arc::new(UInt64Array::from_iter_values(first..first + rows as u64)))
    }

    pub fn touched_bytes(&self, batch: usize, column: usize, rows: usize) -> usize {
        let Some(place) = self.place(column) else { return 0 };
        match &self.rows {
            PartRows::Segment(segment) => segment.touched_bytes(batch, place, rows),
            // An equal share per column, because log records do not store columns separately.
            PartRows::Tail(tail) => {
                let columns = tail.schema().fields().len().max(1) as u64;
                (tail.size_bytes() / columns * rows as u64 / tail.stored_rows().max(1)) as usize
            }
        }
    }

    pub fn check_intact(&self) -> Result<()> {
        match &self.rows {
            PartRows::Segment(segment) => segment.check_intact().map_err(store_error),
            PartRows::Tail(tail) => tail.check_intact().map_err(store_error),
        }
    }

    pub fn check_length(&self) -> Result<()> {
        match &self.rows {
            PartRows::Segment(segment) => segment.check_length().map_err(store_error),
            PartRows::Tail(tail) => tail.check_intact().map_err(store_error),
        }
    }

    /// The rows that are not deleted, among `rows` rows from `start`.
    pub fn alive(&self, start: usize, rows: usize) -> Selection {
        match &self.deletions {
            Some(deletions) => Selection::without(rows, deletions.positions_in(start, start + rows)),
            None => Selection::All,
        }
    }

    /// Whether all rows of a zone are deleted.
    pub fn is_zone_empty(&self, zone: usize) -> bool {
        let Some(deletions) = &self.deletions else { return false };
        let start = zone * ZONE_ROWS;
        let end = (start + ZONE_ROWS).min(self.row_count());
        deletions.count_in(start, end) as usize == end - start
    }
}

/// `None` if the segment has exactly the table's columns.
fn sources(
    table: &TableSnapshot,
    physical: &SchemaRef,
    written: &SchemaRef,
    places: Option<&[Option<usize>]>,
) -> Result<Option<Vec<ColumnSource>>, StoreError> {
    let is_same = || written.fields().iter().map(|field| field.data_type()).eq(physical.fields().iter().map(|field| field.data_type()));
    if places.is_none() && is_same() {
        return Ok(None);
    }
    let source = |column: usize| {
        let data_type = physical.field(column).data_type();
        let place = places.map_or(Some(column), |places| places[column]);
        match place {
            Some(place) if written.field(place).data_type() == data_type => Ok(ColumnSource::Same(place)),
            Some(place) => Ok(ColumnSource::Widened(place)),
            None => {
                let declared = table.schema().field(column).data_type();
                let initial = table.columns()[column].initial.as_deref();
                Ok(ColumnSource::Constant(initial_value(initial, declared, data_type)?))
            }
        }
    };
    (0..physical.fields().len()).map(source).collect::<Result<_, _>>().map(Some)
}

fn initial_value(text: Option<&str>, declared: &DataType, physical: &DataType) -> Result<ScalarValue, StoreError> {
    let value = match text {
        Some(text) => ScalarValue::try_from_string(text.to_string(), declared).and_then(|value| value.cast_to(physical)),
        None => ScalarValue::try_new_null(physical),
    };
    value.map_err(|error| StoreError::UnsupportedType(format!("{declared} with the value {text:?} ({error})")))
}

fn widen(array: &ArrayRef, data_type: &DataType) -> Result<ArrayRef> {
    Ok(cast_with_options(array, data_type, &CastOptions { safe: false, ..CastOptions::default() })?)
}
