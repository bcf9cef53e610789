//! The rows of a zone that have passed so far.

use std::ops::Range;

use arrow::array::{Array, ArrayRef, BooleanArray, BooleanBufferBuilder, RecordBatch, RecordBatchOptions, UInt32Array};
use arrow::buffer::BooleanBuffer;
use arrow::compute::{filter, filter_record_batch, take_record_batch};
use arrow::error::ArrowError;

/// If fewer than one row in this many is left, rows are listed, and the next conditions test only those.
const LISTED_BELOW: usize = 6;

#[derive(Debug, Clone)]
pub enum Selection {
    All,
    /// Has no NULLs.
    Mask(BooleanArray),
    /// Ascending.
    Rows(UInt32Array),
}

impl Selection {
    /// A condition's result.
    pub fn of(result: &BooleanArray) -> Selection {
        let bits = true_bits(result);
        let (count, rows) = (bits.count_set_bits(), bits.len());
        if count == rows {
            Selection::All
        } else if count * LISTED_BELOW < rows {
            Selection::Rows(UInt32Array::from_iter_values(bits.set_indices_u32()))
        } else {
            Selection::Mask(BooleanArray::new(bits, None))
        }
    }

    /// All of `rows` rows except for those at `deletions`, which is ascending.
    pub fn without(rows: usize, deletions: impl Iterator<Item = usize>) -> Selection {
        let mut bits = BooleanBufferBuilder::new(rows);
        bits.append_n(rows, true);
        deletions.for_each(|row| bits.set_bit(row, false));
        Selection::of(&BooleanArray::new(bits.finish(), None))
    }

    pub fn is_none(&self) -> bool {
        matches!(self, Selection::Rows(rows) if rows.is_empty())
    }

    /// How many of `rows` rows passed.
    pub fn count(&self, rows: usize) -> usize {
        match self {
            Selection::All => rows,
            Selection::Mask(mask) => mask.values().count_set_bits(),
            Selection::Rows(rows) => rows.len(),
        }
    }

    /// Narrows the selection by `result`, a condition on all rows.
    pub fn and(self, result: &BooleanArray) -> Selection {
        match self {
            Selection::All => Selection::of(result),
            Selection::Mask(mask) => Selection::of(&BooleanArray::new(mask.values() & &true_bits(result), None)),
            Selection::Rows(rows) => {
                let bits = true_bits(result);
                let rows = rows.values().iter().copied().filter(|row| bits.value(*row as usize));
                Selection::Rows(UInt32Array::from_iter_values(rows))
            }
        }
    }

    /// Narrows listed rows by `result`, a condition on those rows.
    pub fn and_of_listed(rows: &UInt32Array, result: &BooleanArray) -> Result<Selection, ArrowError> {
        let result = BooleanArray::new(true_bits(result), None);
        let rows: ArrayRef = filter(rows, &result)?;
        Ok(Selection::Rows(UInt32Array::from(rows.to_data())))
    }

    /// The rows of `0..rows` that passed, as consecutive runs.
    pub fn runs(&self, rows: usize) -> Vec<Range<usize>> {
        match self {
            Selection::All => std::iter::once(0..rows).collect(),
            Selection::Mask(mask) => mask.values().set_slices().map(|(start, end)| start..end).collect(),
            Selection::Rows(rows) => {
                let mut runs: Vec<Range<usize>> = Vec::new();
                for row in rows.values().iter().map(|row| *row as usize) {
                    match runs.last_mut().filter(|run| run.end == row) {
                        Some(run) => run.end += 1,
                        None => runs.push(row..row + 1),
                    }
                }
                runs
            }
        }
    }

    /// The rows that passed; `None` if all did and the batch can be used unchanged.
    pub fn apply(&self, batch: &RecordBatch) -> Result<Option<RecordBatch>, ArrowError> {
        match self {
            Selection::All => Ok(None),
            Selection::Mask(mask) => filter_record_batch(batch, mask).map(Some),
            // There are no columns to take, but there is a row count.
            Selection::Rows(rows) if batch.num_columns() == 0 => {
                let options = RecordBatchOptions::new().with_row_count(Some(rows.len()));
                RecordBatch::try_new_with_options(batch.schema(), Vec::new(), &options).map(Some)
            }
            Selection::Rows(rows) => take_record_batch(batch, rows).map(Some),
        }
    }
}

/// NULL is not true.
pub fn true_bits(result: &BooleanArray) -> BooleanBuffer {
    match result.nulls() {
        Some(nulls) => result.values() & nulls.inner(),
        None => result.values().clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(selection: &Selection, rows: usize) -> Vec<u32> {
        match selection {
            Selection::All => (0..rows as u32).collect(),
            Selection::Mask(mask) => mask.values().set_indices_u32().collect(),
            Selection::Rows(rows) => rows.values().to_vec(),
        }
    }

    #[test]
    fn selections_of_every_density_agree_with_plain_and() {
        let conditions: Vec<BooleanArray> = [1usize, 2, 3, 7, 50, 1000]
            .into_iter()
            .map(|step| (0..1000).map(|row| if row % 13 == 5 { None } else { Some(row % step == 0) }).collect())
            .collect();
        for first in &conditions {
            for second in &conditions {
                let both = Selection::of(first).and(second);
                let runs: Vec<u32> = both.runs(1000).into_iter().flat_map(|run| run.start as u32..run.end as u32).collect();
                assert_eq!(runs, listed(&both, 1000));
                assert!(both.runs(1000).windows(2).all(|pair| pair[0].end < pair[1].start));
                let expected: Vec<u32> = (0..1000u32)
                    .filter(|row| [first, second].iter().all(|c| c.is_valid(*row as usize) && c.value(*row as usize)))
                    .collect();
                assert_eq!(listed(&both, 1000), expected);
            }
        }
    }
}
