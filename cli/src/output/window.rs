//! The first and the last rows of a result of any length, in bounded memory.

use std::collections::VecDeque;

use engine::RecordBatch;

pub struct RowWindow {
    half: usize,
    head: Vec<RecordBatch>,
    head_rows: usize,
    tail: VecDeque<RecordBatch>,
    tail_rows: usize,
    rows: u64,
}

impl RowWindow {
    /// Keeps `rows_max` rows, half from each end.
    pub fn new(rows_max: usize) -> Self {
        RowWindow { half: rows_max.div_ceil(2), head: Vec::new(), head_rows: 0, tail: VecDeque::new(), tail_rows: 0, rows: 0 }
    }

    pub fn push(&mut self, batch: &RecordBatch) {
        let rows = batch.num_rows();
        self.rows += rows as u64;
        let to_head = rows.min(self.half - self.head_rows);
        if to_head > 0 {
            self.head.push(batch.slice(0, to_head));
            self.head_rows += to_head;
        }
        let to_tail = (rows - to_head).min(self.half);
        if to_tail == 0 {
            return;
        }
        self.tail.push_back(batch.slice(rows - to_tail, to_tail));
        self.tail_rows += to_tail;
        while let Some(first) = self.tail.front() {
            if self.tail_rows - first.num_rows() < self.half {
                break;
            }
            self.tail_rows -= first.num_rows();
            self.tail.pop_front();
        }
    }

    pub fn head(&self) -> &[RecordBatch] {
        &self.head
    }

    /// The last rows, without those that are in the head already.
    pub fn tail(&self) -> Vec<RecordBatch> {
        let mut surplus = self.tail_rows.saturating_sub(self.half);
        let mut shown = Vec::new();
        for batch in &self.tail {
            let skipped = surplus.min(batch.num_rows());
            surplus -= skipped;
            shown.push(batch.slice(skipped, batch.num_rows() - skipped));
        }
        shown
    }

    /// Rows between head and tail, which are not kept.
    pub fn hidden(&self) -> u64 {
        let window_rows = self.head_rows + self.tail_rows.min(self.half);
        self.rows - window_rows as u64
    }
}
