//! The ranks of the rows of a batch, from those of the rows before it.

use std::ops::Range;
use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array};
use arrow::compute::{concat, partition};
use datafusion::common::Result;

use super::kind::RankKind;

/// The last row so far.
struct LastRow {
    group: Vec<ArrayRef>,
    order: Vec<ArrayRef>,
    /// Its number in its group, and its ranks.
    number: i64,
    rank: i64,
    dense_rank: i64,
}

#[derive(Default)]
pub struct RankCounter {
    last: Option<LastRow>,
}

impl RankCounter {
    /// A column for each of `kinds`. The rows, at least one, are those that follow in the order of the window; `group` and `order` are its keys.
    pub fn count(&mut self, kinds: &[RankKind], group: &[ArrayRef], order: &[ArrayRef], rows: usize) -> Result<Vec<ArrayRef>> {
        // Without peers, all rows of a group are equal.
        let has_peers = kinds.iter().any(|kind| *kind != RankKind::RowNumber);
        let keys = [group, order].concat();
        let groups = runs(group, rows)?;
        let peers = if has_peers { runs(&keys, rows)? } else { groups.clone() };
        let (mut number, mut rank, mut dense_rank) = (0, 0, 0);
        let (mut in_group, mut in_peers) = (false, false);
        if let Some(last) = &self.last {
            in_group = is_equal(&last.group, group)?;
            in_peers = in_group && has_peers && is_equal(&last.order, order)?;
            if in_group {
                (number, rank, dense_rank) = (last.number, last.rank, last.dense_rank);
            }
        }
        let mut columns: Vec<Vec<i64>> = kinds.iter().map(|_| Vec::with_capacity(rows)).collect();
        let mut starts = groups.iter().map(|group| group.start).skip(usize::from(in_group)).peekable();
        for run in peers {
            if starts.next_if_eq(&run.start).is_some() {
                (number, dense_rank) = (0, 0);
            }
            if !std::mem::take(&mut in_peers) {
                rank = number + 1;
                dense_rank += 1;
            }
            for (kind, column) in kinds.iter().zip(&mut columns) {
                match kind {
                    RankKind::RowNumber => column.extend((1..=run.len() as i64).map(|at| number + at)),
                    RankKind::Rank => column.extend(run.clone().map(|_| rank)),
                    RankKind::DenseRank => column.extend(run.clone().map(|_| dense_rank)),
                }
            }
            number += run.len() as i64;
        }
        let last = |columns: &[ArrayRef]| columns.iter().map(|column| column.slice(rows - 1, 1)).collect();
        self.last = Some(LastRow { group: last(group), order: last(order), number, rank, dense_rank });
        Ok(columns.into_iter().map(|column| Arc::new(Int64Array::from(column)) as ArrayRef).collect())
    }
}

/// Runs of rows that are equal in these columns.
fn runs(columns: &[ArrayRef], rows: usize) -> Result<Vec<Range<usize>>> {
    match columns.is_empty() {
        true => Ok(std::iter::once(0..rows).collect()),
        false => Ok(partition(columns)?.ranges()),
    }
}

/// Whether the first row of these columns equals a row.
fn is_equal(row: &[ArrayRef], columns: &[ArrayRef]) -> Result<bool> {
    for (one, column) in row.iter().zip(columns) {
        if partition(&[concat(&[one.as_ref(), column.slice(0, 1).as_ref()])?])?.len() > 1 {
            return Ok(false);
        }
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use arrow::array::{AsArray, StringArray};
    use arrow::datatypes::Int64Type;

    use super::*;

    /// Groups and keys in order; the ranks of each row do not depend on how the rows are cut into batches.
    #[test]
    fn rows_are_counted_across_batches() {
        let group = [Some("a"), Some("a"), Some("a"), Some("b"), None, None, None, Some("c"), Some("c")];
        let order = [Some(1), Some(1), Some(2), Some(2), None, None, Some(7), Some(7), Some(7)];
        let expected = [[1, 1, 1], [2, 1, 1], [3, 3, 2], [1, 1, 1], [1, 1, 1], [2, 1, 1], [3, 3, 2], [1, 1, 1], [2, 1, 1]];
        for batch_rows in 1..=group.len() {
            let mut counter = RankCounter::default();
            let mut found = Vec::new();
            for (group, order) in group.chunks(batch_rows).zip(order.chunks(batch_rows)) {
                let group: ArrayRef = Arc::new(StringArray::from(group.to_vec()));
                let order: ArrayRef = Arc::new(Int64Array::from(order.to_vec()));
                let rows = group.len();
                let kinds = [RankKind::RowNumber, RankKind::Rank, RankKind::DenseRank];
                let columns = counter.count(&kinds, &[group], &[order], rows).unwrap();
                found.extend((0..rows).map(|row| [0, 1, 2].map(|at: usize| columns[at].as_primitive::<Int64Type>().value(row))));
            }
            assert_eq!(found, expected, "{batch_rows}");
        }
    }

    #[test]
    fn rows_without_keys_are_one_group() {
        let mut counter = RankCounter::default();
        let kinds = [RankKind::RowNumber, RankKind::Rank];
        for first in [0, 3] {
            let columns = counter.count(&kinds, &[], &[], 3).unwrap();
            assert_eq!(columns[0].as_primitive::<Int64Type>().values(), &[first + 1, first + 2, first + 3]);
            assert_eq!(columns[1].as_primitive::<Int64Type>().values(), &[1, 1, 1]);
        }
    }
}
