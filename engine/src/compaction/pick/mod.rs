//! Picks the segments to rewrite, and groups them into jobs.
//!
//! Invariant: the background rewrites a live row at most about log₈(rows of its table) times, however small the writes are: a job takes
//! eight or more segments of one tier, and its result is of a higher tier. Rewrites because of deleted rows are extra, one for each fifth
//! of a segment; and so is sorting, once for rows that were written unsorted.

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
    /// Only what pays for itself, so that rewriting stays in proportion to writing.
    Background,
    /// Everything that helps.
    Optimize,
    /// Until every segment is full and without deleted rows.
    Full,
}

/// The jobs of a table, the most urgent first. No segment is in two of them.
pub fn pick_jobs(table: &TableSnapshot, effort: Effort, limits: Limits) -> Result<Vec<Job>, EngineError> {
    let pieces = pieces_of(table)?;
    let (dead, pieces): (Vec<SegmentSummary>, Vec<SegmentSummary>) = pieces.into_iter().partition(SegmentSummary::is_dead);
    // Dropping them costs only the commit.
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
        // A segment of that many rows needs more memory than there is.
        jobs.retain(|job| job.live_rows() == 0 || job.rows() <= limits.rows_max);
    }
    Ok(jobs)
}

/// Whether the segment is worth rewriting alone.
fn must_be_rewritten(piece: &SegmentSummary, effort: Effort) -> bool {
    let by_deletions = match effort {
        Effort::Background => piece.is_much_deleted(),
        Effort::Optimize => piece.is_slowed_by_deletions(),
        Effort::Full => piece.has_deletions(),
    };
    piece.is_stale || by_deletions
}

/// Whether the segment should be merged into a larger one.
fn is_too_small(piece: &SegmentSummary, effort: Effort) -> bool {
    match effort {
        // A segment is closed when the next batch does not fit, so a full one may be much smaller. One of wide rows ends within a zone,
        // and rewriting it would give the same segment.
        Effort::Full => piece.live_bytes() < TARGET_BYTES / 2 && (piece.is_small() || !piece.is_of_wide_rows()),
        Effort::Background | Effort::Optimize => piece.is_small(),
    }
}
