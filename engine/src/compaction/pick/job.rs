//! A job: segments that are rewritten together, and its limits.

use crate::compaction::segment_summary::SegmentSummary;

/// The limits of one job.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    pub rows_max: u64,
    pub bytes_max: u64,
}

impl Limits {
    /// The limits of a job with this much memory. Half of it is for row positions, four bytes each.
    pub fn of(memory_bytes: u64, bytes_max: u64) -> Limits {
        Limits { rows_max: (memory_bytes / 2 / 4).min(u64::from(u32::MAX - 1)), bytes_max }
    }
}

/// Segments that are rewritten together.
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

/// Splits segments, in their order, into jobs of as many as `bytes_max` and the limits allow, and at least one.
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
