//! Covariances and correlations of columns, in one pass, in parts that merge.
//!
//! The first row is subtracted from all, each tile is centred on its own means, and tiles are merged by the difference of these
//! (Chan, Golub and LeVeque, Algorithms for Computing the Sample Variance, 1983): numbers far from zero lose no digits. NaN or
//! infinity in a column makes NaN of every result that depends on the column, and of nothing else.

use super::tiles;
use super::vectors::{dot, sum_of};

/// For `width` columns: the number of rows, their means, and the sums of the products of their deviations from these.
#[derive(Clone, Debug, PartialEq)]
pub struct Moments {
    rows: u64,
    /// The first row, which is subtracted from all rows.
    origin: Vec<f64>,
    means: Vec<f64>,
    /// `width`×`width`, of which only the part from the diagonal on is used.
    products: Vec<f64>,
}

impl Moments {
    pub fn new(width: usize) -> Moments {
        Moments { rows: 0, origin: vec![0.0; width], means: vec![0.0; width], products: vec![0.0; width * width] }
    }

    /// Restores a result of [`Moments::state`]. `None` if the number of numbers is wrong.
    pub fn from_state(width: usize, rows: u64, numbers: &[f64]) -> Option<Moments> {
        let (origin, rest) = numbers.split_at_checked(width)?;
        let (means, products) = rest.split_at_checked(width)?;
        let is_whole = products.len() == width * width;
        is_whole.then(|| Moments { rows, origin: origin.to_vec(), means: means.to_vec(), products: products.to_vec() })
    }

    /// The complete state: the number of rows, and `2·width + width²` numbers.
    pub fn state(&self) -> (u64, Vec<f64>) {
        (self.rows, self.origin.iter().chain(&self.means).chain(&self.products).copied().collect())
    }

    pub fn width(&self) -> usize {
        self.means.len()
    }

    pub fn size_bytes(&self) -> usize {
        size_of_val(&self.origin[..]) + size_of_val(&self.means[..]) + size_of_val(&self.products[..])
    }

    /// Adds rows of `width` numbers each.
    pub fn add_rows(&mut self, rows: &[f64]) {
        tiles::of_rows(rows, self.width(), |tile, count| self.add_tile(tile, count));
    }

    /// Adds `width` columns of one length.
    pub fn add_columns(&mut self, columns: &[&[f64]]) {
        tiles::of_columns(columns, |tile, count| self.add_tile(tile, count));
    }

    fn add_tile(&mut self, tile: &mut [f64], count: usize) {
        let mut part = Moments::new(self.width());
        part.rows = count as u64;
        part.origin = match self.rows {
            0 => tile.chunks_exact(count).map(|column| if column[0].is_finite() { column[0] } else { 0.0 }).collect(),
            _ => self.origin.clone(),
        };
        for ((column, mean), origin) in tile.chunks_exact_mut(count).zip(&mut part.means).zip(&part.origin) {
            *mean = centre(column, *origin);
        }
        let (width, columns) = (self.width(), tile.chunks_exact(count).collect::<Vec<_>>());
        // What the rounding of the means has left in the sums of deviations.
        let residuals: Vec<f64> = columns.iter().map(|column| sum_of(column)).collect();
        for (i, j) in (0..width).flat_map(|i| (i..width).map(move |j| (i, j))) {
            part.products[i * width + j] = dot(columns[i], columns[j]) - residuals[i] * residuals[j] / count as f64;
        }
        self.merge(&part);
    }

    /// `other` has as many columns.
    pub fn merge(&mut self, other: &Moments) {
        if other.rows == 0 || self.rows == 0 {
            if self.rows == 0 {
                self.clone_from(other);
            }
            return;
        }
        let (before, more) = (self.rows as f64, other.rows as f64);
        let (all, width) = (before + more, self.width());
        let origins = self.origin.iter().zip(&other.origin).map(|(origin, other)| other - origin);
        let means = self.means.iter().zip(&other.means).map(|(mean, other)| other - mean);
        let apart: Vec<f64> = origins.zip(means).map(|(origins, means)| origins + means).collect();
        for (i, j) in (0..width).flat_map(|i| (i..width).map(move |j| (i, j))) {
            self.products[i * width + j] += other.products[i * width + j] + apart[i] * apart[j] * (before * more / all);
        }
        for (mean, apart) in self.means.iter_mut().zip(apart) {
            *mean += apart * (more / all);
        }
        self.rows += other.rows;
    }

    /// The covariances of a sample, `width`×`width`. `None` for fewer than two rows.
    pub fn covariances(&self) -> Option<Vec<f64>> {
        (self.rows >= 2).then(|| self.symmetric(|i, j| self.product(i, j) / (self.rows - 1) as f64))
    }

    /// From −1 to 1, `width`×`width`; NaN for a constant column. `None` for fewer than two rows.
    pub fn correlations(&self) -> Option<Vec<f64>> {
        let correlation = |i: usize, j: usize| {
            let together = self.product(i, j) / self.product(i, i).sqrt() / self.product(j, j).sqrt();
            if i == j && !together.is_nan() { 1.0 } else { together.clamp(-1.0, 1.0) }
        };
        (self.rows >= 2).then(|| self.symmetric(correlation))
    }

    fn product(&self, i: usize, j: usize) -> f64 {
        self.products[i * self.width() + j]
    }

    fn symmetric(&self, of: impl Fn(usize, usize) -> f64) -> Vec<f64> {
        let width = self.width();
        (0..width * width).map(|at| of((at / width).min(at % width), (at / width).max(at % width))).collect()
    }
}

/// Subtracts the origin and then the mean from each number. Returns the mean, relative to the origin.
fn centre(column: &mut [f64], origin: f64) -> f64 {
    column.iter_mut().for_each(|x| *x -= origin);
    let mean = sum_of(column) / column.len() as f64;
    column.iter_mut().for_each(|x| *x -= mean);
    mean
}

#[cfg(test)]
mod tests {
    use super::super::test_numbers::numbers;
    use super::*;

    fn of_rows(width: usize, rows: &[f64]) -> Moments {
        let mut moments = Moments::new(width);
        moments.add_rows(rows);
        moments
    }

    /// Covariances of integers, without rounding before the last division.
    fn exact_covariances(width: usize, rows: &[i128]) -> Vec<f64> {
        let n = (rows.len() / width) as i128;
        let sum = |of: &dyn Fn(&[i128]) -> i128| rows.chunks_exact(width).map(of).sum::<i128>();
        let covariance = |i: usize, j: usize| n * sum(&|row| row[i] * row[j]) - sum(&|row| row[i]) * sum(&|row| row[j]);
        (0..width * width).map(|at| covariance(at / width, at % width) as f64 / (n * (n - 1)) as f64).collect()
    }

    fn assert_close(found: &[f64], expected: &[f64], error: f64) {
        for (found, expected) in found.iter().zip(expected) {
            assert!((found - expected).abs() <= error * expected.abs().max(1.0), "{found} instead of {expected}");
        }
    }

    #[test]
    fn covariances_are_exact_however_far_from_zero_the_numbers_are() {
        for (n, width, away) in [(2, 1, 0), (3, 2, 7), (255, 3, 0), (256, 3, 1 << 40), (257, 4, 1 << 50), (5000, 5, 1 << 50)] {
            let whole: Vec<i128> = numbers(n * width, 1).iter().map(|x| (x * 2000.0) as i128 + away).collect();
            let rows: Vec<f64> = whole.iter().map(|x| *x as f64).collect();
            let found = of_rows(width, &rows).covariances().unwrap();
            let expected = exact_covariances(width, &whole);
            let largest = expected.iter().fold(0.0, |most: f64, x| most.max(x.abs()));
            assert!(found.iter().zip(&expected).all(|(found, expected)| (found - expected).abs() <= 1e-13 * largest), "{n}×{width}");
        }
    }

    #[test]
    fn rows_columns_and_merged_parts_say_the_same() {
        let (n, width) = (1000, 3);
        let rows: Vec<f64> = numbers(n * width, 2).iter().map(|x| x * 3.0 + 1e6).collect();
        let columns: Vec<Vec<f64>> = (0..width).map(|column| rows.chunks_exact(width).map(|row| row[column]).collect()).collect();
        let whole = of_rows(width, &rows);
        let mut by_column = Moments::new(width);
        by_column.add_columns(&columns.iter().map(|column| &column[..]).collect::<Vec<_>>());
        assert_eq!(whole, by_column);
        let mut merged = Moments::new(width);
        for part in rows.chunks(77 * width) {
            let (rows, numbers) = of_rows(width, part).state();
            merged.merge(&Moments::from_state(width, rows, &numbers).unwrap());
        }
        merged.merge(&Moments::new(width));
        assert_eq!(merged.rows, 1000);
        assert_close(&merged.covariances().unwrap(), &whole.covariances().unwrap(), 1e-13);
        assert_close(&merged.means, &whole.means, 1e-10);
        assert!(Moments::from_state(3, 1, &[0.0; 14]).is_none());
    }

    #[test]
    fn correlations_are_one_with_itself_and_nan_of_a_constant() {
        let rows: Vec<f64> = numbers(300, 3).iter().flat_map(|x| [*x, -2.0 * x + 1e3, 0.1, x * x]).collect();
        let correlations = of_rows(4, &rows).correlations().unwrap();
        assert_eq!((correlations[0], correlations[5], correlations[15]), (1.0, 1.0, 1.0));
        assert!((correlations[1] + 1.0).abs() < 1e-13 && correlations[1] == correlations[4]);
        assert!((0..4).all(|i| correlations[2 * 4 + i].is_nan() && correlations[i * 4 + 2].is_nan()));
        assert!(correlations[3].abs() < 0.2);
    }

    #[test]
    fn nan_and_infinity_stay_in_their_column() {
        for odd in [f64::NAN, f64::INFINITY] {
            let mut rows = numbers(600, 4);
            rows[1] = odd;
            let covariances = of_rows(2, &rows).covariances().unwrap();
            assert!(covariances[1].is_nan() && covariances[2].is_nan() && covariances[3].is_nan());
            assert!(covariances[0] > 0.0);
        }
    }

    #[test]
    fn a_sample_has_at_least_two_rows() {
        assert_eq!(Moments::new(2).covariances(), None);
        assert_eq!(of_rows(2, &[1.0, 2.0]).correlations(), None);
        assert_eq!(of_rows(0, &[]).covariances(), None);
    }
}
