//! One step of k-means (Lloyd's algorithm): sums, sizes and inertias of the points nearest to each centroid, in one pass.

use super::centroids::{Centroids, TILE};

/// The sums of so many points are kept separately before they are added to the total, because rounding grows with the length of a sum.
const SUMMED: usize = 1024;

/// The sums over the points nearest to each centroid.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// `d` numbers for each centroid.
    pub sums: Vec<f64>,
    pub sizes: Vec<u64>,
    /// For each centroid, the sum of the squared distances of its points.
    pub inertias: Vec<f64>,
}

impl Step {
    pub fn new(k: usize, d: usize) -> Step {
        Step { sums: vec![0.0; k * d], sizes: vec![0; k], inertias: vec![0.0; k] }
    }

    /// Adds points of `d` numbers each, in one pass. If they contain NaN or infinity, some sum shows it afterwards.
    pub fn add(&mut self, centroids: &Centroids, points: &[f64]) {
        let (k, d) = (centroids.k(), centroids.d());
        if k == 0 || d == 0 {
            return;
        }
        let (mut nearest, mut squared) = ([0; TILE], [0.0; TILE]);
        let mut scores = centroids.scores();
        let mut part = Step::new(k, d);
        for points in points.chunks(SUMMED.max(8 * k) * d) {
            for tile in points.chunks(TILE * d) {
                centroids.assign_tile(tile, &mut nearest, &mut squared, &mut scores);
                for ((point, nearest), squared) in tile.chunks_exact(d).zip(&nearest).zip(&squared) {
                    part.add_point(*nearest as usize, point, *squared);
                }
            }
            self.merge(&part);
            part.clear();
        }
    }

    #[inline(always)]
    fn add_point(&mut self, index: usize, point: &[f64], squared: f64) {
        for (sum, value) in self.sums[index * point.len()..][..point.len()].iter_mut().zip(point) {
            *sum += value;
        }
        self.sizes[index] += 1;
        self.inertias[index] += squared;
    }

    pub fn clear(&mut self) {
        self.sums.fill(0.0);
        self.sizes.fill(0);
        self.inertias.fill(0.0);
    }

    pub fn merge(&mut self, other: &Step) {
        self.sums.iter_mut().zip(&other.sums).for_each(|(sum, more)| *sum += more);
        self.sizes.iter_mut().zip(&other.sizes).for_each(|(size, more)| *size += more);
        self.inertias.iter_mut().zip(&other.inertias).for_each(|(inertia, more)| *inertia += more);
    }

    /// The means of the points of each centroid. A centroid without points does not move.
    pub fn moved(&self, from: &Centroids) -> Centroids {
        let mut values = from.values().to_vec();
        for (index, size) in self.sizes.iter().enumerate().filter(|(_, size)| **size > 0) {
            let sums = &self.sums[index * from.d()..][..from.d()];
            let centroid = values[index * from.d()..].iter_mut();
            centroid.zip(sums).for_each(|(value, sum)| *value = sum / *size as f64);
        }
        Centroids::new(values, from.k(), from.d())
    }
}

#[cfg(test)]
mod tests {
    use super::super::test_numbers::numbers;
    use super::super::vectors::l2_squared;
    use super::*;

    #[test]
    fn points_of_any_number_are_counted_once() {
        for n in [0, 1, 2, 7, 8, 9, 63, 1023, 1024, 1025, 2500] {
            let (d, k) = (3, 5);
            let (points, centroids) = (numbers(n * d, 3), Centroids::new(numbers(k * d, 4), k, d));
            let mut step = Step::new(k, d);
            step.add(&centroids, &points);
            let mut expected = Step::new(k, d);
            for point in points.chunks_exact(d) {
                let distances: Vec<f64> = centroids.values().chunks_exact(d).map(|centroid| l2_squared(point, centroid)).collect();
                let least = distances.iter().copied().fold(f64::INFINITY, f64::min);
                let index = distances.iter().position(|distance| *distance == least).unwrap();
                expected.add_point(index, point, least);
            }
            assert_eq!(step.sizes, expected.sizes, "{n}");
            let close = |a: &[f64], b: &[f64]| a.iter().zip(b).all(|(a, b)| (a - b).abs() <= 1e-13 * (1.0 + n as f64));
            assert!(close(&step.sums, &expected.sums) && close(&step.inertias, &expected.inertias), "{n}");
        }
    }

    #[test]
    fn steps_over_parts_add_up_to_the_step_over_all() {
        let (n, d, k) = (600, 4, 6);
        let points: Vec<f64> = numbers(n * d, 5).iter().map(|x| (x * 1024.0).round()).collect();
        let centroids = Centroids::new(numbers(k * d, 6).iter().map(|x| (x * 1024.0).round()).collect(), k, d);
        let (mut whole, mut parts) = (Step::new(k, d), Step::new(k, d));
        whole.add(&centroids, &points);
        for part in points.chunks(37 * d) {
            let mut step = Step::new(k, d);
            step.add(&centroids, part);
            parts.merge(&step);
        }
        // The numbers are integers, so sums are exact.
        assert_eq!(whole, parts);
    }

    #[test]
    fn centroids_move_to_the_means_and_empty_ones_stay() {
        let centroids = Centroids::new(vec![0.0, 0.0, 10.0, 10.0, 99.0, 99.0], 3, 2);
        let mut step = Step::new(3, 2);
        step.add(&centroids, &[1.0, 0.0, 3.0, 0.0, 11.0, 12.0]);
        assert_eq!((&step.sizes[..], &step.inertias[..]), (&[2, 1, 0][..], &[10.0, 5.0, 0.0][..]));
        assert_eq!(step.moved(&centroids).values(), [2.0, 0.0, 11.0, 12.0, 99.0, 99.0]);
    }

    #[test]
    fn numbers_that_are_not_finite_show_in_the_inertia() {
        let centroids = Centroids::new(numbers(60, 7), 20, 3);
        for odd in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e200] {
            let mut step = Step::new(20, 3);
            step.add(&centroids, &[0.1, odd, 0.2, 0.3, 0.3, 0.3]);
            assert_eq!(step.sizes.iter().sum::<u64>(), 2);
            assert!(!step.inertias.iter().sum::<f64>().is_finite(), "{odd}");
        }
    }

    #[test]
    fn without_centroids_or_numbers_there_is_nothing_to_add() {
        for (k, d) in [(0, 3), (2, 0), (0, 0)] {
            let centroids = Centroids::new(Vec::new(), k, d);
            let mut step = Step::new(k, d);
            step.add(&centroids, &[]);
            assert_eq!(step.moved(&centroids).values(), [0.0; 0]);
            centroids.assign(&[], &mut [], &mut []);
        }
    }
}
