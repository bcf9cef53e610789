//! Tables with a cluster key: the segments of a job become one run in the key's order. So segments that are far apart are rewritten
//! separately, because a run with both would overlap everything in between.

use std::collections::{BTreeMap, HashSet};

use super::tier::{full_tier, tier};
use super::{Effort, Job, Limits, chunks, is_too_small, must_be_rewritten};
use crate::compaction::key_range::KeyRange;
use crate::compaction::segment_summary::{SMALL_BYTES, SMALL_BYTES_OF_WIDE_ROWS, SegmentSummary, TARGET_BYTES};
use common::error::EngineError;

pub type RangeOf<'a> = &'a mut dyn FnMut(&SegmentSummary) -> Result<KeyRange, EngineError>;

/// Picks jobs for background compaction.
pub fn pick(pieces: Vec<SegmentSummary>, range: RangeOf<'_>, limits: Limits) -> Result<Vec<Job>, EngineError> {
    let (unsorted, sorted): (Vec<SegmentSummary>, Vec<SegmentSummary>) = pieces.into_iter().partition(|piece| !piece.is_sorted);
    let (must, others): (Vec<SegmentSummary>, Vec<SegmentSummary>) =
        sorted.into_iter().partition(|piece| must_be_rewritten(piece, Effort::Background));
    let mut jobs = chunks(unsorted, limits.bytes_max, limits);
    jobs.extend(must.into_iter().map(|piece| Job { pieces: vec![piece] }));
    jobs.extend(full_tier_of_runs(others, range, limits)?);
    Ok(jobs)
}

/// Segments that were written together, one after the other in the key's order.
struct SortedRun {
    rows: u64,
    stored_rows: u64,
    bytes: u64,
    pieces: Vec<SegmentSummary>,
}

impl SortedRun {
    fn new(pieces: Vec<SegmentSummary>) -> SortedRun {
        SortedRun {
            rows: pieces.iter().map(|piece| piece.live_rows).sum(),
            stored_rows: pieces.iter().map(|piece| piece.rows).sum(),
            bytes: pieces.iter().map(SegmentSummary::live_bytes).sum(),
            pieces,
        }
    }

    /// Of wide rows, as blobs, a segment has few: they are not worth the copy of so many bytes.
    fn is_worth_no_merger(&self) -> bool {
        let is_wide = self.pieces.iter().all(SegmentSummary::is_of_wide_rows);
        self.bytes >= if is_wide { SMALL_BYTES_OF_WIDE_ROWS } else { SMALL_BYTES }
    }
}

/// Runs of one tier and the tiers below it, if there are enough of them.
fn full_tier_of_runs(pieces: Vec<SegmentSummary>, range: RangeOf<'_>, limits: Limits) -> Result<Option<Job>, EngineError> {
    let mut by_run: BTreeMap<u64, Vec<SegmentSummary>> = BTreeMap::new();
    pieces.into_iter().for_each(|piece| by_run.entry(piece.run).or_default().push(piece));
    // Two of them would exceed the limits of a job.
    let is_large = |run: &SortedRun| run.bytes > limits.bytes_max / 2 || run.stored_rows > limits.rows_max / 2;
    let mut runs: Vec<SortedRun> = by_run.into_values().map(SortedRun::new).filter(|run| !is_large(run)).collect();
    // With fewer runs there is no need to read keys.
    if full_tier(runs.iter().map(|run| tier(run.rows))).is_none() {
        return Ok(None);
    }
    let overlapping = overlapping_runs(&runs, range)?;
    let is_in_place = |at: usize, run: &SortedRun| run.is_worth_no_merger() && !overlapping.contains(&at);
    runs = runs.into_iter().enumerate().filter(|(at, run)| !is_in_place(*at, run)).map(|(_, run)| run).collect();
    let Some(full) = full_tier(runs.iter().map(|run| tier(run.rows))) else { return Ok(None) };
    runs.retain(|run| tier(run.rows) <= full);
    runs.sort_by_key(|run| run.rows);
    let (mut rows, mut bytes, mut selection) = (0, 0, Vec::new());
    for run in runs {
        (rows, bytes) = (rows + run.stored_rows, bytes + run.bytes);
        if rows > limits.rows_max || bytes > limits.bytes_max {
            break;
        }
        selection.push(run);
    }
    let pieces: Vec<SegmentSummary> = selection.into_iter().flat_map(|run| run.pieces).collect();
    Ok((pieces.len() > 1).then_some(Job { pieces }))
}

/// The runs, by position, with a segment that overlaps one of another run.
fn overlapping_runs(runs: &[SortedRun], range: RangeOf<'_>) -> Result<HashSet<usize>, EngineError> {
    let mut ranges = Vec::new();
    for (run, of) in runs.iter().enumerate() {
        for piece in &of.pieces {
            ranges.push((range(piece)?, run));
        }
    }
    ranges.sort();
    let mut overlapping = HashSet::new();
    // The segment that reaches farthest so far, and the farthest one of another run.
    let (mut first, mut second): (Option<(KeyRange, usize)>, Option<(KeyRange, usize)>) = (None, None);
    for (range, run) in ranges {
        for (other, other_run) in [&first, &second].into_iter().flatten() {
            if *other_run != run && other.overlaps(&range) {
                overlapping.extend([*other_run, run]);
            }
        }
        let reaches_farther = |farthest: &Option<(KeyRange, usize)>| farthest.as_ref().is_none_or(|(farthest, _)| farthest.max < range.max);
        if first.as_ref().is_some_and(|(_, other)| *other == run) || first.is_none() {
            if reaches_farther(&first) {
                first = Some((range, run));
            }
        } else if reaches_farther(&first) {
            second = first.replace((range, run));
        } else if reaches_farther(&second) {
            second = Some((range, run));
        }
    }
    Ok(overlapping)
}

/// Everything that helps, in the key's order: overlapping segments, and neighbours that are too small.
pub fn pick_all(pieces: Vec<SegmentSummary>, range: RangeOf<'_>, effort: Effort, limits: Limits) -> Result<Vec<Job>, EngineError> {
    let mut ranged = Vec::with_capacity(pieces.len());
    for piece in pieces {
        ranged.push((range(&piece)?, piece));
    }
    ranged.sort_by(|(one, _), (other, _)| one.cmp(other));
    let must = |piece: &SegmentSummary| !piece.is_sorted || must_be_rewritten(piece, effort);
    let mut jobs = Vec::new();
    let mut open: Vec<SegmentSummary> = Vec::new();
    let mut close = |open: &mut Vec<SegmentSummary>| {
        let chunks = chunks(std::mem::take(open), u64::MAX, limits);
        jobs.extend(chunks.into_iter().filter(|job| job.pieces.len() > 1 || job.pieces.iter().any(must)));
    };
    for component in components(ranged) {
        let has_work = component.len() > 1 || component.iter().any(|piece| must(piece) || is_too_small(piece, effort));
        // A full segment in between would be overlapped by the merger of its neighbours.
        if !has_work || open.iter().map(SegmentSummary::live_bytes).sum::<u64>() >= TARGET_BYTES {
            close(&mut open);
        }
        if has_work {
            open.extend(component);
        }
    }
    close(&mut open);
    Ok(jobs)
}

/// Groups of segments that overlap directly or through others; `ranged` is sorted by range.
fn components(ranged: Vec<(KeyRange, SegmentSummary)>) -> Vec<Vec<SegmentSummary>> {
    let mut components: Vec<Vec<SegmentSummary>> = Vec::new();
    let mut reach: Option<KeyRange> = None;
    for (range, piece) in ranged {
        match (components.last_mut(), &mut reach) {
            (Some(component), Some(reach)) if reach.overlaps(&range) => {
                component.push(piece);
                if reach.max < range.max {
                    reach.max = range.max;
                }
            }
            _ => {
                components.push(vec![piece]);
                reach = Some(range);
            }
        }
    }
    components
}
