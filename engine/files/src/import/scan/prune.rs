//! Which files, and which row groups of Parquet files, may have rows that pass a filter.

use std::collections::HashSet;
use std::sync::Arc;

use arrow::array::{ArrayRef, BooleanArray, UInt64Array};
use arrow::datatypes::{DataType, Schema};
use datafusion::common::pruning::PruningStatistics;
use datafusion::common::{Column, ScalarValue};
use datafusion::physical_optimizer::pruning::PruningPredicate;
use parquet::arrow::arrow_reader::statistics::StatisticsConverter;
use parquet::file::metadata::RowGroupMetaData;

use super::plans::PlannedFile;
use crate::import::guard::guarded;
use crate::import::parquet::Builder;

/// By row group, or for the file as a whole: whether it is read. `filter` is over `columns`, all columns of the scan.
pub(super) fn parts_to_read(
    filter: Option<&PruningPredicate>,
    footer: Option<&Builder>,
    file: &PlannedFile,
    columns: &Schema,
) -> Vec<bool> {
    let statistics = FileStatistics { footer, file, columns };
    let kept = filter.and_then(|filter| guarded(|| filter.prune(&statistics)).ok());
    kept.unwrap_or_else(|| vec![true; statistics.num_containers()])
}

/// What the path of a file, and its footer if it has one, say about its rows.
struct FileStatistics<'a> {
    footer: Option<&'a Builder>,
    file: &'a PlannedFile,
    columns: &'a Schema,
}

impl<'a> FileStatistics<'a> {
    /// The value that all rows of the file have.
    fn value(&self, column: &Column) -> Option<ArrayRef> {
        let place = self.columns.index_of(&column.name).ok()?;
        let (_, value) = self.file.values.iter().find(|(of, _)| *of == place)?;
        value.to_array_of_size(self.num_containers()).ok()
    }

    fn row_groups(&self) -> Option<&'a [RowGroupMetaData]> {
        self.footer.map(|footer| footer.metadata().row_groups())
    }

    /// `None` if the footer says nothing about the values as the scan hands them out: they are converted, or their type has bounds that
    /// not all values lie between. NaN is in no bounds, and old writers ordered texts and unsigned numbers in another way.
    fn converter(&self, column: &Column) -> Option<StatisticsConverter<'a>> {
        let (footer, place) = (self.footer?, self.columns.index_of(&column.name).ok()?);
        let field = footer.schema().fields().get(*self.file.mapping.get(place)?.as_ref()?)?;
        let is_as_stored = field.data_type() == self.columns.field(place).data_type() && has_bounds(field.data_type());
        let converter = || StatisticsConverter::try_new(field.name(), footer.schema(), footer.parquet_schema()).ok();
        Some(is_as_stored.then(converter)??.with_missing_null_counts_as_zero(false))
    }
}

fn has_bounds(data_type: &DataType) -> bool {
    use DataType::{Date32, Int8, Int16, Int32, Int64, Timestamp};
    matches!(data_type, Int8 | Int16 | Int32 | Int64 | Date32 | Timestamp(..))
}

impl PruningStatistics for FileStatistics<'_> {
    fn min_values(&self, column: &Column) -> Option<ArrayRef> {
        let bounds = || self.converter(column)?.row_group_mins(self.row_groups()?).ok();
        self.value(column).or_else(bounds)
    }

    fn max_values(&self, column: &Column) -> Option<ArrayRef> {
        let bounds = || self.converter(column)?.row_group_maxes(self.row_groups()?).ok();
        self.value(column).or_else(bounds)
    }

    fn num_containers(&self) -> usize {
        self.row_groups().map_or(1, |groups| groups.len())
    }

    fn null_counts(&self, column: &Column) -> Option<ArrayRef> {
        let counts = self.converter(column)?.row_group_null_counts(self.row_groups()?).ok()?;
        Some(Arc::new(counts))
    }

    fn row_counts(&self) -> Option<ArrayRef> {
        let rows = self.row_groups()?.iter().map(|group| group.num_rows().max(0) as u64);
        Some(Arc::new(rows.collect::<UInt64Array>()))
    }

    fn contained(&self, _: &Column, _: &HashSet<ScalarValue>) -> Option<BooleanArray> {
        None
    }
}
