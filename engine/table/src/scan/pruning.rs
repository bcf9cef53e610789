//! Decides from zone statistics which zones cannot contain a row that passes the filter.

use std::collections::HashSet;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, BooleanArray};
use arrow::datatypes::SchemaRef;
use datafusion::common::pruning::PruningStatistics;
use datafusion::common::{Column, Result, ScalarValue};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_optimizer::pruning::{PruningPredicate, PruningPredicateBuilder};

use super::float_bounds::{FloatColumn, with_float_columns};
use super::part::ScanPart;

/// Values of an IN list, or of a join's build side, are compared with each zone's bounds up to this number.
const IN_LIST_MAX: usize = 256;

/// A filter rewritten as a predicate on zone statistics, over the physical schema.
#[derive(Debug)]
pub struct ZonePruner {
    predicate: PruningPredicate,
    floats: Vec<FloatColumn>,
}

impl ZonePruner {
    /// `None` if the filter cannot be decided by bounds.
    pub fn new(filter: &Arc<dyn PhysicalExpr>, physical: &SchemaRef) -> Option<ZonePruner> {
        let (filter, floats, schema) = with_float_columns(filter, physical).ok()?;
        let predicate =
            PruningPredicateBuilder::new().with_file_schema(schema).with_max_in_list_size(IN_LIST_MAX).try_build(filter).ok()?;
        (!predicate.always_true()).then_some(ZonePruner { predicate, floats })
    }

    /// For each zone of the part, whether it must be read.
    pub fn keep(&self, part: &ScanPart, physical: &SchemaRef) -> Result<Vec<bool>> {
        // Rows that other conditions exclude may have bounds that do not fit a cast: then nothing is pruned.
        let mask = self.predicate.prune(&Zones { part, physical, floats: &self.floats });
        Ok(mask.unwrap_or_else(|_| vec![true; part.zone_count()]))
    }
}

struct Zones<'a> {
    part: &'a ScanPart,
    physical: &'a SchemaRef,
    floats: &'a [FloatColumn],
}

impl Zones<'_> {
    /// The column that has the statistics, and the float type in which it is compared.
    fn find(&self, column: &Column) -> Option<(usize, Option<&FloatColumn>)> {
        match self.floats.iter().find(|floats| floats.name == column.name) {
            Some(floats) => Some((floats.source, Some(floats))),
            None => Some((self.physical.index_of(&column.name).ok()?, None)),
        }
    }

    /// The bounds, if the column's type is ordered.
    fn bound(&self, column: &Column, is_least: bool) -> Option<ArrayRef> {
        let (index, floats) = self.find(column)?;
        let zones = self.part.zones(index)?;
        let bound = if is_least { zones.min } else { zones.max };
        if bound.data_type() != self.physical.field(index).data_type() {
            return None;
        }
        match floats {
            Some(floats) => floats.bound(&bound, is_least).ok(),
            None => Some(bound),
        }
    }
}

impl PruningStatistics for Zones<'_> {
    fn min_values(&self, column: &Column) -> Option<ArrayRef> {
        self.bound(column, true)
    }

    fn max_values(&self, column: &Column) -> Option<ArrayRef> {
        self.bound(column, false)
    }

    fn num_containers(&self) -> usize {
        self.part.zone_count()
    }

    fn null_counts(&self, column: &Column) -> Option<ArrayRef> {
        let (index, _) = self.find(column)?;
        // Deleted rows count too, so there may be fewer NULLs; no zone is pruned because it has some.
        Some(Arc::new(self.part.zones(index)?.null_count))
    }

    fn row_counts(&self) -> Option<ArrayRef> {
        Some(Arc::new(self.part.zone_rows().clone()))
    }

    fn contained(&self, _column: &Column, _values: &HashSet<ScalarValue>) -> Option<BooleanArray> {
        None
    }
}
