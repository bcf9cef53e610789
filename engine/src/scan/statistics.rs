//! What the planner knows of a table: exact row, NULL and bound statistics, estimated distinct counts.

use std::sync::Arc;

use arrow::array::Array;
use arrow::datatypes::DataType;
use datafusion::common::stats::Precision;
use datafusion::common::{ColumnStatistics, Result, ScalarValue, Statistics};
use pmem_store::segment::{DistinctSketch, ZoneColumn};
use pmem_store::{Segment, TableSnapshot};

/// A table's statistics with its segments mapped.
#[derive(Debug)]
pub struct TableStatistics {
    pub segments: Vec<Arc<Segment>>,
    /// Of the declared columns.
    pub statistics: Statistics,
}

pub fn table_statistics(table: &TableSnapshot) -> Result<TableStatistics, pmem_store::StoreError> {
    let segments = table.segments().iter().map(|handle| handle.open()).collect::<Result<Vec<_>, _>>()?;
    let fields = table.schema().fields();
    let rows = table.row_count() as usize;
    let bytes = segments.iter().map(|segment| segment.size_bytes() as usize).sum();
    let column_statistics = (0..fields.len()).map(|column| column_statistics(&segments, column, fields[column].data_type()));
    let statistics = Statistics {
        num_rows: Precision::Exact(rows),
        total_byte_size: Precision::Inexact(bytes),
        column_statistics: column_statistics.collect(),
    };
    Ok(TableStatistics { segments, statistics })
}

fn column_statistics(segments: &[Arc<Segment>], column: usize, declared: &DataType) -> ColumnStatistics {
    let mut nulls = 0;
    let (mut min, mut max) = (Bound::new(true), Bound::new(false));
    let mut distinct = Some(DistinctSketch::default());
    for segment in segments {
        let statistics = segment.statistics();
        let summary = statistics.summary(column);
        nulls += summary.null_count as usize;
        match (&mut distinct, &summary.distinct) {
            (Some(all), Some(one)) => all.merge(one),
            (all, _) => *all = None,
        }
        let zones = statistics.column(column);
        min.add(zones, statistics.row_counts());
        max.add(zones, statistics.row_counts());
    }
    let mut statistics = ColumnStatistics::new_unknown().with_null_count(Precision::Exact(nulls));
    statistics.min_value = min.finish(declared);
    statistics.max_value = max.finish(declared);
    if let Some(distinct) = distinct {
        statistics.distinct_count = Precision::Inexact(distinct.estimate() as usize);
    }
    statistics
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

    fn add(&mut self, zones: &ZoneColumn, rows: &arrow::array::UInt64Array) {
        let (values, exact) = if self.least { (&zones.min, &zones.min_exact) } else { (&zones.max, &zones.max_exact) };
        for zone in 0..values.len() {
            if values.is_null(zone) || values.data_type() == &DataType::Null {
                // A zone of NULLs alone has no bound and needs none; any other makes the column's unknown.
                self.unknown |= zones.null_count.value(zone) < rows.value(zone);
                continue;
            }
            let Ok(value) = ScalarValue::try_from_array(values, zone) else {
                self.unknown = true;
                continue;
            };
            let further = match &self.value {
                None => true,
                Some(known) if self.least => value < *known,
                Some(known) => value > *known,
            };
            if further {
                self.value = Some(value);
                self.exact = exact.value(zone);
            }
        }
    }

    fn finish(self, declared: &DataType) -> Precision<ScalarValue> {
        let Some(value) = self.value.filter(|_| !self.unknown) else { return Precision::Absent };
        let Ok(value) = value.cast_to(declared) else { return Precision::Absent };
        if self.exact { Precision::Exact(value) } else { Precision::Inexact(value) }
    }
}
