//! Which segments are rewritten, and which of them together.
//!
//! Invariant: a row that is not deleted is rewritten at most about log₈(rows of its table) times in the
//! background, however small the writes are that a table grows by: a job takes eight or more pieces
//! of one tier, and what it writes is of a higher one. Rewriting for deleted rows comes on top, once
//! for each fifth of a segment; and sorting, once for what was written unsorted.

mod clustered;
mod job;
mod plain;
#[cfg(test)]
mod tests;
mod tier;

use pmem_store::TableSnapshot;

use self::job::chunks;
pub use self::job::{Job, Limits};
use super::key_range::KeyRanges;
use super::segment_summary::{SegmentSummary, TARGET_BYTES, pieces_of};
use common::error::EngineError;

/// How much is rewritten.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effort {
    /// What is worth it by itself, so that rewriting stays in proportion to what is written.
    Background,
    /// All that helps.
    Optimize,
    /// Until every segment is full, and no row in it deleted.
    Full,
}

/// The jobs of a table, the most urgent first. No piece is in two of them.
pub fn pick_jobs(table: &TableSnapshot, effort: Effort, limits: Limits) -> Result<Vec<Job>, EngineError> {
    let pieces = pieces_of(table)?;
    let (dead, pieces): (Vec<SegmentSummary>, Vec<SegmentSummary>) = pieces.into_iter().partition(SegmentSummary::is_dead);
    // They cost nothing but the commit.
    let mut jobs: Vec<Job> = (!dead.is_empty()).then_some(Job { pieces: dead }).into_iter().collect();
    if table.record().cluster_key.is_empty() {
        jobs.extend(plain::pick(pieces, effort, limits));
    } else {
        let ranges = KeyRanges::new(table)?;
        let mut range = |piece: &SegmentSummary| ranges.of(piece);
        jobs.extend(match effort {
            Effort::Background => clustered::pick(pieces, &mut range, limits)?,
            Effort::Optimize | Effort::Full => clustered::pick_all(pieces, &mut range, effort, limits)?,
        });
    }
    if effort == Effort::Background {
        // A segment of so many rows needs more memory than there is for it.
        jobs.retain(|job| job.live_rows() == 0 || job.rows() <= limits.rows_max);
    }
    Ok(jobs)
}

/// Whether the piece is worth to be rewritten by itself.
fn must_be_rewritten(piece: &SegmentSummary, effort: Effort) -> bool {
    let by_deletions = match effort {
        Effort::Background => piece.is_much_deleted(),
        Effort::Optimize => piece.is_slowed_by_deletions(),
        Effort::Full => piece.has_deletions(),
    };
    piece.is_stale || by_deletions
}

/// Whether a table should rather have fewer, larger ones.
fn is_too_small(piece: &SegmentSummary, effort: Effort) -> bool {
    match effort {
        // A segment is closed when the next batch does not fit, so that a full one may be a good deal smaller.
        // One of wide rows ends without a zone, and would come out as it is.
        Effort::Full => piece.live_bytes() < TARGET_BYTES / 2 && (piece.is_small() || !piece.is_of_wide_rows()),
        Effort::Background | Effort::Optimize => piece.is_small(),
    }
}
