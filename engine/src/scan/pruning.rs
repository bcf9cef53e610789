//! Decides from zone statistics which zones cannot hold a row that passes the filter.

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

/// Values of an IN list, or of a join's build side, that are compared with each zone's bounds.
const IN_LIST_MAX: usize = 256;

/// A filter rewritten to speak of zone statistics; in terms of the physical schema.
#[derive(Debug)]
pub struct ZonePruner {
    predicate: PruningPredicate,
    floats: Vec<FloatColumn>,
}

impl ZonePruner {
    /// None where the filter says nothing about bounds.
    pub fn new(filter: &Arc<dyn PhysicalExpr>, physical: &SchemaRef) -> Option<ZonePruner> {
        let (filter, floats, schema) = with_float_columns(filter, physical).ok()?;
        let predicate =
            PruningPredicateBuilder::new().with_file_schema(schema).with_max_in_list_size(IN_LIST_MAX).try_build(filter).ok()?;
        (!predicate.always_true()).then_some(ZonePruner { predicate, floats })
    }

    /// One entry per zone of the part: whether it must be read.
    pub fn keep(&self, part: &ScanPart, physical: &SchemaRef) -> Result<Vec<bool>> {
        // Bounds of rows that other conditions exclude may not fit a cast: then nothing is pruned.
        let kept = self.predicate.prune(&Zones { part, physical, floats: &self.floats });
        Ok(kept.unwrap_or_else(|_| vec![true; part.zone_count()]))
    }
}

struct Zones<'a> {
    part: &'a ScanPart,
    physical: &'a SchemaRef,
    floats: &'a [FloatColumn],
}

impl Zones<'_> {
    /// The column that has the statistics, and as what floats it is looked at.
    fn find(&self, column: &Column) -> Option<(usize, Option<&FloatColumn>)> {
        match self.floats.iter().find(|floats| floats.name == column.name) {
            Some(floats) => Some((floats.source, Some(floats))),
            None => Some((self.physical.index_of(&column.name).ok()?, None)),
        }
    }

    /// Bounds, where the column has an order.
    fn bound(&self, column: &Column, is_least: bool) -> Option<ArrayRef> {
        let (index, floats) = self.find(column)?;
        let zones = self.part.zones(index)?;
        let bound = if is_least { &zones.min } else { &zones.max };
        if bound.data_type() != self.physical.field(index).data_type() {
            return None;
        }
        match floats {
            Some(floats) => floats.bound(bound, is_least).ok(),
            None => Some(Arc::clone(bound)),
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
        // NULLs of deleted rows count: there may be fewer, and no zone is pruned for having some.
        Some(Arc::new(self.part.zones(index)?.null_count.clone()))
    }

    fn row_counts(&self) -> Option<ArrayRef> {
        Some(Arc::new(self.part.zone_rows().clone()))
    }

    fn contained(&self, _column: &Column, _values: &HashSet<ScalarValue>) -> Option<BooleanArray> {
        None
    }
}
