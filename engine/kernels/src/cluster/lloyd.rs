//! Lloyd's algorithm ("Least squares quantization in PCM", 1982): every point goes to its nearest centroid, every centroid to the
//! mean of its points, and so on. One pass over the points for each iteration.
//!
//! Results are the same for any number of threads: the points are divided among sums by their number alone, and the sums
//! are added in their order.

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

use datafusion::common::{DataFusionError, Result};
use datafusion::execution::memory_pool::MemoryReservation;

use super::arguments::Arguments;
use super::points::Points;
use crate::numeric::centroids::Centroids;
use crate::numeric::clusters::Step;
use crate::threads::{StopFlag, for_each};
use common::messages::{counted, have};
use common::names::KMEANS;
use common::tensors::refused;

/// The points are divided into so many groups with separate sums, so that threads share the work evenly.
const GROUPS_MAX: usize = 64;
const GROUPS_MIN: usize = 4;
/// If sums are large, there are fewer of them.
const SUMS_BYTES: usize = 64 << 20;
/// Memory for inertias is reserved for so many iterations at once.
const INERTIAS: usize = 1_024;
/// So many multiplications are made between two checks for cancellation.
const LOOK_PRODUCTS: usize = 1 << 24;

/// The result after the last iteration.
pub struct Clusters {
    pub centroids: Centroids,
    /// The last pass: which points were nearest to the centroids before it.
    pub last: Step,
    /// For each iteration, the sum of squared distances to the centroids that it began with.
    pub inertias: Vec<f64>,
}

/// How threads share a pass.
pub struct Sharing<'a> {
    pub threads: usize,
    pub stop: &'a StopFlag,
}

/// What is not known in advance, one number for each iteration, is reserved in `memory` as it comes.
pub fn clusters(
    points: &Points,
    first: Vec<f64>,
    arguments: &Arguments,
    sharing: &Sharing<'_>,
    memory: &MemoryReservation,
) -> Result<Clusters> {
    let (k, width) = (arguments.k, points.width());
    let groups = groups(points, k);
    let mut sums: Vec<Step> = groups.iter().map(|_| Step::new(k, width)).collect();
    let mut centroids = Centroids::new(first, k, width);
    let mut all = Step::new(k, width);
    let mut inertias = Vec::new();
    loop {
        pass(points, &centroids, &groups, &mut sums, sharing)?;
        all.clear();
        sums.iter().for_each(|sum| all.merge(sum));
        if !all.sums.iter().chain(&all.inertias).all(|number| number.is_finite()) {
            return Err(not_finite(points, sharing.threads, sharing.stop));
        }
        if inertias.len() == inertias.capacity() {
            memory.try_grow(INERTIAS * size_of::<f64>())?;
            inertias.reserve_exact(INERTIAS);
        }
        inertias.push(all.inertias.iter().sum());
        let moved = all.moved(&centroids);
        let farthest = farthest(&centroids, &moved);
        centroids = moved;
        if inertias.len() >= arguments.iterations || farthest <= arguments.tolerance {
            return Ok(Clusters { centroids, last: all, inertias });
        }
    }
}

/// The points divided by their number: pieces of one group follow each other.
pub fn groups(points: &Points, k: usize) -> Vec<Range<usize>> {
    let pieces = points.pieces().len();
    let sum_bytes = k.saturating_mul(points.width()).saturating_mul(size_of::<f64>()).max(1);
    let count = (SUMS_BYTES / sum_bytes).clamp(GROUPS_MIN, GROUPS_MAX).min(pieces).max(1);
    (0..count).map(|group| pieces * group / count..pieces * (group + 1) / count).collect()
}

fn pass(points: &Points, centroids: &Centroids, groups: &[Range<usize>], sums: &mut [Step], sharing: &Sharing<'_>) -> Result<()> {
    let (k, width) = (centroids.k(), centroids.d());
    let part_rows = (LOOK_PRODUCTS / k.saturating_mul(width).max(1)).max(32);
    let items: Vec<(&Range<usize>, &mut Step)> = groups.iter().zip(sums).collect();
    for_each(sharing.threads, sharing.stop, items, |(group, sum)| {
        sum.clear();
        let mut tile = Vec::new();
        for piece in &points.pieces()[group.clone()] {
            points.read(piece, &mut tile, &mut |read| {
                for part in read.chunks(part_rows * width) {
                    sharing.stop.check()?;
                    sum.add(centroids, part);
                }
                Ok(())
            })?;
        }
        Ok(())
    })
}

/// The largest distance that a centroid moved.
fn farthest(before: &Centroids, after: &Centroids) -> f64 {
    let pairs = before.values().chunks(before.d()).zip(after.values().chunks(before.d()));
    let ways = pairs.map(|(before, after)| before.iter().zip(after).map(|(from, to)| (to - from) * (to - from)).sum::<f64>().sqrt());
    ways.fold(0.0, f64::max)
}

/// The reason why a sum is not finite.
pub fn not_finite(points: &Points, threads: usize, stop: &StopFlag) -> DataFusionError {
    match rows_not_finite(points, threads, stop) {
        Err(error) => error,
        Ok(0) => refused(
            format!("the numbers are too large for {KMEANS}: squares of their distances are beyond DOUBLE"),
            Some("divide them by a number in a view: CREATE VIEW v AS SELECT x / 1e100 AS x FROM …"),
        ),
        Ok(rows) => refused(
            format!("{KMEANS} takes finite numbers, and {rows} of {} {} NaN or infinity", counted(points.rows(), "row"), have(rows)),
            Some("leave these rows out with a view: CREATE VIEW v AS SELECT … WHERE …"),
        ),
    }
}

fn rows_not_finite(points: &Points, threads: usize, stop: &StopFlag) -> Result<usize> {
    let row_count = AtomicUsize::new(0);
    for_each(threads, stop, points.pieces().iter().collect(), |piece| {
        points.read(piece, &mut Vec::new(), &mut |read| {
            let rows = read.chunks_exact(points.width()).filter(|point| point.iter().any(|number| !number.is_finite())).count();
            row_count.fetch_add(rows, Ordering::Relaxed);
            Ok(())
        })
    })?;
    Ok(row_count.into_inner())
}
