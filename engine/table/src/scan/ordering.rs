//! The order of rows, if the table guarantees one.

use std::cmp::Ordering;
use std::sync::Arc;

use arrow::array::Array;
use arrow::compute::SortOptions;
use arrow::datatypes::SchemaRef;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::{LexOrdering, PhysicalSortExpr};
use datafusion::scalar::ScalarValue;
use pmem_store::TableSnapshot;
use pmem_store::segment::Extreme;

use super::part::ScanPart;

/// Sorts the parts of a clustered table by key if their key ranges do not overlap: the segments of a compaction have the last ids,
/// wherever their rows belong.
pub fn in_key_order(table: &TableSnapshot, parts: &mut [Arc<ScanPart>]) {
    let Some(first) = table.record().cluster_key.first() else { return };
    if !table.segments().iter().all(|segment| segment.record().sorted) {
        return;
    }
    let Ok(column) = table.schema().index_of(&first.column) else { return };
    let ranges: Option<Vec<_>> = parts.iter().map(|part| range(part, column)).collect();
    let Some(ranges) = ranges else { return };
    let mut order: Vec<usize> = (0..parts.len()).collect();
    order.sort_by(|one, other| {
        let ((one_min, one_max), (other_min, other_max)) = (&ranges[*one], &ranges[*other]);
        let ascending = one_min.partial_cmp(other_min).zip(one_max.partial_cmp(other_max)).map(|(min, max)| min.then(max));
        let ascending = ascending.unwrap_or(Ordering::Equal);
        if first.descending { ascending.reverse() } else { ascending }
    });
    let ordered: Vec<Arc<ScanPart>> = order.into_iter().map(|at| Arc::clone(&parts[at])).collect();
    parts.clone_from_slice(&ordered);
}

/// The cluster key as an ordering of the declared schema's columns, if every part is sorted by it and the parts follow one another in it.
pub fn table_ordering(table: &TableSnapshot, parts: &[Arc<ScanPart>]) -> Vec<PhysicalSortExpr> {
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
    if parts.iter().any(|part| part.segment().is_none()) {
        return Vec::new();
    }
    let Ok(first) = schema.index_of(&key[0].column) else { return Vec::new() };
    let descending = key[0].descending;
    match parts.windows(2).map(|pair| next_to(&pair[0], &pair[1], first, descending)).min() {
        None | Some(Adjacency::Apart) => columns,
        Some(Adjacency::Touching) => columns.into_iter().take(1).collect(),
        Some(Adjacency::Unknown) => Vec::new(),
    }
}

/// How the rows of a part are related to those of the previous one, by one column.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Adjacency {
    Unknown,
    /// Its first value may equal the last one of the previous part, so the further columns are not ordered.
    Touching,
    Apart,
}

/// Only for a column without NULLs.
fn next_to(before: &ScanPart, next: &ScanPart, column: usize, descending: bool) -> Adjacency {
    let no_nulls = |part: &ScanPart| part.null_count(column) == Some(0);
    if !no_nulls(before) || !no_nulls(next) {
        return Adjacency::Unknown;
    }
    let (Some((before_min, before_max)), Some((next_min, next_max))) = (range(before, column), range(next, column)) else {
        return Adjacency::Unknown;
    };
    let (last, first) = if descending { (next_max, before_min) } else { (before_max, next_min) };
    match last.partial_cmp(&first) {
        Some(Ordering::Less) => Adjacency::Apart,
        // Bounds do not distinguish the two zeros, but sorting does.
        Some(Ordering::Equal) if !last.data_type().is_floating() => Adjacency::Touching,
        _ => Adjacency::Unknown,
    }
}

fn range(part: &ScanPart, column: usize) -> Option<(ScalarValue, ScalarValue)> {
    let zones = part.zones(column)?;
    if zones.min.null_count() > 0 || zones.max.null_count() > 0 {
        return None;
    }
    let [Extreme::Zone { zone: least, .. }, Extreme::Zone { zone: greatest, .. }] = part.extremes(column)? else { return None };
    Some((ScalarValue::try_from_array(&zones.min, least).ok()?, ScalarValue::try_from_array(&zones.max, greatest).ok()?))
}

/// The longest prefix of `ordering` that remains in `projection`, the declared columns of the output.
pub fn project_ordering(ordering: &[PhysicalSortExpr], projection: &[usize]) -> Option<LexOrdering> {
    let prefix = ordering.iter().map_while(|sort| {
        let column = sort.expr.downcast_ref::<Column>()?;
        let position = projection.iter().position(|index| *index == column.index())?;
        Some(PhysicalSortExpr::new(Arc::new(Column::new(column.name(), position)), sort.options))
    });
    LexOrdering::new(prefix.collect::<Vec<_>>())
}
