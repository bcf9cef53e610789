//! Where groups, and equal rows within them, begin in the batches of sorted rows.

use std::ops::Range;

use arrow::array::ArrayRef;
use arrow::compute::{concat, partition};
use datafusion::common::Result;

/// Rows of a batch that follow each other and are equal in some columns.
#[derive(Debug, Clone)]
pub struct Runs {
    pub ranges: Vec<Range<usize>>,
    /// Whether the first one begins in an earlier batch.
    pub is_continued: bool,
}

impl Runs {
    /// Of a batch, which has at least one row. `previous` is the last row of the batch before it.
    fn of(columns: &[ArrayRef], rows: usize, previous: Option<&[ArrayRef]>) -> Result<Runs> {
        let ranges = match columns.is_empty() {
            true => std::iter::once(0..rows).collect(),
            false => partition(columns)?.ranges(),
        };
        let is_continued = previous.map(|row| is_equal(row, columns)).transpose()?.unwrap_or(false);
        Ok(Runs { ranges, is_continued })
    }

    /// The rows of each run, and whether it begins with them.
    pub fn iter(&self) -> impl Iterator<Item = (Range<usize>, bool)> {
        self.ranges.iter().enumerate().map(|(index, range)| (range.clone(), index > 0 || !self.is_continued))
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

/// The runs of a batch.
pub struct BatchRuns {
    pub groups: Runs,
    /// Rows of a group that are equal in the order; `None` if nothing depends on them.
    pub peers: Option<Runs>,
}

/// Finds the runs of one batch after the other.
#[derive(Default)]
pub struct RunFinder {
    /// The keys of the last row so far: those of its group, then those of its order.
    last: Option<Vec<ArrayRef>>,
}

impl RunFinder {
    pub fn find(&mut self, group: &[ArrayRef], order: &[ArrayRef], rows: usize, with_peers: bool) -> Result<BatchRuns> {
        let keys = [group, order].concat();
        let previous = self.last.as_deref();
        let groups = Runs::of(group, rows, previous.map(|last| &last[..group.len()]))?;
        let peers = with_peers.then(|| Runs::of(&keys, rows, previous)).transpose()?;
        self.last = Some(keys.iter().map(|key| key.slice(rows - 1, 1)).collect());
        Ok(BatchRuns { groups, peers })
    }
}
