//! What the planner knows of a table: exact row, NULL and bound statistics, estimated distinct counts.

use std::sync::Arc;

use arrow::array::Array;
use arrow::datatypes::DataType;
use datafusion::common::stats::Precision;
use datafusion::common::{ColumnStatistics, Result, ScalarValue, Statistics};
use pmem_store::segment::DistinctSketch;
use pmem_store::{StoreError, TableSegment, TableSnapshot, Tail};

use super::ordering::in_key_order;
use super::part::Part;
use common::types::physical_schema;

/// The statistics of a table's segments, with those mapped.
#[derive(Debug)]
pub struct TableStatistics {
    pub parts: Vec<Arc<Part>>,
    /// Of the declared columns.
    pub statistics: Statistics,
}

pub fn table_statistics(table: &TableSnapshot) -> Result<TableStatistics, StoreError> {
    of_segments(table, &table.segments().iter().collect::<Vec<_>>())
}

/// Of the segments and the rows in no segment with these ids alone: the others are not opened.
pub fn statistics_of_some(table: &TableSnapshot, wanted: impl Fn(u64) -> bool) -> Result<TableStatistics, StoreError> {
    let segments: Vec<&TableSegment> = table.segments().iter().filter(|segment| wanted(segment.id())).collect();
    let tails: Vec<&Tail> = table.tails().iter().filter(|tail| wanted(tail.id())).collect();
    let sealed = of_segments(table, &segments)?;
    if tails.is_empty() {
        return Ok(sealed);
    }
    let rows: u64 = segments.iter().map(|segment| segment.row_count()).chain(tails.iter().map(|tail| tail.row_count())).sum();
    sealed.with(table, &tails, rows)
}

fn of_segments(table: &TableSnapshot, segments: &[&TableSegment]) -> Result<TableStatistics, StoreError> {
    let physical = physical_schema(table.schema());
    let parts = segments.iter().map(|segment| Part::open(table, segment, &physical).map(Arc::new));
    let mut parts = parts.collect::<Result<Vec<_>, _>>()?;
    in_key_order(table, &mut parts);
    let fields = table.schema().fields();
    let rows = segments.iter().map(|segment| segment.row_count() as usize).sum();
    let bytes = parts.iter().map(|part| part.size_bytes() as usize).sum();
    let column_statistics = (0..fields.len()).map(|column| column_statistics(&parts, column, fields[column].data_type()));
    let statistics = Statistics {
        num_rows: Precision::Exact(rows),
        total_byte_size: Precision::Inexact(bytes),
        column_statistics: column_statistics.collect(),
    };
    Ok(TableStatistics { parts, statistics })
}

impl TableStatistics {
    /// The same with the rows that are in no segment yet. Of those nothing is known but how many they
    /// are.
    pub fn with_tails(&self, table: &TableSnapshot) -> Result<TableStatistics, StoreError> {
        self.with(table, &table.tails().iter().collect::<Vec<_>>(), table.row_count())
    }

    /// `rows` are those of all parts together.
    fn with(&self, table: &TableSnapshot, tails: &[&Tail], rows: u64) -> Result<TableStatistics, StoreError> {
        let physical = physical_schema(table.schema());
        let mut parts = self.parts.clone();
        for tail in tails {
            parts.push(Arc::new(Part::of_tail(table, tail, &physical)?));
        }
        let mut statistics = self.statistics.clone().to_inexact();
        statistics.num_rows = Precision::Exact(rows as usize);
        let bytes: u64 = tails.iter().map(|tail| tail.size_bytes()).sum();
        statistics.total_byte_size = statistics.total_byte_size.add(&Precision::Inexact(bytes as usize));
        Ok(TableStatistics { parts, statistics })
    }
}

/// The parts of the table with ids that `wanted` picks, without statistics of them.
pub fn open_parts(table: &TableSnapshot, wanted: impl Fn(u64) -> bool) -> Result<Vec<Arc<Part>>, StoreError> {
    let physical = physical_schema(table.schema());
    let segments = table.segments().iter().filter(|segment| wanted(segment.id()));
    let segments = segments.map(|segment| Part::open(table, segment, &physical));
    let tails = table.tails().iter().filter(|tail| wanted(tail.id()));
    let tails = tails.map(|tail| Part::of_tail(table, tail, &physical));
    segments.chain(tails).map(|part| part.map(Arc::new)).collect()
}

/// Exact but for parts with deleted rows: what those had is still in their zones' statistics.
fn column_statistics(parts: &[Arc<Part>], column: usize, declared: &DataType) -> ColumnStatistics {
    let mut nulls = Precision::Exact(0);
    let (mut min, mut max) = (Bound::new(true), Bound::new(false));
    let mut distinct = Some(DistinctSketch::default());
    for part in parts {
        let whole = part.deletions().is_none();
        nulls = nulls.add(&null_count(part, column, whole));
        match (&mut distinct, part.summary(column).and_then(|summary| summary.distinct.as_ref())) {
            (Some(all), Some(one)) => all.merge(one),
            // One value more at most.
            (Some(_), None) if part.constant(column).is_some() => {}
            (all, _) => *all = None,
        }
        match part.constant(column) {
            Some(value) => [&mut min, &mut max].into_iter().for_each(|bound| bound.add_value(value, part.row_count() > 0)),
            None => [&mut min, &mut max].into_iter().for_each(|bound| bound.add(part, column, whole)),
        }
    }
    let mut statistics = ColumnStatistics::new_unknown().with_null_count(nulls);
    statistics.min_value = min.finish(declared);
    statistics.max_value = max.finish(declared);
    if let Some(distinct) = distinct {
        statistics.distinct_count = Precision::Inexact(distinct.estimate() as usize);
    }
    statistics
}

fn null_count(part: &Part, column: usize, whole: bool) -> Precision<usize> {
    let count = match part.constant(column) {
        Some(value) if !value.is_null() => 0,
        Some(_) => part.row_count(),
        None => part.summary(column).map_or(0, |summary| summary.null_count as usize),
    };
    // None among all rows is none among those left.
    if whole || count == 0 { Precision::Exact(count) } else { Precision::Inexact(count) }
}

/// One end of a column's range, gathered over zones.
struct Bound {
    least: bool,
    value: Option<ScalarValue>,
    exact: bool,
    unknown: bool,
}

impl Bound {
    fn new(least: bool) -> Self {
        Bound { least, value: None, exact: true, unknown: false }
    }

    fn add(&mut self, part: &Part, column: usize, whole: bool) {
        let Some(zones) = part.zones(column) else {
            self.unknown = true;
            return;
        };
        let rows = part.zone_rows();
        let (values, exact) = if self.least { (&zones.min, &zones.min_exact) } else { (&zones.max, &zones.max_exact) };
        for zone in 0..values.len() {
            if values.is_null(zone) || values.data_type() == &DataType::Null {
                // A zone of NULLs alone has no bound and needs none; any other makes the column's unknown.
                self.unknown |= zones.null_count.value(zone) < rows.value(zone);
                continue;
            }
            match ScalarValue::try_from_array(values, zone) {
                Ok(value) => self.take(value, exact.value(zone) && whole),
                Err(_) => self.unknown = true,
            }
        }
    }

    fn add_value(&mut self, value: &ScalarValue, has_rows: bool) {
        if has_rows && !value.is_null() {
            // Deleted rows may have been all that had it.
            self.take(value.clone(), false);
        }
    }

    fn take(&mut self, value: ScalarValue, exact: bool) {
        match &self.value {
            Some(known) if value == *known => self.exact |= exact,
            Some(known) if (self.least && value > *known) || (!self.least && value < *known) => {}
            _ => {
                self.value = Some(value);
                self.exact = exact;
            }
        }
    }

    fn finish(self, declared: &DataType) -> Precision<ScalarValue> {
        let Some(value) = self.value.filter(|_| !self.unknown) else { return Precision::Absent };
        let Ok(value) = value.cast_to(declared) else { return Precision::Absent };
        if self.exact { Precision::Exact(value) } else { Precision::Inexact(value) }
    }
}
