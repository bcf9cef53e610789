//! Decides from zone statistics which zones cannot hold a row that passes the filter.

use std::collections::HashSet;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, BooleanArray};
use arrow::datatypes::SchemaRef;
use datafusion::common::pruning::PruningStatistics;
use datafusion::common::{Column, Result, ScalarValue};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_optimizer::pruning::{PruningPredicate, PruningPredicateBuilder};

use super::part::Part;

/// Values of an IN list, or of a join's build side, that are compared with each zone's bounds.
const IN_LIST_MAX: usize = 256;

/// A filter rewritten to speak of zone statistics; in terms of the physical schema.
#[derive(Debug)]
pub struct ZonePruner {
    predicate: PruningPredicate,
}

impl ZonePruner {
    /// None where the filter says nothing about bounds.
    pub fn new(filter: &Arc<dyn PhysicalExpr>, physical: &SchemaRef) -> Option<ZonePruner> {
        let predicate = PruningPredicateBuilder::new()
            .with_file_schema(Arc::clone(physical))
            .with_max_in_list_size(IN_LIST_MAX)
            .try_build(Arc::clone(filter))
            .ok()?;
        (!predicate.always_true()).then_some(ZonePruner { predicate })
    }

    /// One entry per zone of the part: whether it must be read.
    pub fn keep(&self, part: &Part, physical: &SchemaRef) -> Result<Vec<bool>> {
        // Bounds of rows that other conditions exclude may not fit a cast: then nothing is pruned.
        let kept = self.predicate.prune(&Zones { part, physical });
        Ok(kept.unwrap_or_else(|_| vec![true; part.zone_count()]))
    }
}

struct Zones<'a> {
    part: &'a Part,
    physical: &'a SchemaRef,
}

impl Zones<'_> {
    fn index(&self, column: &Column) -> Option<usize> {
        self.physical.index_of(&column.name).ok()
    }

    /// Bounds, where the column has an order.
    fn bound(&self, column: &Column, pick: impl Fn(&pmem_store::segment::ZoneColumn) -> &ArrayRef) -> Option<ArrayRef> {
        let index = self.index(column)?;
        let bound = pick(self.part.zones(index)?);
        (bound.data_type() == self.physical.field(index).data_type()).then(|| Arc::clone(bound))
    }
}

impl PruningStatistics for Zones<'_> {
    fn min_values(&self, column: &Column) -> Option<ArrayRef> {
        self.bound(column, |zones| &zones.min)
    }

    fn max_values(&self, column: &Column) -> Option<ArrayRef> {
        self.bound(column, |zones| &zones.max)
    }

    fn num_containers(&self) -> usize {
        self.part.zone_count()
    }

    fn null_counts(&self, column: &Column) -> Option<ArrayRef> {
        let index = self.index(column)?;
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
