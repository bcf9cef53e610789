//! Linear regression by least squares, in one pass, in parts that merge.
//!
//! The state for the rows `1, x1, …, xp, y` is the triangle R of their QR decomposition; Householder reflections add tiles of rows and
//! other triangles to it (Demmel, Grigori, Hoemmen and Langou, Communication-optimal Parallel and
//! Sequential QR, 2012). Sums of squares and products would lose twice as many digits if columns nearly depend on each
//! other. The first row is subtracted from all, so that their distance from zero does not matter.

use super::tiles;
use super::vectors::dot;

/// The reason why there is no regression.
#[derive(Clone, Debug, PartialEq)]
pub enum RegressionError {
    TooFewRows {
        found: u64,
        needed: u64,
    },
    /// The column, counted from 0, is a combination of the columns before it and of a constant; or is constant itself.
    Singular {
        column: usize,
        is_constant: bool,
    },
}

/// y ≈ intercept + Σ coefficients·x.
#[derive(Clone, Debug, PartialEq)]
pub struct Fit {
    pub intercept: f64,
    pub coefficients: Vec<f64>,
    /// The part of y's variance that it explains, from 0 to 1; 1 if y is constant.
    pub r2: f64,
    pub rows: u64,
}

/// The state of the rows so far. NaN or infinity in any of them makes all results NaN.
#[derive(Clone, Debug, PartialEq)]
pub struct Regression {
    rows: u64,
    /// The first row x1, …, xp, y, which is subtracted from each row.
    origin: Vec<f64>,
    /// The triangle of the columns 1, x1, …, xp, y, row by row; below the diagonal are zeros.
    triangle: Vec<f64>,
}

impl Regression {
    /// A regression on `count` columns besides y.
    pub fn new(count: usize) -> Regression {
        Regression { rows: 0, origin: vec![0.0; count + 1], triangle: vec![0.0; (count + 2) * (count + 2)] }
    }

    /// Restores a result of [`Regression::state`]. `None` if the number of numbers is wrong.
    pub fn from_state(count: usize, rows: u64, numbers: &[f64]) -> Option<Regression> {
        let (origin, triangle) = numbers.split_at_checked(count + 1)?;
        let is_whole = triangle.len() == (count + 2) * (count + 2);
        is_whole.then(|| Regression { rows, origin: origin.to_vec(), triangle: triangle.to_vec() })
    }

    /// The complete state: the number of rows, and `count + 1 + (count + 2)²` numbers.
    pub fn state(&self) -> (u64, Vec<f64>) {
        (self.rows, self.origin.iter().chain(&self.triangle).copied().collect())
    }

    /// The number of columns besides y.
    pub fn count(&self) -> usize {
        self.origin.len() - 1
    }

    pub fn rows(&self) -> u64 {
        self.rows
    }

    pub fn size_bytes(&self) -> usize {
        size_of_val(&self.origin[..]) + size_of_val(&self.triangle[..])
    }

    /// Adds rows of x1, …, xp, y.
    pub fn add_rows(&mut self, rows: &[f64]) {
        tiles::of_rows(rows, self.origin.len(), |tile, count| self.add_tile(tile, count));
    }

    /// Adds columns of one length: x1, …, xp, y.
    pub fn add_columns(&mut self, columns: &[&[f64]]) {
        tiles::of_columns(columns, |tile, count| self.add_tile(tile, count));
    }

    fn add_tile(&mut self, tile: &[f64], count: usize) {
        if self.rows == 0 {
            let first = tile.chunks_exact(count).map(|column| if column[0].is_finite() { column[0] } else { 0.0 });
            self.origin = first.collect();
        }
        let mut columns = vec![1.0; count];
        for (column, origin) in tile.chunks_exact(count).zip(&self.origin) {
            columns.extend(column.iter().map(|x| x - origin));
        }
        self.reflect(&mut columns, count);
        self.rows += count as u64;
    }

    /// `other` has as many columns.
    pub fn merge(&mut self, other: &Regression) {
        if other.rows == 0 || self.rows == 0 {
            if self.rows == 0 {
                self.clone_from(other);
            }
            return;
        }
        let size = self.origin.len() + 1;
        let mut columns = vec![0.0; size * size];
        super::elements::transpose(&other.triangle, size, size, &mut columns);
        // Another origin adds a multiple of the column of ones, which has only its first row in the triangle.
        for (column, (from, to)) in other.origin.iter().zip(&self.origin).enumerate() {
            columns[(column + 1) * size] += columns[0] * (from - to);
        }
        self.reflect(&mut columns, size);
        self.rows += other.rows;
    }

    /// The triangle of this one's rows and of `count` more, given column by column, which are overwritten.
    fn reflect(&mut self, columns: &mut [f64], count: usize) {
        let size = self.origin.len() + 1;
        for at in 0..size {
            let (column, later) = columns[at * count..].split_at_mut(count);
            let row = &mut self.triangle[at * size..][..size];
            let below = dot(column, column);
            if below == 0.0 {
                continue;
            }
            let length = (row[at] * row[at] + below).sqrt();
            // Of the two reflections it takes the one that does not subtract nearly equal numbers.
            let head = row[at] + length.copysign(row[at]);
            let scale = 2.0 / (head * head + below);
            row[at] = -length.copysign(row[at]);
            for (entry, later) in row[at + 1..].iter_mut().zip(later.chunks_exact_mut(count)) {
                let by = scale * (head * *entry + dot(column, later));
                *entry -= by * head;
                later.iter_mut().zip(&*column).for_each(|(x, v)| *x -= by * v);
            }
        }
    }

    pub fn fit(&self) -> Result<Fit, RegressionError> {
        let (count, needed) = (self.count(), self.origin.len() as u64);
        if self.rows < needed {
            return Err(RegressionError::TooFewRows { found: self.rows, needed });
        }
        if let Some(column) = (0..count).find(|column| self.entry(column + 1, column + 1).abs() <= self.in_doubt(*column)) {
            return Err(RegressionError::Singular { column, is_constant: self.spread(column) <= self.in_doubt(column) });
        }
        let mut solution = vec![0.0; count + 1];
        for row in (0..=count).rev() {
            let sum: f64 = (row + 1..=count).map(|column| self.entry(row, column) * solution[column]).sum();
            solution[row] = (self.entry(row, count + 1) - sum) / self.entry(row, row);
        }
        let coefficients = solution.split_off(1);
        let at_origin: f64 = coefficients.iter().zip(&self.origin).map(|(coefficient, origin)| coefficient * origin).sum();
        let (residual, total) = (self.entry(count + 1, count + 1).powi(2), self.spread(count).powi(2));
        let r2 = if total == 0.0 { 1.0 } else { (1.0 - residual / total).clamp(0.0, 1.0) };
        Ok(Fit { intercept: solution[0] + self.origin[count] - at_origin, coefficients, r2, rows: self.rows })
    }

    fn entry(&self, row: usize, column: usize) -> f64 {
        self.triangle[row * (self.origin.len() + 1) + column]
    }

    /// The spread of a column around its mean: the root of the sum of squares.
    fn spread(&self, column: usize) -> f64 {
        (1..=column + 1).map(|row| self.entry(row, column + 1).powi(2)).sum::<f64>().sqrt()
    }

    /// What rounding may have left of a column that depends on others: in the numbers themselves, and while all rows were added
    /// to the triangle.
    fn in_doubt(&self, column: usize) -> f64 {
        let root = (self.rows as f64).sqrt();
        let mean = self.entry(0, column + 1) / self.entry(0, 0) + self.origin[column];
        let length = (mean * root).hypot(self.spread(column));
        f64::EPSILON * (4.0 * length + 16.0 * root * self.spread(column))
    }
}

#[cfg(test)]
mod tests {
    use super::super::test_numbers::numbers;
    use super::*;

    fn of_rows(count: usize, rows: &[f64]) -> Regression {
        let mut regression = Regression::new(count);
        regression.add_rows(rows);
        regression
    }

    fn assert_close(found: f64, expected: f64, error: f64) {
        assert!((found - expected).abs() <= error * expected.abs(), "{found} instead of {expected}");
    }

    /// Longley's data, for which NIST certifies the regression (Statistical Reference Datasets, Longley): y, then x1 to x6.
    const LONGLEY: [[f64; 7]; 16] = [
        [60323.0, 83.0, 234289.0, 2356.0, 1590.0, 107608.0, 1947.0],
        [61122.0, 88.5, 259426.0, 2325.0, 1456.0, 108632.0, 1948.0],
        [60171.0, 88.2, 258054.0, 3682.0, 1616.0, 109773.0, 1949.0],
        [61187.0, 89.5, 284599.0, 3351.0, 1650.0, 110929.0, 1950.0],
        [63221.0, 96.2, 328975.0, 2099.0, 3099.0, 112075.0, 1951.0],
        [63639.0, 98.1, 346999.0, 1932.0, 3594.0, 113270.0, 1952.0],
        [64989.0, 99.0, 365385.0, 1870.0, 3547.0, 115094.0, 1953.0],
        [63761.0, 100.0, 363112.0, 3578.0, 3350.0, 116219.0, 1954.0],
        [66019.0, 101.2, 397469.0, 2904.0, 3048.0, 117388.0, 1955.0],
        [67857.0, 104.6, 419180.0, 2822.0, 2857.0, 118734.0, 1956.0],
        [68169.0, 108.4, 442769.0, 2936.0, 2798.0, 120445.0, 1957.0],
        [66513.0, 110.8, 444546.0, 4681.0, 2637.0, 121950.0, 1958.0],
        [68655.0, 112.6, 482704.0, 3813.0, 2552.0, 123366.0, 1959.0],
        [69564.0, 114.2, 502601.0, 3931.0, 2514.0, 125368.0, 1960.0],
        [69331.0, 115.7, 518173.0, 4806.0, 2572.0, 127852.0, 1961.0],
        [70551.0, 116.9, 554894.0, 4007.0, 2827.0, 130081.0, 1962.0],
    ];
    const LONGLEY_CERTIFIED: [f64; 7] = [
        -3482258.63459582,
        15.0618722713733,
        -0.358191792925910e-01,
        -2.02022980381683,
        -1.03322686717359,
        -0.511041056535807e-01,
        1829.15146461355,
    ];

    #[test]
    fn longleys_regression_is_the_certified_one() {
        let rows: Vec<f64> = LONGLEY.iter().flat_map(|row| row[1..].iter().chain(&row[..1])).copied().collect();
        let mut merged = Regression::new(6);
        for part in rows.chunks(3 * 7) {
            let (rows, numbers) = of_rows(6, part).state();
            merged.merge(&Regression::from_state(6, rows, &numbers).unwrap());
        }
        for fit in [of_rows(6, &rows).fit().unwrap(), merged.fit().unwrap()] {
            for (found, expected) in std::iter::once(&fit.intercept).chain(&fit.coefficients).zip(LONGLEY_CERTIFIED) {
                assert_close(*found, expected, 1e-11);
            }
            assert_close(fit.r2, 0.995479004577296, 1e-13);
            assert_eq!(fit.rows, 16);
        }
    }

    #[test]
    fn what_was_put_in_comes_out() {
        let (n, true_ones) = (3000, [2.5, -1e-3, 40.0]);
        let columns: Vec<Vec<f64>> = [(1, 1.0, 0.0), (2, 1e4, 1e7), (3, 1e-3, -5.0)]
            .map(|(seed, scale, away)| numbers(n, seed).iter().map(|x| x * scale + away).collect())
            .to_vec();
        let value = |row: usize| 7.0 + columns.iter().zip(true_ones).map(|(column, by)| column[row] * by).sum::<f64>();
        let y: Vec<f64> = (0..n).map(value).collect();
        let mut regression = Regression::new(3);
        regression.add_columns(&[&columns[0], &columns[1], &columns[2], &y]);
        let rows: Vec<f64> = (0..n).flat_map(|row| [columns[0][row], columns[1][row], columns[2][row], y[row]]).collect();
        assert_eq!(regression, of_rows(3, &rows));
        let fit = regression.fit().unwrap();
        for (found, expected) in fit.coefficients.iter().zip(true_ones) {
            assert_close(*found, expected, 1e-9);
        }
        assert!(fit.r2 > 1.0 - 1e-12 && fit.r2 <= 1.0);
        // y is 10,000 away from zero, and has a rounding of 1e-12.
        assert!((fit.intercept - 7.0).abs() < 1e-5, "{}", fit.intercept);
    }

    /// The noise is independent of y: the fit is the one by sums in integers.
    #[test]
    fn one_column_is_fitted_as_by_sums_without_rounding() {
        let pairs: Vec<(i64, i64)> = numbers(2000, 5).chunks(2).map(|pair| ((pair[0] * 1e6) as i64, (pair[1] * 1e6) as i64)).collect();
        let n = pairs.len() as i128;
        let sum = |of: fn(&(i64, i64)) -> i128| pairs.iter().map(of).sum::<i128>();
        let (x, y) = (sum(|pair| pair.0.into()), sum(|pair| pair.1.into()));
        let [xx, xy, yy] =
            [sum(|(x, _)| i128::from(*x).pow(2)), sum(|(x, y)| i128::from(*x) * i128::from(*y)), sum(|(_, y)| i128::from(*y).pow(2))];
        let [xx, xy, yy] = [(n * xx - x * x) as f64, (n * xy - x * y) as f64, (n * yy - y * y) as f64];
        let rows: Vec<f64> = pairs.iter().flat_map(|(x, y)| [*x as f64, *y as f64]).collect();
        let fit = of_rows(1, &rows).fit().unwrap();
        assert_close(fit.coefficients[0], xy / xx, 1e-11);
        assert_close(fit.intercept, (y as f64 - xy / xx * x as f64) / n as f64, 1e-11);
        assert_close(fit.r2, xy * xy / (xx * yy), 1e-9);
    }

    #[test]
    fn a_column_that_depends_on_others_is_named() {
        let n = 5000;
        let [a, b] = [(6, 1.0), (7, 1e6)].map(|(seed, away)| numbers(n, seed).iter().map(|x| x * 3.0 + away).collect::<Vec<f64>>());
        let y = numbers(n, 8);
        let sum: Vec<f64> = a.iter().zip(&b).map(|(a, b)| a - 3.0 * b + 0.1).collect();
        let constant = vec![0.1; n];
        let fit = |columns: &[&Vec<f64>]| {
            let mut regression = Regression::new(columns.len());
            regression.add_columns(&columns.iter().map(|column| &column[..]).chain([&y[..]]).collect::<Vec<_>>());
            regression.fit()
        };
        let singular = |column: usize, is_constant: bool| Err(RegressionError::Singular { column, is_constant });
        assert_eq!(fit(&[&a, &b, &sum]), singular(2, false));
        assert_eq!(fit(&[&sum, &a, &b]), singular(2, false));
        assert_eq!(fit(&[&a, &a, &b]), singular(1, false));
        assert_eq!(fit(&[&a, &constant, &b]), singular(1, true));
        assert!(fit(&[&a, &b]).is_ok());
        // A difference of a ten-millionth is enough.
        let near: Vec<f64> = a.iter().zip(&y).map(|(a, y)| a + 1e-7 * y).collect();
        assert!(fit(&[&a, &near]).is_ok());
    }

    #[test]
    fn fewer_rows_than_coefficients_are_too_few() {
        let two = of_rows(2, &[1.0, 2.0, 3.0, 2.0, 1.0, 4.0]).fit();
        assert_eq!(two, Err(RegressionError::TooFewRows { found: 2, needed: 3 }));
        assert_eq!(Regression::new(1).fit(), Err(RegressionError::TooFewRows { found: 0, needed: 2 }));
        let exact = of_rows(1, &[1.0, 5.0, 2.0, 7.0]).fit().unwrap();
        assert_close(exact.coefficients[0], 2.0, 1e-15);
        assert_close(exact.intercept, 3.0, 1e-15);
    }

    #[test]
    fn a_constant_y_is_its_intercept() {
        let rows: Vec<f64> = numbers(100, 9).iter().flat_map(|x| [*x, 4.0]).collect();
        let fit = of_rows(1, &rows).fit().unwrap();
        assert_eq!((fit.intercept, &fit.coefficients[..], fit.r2), (4.0, &[0.0][..], 1.0));
    }

    #[test]
    fn nan_makes_the_results_nan() {
        let fit = of_rows(1, &[1.0, 2.0, f64::NAN, 3.0, 3.0, 1.0]).fit().unwrap();
        assert!(fit.intercept.is_nan() && fit.coefficients[0].is_nan() && fit.r2.is_nan());
    }
}
