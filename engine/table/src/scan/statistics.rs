//! Statistics of a table for the planner: exact row counts, NULL counts and bounds, estimated distinct counts.

use std::num::NonZero;
use std::sync::{Arc, OnceLock, Weak};
use std::thread::available_parallelism;

use arrow::datatypes::{DataType, Schema, SchemaRef};
use datafusion::common::stats::Precision;
use datafusion::common::{ColumnStatistics, ScalarValue, Statistics};
use kernels::threads::{StopFlag, for_each};
use pmem_store::segment::{DistinctSketch, Extreme, ZoneColumn};
use pmem_store::{StoreError, TableSegment, TableSnapshot, Tail};

use super::ordering::in_key_order;
use super::part::ScanPart;
use super::row_order::is_ascending;
use crate::blocking::holding_up_nobody;
use crate::time_zone::column_in_zone;
use common::types::physical_schema;

/// Fewer segments are opened by one thread: starting others takes as long.
const SERIAL_OPENS_MAX: usize = 16;
/// So many threads open segments even if there are fewer processors, because they wait for the disk.
const OPEN_THREADS_MIN: usize = 4;

/// The parts of a table, their segments mapped, and the statistics of its columns.
#[derive(Debug, Clone)]
pub struct TableStatistics {
    pub parts: Vec<Arc<ScanPart>>,
    pub num_rows: Precision<usize>,
    total_byte_size: Precision<usize>,
    columns: Arc<Columns>,
    /// Some rows are not in a segment: nothing is known about their values.
    has_tails: bool,
    /// The columns as a session sees them, if its time zone differs from the declared one.
    session_schema: Option<SchemaRef>,
}

/// Says of two statements whether a table has the same rows in both. A newer state of the table has other statistics, and a table with rows in a
/// log has new ones for each statement. It keeps no files.
#[derive(Debug, Clone)]
pub struct RowsIdentity(Weak<TableStatistics>);

impl RowsIdentity {
    pub(crate) fn of(statistics: &Arc<TableStatistics>) -> RowsIdentity {
        RowsIdentity(Arc::downgrade(statistics))
    }
}

impl PartialEq for RowsIdentity {
    fn eq(&self, other: &RowsIdentity) -> bool {
        // Nothing else gets the address as long as this is there.
        Weak::ptr_eq(&self.0, &other.0)
    }
}

/// The statistics of declared columns over all segments; each is computed on first use, because a query needs few of 10,000.
#[derive(Debug)]
struct Columns {
    parts: Vec<Arc<ScanPart>>,
    declared: SchemaRef,
    statistics: Vec<OnceLock<ColumnStatistics>>,
    /// Whether the rows are in ascending order of the column.
    ascending: Vec<OnceLock<bool>>,
}

impl Columns {
    fn get(&self, column: usize) -> Option<&ColumnStatistics> {
        let find = || holding_up_nobody(|| column_statistics(&self.parts, column, self.declared.field(column).data_type()));
        Some(self.statistics.get(column)?.get_or_init(find))
    }
}

pub fn table_statistics(table: &TableSnapshot) -> Result<TableStatistics, StoreError> {
    of_segments(table, &table.segments().iter().collect::<Vec<_>>())
}

/// Only of the segments and logs with ids that `is_selected` accepts; the others are not opened.
pub fn statistics_of_some(table: &TableSnapshot, is_selected: impl Fn(u64) -> bool) -> Result<TableStatistics, StoreError> {
    let segments: Vec<&TableSegment> = table.segments().iter().filter(|segment| is_selected(segment.id())).collect();
    let tails: Vec<&Tail> = table.tails().iter().filter(|tail| is_selected(tail.id())).collect();
    let sealed = of_segments(table, &segments)?;
    if tails.is_empty() {
        return Ok(sealed);
    }
    let rows: u64 = segments.iter().map(|segment| segment.row_count()).chain(tails.iter().map(|tail| tail.row_count())).sum();
    sealed.with(table, &tails, rows)
}

fn of_segments(table: &TableSnapshot, segments: &[&TableSegment]) -> Result<TableStatistics, StoreError> {
    open_together(segments);
    let physical = physical_schema(table.schema());
    let parts = segments.iter().map(|segment| ScanPart::open(table, segment, &physical).map(Arc::new));
    let mut parts = parts.collect::<Result<Vec<_>, _>>()?;
    in_key_order(table, &mut parts);
    let declared = Arc::clone(table.schema());
    let statistics = declared.fields().iter().map(|_| OnceLock::new()).collect();
    let ascending = declared.fields().iter().map(|_| OnceLock::new()).collect();
    let rows = segments.iter().map(|segment| segment.row_count() as usize).sum();
    let bytes = parts.iter().map(|part| part.memory_bytes() as usize).sum();
    Ok(TableStatistics {
        columns: Arc::new(Columns { parts: parts.clone(), declared, statistics, ascending }),
        num_rows: Precision::Exact(rows),
        total_byte_size: Precision::Inexact(bytes),
        ..TableStatistics::unknown(parts)
    })
}

/// Opens segments on several threads. A segment that cannot be opened is tried once more by who needs it, who then has the error.
fn open_together(segments: &[&TableSegment]) {
    let closed: Vec<&TableSegment> = segments.iter().copied().filter(|segment| !segment.handle().is_open()).collect();
    if closed.len() <= SERIAL_OPENS_MAX {
        return;
    }
    let threads = available_parallelism().map_or(1, NonZero::get).max(OPEN_THREADS_MIN);
    let _ = for_each(threads, &StopFlag::default(), closed, |segment| {
        let _ = segment.open();
        Ok(())
    });
}

impl TableStatistics {
    /// For parts that are not used for planning.
    pub fn unknown(parts: Vec<Arc<ScanPart>>) -> TableStatistics {
        let columns = Columns { parts: Vec::new(), declared: Arc::new(Schema::empty()), statistics: Vec::new(), ascending: Vec::new() };
        let (num_rows, total_byte_size) = (Precision::Absent, Precision::Absent);
        TableStatistics { parts, num_rows, total_byte_size, columns: Arc::new(columns), has_tails: false, session_schema: None }
    }

    /// Adds the rows that are not in a segment yet. Only their number is known.
    pub fn with_tails(&self, table: &TableSnapshot) -> Result<TableStatistics, StoreError> {
        self.with(table, &table.tails().iter().collect::<Vec<_>>(), table.row_count())
    }

    /// `rows` is the row count of all parts together.
    fn with(&self, table: &TableSnapshot, tails: &[&Tail], rows: u64) -> Result<TableStatistics, StoreError> {
        let physical = physical_schema(table.schema());
        let mut statistics = self.clone();
        for tail in tails {
            statistics.parts.push(Arc::new(ScanPart::of_tail(table, tail, &physical)?));
        }
        let bytes: u64 = tails.iter().map(|tail| tail.size_bytes()).sum();
        statistics.num_rows = Precision::Exact(rows as usize);
        statistics.total_byte_size = self.total_byte_size.add(&Precision::Inexact(bytes as usize));
        statistics.has_tails = true;
        Ok(statistics)
    }

    /// The statistics of columns as a session sees them.
    pub fn in_session(&self, schema: &SchemaRef) -> TableStatistics {
        TableStatistics { session_schema: Some(Arc::clone(schema)), ..self.clone() }
    }

    /// A computed column, such as the row id, has no statistics.
    pub fn column(&self, column: usize) -> ColumnStatistics {
        let Some(statistics) = self.columns.get(column) else { return ColumnStatistics::new_unknown() };
        let statistics = match &self.session_schema {
            Some(schema) => column_in_zone(statistics, schema.field(column).data_type()),
            None => statistics.clone(),
        };
        if self.has_tails { statistics.to_inexact() } else { statistics }
    }

    /// Whether the rows, deleted ones included, are in ascending order of a column without NULLs, part after part. The column is read for it, once for
    /// each state of a table. False if that cannot be found out.
    pub fn is_ascending(&self, column: usize) -> bool {
        let Some(known) = self.columns.ascending.get(column).filter(|_| !self.has_tails) else { return false };
        *known.get_or_init(|| holding_up_nobody(|| is_ascending(&self.columns.parts, column)).unwrap_or(false))
    }

    /// The statistics of a plan that returns these columns.
    pub fn of_columns(&self, columns: impl IntoIterator<Item = usize>) -> Statistics {
        let column_statistics = columns.into_iter().map(|column| self.column(column)).collect();
        Statistics { num_rows: self.num_rows, total_byte_size: self.total_byte_size, column_statistics }
    }
}

/// The parts of the table with ids that `is_selected` accepts, without statistics.
pub fn open_parts(table: &TableSnapshot, is_selected: impl Fn(u64) -> bool) -> Result<Vec<Arc<ScanPart>>, StoreError> {
    let segments: Vec<&TableSegment> = table.segments().iter().filter(|segment| is_selected(segment.id())).collect();
    open_together(&segments);
    let physical = physical_schema(table.schema());
    let segments = segments.into_iter().map(|segment| ScanPart::open(table, segment, &physical));
    let tails = table.tails().iter().filter(|tail| is_selected(tail.id()));
    let tails = tails.map(|tail| ScanPart::of_tail(table, tail, &physical));
    segments.chain(tails).map(|part| part.map(Arc::new)).collect()
}

/// Exact except for parts with deleted rows, whose values are still in the zone statistics.
fn column_statistics(parts: &[Arc<ScanPart>], column: usize, declared: &DataType) -> ColumnStatistics {
    let mut nulls = Precision::Exact(0);
    let (mut min, mut max) = (Bound::new(true), Bound::new(false));
    let (mut distinct, mut has_distinct) = (DistinctSketch::default(), true);
    for part in parts {
        let whole = part.deletions().is_none();
        nulls = nulls.add(&null_count(part, column, whole));
        match part.constant(column) {
            // This adds at most one distinct value.
            Some(value) => [&mut min, &mut max].into_iter().for_each(|bound| bound.add_value(value, part.row_count() > 0)),
            None => {
                has_distinct = has_distinct && part.merge_distinct(column, &mut distinct);
                let zones = part.zones(column).zip(part.extremes(column));
                [&mut min, &mut max].into_iter().for_each(|bound| bound.add(zones.as_ref(), whole));
            }
        }
    }
    let mut statistics = ColumnStatistics::new_unknown().with_null_count(nulls);
    statistics.min_value = min.finish(declared);
    statistics.max_value = max.finish(declared);
    if has_distinct {
        statistics.distinct_count = Precision::Inexact(distinct.estimate() as usize);
    }
    statistics
}

fn null_count(part: &ScanPart, column: usize, whole: bool) -> Precision<usize> {
    let count = match part.constant(column) {
        Some(value) if !value.is_null() => 0,
        Some(_) => part.row_count(),
        None => part.null_count(column).map_or(0, |count| count as usize),
    };
    // If all rows have no NULL, the remaining rows have none.
    if whole || count == 0 { Precision::Exact(count) } else { Precision::Inexact(count) }
}

/// One end of a column's range, accumulated over parts.
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

    fn add(&mut self, zones: Option<&(ZoneColumn, [Extreme; 2])>, whole: bool) {
        let Some((zones, [least, greatest])) = zones else {
            self.unknown = true;
            return;
        };
        let (values, extreme) = if self.least { (&zones.min, least) } else { (&zones.max, greatest) };
        match *extreme {
            Extreme::Absent => {}
            Extreme::Unknown => self.unknown = true,
            Extreme::Zone { zone, is_exact } => match ScalarValue::try_from_array(values, zone) {
                Ok(value) => self.take(value, is_exact && whole),
                Err(_) => self.unknown = true,
            },
        }
    }

    fn add_value(&mut self, value: &ScalarValue, has_rows: bool) {
        if has_rows && !value.is_null() {
            // All rows with this value may have been deleted.
            self.take(value.clone(), false);
        }
    }

    fn take(&mut self, value: ScalarValue, exact: bool) {
        match &self.value {
            Some(bound) if value == *bound => self.exact |= exact,
            Some(bound) if (self.least && value > *bound) || (!self.least && value < *bound) => {}
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
