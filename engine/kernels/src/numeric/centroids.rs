//! Finds the nearest of some centroids, for many points.
//!
//! Candidates are found by |c|² − 2·x·c, two points and twenty centroids at once in registers. Centroids whose scores
//! are closer together than the rounding are compared by the sum of (x − c)², so the result is always the nearest by that,
//! however far the points are from the origin.

use super::real::fused;
use super::vectors::l2_squared;

/// Points are processed in tiles of this size: they stay in the cache from the scores to the sums.
pub const TILE: usize = 8;
/// Points are prefetched so many numbers ahead: 4 KiB. The hardware prefetcher loses track in the pauses between
/// the passes over tiles.
const AHEAD: usize = 512;
/// The largest number of centroids whose scores fit into the registers, for two points; the number of centroids is padded to a multiple.
const WIDTH_MAX: usize = 20;
const WIDTH_UNIT: usize = 4;

/// `k` centroids of `d` numbers, and the same in a layout for comparisons with points.
#[derive(Clone, Debug)]
pub struct Centroids {
    values: Vec<f64>,
    k: usize,
    d: usize,
    /// The number of centroids in each panel.
    width: usize,
    /// For each panel `d` rows of `width` numbers: −2·c.
    panels: Vec<f64>,
    /// |c|² of each centroid; the largest double for those that only pad the last panel.
    squares: Vec<f64>,
    largest_square: f64,
    /// The bits of a score that hold an index, its lowest ones.
    index_bits: u64,
}

/// An upper bound of the numbers of `k` centroids of `d`; `None`: it overflows.
pub fn numbers_max(k: usize, d: usize) -> Option<usize> {
    // Besides the values there are panels of as many, with their padding, and a square for each.
    let filled = filled_max(k);
    k.checked_mul(d)?.checked_add(filled.checked_mul(d.checked_add(1)?)?)
}

/// The scores of a tile in addition.
pub fn scores_max(k: usize) -> usize {
    filled_max(k).saturating_mul(TILE)
}

/// The number of places in the panels: there are as few panels as possible, so the padding is less than one unit.
fn filled_max(k: usize) -> usize {
    k.saturating_add(k.div_ceil(WIDTH_MAX).max(1).saturating_mul(WIDTH_UNIT))
}

impl Centroids {
    /// `values` has `k·d` numbers, centroid by centroid.
    pub fn new(values: Vec<f64>, k: usize, d: usize) -> Centroids {
        if k.checked_mul(d) != Some(values.len()) {
            unreachable!("{} values of {k} centroids of {d}", values.len());
        }
        let panel_count = k.div_ceil(WIDTH_MAX).max(1);
        let width = k.div_ceil(panel_count).next_multiple_of(WIDTH_UNIT).max(WIDTH_UNIT);
        let (mut panels, mut squares) = (vec![0.0; panel_count * width * d], vec![f64::MAX; panel_count * width]);
        for (index, centroid) in (0..k).map(|index| (index, &values[index * d..][..d])) {
            for (row, value) in centroid.iter().enumerate() {
                panels[(index / width * d + row) * width + index % width] = -2.0 * value;
            }
            squares[index] = centroid.iter().fold(0.0, |sum, value| fused(*value, *value, sum));
        }
        let largest_square = squares[..k].iter().copied().fold(0.0, f64::max);
        let index_bits = (panel_count * width).next_power_of_two() as u64 - 1;
        Centroids { values, k, d, width, panels, squares, largest_square, index_bits }
    }

    pub fn k(&self) -> usize {
        self.k
    }

    pub fn d(&self) -> usize {
        self.d
    }

    /// Centroid by centroid.
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    fn centroid(&self, index: usize) -> &[f64] {
        &self.values[index * self.d..][..self.d]
    }

    /// Writes for each of the points, `d` numbers each, the index of the nearest centroid (the lowest of equally
    /// near ones) and its squared distance. A point with NaN or infinity gets any index, and a distance that is not finite.
    pub fn assign(&self, points: &[f64], nearest: &mut [u32], squared: &mut [f64]) {
        if self.k == 0 || self.d == 0 {
            nearest.fill(0);
            squared.fill(0.0);
            return;
        }
        let mut scores = self.scores();
        let tiles = points.chunks(TILE * self.d).zip(nearest.chunks_mut(TILE)).zip(squared.chunks_mut(TILE));
        for ((points, nearest), squared) in tiles {
            self.assign_tile(points, nearest, squared, &mut scores);
        }
    }

    /// Allocates the scores of a tile.
    pub fn scores(&self) -> Vec<f64> {
        vec![0.0; TILE * self.squares.len()]
    }

    /// As [`Centroids::assign`], for at most [`TILE`] points; `scores` comes from [`Centroids::scores`].
    pub fn assign_tile(&self, points: &[f64], nearest: &mut [u32], squared: &mut [f64], scores: &mut [f64]) {
        match self.width {
            4 => self.score::<4>(points, scores),
            8 => self.score::<8>(points, scores),
            12 => self.score::<12>(points, scores),
            16 => self.score::<16>(points, scores),
            _ => self.score::<WIDTH_MAX>(points, scores),
        }
        let row = self.squares.len();
        let mut least = [[0.0; 2]; TILE];
        for (least, scores) in least.iter_mut().zip(scores.chunks_exact(row)) {
            *least = two_least(scores, self.index_bits);
        }
        let outputs = nearest.iter_mut().zip(squared.iter_mut());
        for (((nearest, squared), x), least) in outputs.zip(points.chunks_exact(self.d)).zip(&least) {
            *nearest = (least[0].to_bits() & self.index_bits) as u32;
            *squared = l2_squared(x, self.centroid((*nearest as usize).min(self.k - 1)));
        }
        // This exceeds the rounding of two scores and two distances, because |x| is at most |x − c| + |c|.
        let roundings = (8.0 * (self.d as f64 + 4.0) + 4.0 * self.index_bits as f64) * f64::EPSILON;
        for (at, [first, second]) in least.iter().enumerate().take(points.len() / self.d) {
            // The smallest number covers squares that are so small that they have lost digits.
            let limit = first + roundings * (squared[at] + 4.0 * self.largest_square) + f64::MIN_POSITIVE;
            let is_certain = *second > limit;
            if !is_certain {
                (nearest[at], squared[at]) = self.compare(&points[at * self.d..][..self.d], &scores[at * row..], limit);
            }
        }
    }

    /// Writes |c|² − 2·x·c for each point and centroid, a row for each point.
    fn score<const WIDTH: usize>(&self, points: &[f64], scores: &mut [f64]) {
        let row = self.squares.len();
        let (squares, _) = self.squares.as_chunks::<WIDTH>();
        for (panel, (squares, rows)) in squares.iter().zip(self.panels.chunks_exact(self.d * WIDTH)).enumerate() {
            let (rows, _) = rows.as_chunks::<WIDTH>();
            let mut pairs = points.chunks_exact(2 * self.d);
            for (pair, scores) in pairs.by_ref().zip(scores.chunks_exact_mut(2 * row)) {
                prefetch(pair);
                let (a, b) = pair.split_at(self.d);
                let [of_a, of_b] = scores_of([a, b], rows, squares);
                scores[panel * WIDTH..][..WIDTH].copy_from_slice(&of_a);
                scores[row + panel * WIDTH..][..WIDTH].copy_from_slice(&of_b);
            }
            if let last @ [_, ..] = pairs.remainder() {
                let [of_last] = scores_of([last], rows, squares);
                scores[(points.len() / self.d - 1) * row + panel * WIDTH..][..WIDTH].copy_from_slice(&of_last);
            }
        }
    }

    /// Compares the distances themselves, for all centroids whose scores do not exceed `limit`.
    #[cold]
    fn compare(&self, x: &[f64], scores: &[f64], limit: f64) -> (u32, f64) {
        let candidates = (0..self.k).filter(|index| scores[*index] <= limit || !limit.is_finite());
        let distances = candidates.map(|index| (index as u32, l2_squared(x, self.centroid(index))));
        let nearer = |best: (u32, f64), next: (u32, f64)| if next.1 < best.1 { next } else { best };
        distances.reduce(nearer).unwrap_or((0, f64::NAN))
    }
}

/// Prefetches the points that come some time after these.
#[inline(always)]
fn prefetch(points: &[f64]) {
    #[cfg(target_arch = "x86_64")]
    for line in points.chunks(64 / size_of::<f64>()) {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a prefetch reads nothing, wherever the address leads, past the end too. Every x86-64 processor has the
        // instruction. Held by `points_of_any_number_are_counted_once`.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(line.as_ptr().wrapping_add(AHEAD).cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = points;
}

/// The sums of several points stay in registers while `rows` pass.
#[inline(always)]
fn scores_of<const POINTS: usize, const WIDTH: usize>(
    points: [&[f64]; POINTS],
    rows: &[[f64; WIDTH]],
    squares: &[f64; WIDTH],
) -> [[f64; WIDTH]; POINTS] {
    let points = points.map(|point| &point[..rows.len()]);
    let mut sums = [*squares; POINTS];
    for (at, row) in rows.iter().enumerate() {
        for (sums, point) in sums.iter_mut().zip(points) {
            for (sum, c) in sums.iter_mut().zip(row) {
                *sum = fused(point[at], *c, *sum);
            }
        }
    }
    sums
}

/// The two smallest scores, with their indices in the lowest bits. There is no branch, because which one is smaller cannot be predicted.
#[inline(always)]
fn two_least(scores: &[f64], index_bits: u64) -> [f64; 2] {
    let mut least = [[f64::INFINITY; 2]; WIDTH_UNIT];
    let mut indices = [0, 1, 2, 3];
    for scores in scores.as_chunks::<WIDTH_UNIT>().0 {
        for lane in 0..WIDTH_UNIT {
            let marked = f64::from_bits(scores[lane].to_bits() & !index_bits | indices[lane]);
            least[lane] = with_score(least[lane], marked);
            indices[lane] += WIDTH_UNIT as u64;
        }
    }
    least.into_iter().fold([f64::INFINITY; 2], |all, [first, second]| with_score(with_score(all, first), second))
}

/// NaN is ignored.
#[inline(always)]
fn with_score([first, second]: [f64; 2], score: f64) -> [f64; 2] {
    let more = if score > first { score } else { first };
    [if score < first { score } else { first }, if more < second { more } else { second }]
}

#[cfg(test)]
mod tests {
    use super::super::test_numbers::numbers;
    use super::*;

    /// For every point the centroid that a plain loop over distances finds first.
    fn plainly(points: &[f64], centroids: &Centroids) -> Vec<(u32, f64)> {
        let distance = |x: &[f64], index: usize| l2_squared(x, &centroids.values[index * centroids.d..][..centroids.d]);
        let nearest = |x: &[f64]| {
            let first = (0, distance(x, 0));
            (1..centroids.k)
                .map(|index| (index as u32, distance(x, index)))
                .fold(first, |best, next| if next.1 < best.1 { next } else { best })
        };
        points.chunks_exact(centroids.d).map(nearest).collect()
    }

    fn assigned(points: &[f64], centroids: &Centroids) -> Vec<(u32, f64)> {
        let n = points.len() / centroids.d;
        let (mut nearest, mut squared) = (vec![9; n], vec![9.0; n]);
        centroids.assign(points, &mut nearest, &mut squared);
        nearest.into_iter().zip(squared).collect()
    }

    /// Points, numbers of each, centroids.
    const SHAPES: [(usize, usize, usize); 12] = [
        (1, 1, 1),
        (2, 1, 3),
        (7, 3, 4),
        (100, 2, 5),
        (333, 50, 20),
        (50, 50, 21),
        (65, 7, 24),
        (30, 384, 64),
        (40, 5, 100),
        (31, 4, 19),
        (9, 9, 41),
        (3, 1, 1000),
    ];

    #[test]
    fn centroids_take_at_most_their_bound() {
        for (k, d) in [(0, 3), (1, 1), (3, 2), (20, 5), (21, 5), (39, 4), (41, 1), (61, 7), (999, 3)] {
            let centroids = Centroids::new(vec![0.5; k * d], k, d);
            let total = centroids.values.len() + centroids.panels.len() + centroids.squares.len();
            assert!(total <= numbers_max(k, d).unwrap(), "{k} of {d}: {total}");
            assert!(centroids.scores().len() <= scores_max(k), "{k} of {d}");
        }
        assert_eq!(numbers_max(usize::MAX, 2), None);
    }

    #[test]
    fn the_nearest_is_that_of_a_plain_loop_to_the_bit() {
        for (n, d, k) in SHAPES {
            // At the origin, far from it, and so far that scores are useless.
            for (away, scale) in [(0.0, 1.0), (1e3, 1.0), (1e9, 1.0), (0.0, 1e-158), (0.0, 1e-170), (0.0, 1e150)] {
                let coordinates = |count: usize, seed| numbers(count * d, seed).iter().map(|x| x * scale + away).collect::<Vec<_>>();
                let (points, centroids) = (coordinates(n, 1), Centroids::new(coordinates(k, 2), k, d));
                assert_eq!(assigned(&points, &centroids), plainly(&points, &centroids), "{n}×{d}, {k}, {away} away, by {scale}");
            }
        }
    }

    #[test]
    fn of_equally_near_centroids_the_first_is_taken() {
        let centroids = Centroids::new(vec![0.0, 2.0, 2.0, 4.0, 0.0], 5, 1);
        let assignments = assigned(&[1.0, 2.0, 3.0, -1.0, 9.0], &centroids);
        assert_eq!(assignments, [(0, 1.0), (1, 0.0), (1, 1.0), (0, 1.0), (3, 25.0)]);
        // A grid on which many distances are equal.
        let grid: Vec<f64> = (0..400).flat_map(|at| [f64::from(at % 20), f64::from(at / 20)]).collect();
        let centroids = Centroids::new((0..50).flat_map(|at| [f64::from(at % 5 * 4), f64::from(at / 5 * 2)]).collect(), 50, 2);
        assert_eq!(assigned(&grid, &centroids), plainly(&grid, &centroids));
    }
}
