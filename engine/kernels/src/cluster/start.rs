//! The first centroids: rows chosen at random, or by k-means++ (Arthur and Vassilvitskii, "k-means++: the advantages of careful
//! seeding", 2007), which chooses each row with a probability in proportion to its squared distance to the nearest centroid so far.

use datafusion::common::Result;

use super::arguments::{Arguments, Init};
use super::lloyd::not_finite;
use super::points::Points;
use super::random::Random;
use crate::numeric::vectors::l2_squared;
use crate::threads::{StopFlag, for_each};
use common::messages::counted;
use common::names::KMEANS;
use common::tensors::refused;

/// So many numbers are read between two checks for cancellation.
const LOOK_NUMBERS: usize = 1 << 20;

/// k centroids, one after the other. There are at least k points.
pub fn first_centroids(points: &Points, arguments: &Arguments, threads: usize, stop: &StopFlag) -> Result<Vec<f64>> {
    let mut random = Random::new(arguments.seed);
    match &arguments.init {
        Init::Given { values, width } if *width == points.width() => Ok(values.clone()),
        Init::Given { width, .. } => {
            let numbers = counted(*width, "number");
            let message = format!("init of {KMEANS} has centroids of {numbers}, and the points have {}", points.width());
            Err(refused(message, None))
        }
        Init::Random => points.at(&random.distinct(arguments.k, points.rows()), stop),
        Init::PlusPlus => plus_plus(points, arguments.k, &mut random, threads, stop),
    }
}

/// One pass over the points for each centroid but the last.
fn plus_plus(points: &Points, k: usize, random: &mut Random, threads: usize, stop: &StopFlag) -> Result<Vec<f64>> {
    let mut chosen = vec![random.below(points.rows())];
    let mut centroids = points.at(&chosen, stop)?;
    centroids.reserve_exact((k - 1) * points.width());
    // For each point, the squared distance to the nearest centroid.
    let mut squared = vec![f64::INFINITY; points.rows()];
    while chosen.len() < k {
        let newest = &centroids[centroids.len() - points.width()..];
        let sums = update_distances(points, newest, &mut squared, threads, stop)?;
        let all: f64 = sums.iter().sum();
        if !all.is_finite() {
            return Err(not_finite(points, threads, stop));
        }
        let row = match all > 0.0 {
            true => weighted(points, &sums, &squared, random.unit() * all),
            // Every point coincides with a centroid, so any other row will do.
            false => nth_unchosen(&chosen, random.below(points.rows() - chosen.len())),
        };
        centroids.extend(points.at(&[row], stop)?);
        let place = chosen.partition_point(|before| *before < row);
        chosen.insert(place, row);
    }
    Ok(centroids)
}

/// Takes one more centroid into account; returns the sum of each piece.
fn update_distances(points: &Points, centroid: &[f64], squared: &mut [f64], threads: usize, stop: &StopFlag) -> Result<Vec<f64>> {
    let mut sums = vec![0.0; points.pieces().len()];
    let mut rest = squared;
    let mut items = Vec::with_capacity(sums.len());
    for (piece, sum) in points.pieces().iter().zip(&mut sums) {
        let (place, behind) = std::mem::take(&mut rest).split_at_mut(piece.rows);
        items.push((piece, place, sum));
        rest = behind;
    }
    let part_rows = (LOOK_NUMBERS / points.width()).max(1);
    for_each(threads, stop, items, |(piece, place, sum)| {
        let mut places = place.iter_mut();
        points.read(piece, &mut Vec::new(), &mut |read| {
            for part in read.chunks(part_rows * points.width()) {
                stop.check()?;
                for (point, place) in part.chunks_exact(points.width()).zip(&mut places) {
                    let distance = l2_squared(point, centroid);
                    // NaN stays, so that the sum shows it.
                    *place = if distance >= *place { *place } else { distance };
                    *sum += *place;
                }
            }
            Ok(())
        })
    })?;
    Ok(sums)
}

/// The row at which the sum of the weights passes `target`.
fn weighted(points: &Points, sums: &[f64], squared: &[f64], mut target: f64) -> usize {
    for (piece, sum) in points.pieces().iter().zip(sums) {
        if *sum <= target {
            target -= sum;
            continue;
        }
        for (row, weight) in (piece.first..).zip(&squared[piece.first..piece.first + piece.rows]) {
            if *weight > target {
                return row;
            }
            target -= weight;
        }
    }
    // Rounding has left a rest of the target.
    squared.iter().rposition(|weight| *weight > 0.0).unwrap_or_default()
}

/// The row with index `at` among those that are not in the sorted list.
fn nth_unchosen(chosen: &[usize], at: usize) -> usize {
    chosen.iter().fold(at, |row, chosen_row| if *chosen_row <= row { row + 1 } else { row })
}

#[cfg(test)]
mod tests {
    use super::nth_unchosen;

    #[test]
    fn rows_that_are_left_are_counted_without_those_that_are_taken() {
        let rows: Vec<usize> = (0..5).map(|at| nth_unchosen(&[0, 2, 3], at)).collect();
        assert_eq!(rows, [1, 4, 5, 6, 7]);
    }
}
