//! The order rows come in, where the table promises one.

use std::sync::Arc;

use arrow::array::Array;
use arrow::compute::SortOptions;
use arrow::datatypes::SchemaRef;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::{LexOrdering, PhysicalSortExpr};
use datafusion::scalar::ScalarValue;
use pmem_store::{Segment, TableSnapshot};

/// The cluster key as an order of the declared schema's columns, if all segments keep it and
/// follow one another in it.
pub fn table_ordering(table: &TableSnapshot, segments: &[Arc<Segment>]) -> Vec<PhysicalSortExpr> {
    let key = &table.record().cluster_key;
    if key.is_empty() || !table.segments().iter().all(|segment| segment.record().sorted) {
        return Vec::new();
    }
    let schema: &SchemaRef = table.schema();
    let columns: Option<Vec<PhysicalSortExpr>> = key
        .iter()
        .map(|order| {
            let index = schema.index_of(&order.column).ok()?;
            let options = SortOptions { descending: order.descending, nulls_first: order.nulls_first };
            Some(PhysicalSortExpr::new(Arc::new(Column::new(&order.column, index)), options))
        })
        .collect();
    let Some(columns) = columns else { return Vec::new() };
    let Ok(first) = schema.index_of(&key[0].column) else { return Vec::new() };
    let descending = key[0].descending;
    let in_turn = segments.windows(2).all(|pair| follows(&pair[0], &pair[1], first, descending));
    if in_turn { columns } else { Vec::new() }
}

/// Whether every row of `next` sorts strictly after every row of `before` by one column without NULLs.
fn follows(before: &Segment, next: &Segment, column: usize, descending: bool) -> bool {
    let no_nulls = |segment: &Segment| segment.statistics().summary(column).null_count == 0;
    if !no_nulls(before) || !no_nulls(next) {
        return false;
    }
    let (Some((before_min, before_max)), Some((next_min, next_max))) = (range(before, column), range(next, column)) else {
        return false;
    };
    if descending { next_max < before_min } else { before_max < next_min }
}

fn range(segment: &Segment, column: usize) -> Option<(ScalarValue, ScalarValue)> {
    let zones = segment.statistics().column(column);
    if zones.min.null_count() > 0 || zones.max.null_count() > 0 || zones.min.is_empty() {
        return None;
    }
    let mut range: Option<(ScalarValue, ScalarValue)> = None;
    for zone in 0..zones.min.len() {
        let min = ScalarValue::try_from_array(&zones.min, zone).ok()?;
        let max = ScalarValue::try_from_array(&zones.max, zone).ok()?;
        range = Some(match range {
            None => (min, max),
            Some((least, greatest)) => (
                if min < least { min } else { least },
                if max > greatest { max } else { greatest },
            ),
        });
    }
    range
}

/// The longest prefix of `ordering` that `projection` (declared columns put out) keeps.
pub fn project_ordering(ordering: &[PhysicalSortExpr], projection: &[usize]) -> Option<LexOrdering> {
    let kept = ordering.iter().map_while(|sort| {
        let column = sort.expr.downcast_ref::<Column>()?;
        let position = projection.iter().position(|index| *index == column.index())?;
        Some(PhysicalSortExpr::new(Arc::new(Column::new(column.name(), position)), sort.options))
    });
    LexOrdering::new(kept.collect::<Vec<_>>())
}
