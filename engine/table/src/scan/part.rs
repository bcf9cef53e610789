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
use super::stored_filter::integer;
use common::error::store_error;
use common::types::restore;

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
    /// The same with the types in which the columns are stored; the same schema if those are all physical.
    stored: SchemaRef,
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
        let stored = stored_schema(&opened, physical, sources.as_deref());
        Ok(ScanPart {
            id: segment.id(),
            zone_rows: opened.statistics().row_counts().clone(),
            rows: PartRows::Segment(opened),
            deletions: segment.deletions().cloned(),
            physical: Arc::clone(physical),
            stored,
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
            stored: Arc::clone(physical),
            schemas: Mutex::default(),
        })
    }

    /// The physical schema of its table.
    pub fn physical(&self) -> &SchemaRef {
        &self.physical
    }

    /// The columns of its table in the types that [`ScanPart::stored_batch`] gives.
    pub fn stored(&self) -> &SchemaRef {
        &self.stored
    }

    /// Whether the file has one of the columns in another type than the physical one.
    pub fn is_encoded(&self, columns: &[usize]) -> bool {
        let Some(segment) = self.segment().filter(|segment| !Arc::ptr_eq(segment.schema(), segment.stored_schema())) else { return false };
        let is_encoded = |place: usize| segment.schema().field(place).data_type() != segment.stored_schema().field(place).data_type();
        self.stored_places(columns).into_iter().any(is_encoded)
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

    /// The least and the greatest value of a column as the integers that they are in memory, if they are known in its current type.
    pub fn integer_range(&self, column: usize) -> Option<(i64, i64)> {
        let (zones, extremes) = (self.zones(column)?, self.extremes(column)?);
        let value = |bounds: &ArrayRef, extreme: Extreme| match extreme {
            Extreme::Zone { zone, .. } => {
                let value = ScalarValue::try_from_array(bounds, zone).ok()?;
                integer(&value).and_then(|value| i64::try_from(value).ok())
            }
            // Without values there are no codes but that of NULL.
            Extreme::Absent => Some(0),
            Extreme::Unknown => None,
        };
        Some((value(&zones.min, extremes[0])?, value(&zones.max, extremes[1])?))
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

    /// A batch with some columns as they are stored, without a copy unless their types were widened since; see [`ScanPart::restore`].
    pub fn stored_batch(&self, batch: usize, columns: &[usize]) -> Result<RecordBatch> {
        let Some(segment) = self.segment().filter(|_| !Arc::ptr_eq(&self.stored, &self.physical)) else {
            return self.batch(batch, columns);
        };
        let Some(places) = columns.iter().map(|column| self.same(*column)).collect::<Option<Vec<_>>>() else {
            let arrays = columns.iter().map(|column| match self.same(*column) {
                Some(place) => Ok(Arc::clone(segment.stored_batch(batch, &[place]).map_err(store_error)?.column(0))),
                None => Ok(Arc::clone(self.batch(batch, &[*column])?.column(0))),
            });
            let arrays = arrays.collect::<Result<Vec<_>>>()?;
            let fields = columns.iter().map(|column| self.stored.field(*column).clone().with_nullable(true));
            return Ok(RecordBatch::try_new(Arc::new(Schema::new(fields.collect::<Vec<_>>())), arrays)?);
        };
        segment.stored_batch(batch, &places).map_err(store_error)
    }

    /// `rows` rows from `start` of a batch that [`ScanPart::stored_batch`] gave, in the physical types of the table.
    pub fn decoded(&self, stored: &RecordBatch, columns: &[usize], start: usize, rows: usize) -> Result<Vec<ArrayRef>> {
        let zone = self.zone(stored, start, rows)?;
        let arrays = zone.columns().iter().zip(columns);
        arrays.map(|(array, column)| self.restore(array, *column, self.physical.field(*column).data_type())).collect()
    }

    /// The bytes of its rows in memory, in their physical types; texts with the bytes that the file has for them.
    pub fn memory_bytes(&self) -> u64 {
        let mut bytes = self.size_bytes();
        if let Some(segment) = self.segment().filter(|segment| !Arc::ptr_eq(segment.schema(), segment.stored_schema())) {
            let widths = |schema: &SchemaRef| schema.fields().iter().map(|field| width(field.data_type())).sum::<usize>();
            bytes += widths(segment.schema()).saturating_sub(widths(segment.stored_schema())) as u64 * segment.row_count() as u64;
        }
        bytes
    }

    /// Values of a column from a [`ScanPart::stored_batch`] in the declared type of the column.
    pub fn restore(&self, array: &ArrayRef, column: usize, declared: &DataType) -> Result<ArrayRef> {
        let (Some(segment), Some(physical)) = (self.segment(), self.physical.fields().get(column).map(|field| field.data_type())) else {
            return Ok(restore(array, declared)?);
        };
        if array.data_type() == physical {
            return Ok(restore(array, declared)?);
        }
        let to = match (physical, declared) {
            (DataType::Decimal64(_, of_physical), DataType::Decimal128(_, of_declared)) if of_physical == of_declared => declared,
            _ => physical,
        };
        Ok(restore(&segment.decode(array, to).map_err(store_error)?, declared)?)
    }

    /// A batch with some columns of the table's physical schema, without a copy if they are stored in that type.
    pub fn batch(&self, batch: usize, columns: &[usize]) -> Result<RecordBatch> {
        let Some(sources) = &self.sources else {
            return self.written(batch, columns);
        };
        let rows = self.batch_rows(batch).len();
        let arrays = columns.iter().map(|column| {
            let data_type = self.physical.field(*column).data_type();
            match &sources[*column] {
                ColumnSource::Same(place) => Ok(Arc::clone(self.written(batch, &[*place])?.column(0))),
                ColumnSource::Widened(place) => widen(self.written(batch, &[*place])?.column(0), data_type),
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

    /// Columns in the physical types of their segment.
    fn written(&self, batch: usize, places: &[usize]) -> Result<RecordBatch> {
        match &self.rows {
            PartRows::Segment(segment) => segment.batch(batch, places).map_err(store_error),
            PartRows::Tail(tail) => Ok(tail.chunk(batch).map_err(store_error)?.project(places)?),
        }
    }

    /// Slices `rows` rows from `start` out of the columns of a [`ScanPart::stored_batch`].
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

fn stored_schema(segment: &Segment, physical: &SchemaRef, sources: Option<&[ColumnSource]>) -> SchemaRef {
    if Arc::ptr_eq(segment.schema(), segment.stored_schema()) {
        return Arc::clone(physical);
    }
    let place = |column: usize| match sources.map(|sources| &sources[column]) {
        None => Some(column),
        Some(ColumnSource::Same(place)) => Some(*place),
        Some(_) => None,
    };
    let fields = physical.fields().iter().enumerate().map(|(column, field)| match place(column) {
        Some(place) => field.as_ref().clone().with_data_type(segment.stored_schema().field(place).data_type().clone()),
        None => field.as_ref().clone(),
    });
    Arc::new(Schema::new(fields.collect::<Vec<_>>()))
}

/// The bytes that an array has for each value besides texts.
fn width(data_type: &DataType) -> usize {
    match data_type {
        DataType::Utf8View | DataType::BinaryView => size_of::<u128>(),
        DataType::Utf8 | DataType::Binary => size_of::<i32>(),
        DataType::Dictionary(codes, _) => width(codes),
        other => other.primitive_width().unwrap_or_default(),
    }
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
