//! Tables without a cluster key: any segments can be merged.

use super::tier::{full_tier, tier};
use super::{Effort, Job, Limits, chunks, is_too_small, must_be_rewritten};
use crate::compaction::segment_summary::{SegmentSummary, TARGET_BYTES};

pub fn pick(pieces: Vec<SegmentSummary>, effort: Effort, limits: Limits) -> Vec<Job> {
    let must = |piece: &SegmentSummary| must_be_rewritten(piece, effort);
    // A single small segment stays as it is.
    let is_worth_it = |job: &Job| job.pieces.len() > 1 || job.pieces.iter().any(must);
    if effort != Effort::Background {
        let bytes_max = if effort == Effort::Full { limits.bytes_max } else { TARGET_BYTES };
        let candidates = pieces.into_iter().filter(|piece| must(piece) || is_too_small(piece, effort));
        return chunks(candidates, bytes_max, limits).into_iter().filter(is_worth_it).collect();
    }
    let small = || pieces.iter().filter(|piece| piece.is_small());
    let full = full_tier(small().map(|piece| tier(piece.live_rows))).or_else(|| {
        // Few, but together enough for a whole segment.
        let is_enough = small().map(SegmentSummary::live_bytes).sum::<u64>() >= TARGET_BYTES;
        is_enough.then_some(u32::MAX)
    });
    let is_chosen = |piece: &SegmentSummary| piece.is_small() && full.is_some_and(|full| tier(piece.live_rows) <= full);
    let (chosen, others): (Vec<SegmentSummary>, Vec<SegmentSummary>) = pieces.iter().cloned().partition(is_chosen);
    let merged = chunks(chosen, TARGET_BYTES, limits).into_iter().filter(is_worth_it);
    let rewritten = chunks(others.into_iter().filter(must), TARGET_BYTES, limits);
    merged.chain(rewritten).collect()
}
