//! A job: pieces that are rewritten together, and how many may be.

use crate::compaction::segment_summary::SegmentSummary;

/// What one job may take.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    pub rows_max: u64,
    pub bytes_max: u64,
}

impl Limits {
    /// Of a job that may hold so many bytes in memory. A half is for the places of rows, four bytes each.
    pub fn of(memory_bytes: u64, bytes_max: u64) -> Limits {
        Limits { rows_max: (memory_bytes / 2 / 4).min(u64::from(u32::MAX - 1)), bytes_max }
    }
}

/// Pieces that are rewritten together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Job {
    pub pieces: Vec<SegmentSummary>,
}

impl Job {
    pub fn rows(&self) -> u64 {
        self.pieces.iter().map(|piece| piece.rows).sum()
    }

    pub fn live_rows(&self) -> u64 {
        self.pieces.iter().map(|piece| piece.live_rows).sum()
    }

    pub fn size_bytes(&self) -> u64 {
        self.pieces.iter().map(|piece| piece.size_bytes).sum()
    }

    pub fn live_bytes(&self) -> u64 {
        self.pieces.iter().map(SegmentSummary::live_bytes).sum()
    }
}

/// Pieces in their order, in each job as many as `bytes_max` and the limits allow, and one at least.
pub fn chunks(pieces: impl IntoIterator<Item = SegmentSummary>, bytes_max: u64, limits: Limits) -> Vec<Job> {
    let mut jobs: Vec<Job> = Vec::new();
    let (mut rows, mut bytes) = (0, 0);
    for piece in pieces {
        let fits = rows + piece.rows <= limits.rows_max && bytes + piece.live_bytes() <= bytes_max.min(limits.bytes_max);
        match jobs.last_mut().filter(|_| fits) {
            Some(job) => {
                rows += piece.rows;
                bytes += piece.live_bytes();
                job.pieces.push(piece);
            }
            None => {
                (rows, bytes) = (piece.rows, piece.live_bytes());
                jobs.push(Job { pieces: vec![piece] });
            }
        }
    }
    jobs
}
