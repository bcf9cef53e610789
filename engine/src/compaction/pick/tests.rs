//! Which jobs are picked, and how often they rewrite a row.

use super::*;
use crate::compaction::key_range::KeyRange;

const MIB: u64 = 1 << 20;
const ROW_BYTES: u64 = 100;

fn limits() -> Limits {
    Limits::of(512 * MIB, 2048 * MIB)
}

fn piece(id: u64, rows: u64) -> SegmentSummary {
    // A file with one row has at least this size.
    let size_bytes = rows * ROW_BYTES + 1_500;
    SegmentSummary { id, rows, live_rows: rows, size_bytes, run: id, is_sorted: true, is_stale: false }
}

fn of_size(id: u64, size_bytes: u64) -> SegmentSummary {
    SegmentSummary { size_bytes, ..piece(id, size_bytes / ROW_BYTES) }
}

fn ids(jobs: &[Job]) -> Vec<Vec<u64>> {
    jobs.iter().map(|job| job.pieces.iter().map(|piece| piece.id).collect()).collect()
}

/// Keys are bytes; each segment is given with its first and last key.
fn clustered(pieces: &[(SegmentSummary, u8, u8)], effort: Effort) -> Vec<Vec<u64>> {
    let segments: Vec<(SegmentSummary, u8, u8)> = pieces.to_vec();
    let mut range = |piece: &SegmentSummary| {
        let (_, min, max) = segments.iter().find(|(segment, ..)| segment.id == piece.id).unwrap();
        Ok(KeyRange { min: vec![*min], max: vec![*max] })
    };
    let pieces = pieces.iter().map(|(piece, ..)| piece.clone()).collect();
    ids(&match effort {
        Effort::Background => clustered::pick(pieces, &mut range, limits()).unwrap(),
        effort => clustered::pick_all(pieces, &mut range, effort, limits()).unwrap(),
    })
}

#[test]
fn a_few_small_segments_stay_as_they_are_in_the_background_and_become_one_on_demand() {
    let pieces: Vec<SegmentSummary> = (1..=7).map(|id| piece(id, 1_000)).collect();
    assert!(plain::pick(pieces.clone(), Effort::Background, limits()).is_empty());
    assert_eq!(ids(&plain::pick(pieces, Effort::Optimize, limits())), [[1, 2, 3, 4, 5, 6, 7]]);
}

#[test]
fn eight_segments_of_one_tier_become_one_with_the_smaller_ones() {
    let mut pieces: Vec<SegmentSummary> = (1..=8).map(|id| piece(id, 1_000)).collect();
    pieces.extend([piece(9, 3), of_size(10, 200 * MIB)]);
    assert_eq!(ids(&plain::pick(pieces, Effort::Background, limits())), [[1, 2, 3, 4, 5, 6, 7, 8, 9]]);
}

#[test]
fn small_segments_that_fill_a_large_one_do_not_wait_for_an_eighth() {
    let pieces: Vec<SegmentSummary> = (1..=5).map(|id| of_size(id, 60 * MIB)).collect();
    assert_eq!(ids(&plain::pick(pieces, Effort::Background, limits())), [[1, 2, 3, 4]]);
}

#[test]
fn a_segment_is_rewritten_when_more_than_a_fifth_of_it_is_deleted() {
    let deleted = |id, percent: u64| {
        let piece = of_size(id, 200 * MIB);
        SegmentSummary { live_rows: piece.rows - piece.rows * percent / 100, ..piece }
    };
    let pieces = vec![deleted(1, 20), deleted(2, 21), deleted(3, 50), of_size(4, 200 * MIB), deleted(5, 90)];
    assert_eq!(ids(&plain::pick(pieces.clone(), Effort::Background, limits())), [vec![2], vec![3, 5]]);
    assert_eq!(ids(&plain::pick(pieces, Effort::Full, limits())), [[1, 2, 3, 5]]);
}

#[test]
fn on_demand_a_segment_is_rewritten_when_scans_notice_what_is_deleted_of_it() {
    let deleted = |id, per_mille: u64| {
        let piece = of_size(id, 200 * MIB);
        SegmentSummary { live_rows: piece.rows - piece.rows * per_mille / 1000, ..piece }
    };
    let pieces = vec![deleted(1, 4), deleted(2, 6), deleted(3, 100)];
    assert!(plain::pick(pieces.clone(), Effort::Background, limits()).is_empty());
    assert_eq!(ids(&plain::pick(pieces, Effort::Optimize, limits())), [[2], [3]]);
}

#[test]
fn a_job_has_no_more_rows_than_memory_for_their_places() {
    let limits = Limits::of(8 * 10_000, u64::MAX);
    let pieces: Vec<SegmentSummary> = (1..=8).map(|id| piece(id, 3_000)).collect();
    assert_eq!(ids(&plain::pick(pieces, Effort::Optimize, limits)), [vec![1, 2, 3], vec![4, 5, 6], vec![7, 8]]);
}

#[test]
fn what_was_picked_on_demand_leaves_nothing_to_pick() {
    let pieces: Vec<SegmentSummary> = (1..=9).map(|id| of_size(id, 60 * MIB)).collect();
    for effort in [Effort::Optimize, Effort::Full] {
        let jobs = plain::pick(pieces.clone(), effort, limits());
        let rewritten: Vec<u64> = jobs.iter().map(Job::live_bytes).collect();
        let piece_count: usize = jobs.iter().map(|job| job.pieces.len()).sum();
        let mut after: Vec<SegmentSummary> = pieces[..pieces.len() - piece_count].to_vec();
        for bytes in rewritten {
            let full = (0..bytes / TARGET_BYTES).map(|_| TARGET_BYTES);
            after.extend(full.chain([bytes % TARGET_BYTES]).enumerate().map(|(at, bytes)| of_size(100 + at as u64, bytes)));
        }
        assert!(plain::pick(after, effort, limits()).is_empty(), "{effort:?}");
    }
}

/// The segments that the store makes of so many bytes of rows of 4 MiB: a segment ends after 80 MiB.
fn of_wide_rows(first_id: u64, bytes: u64) -> Vec<SegmentSummary> {
    let sizes = (0..bytes / (80 * MIB)).map(|_| 80 * MIB).chain([bytes % (80 * MIB)]).filter(|bytes| *bytes > 0);
    let pieces = sizes.enumerate().map(|(at, bytes)| (first_id + at as u64, bytes));
    pieces
        .map(|(id, bytes)| SegmentSummary { rows: bytes / (4 * MIB), live_rows: bytes / (4 * MIB), size_bytes: bytes, ..piece(id, 1) })
        .collect()
}

#[test]
fn segments_of_wide_rows_are_left_alone_and_small_ones_become_such_once() {
    for effort in [Effort::Background, Effort::Optimize, Effort::Full] {
        assert!(plain::pick(of_wide_rows(1, 12 * 80 * MIB), effort, limits()).is_empty(), "{effort:?}");
        let mut pieces: Vec<SegmentSummary> = (1..=20).flat_map(|id| of_wide_rows(id, 48 * MIB)).collect();
        let mut rounds = 0;
        while let Some(job) = plain::pick(pieces.clone(), effort, limits()).into_iter().next() {
            pieces.retain(|piece| !job.pieces.contains(piece));
            pieces.extend(of_wide_rows(100 * (rounds + 1), job.live_bytes()));
            rounds += 1;
            assert!(rounds < 20, "{effort:?}");
        }
        assert!(pieces.iter().all(|piece| piece.size_bytes <= 80 * MIB) && rounds > 0, "{effort:?}");
    }
}

#[test]
fn overlapping_segments_of_a_clustered_table_are_merged_and_those_beside_them_are_not() {
    let full = |id| of_size(id, 200 * MIB);
    let pieces = [(full(1), 0, 10), (full(2), 10, 20), (full(3), 15, 30), (full(4), 30, 40), (full(5), 41, 41), (full(6), 41, 41)];
    assert_eq!(clustered(&pieces, Effort::Optimize), [[2, 3]]);
    assert_eq!(clustered(&pieces, Effort::Full), [[2, 3]]);
}

#[test]
fn small_neighbours_of_a_clustered_table_are_merged_but_not_over_a_full_one() {
    let pieces = [
        (piece(1, 10), 0, 1),
        (piece(2, 10), 2, 3),
        (of_size(3, 200 * MIB), 4, 9),
        (piece(4, 10), 10, 11),
        (piece(5, 10), 12, 13),
        (of_size(6, 200 * MIB), 14, 19),
        (piece(7, 10), 20, 21),
    ];
    assert_eq!(clustered(&pieces, Effort::Optimize), [[1, 2], [4, 5]]);
    assert!(clustered(&pieces, Effort::Background).is_empty());
}

#[test]
fn unsorted_segments_are_sorted_together_and_much_deleted_ones_each_by_itself() {
    let unsorted = |id| SegmentSummary { is_sorted: false, ..piece(id, 100) };
    let deleted = |id| SegmentSummary { live_rows: 50, ..piece(id, 100) };
    let pieces = [(unsorted(1), 0, 9), (deleted(2), 0, 1), (unsorted(3), 0, 9), (deleted(4), 8, 9)];
    assert_eq!(clustered(&pieces, Effort::Background), [vec![1, 3], vec![2], vec![4]]);
}

#[test]
fn large_runs_in_the_order_of_the_key_are_left_alone_and_overlapping_ones_are_merged_by_eights() {
    let run = |id: u64, min, max| (SegmentSummary { run: id, ..of_size(id, 100 * MIB) }, min, max);
    let in_order: Vec<_> = (1..=20).map(|id| run(id, id as u8 * 10, id as u8 * 10 + 10)).collect();
    assert!(clustered(&in_order, Effort::Background).is_empty());
    let overlapping: Vec<_> = (1..=8).map(|id| run(id, 0, 200)).collect();
    assert_eq!(clustered(&overlapping, Effort::Background), [[1, 2, 3, 4, 5, 6, 7, 8]]);
    assert!(clustered(&overlapping[1..], Effort::Background).is_empty());
    // Segments of one version are one run, however many there are.
    let one_run: Vec<_> = (1..=8).map(|id| (SegmentSummary { run: 1, ..of_size(id, 100 * MIB) }, 0, 200)).collect();
    assert!(clustered(&one_run, Effort::Background).is_empty());
}

/// Appends of `rows` each, compacted whenever there is work.
fn rewritten_rows(appends: u64, rows: u64, pick: impl Fn(Vec<SegmentSummary>) -> Vec<Job>) -> (u64, usize) {
    let (mut pieces, mut next_id, mut rewritten, mut most) = (Vec::new(), 0, 0, 0);
    for _ in 0..appends {
        pieces.push(piece(next_id, rows));
        next_id += 1;
        while let Some(job) = pick(pieces.clone()).into_iter().next() {
            rewritten += job.live_rows();
            pieces.retain(|piece| !job.pieces.contains(piece));
            pieces.push(piece(next_id, job.live_rows()));
            next_id += 1;
        }
        most = most.max(pieces.len());
    }
    (rewritten, most)
}

#[test]
fn a_stream_of_small_appends_is_rewritten_about_as_often_as_its_size_has_tiers() {
    let everywhere = |_: &SegmentSummary| Ok(KeyRange { min: vec![0], max: vec![9] });
    for (appends, rows) in [(4_096, 1), (4_096, 1_000), (3_000, 77)] {
        let all = appends * rows;
        let tiers = u64::from(tier::tier(appends));
        let (rewritten, most) = rewritten_rows(appends, rows, |pieces| plain::pick(pieces, Effort::Background, limits()));
        assert!(rewritten <= all * tiers, "{rewritten} rows were rewritten of {all}");
        assert!(most <= 8 * (tiers as usize + 1), "{most} segments");
        let sorted = |pieces| clustered::pick(pieces, &mut everywhere.clone(), limits()).unwrap();
        let (rewritten, most) = rewritten_rows(appends, rows, sorted);
        assert!(rewritten <= all * tiers, "{rewritten} rows were rewritten of {all}, sorted");
        assert!(most <= 8 * (tiers as usize + 1), "{most} segments, sorted");
    }
}
