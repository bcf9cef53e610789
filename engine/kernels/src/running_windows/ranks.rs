//! The ranks of the rows of a batch, from those of the rows before it.

use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array};

use super::rank_kind::RankKind;
use super::runs::BatchRuns;

/// Of the last row so far.
#[derive(Debug, Default)]
pub struct RankCounter {
    /// Its number in its group, and its ranks.
    number: i64,
    rank: i64,
    dense_rank: i64,
}

impl RankCounter {
    /// A column for each of `kinds`. Without peers, all of them are [`RankKind::RowNumber`].
    pub fn count(&mut self, kinds: &[RankKind], runs: &BatchRuns, rows: usize) -> Vec<ArrayRef> {
        let mut columns: Vec<Vec<i64>> = kinds.iter().map(|_| Vec::with_capacity(rows)).collect();
        let RankCounter { number, rank, dense_rank } = self;
        let peers = runs.peers.as_ref().unwrap_or(&runs.groups);
        let groups = runs.groups.ranges.iter().map(|group| group.start);
        let mut groups = groups.skip(usize::from(runs.groups.is_continued)).peekable();
        for (index, run) in peers.ranges.iter().enumerate() {
            if groups.next_if_eq(&run.start).is_some() {
                (*number, *dense_rank) = (0, 0);
            }
            if index > 0 || !peers.is_continued {
                *rank = *number + 1;
                *dense_rank += 1;
            }
            for (kind, column) in kinds.iter().zip(&mut columns) {
                match kind {
                    RankKind::RowNumber => column.extend((1..=run.len() as i64).map(|at| *number + at)),
                    RankKind::Rank => column.extend(run.clone().map(|_| *rank)),
                    RankKind::DenseRank => column.extend(run.clone().map(|_| *dense_rank)),
                }
            }
            *number += run.len() as i64;
        }
        columns.into_iter().map(|column| Arc::new(Int64Array::from(column)) as ArrayRef).collect()
    }
}

#[cfg(test)]
mod tests {
    use arrow::array::{AsArray, StringArray};
    use arrow::datatypes::Int64Type;

    use super::*;
    use crate::running_windows::runs::RunFinder;

    /// Groups and keys in order; the ranks of each row do not depend on how the rows are cut into batches.
    #[test]
    fn rows_are_counted_across_batches() {
        let group = [Some("a"), Some("a"), Some("a"), Some("b"), None, None, None, Some("c"), Some("c")];
        let order = [Some(1), Some(1), Some(2), Some(2), None, None, Some(7), Some(7), Some(7)];
        let expected = [[1, 1, 1], [2, 1, 1], [3, 3, 2], [1, 1, 1], [1, 1, 1], [2, 1, 1], [3, 3, 2], [1, 1, 1], [2, 1, 1]];
        for batch_rows in 1..=group.len() {
            let (mut finder, mut counter) = (RunFinder::default(), RankCounter::default());
            let mut found = Vec::new();
            for (group, order) in group.chunks(batch_rows).zip(order.chunks(batch_rows)) {
                let group: ArrayRef = Arc::new(StringArray::from(group.to_vec()));
                let order: ArrayRef = Arc::new(Int64Array::from(order.to_vec()));
                let rows = group.len();
                let kinds = [RankKind::RowNumber, RankKind::Rank, RankKind::DenseRank];
                let columns = counter.count(&kinds, &finder.find(&[group], &[order], rows, true).unwrap(), rows);
                found.extend((0..rows).map(|row| [0, 1, 2].map(|at: usize| columns[at].as_primitive::<Int64Type>().value(row))));
            }
            assert_eq!(found, expected, "{batch_rows}");
        }
    }

    #[test]
    fn rows_without_keys_are_one_group() {
        let (mut finder, mut counter) = (RunFinder::default(), RankCounter::default());
        let kinds = [RankKind::RowNumber, RankKind::Rank];
        for first in [0, 3] {
            let columns = counter.count(&kinds, &finder.find(&[], &[], 3, true).unwrap(), 3);
            assert_eq!(columns[0].as_primitive::<Int64Type>().values(), &[first + 1, first + 2, first + 3]);
            assert_eq!(columns[1].as_primitive::<Int64Type>().values(), &[1, 1, 1]);
        }
    }
}
