//! Batches on their way to a writer, in pieces that take some milliseconds: whoever writes cannot see
//! a signal meanwhile.

use std::time::{Duration, Instant};

use arrow::array::RecordBatch;

/// A piece that takes less is followed by one of twice as many rows, one that takes more than
/// `LONG` by one of half as many.
const SHORT: Duration = Duration::from_millis(4);
const LONG: Duration = Duration::from_millis(16);
/// The size of the first piece, because its time is unknown.
const ROWS_FIRST: usize = 64;
/// More than any batch has.
const ROWS_MAX: usize = 1 << 20;

pub struct Pieces {
    /// `None`: batches are not split.
    rows: Option<usize>,
    rest: Option<RecordBatch>,
}

impl Pieces {
    pub fn new(in_pieces: bool) -> Pieces {
        Pieces { rows: in_pieces.then_some(ROWS_FIRST), rest: None }
    }

    /// Called when all pieces of the previous batch are written.
    pub fn begin(&mut self, batch: RecordBatch) {
        self.rest = Some(batch);
    }

    pub fn next(&mut self) -> Option<RecordBatch> {
        let batch = self.rest.take()?;
        let rows = self.rows.unwrap_or(batch.num_rows());
        if batch.num_rows() <= rows {
            return Some(batch);
        }
        self.rest = Some(batch.slice(rows, batch.num_rows() - rows));
        Some(batch.slice(0, rows))
    }

    /// Writes a piece, and adapts the size of the next one to the time.
    pub fn timed<T>(&mut self, write: impl FnOnce() -> T) -> T {
        let start = Instant::now();
        let written = write();
        self.learn(start.elapsed());
        written
    }

    fn learn(&mut self, took: Duration) {
        let Some(rows) = &mut self.rows else { return };
        if took < SHORT {
            *rows = (*rows * 2).min(ROWS_MAX);
        } else if took > LONG {
            *rows = (*rows / 2).max(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{ArrayRef, Int64Array};

    use super::*;

    fn batch(rows: i64) -> RecordBatch {
        let ids: ArrayRef = Arc::new(Int64Array::from_iter_values(0..rows));
        RecordBatch::try_from_iter([("id", ids)]).unwrap()
    }

    /// Rows of the pieces of three batches of 8,192 rows.
    fn pieces(mut pieces: Pieces, took: impl Fn(usize) -> Duration) -> Vec<usize> {
        let mut rows = Vec::new();
        for _ in 0..3 {
            pieces.begin(batch(8192));
            while let Some(piece) = pieces.next() {
                pieces.learn(took(piece.num_rows()));
                rows.push(piece.num_rows());
            }
        }
        rows
    }

    #[test]
    fn cheap_rows_are_soon_written_by_whole_batches() {
        let rows = pieces(Pieces::new(true), |_| Duration::from_micros(50));
        assert_eq!(rows.iter().sum::<usize>(), 3 * 8192);
        assert!(rows.ends_with(&[8192, 8192]), "{rows:?}");
    }

    #[test]
    fn expensive_rows_are_written_a_few_at_a_time() {
        let took = |rows: usize| Duration::from_micros(200 * rows as u64);
        let rows = pieces(Pieces::new(true), took);
        assert_eq!(rows.iter().sum::<usize>(), 3 * 8192);
        assert!(rows.iter().all(|rows| took(*rows) <= 2 * LONG), "{rows:?}");
    }

    #[test]
    fn a_writer_whose_output_shows_batches_gets_whole_ones() {
        let rows = pieces(Pieces::new(false), |_| LONG * 10);
        assert_eq!(rows, [8192; 3]);
    }
}
