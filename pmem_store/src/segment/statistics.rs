//! Zone statistics: per zone and column min, max, null count and NaN; per column a distinct count.
//!
//! They lie beside the segment in two Arrow tables: one row per zone, one struct column per segment column;
//! and one row per column with its sketch. A missing statistic means "cannot prune", never "prune".

use std::cmp::Ordering;
use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, RecordBatch, StructArray, UInt64Array, make_comparator, new_null_array};
use arrow::compute::{SortOptions, concat};
use arrow::datatypes::{DataType, Field, Fields, Schema, SchemaRef, UInt64Type};

use super::bounds;
use super::seal::{SealedSegment, SidePaths};
use super::side_table::read_table;
use super::sketch::DistinctSketch;
use super::summaries::{ColumnSummaries, columns_batch};
use super::with_mark;
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
    /// The zones of all columns of one type, one column after the other: arrays for each column would take much more memory than
    /// what they contain.
    groups: Vec<ZoneColumn>,
    columns: Vec<ColumnZones>,
    summaries: ColumnSummaries,
}

/// Where the zones of a column are.
#[derive(Debug)]
struct ColumnZones {
    group: usize,
    /// The position of the first one in the arrays of the group.
    start: usize,
    /// The least and the greatest value, found at the first request: a segment never changes, and a table of many segments is planned
    /// again after each commit.
    extremes: OnceLock<[Extreme; 2]>,
}

impl ZoneStatistics {
    pub fn zone_count(&self) -> usize {
        self.row_counts.len()
    }

    pub fn row_counts(&self) -> &UInt64Array {
        &self.row_counts
    }

    pub fn column(&self, index: usize) -> ZoneColumn {
        let ColumnZones { group, start, .. } = &self.columns[index];
        self.groups[*group].slice(*start, self.zone_count())
    }

    pub fn null_count(&self, index: usize) -> u64 {
        self.summaries.null_count(index)
    }

    /// Adds the distinct values of a column to `sketch`; returns false if they are unknown, and then it is of no use.
    pub fn merge_distinct(&self, index: usize, sketch: &mut DistinctSketch) -> bool {
        self.summaries.merge_distinct(index, sketch)
    }

    /// The least and the greatest value of a column.
    pub fn extremes(&self, index: usize) -> [Extreme; 2] {
        *self.columns[index].extremes.get_or_init(|| self.column(index).extremes(&self.row_counts))
    }

    pub(super) fn read(side: &SidePaths, sealed: &SealedSegment, schema: &SchemaRef) -> Result<ZoneStatistics> {
        let path = side.statistics.as_path();
        let batch = read_table(path, sealed.statistics_xxh3)?;
        let wrong = || StoreError::damaged(path, 0, "it is not the statistics of this segment");
        if batch.num_columns() != schema.fields().len() + 1 {
            return Err(wrong());
        }
        let row_counts = batch.column(0).as_primitive_opt::<UInt64Type>().ok_or_else(wrong)?;
        // A copy, because an array of the batch keeps the whole file in memory.
        let row_counts = UInt64Array::from(row_counts.values().to_vec());
        let mut groups: Vec<Vec<&dyn Array>> = Vec::new();
        let mut group_of: HashMap<&DataType, usize> = HashMap::new();
        let mut columns = Vec::with_capacity(schema.fields().len());
        for (field, array) in schema.fields().iter().zip(&batch.columns()[1..]) {
            let zones = array.as_struct_opt().ok_or_else(wrong)?;
            if zones.fields() != &zone_fields(field.data_type()) {
                return Err(wrong());
            }
            let group = *group_of.entry(field.data_type()).or_insert(groups.len());
            if group == groups.len() {
                groups.push(Vec::new());
            }
            columns.push(ColumnZones { group, start: groups[group].len() * row_counts.len(), extremes: OnceLock::new() });
            groups[group].push(zones);
        }
        let groups = groups.iter().map(|zones| ZoneColumn::of_columns(zones)).collect::<Result<Vec<_>>>()?;
        let summaries = ColumnSummaries::read(&side.columns, sealed.columns_xxh3, columns.len())?;
        Ok(ZoneStatistics { row_counts, groups, columns, summaries })
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

    /// The zones of several columns of one type, copied, so that they keep nothing else of the file in memory.
    fn of_columns(columns: &[&dyn Array]) -> Result<ZoneColumn> {
        // `concat` does not copy a single array.
        let empty = columns.first().map(|zones| zones.slice(0, 0));
        let mut pieces: Vec<&dyn Array> = columns.to_vec();
        if let Some(empty) = &empty {
            pieces.push(&**empty);
        }
        let all = ZoneColumn::from_arrays(concat(&pieces)?.as_struct());
        // Nor does it copy the texts behind views.
        Ok(ZoneColumn { min: own_texts(&all.min), max: own_texts(&all.max), ..all })
    }

    fn slice(&self, start: usize, zones: usize) -> ZoneColumn {
        ZoneColumn {
            min: self.min.slice(start, zones),
            max: self.max.slice(start, zones),
            min_exact: self.min_exact.slice(start, zones),
            max_exact: self.max_exact.slice(start, zones),
            null_count: self.null_count.slice(start, zones),
            has_nan: self.has_nan.slice(start, zones),
        }
    }

    fn extremes(&self, row_counts: &UInt64Array) -> [Extreme; 2] {
        let has_values = |zone: usize| self.null_count.value(zone) < row_counts.value(zone);
        let ends = [(&self.min, &self.min_exact, Ordering::Less), (&self.max, &self.max_exact, Ordering::Greater)];
        ends.map(|(bounds, exact, wanted)| extreme(bounds, exact, wanted, has_values))
    }
}

fn own_texts(bounds: &ArrayRef) -> ArrayRef {
    match bounds.data_type() {
        DataType::Utf8View => Arc::new(bounds.as_string_view().gc()),
        DataType::BinaryView => Arc::new(bounds.as_binary_view().gc()),
        _ => Arc::clone(bounds),
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
    is_left_out: bool,
}

/// In the metadata of a field: its values have neither bounds nor a sketch.
const NO_STATISTICS_MARK: &str = "quiver.no_statistics";

/// The field of a column whose values are never compared, and may be long.
pub(crate) fn without_statistics(field: Field) -> Field {
    with_mark(field, NO_STATISTICS_MARK)
}

pub(super) fn has_no_statistics(field: &Field) -> bool {
    field.metadata().contains_key(NO_STATISTICS_MARK)
}

impl StatisticsBuilder {
    pub fn new(schema: SchemaRef) -> Self {
        let columns = schema
            .fields()
            .iter()
            .map(|field| {
                let is_left_out = has_no_statistics(field);
                let has_sketch = DistinctSketch::supports(field.data_type()) && !is_left_out;
                ColumnBuilder { sketch: has_sketch.then(DistinctSketch::default), is_left_out, ..ColumnBuilder::default() }
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

    /// The tables of zones and of columns.
    pub fn finish(self) -> Result<[RecordBatch; 2]> {
        let mut fields = vec![Field::new("row_count", DataType::UInt64, false)];
        let mut arrays: Vec<ArrayRef> = vec![Arc::new(UInt64Array::from(self.row_counts))];
        let (mut null_counts, mut sketches) = (Vec::<u64>::new(), Vec::new());
        for (field, mut column) in self.schema.fields().iter().zip(self.columns) {
            null_counts.push(column.null_counts.iter().sum());
            sketches.push(column.sketch.take());
            let zones = column.finish(&bound_type(field.data_type()))?;
            let array = StructArray::new(zone_fields(field.data_type()), zones.to_arrays(), None);
            fields.push(Field::new(field.name(), array.data_type().clone(), false));
            arrays.push(Arc::new(array));
        }
        let zones = RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays)?;
        Ok([zones, columns_batch(&self.schema, null_counts, &sketches)?])
    }
}

impl ColumnBuilder {
    fn add_zone(&mut self, values: &ArrayRef) {
        let bounds = if self.is_left_out { bounds::unknown() } else { bounds::bounds(values) };
        if bounds::supports(values.data_type()) && !self.is_left_out {
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
