//! Zone statistics: per zone and column min, max, null count and NaN; per column a distinct count.
//!
//! They lie beside the segment in two Arrow tables: one row per zone, one struct column per segment column;
//! and one row per column with its sketch. A missing statistic means "cannot prune", never "prune".

use std::cmp::Ordering;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use arrow::array::{
    Array, ArrayRef, AsArray, BinaryArray, BooleanArray, RecordBatch, StringArray, StructArray, UInt64Array, make_comparator,
    new_null_array,
};
use arrow::compute::{SortOptions, concat};
use arrow::datatypes::{DataType, Field, Fields, Schema, SchemaRef, UInt64Type};

use super::bounds;
use super::seal::{SealedSegment, SidePaths};
use super::side_table::read_table;
use super::sketch::DistinctSketch;
use crate::ZONE_ROWS;
use crate::error::{Result, StoreError};

/// The zones of one column. Every array has one entry per zone.
#[derive(Debug, Clone)]
pub struct ZoneColumn {
    /// NULL where unknown or where the zone has no value; of the column's type.
    pub min: ArrayRef,
    pub max: ArrayRef,
    pub min_exact: BooleanArray,
    pub max_exact: BooleanArray,
    pub null_count: UInt64Array,
    pub has_nan: BooleanArray,
}

/// The statistics of a column over the whole segment.
#[derive(Debug, Clone)]
pub struct ColumnSummary {
    pub null_count: u64,
    pub distinct: Option<DistinctSketch>,
}

/// The least, or greatest, value of a column in the segment, as its zones show it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extreme {
    /// The segment has no value.
    Absent,
    /// A zone that has values has no bound.
    Unknown,
    /// The bound of this zone, and whether some row has exactly that value.
    Zone { zone: usize, is_exact: bool },
}

#[derive(Debug)]
pub struct ZoneStatistics {
    row_counts: UInt64Array,
    columns: Vec<ZoneColumn>,
    summaries: Vec<ColumnSummary>,
    /// The least and the greatest value of each column, found at the first request: a segment never changes, and a table
    /// of many segments is planned again after each commit.
    extremes: Vec<OnceLock<[Extreme; 2]>>,
}

impl ZoneStatistics {
    fn new(row_counts: UInt64Array, columns: Vec<ZoneColumn>, summaries: Vec<ColumnSummary>) -> Self {
        let extremes = columns.iter().map(|_| OnceLock::new()).collect();
        ZoneStatistics { row_counts, columns, summaries, extremes }
    }

    pub fn zone_count(&self) -> usize {
        self.row_counts.len()
    }

    pub fn row_counts(&self) -> &UInt64Array {
        &self.row_counts
    }

    pub fn column(&self, index: usize) -> &ZoneColumn {
        &self.columns[index]
    }

    pub fn summary(&self, index: usize) -> &ColumnSummary {
        &self.summaries[index]
    }

    /// The least and the greatest value of a column.
    pub fn extremes(&self, index: usize) -> [Extreme; 2] {
        *self.extremes[index].get_or_init(|| self.columns[index].extremes(&self.row_counts))
    }

    pub(super) fn zones_batch(&self, schema: &Schema) -> Result<RecordBatch> {
        let mut fields = vec![Field::new("row_count", DataType::UInt64, false)];
        let mut arrays: Vec<ArrayRef> = vec![Arc::new(self.row_counts.clone())];
        for (field, column) in schema.fields().iter().zip(&self.columns) {
            let array = StructArray::new(zone_fields(field.data_type()), column.to_arrays(), None);
            fields.push(Field::new(field.name(), array.data_type().clone(), false));
            arrays.push(Arc::new(array));
        }
        Ok(RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays)?)
    }

    pub(super) fn columns_batch(&self, schema: &Schema) -> Result<RecordBatch> {
        let names = schema.fields().iter().map(|field| field.name().as_str());
        let nulls = self.summaries.iter().map(|summary| summary.null_count);
        let sketches = self.summaries.iter().map(|summary| summary.distinct.as_ref().map(DistinctSketch::to_bytes));
        let arrays: Vec<ArrayRef> = vec![
            Arc::new(StringArray::from_iter_values(names)),
            Arc::new(UInt64Array::from_iter_values(nulls)),
            Arc::new(BinaryArray::from_iter(sketches)),
        ];
        Ok(RecordBatch::try_new(Arc::new(columns_schema()), arrays)?)
    }

    pub(super) fn read(side: &SidePaths, sealed: &SealedSegment, schema: &SchemaRef) -> Result<ZoneStatistics> {
        let (zones, columns) = (side.statistics.as_path(), side.columns.as_path());
        let batch = read_table(zones, sealed.statistics_xxh3)?;
        let wrong = |path: &Path| StoreError::damaged(path, 0, "it is not the statistics of this segment");
        if batch.num_columns() != schema.fields().len() + 1 {
            return Err(wrong(zones));
        }
        let row_counts = batch.column(0).as_primitive_opt::<UInt64Type>().cloned().ok_or_else(|| wrong(zones))?;
        let zone_columns = schema.fields().iter().zip(&batch.columns()[1..]).map(|(field, array)| {
            let array = array.as_struct_opt().ok_or_else(|| wrong(zones))?;
            if array.fields() != &zone_fields(field.data_type()) {
                return Err(wrong(zones));
            }
            Ok(ZoneColumn::from_arrays(array))
        });
        let zone_columns = zone_columns.collect::<Result<Vec<_>>>()?;
        let batch = read_table(columns, sealed.columns_xxh3)?;
        if batch.schema().as_ref() != &columns_schema() || batch.num_rows() != schema.fields().len() {
            return Err(wrong(columns));
        }
        let nulls = batch.column(1).as_primitive::<UInt64Type>();
        let sketches = batch.column(2).as_binary::<i32>();
        let summaries = (0..batch.num_rows())
            .map(|row| ColumnSummary {
                null_count: nulls.value(row),
                distinct: sketches.is_valid(row).then(|| DistinctSketch::from_bytes(sketches.value(row))).flatten(),
            })
            .collect();
        Ok(ZoneStatistics::new(row_counts, zone_columns, summaries))
    }
}

impl ZoneColumn {
    fn to_arrays(&self) -> Vec<ArrayRef> {
        vec![
            Arc::clone(&self.min),
            Arc::clone(&self.max),
            Arc::new(self.min_exact.clone()),
            Arc::new(self.max_exact.clone()),
            Arc::new(self.null_count.clone()),
            Arc::new(self.has_nan.clone()),
        ]
    }

    fn from_arrays(array: &StructArray) -> Self {
        ZoneColumn {
            min: Arc::clone(array.column(0)),
            max: Arc::clone(array.column(1)),
            min_exact: array.column(2).as_boolean().clone(),
            max_exact: array.column(3).as_boolean().clone(),
            null_count: array.column(4).as_primitive::<UInt64Type>().clone(),
            has_nan: array.column(5).as_boolean().clone(),
        }
    }

    fn extremes(&self, row_counts: &UInt64Array) -> [Extreme; 2] {
        let has_values = |zone: usize| self.null_count.value(zone) < row_counts.value(zone);
        let ends = [(&self.min, &self.min_exact, Ordering::Less), (&self.max, &self.max_exact, Ordering::Greater)];
        ends.map(|(bounds, exact, wanted)| extreme(bounds, exact, wanted, has_values))
    }
}

/// The zone whose bound is less, or greater, as `wanted` says, than the bounds of all others.
fn extreme(bounds: &ArrayRef, exact: &BooleanArray, wanted: Ordering, has_values: impl Fn(usize) -> bool) -> Extreme {
    let Ok(compare) = make_comparator(bounds, bounds, SortOptions::default()) else { return Extreme::Unknown };
    let has_bounds = bounds.data_type() != &DataType::Null;
    let mut found = Extreme::Absent;
    for zone in 0..bounds.len() {
        if !has_bounds || bounds.is_null(zone) {
            if has_values(zone) {
                return Extreme::Unknown;
            }
            continue;
        }
        found = match found {
            Extreme::Zone { zone: known, is_exact } => match compare(zone, known) {
                // Either zone may have the value.
                Ordering::Equal => Extreme::Zone { zone: known, is_exact: is_exact || exact.value(zone) },
                order if order == wanted => Extreme::Zone { zone, is_exact: exact.value(zone) },
                _ => found,
            },
            _ => Extreme::Zone { zone, is_exact: exact.value(zone) },
        };
    }
    found
}

/// The type in which bounds are kept; a column without an order has bounds of type Null.
fn bound_type(data_type: &DataType) -> DataType {
    if bounds::supports(data_type) { data_type.clone() } else { DataType::Null }
}

fn zone_fields(data_type: &DataType) -> Fields {
    let bound = bound_type(data_type);
    Fields::from(vec![
        Field::new("min", bound.clone(), true),
        Field::new("max", bound, true),
        Field::new("min_exact", DataType::Boolean, false),
        Field::new("max_exact", DataType::Boolean, false),
        Field::new("null_count", DataType::UInt64, false),
        Field::new("has_nan", DataType::Boolean, false),
    ])
}

fn columns_schema() -> Schema {
    Schema::new(vec![
        Field::new("column", DataType::Utf8, false),
        Field::new("null_count", DataType::UInt64, false),
        Field::new("distinct_sketch", DataType::Binary, true),
    ])
}

/// Gathers statistics while a segment is written.
pub(super) struct StatisticsBuilder {
    schema: SchemaRef,
    row_counts: Vec<u64>,
    columns: Vec<ColumnBuilder>,
}

#[derive(Default)]
struct ColumnBuilder {
    mins: Vec<ArrayRef>,
    maxes: Vec<ArrayRef>,
    min_exact: Vec<bool>,
    max_exact: Vec<bool>,
    null_counts: Vec<u64>,
    has_nan: Vec<bool>,
    sketch: Option<DistinctSketch>,
}

impl StatisticsBuilder {
    pub fn new(schema: SchemaRef) -> Self {
        let columns = schema
            .fields()
            .iter()
            .map(|field| ColumnBuilder {
                sketch: DistinctSketch::supports(field.data_type()).then(DistinctSketch::default),
                ..ColumnBuilder::default()
            })
            .collect();
        StatisticsBuilder { schema, row_counts: Vec::new(), columns }
    }

    /// Adds a batch that begins at a zone boundary.
    pub fn add(&mut self, batch: &RecordBatch) {
        for start in (0..batch.num_rows()).step_by(ZONE_ROWS) {
            let rows = ZONE_ROWS.min(batch.num_rows() - start);
            self.row_counts.push(rows as u64);
            for (column, array) in self.columns.iter_mut().zip(batch.columns()) {
                column.add_zone(&array.slice(start, rows));
            }
        }
    }

    pub fn finish(self) -> Result<ZoneStatistics> {
        let fields = self.schema.fields().iter();
        let mut columns = Vec::with_capacity(self.columns.len());
        let mut summaries = Vec::with_capacity(self.columns.len());
        for (field, column) in fields.zip(self.columns) {
            let bound = bound_type(field.data_type());
            summaries.push(ColumnSummary { null_count: column.null_counts.iter().sum(), distinct: column.sketch.clone() });
            columns.push(column.finish(&bound)?);
        }
        Ok(ZoneStatistics::new(self.row_counts.into(), columns, summaries))
    }
}

impl ColumnBuilder {
    fn add_zone(&mut self, values: &ArrayRef) {
        let bounds = bounds::bounds(values);
        if bounds::supports(values.data_type()) {
            self.mins.push(bounds.min);
            self.maxes.push(bounds.max);
        }
        self.min_exact.push(bounds.min_exact);
        self.max_exact.push(bounds.max_exact);
        self.has_nan.push(bounds.has_nan);
        self.null_counts.push(values.logical_null_count() as u64);
        if let Some(sketch) = &mut self.sketch {
            sketch.insert_array(values);
        }
    }

    fn finish(self, bound: &DataType) -> Result<ZoneColumn> {
        let zones = self.null_counts.len();
        let gather = |pieces: &[ArrayRef]| -> Result<ArrayRef> {
            let pieces: Vec<&dyn Array> = pieces.iter().map(AsRef::as_ref).collect();
            Ok(if pieces.is_empty() { new_null_array(bound, zones) } else { concat(&pieces)? })
        };
        Ok(ZoneColumn {
            min: gather(&self.mins)?,
            max: gather(&self.maxes)?,
            min_exact: self.min_exact.into(),
            max_exact: self.max_exact.into(),
            null_count: self.null_counts.into(),
            has_nan: self.has_nan.into(),
        })
    }
}
