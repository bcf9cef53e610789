//! Distances that are abandoned as soon as they are too far. They only decide which rows are certainly left out; for all others the
//! original function computes the distance, so that rounding decides nothing.

use arrow::array::{Array, ArrayRef};
use datafusion::common::Result;

use crate::numeric::vectors::l2_squared_within;
use common::tensors::Vectors;

/// The constant that rows are compared with.
pub struct EarlyAbandon {
    wide: Vec<f64>,
    narrow: Vec<f32>,
    /// The distance between the two vectors.
    off: f64,
    function: &'static str,
}

impl EarlyAbandon {
    /// `constant` is one vector, in an array of one row. `None` if all distances to it are NULL.
    pub fn new(constant: &ArrayRef, function: &'static str) -> Result<Option<EarlyAbandon>> {
        if constant.is_empty() || constant.data_type().is_null() {
            return Ok(None);
        }
        let wide: Option<Vec<f64>> = match Vectors::of(constant.as_ref(), function)? {
            Vectors::F64(rows) => rows.row(0).map(<[f64]>::to_vec),
            Vectors::F32(rows) => rows.row(0).map(|row| row.iter().map(|number| f64::from(*number)).collect()),
        };
        Ok(wide.map(|wide| {
            let narrow: Vec<f32> = wide.iter().map(|number| *number as f32).collect();
            let off = wide.iter().zip(&narrow).map(|(one, other)| (one - f64::from(*other)).powi(2)).sum::<f64>().sqrt();
            EarlyAbandon { wide, narrow, off, function }
        }))
    }

    /// The numbers of the vector.
    pub fn width(&self) -> usize {
        self.wide.len()
    }

    /// The rows that may not be farther than `limit`: all uncertain rows are among them, and rows of another length.
    /// Rows without a distance are not.
    pub fn near(&self, vectors: &ArrayRef, limit: f64) -> Result<Vec<u32>> {
        if limit.is_nan() {
            return Ok((0..vectors.len() as u32).collect());
        }
        let mut near = Vec::new();
        match Vectors::of(vectors.as_ref(), self.function)? {
            Vectors::F64(rows) => {
                let limit = self.squared_limit(limit);
                let is_near =
                    |row| rows.row(row).map(|row: &[f64]| row.len() != self.width() || l2_squared_within(row, &self.wide, limit).is_some());
                near.extend((0..rows.len()).filter(|row| is_near(*row).unwrap_or(false)).map(|row| row as u32));
            }
            Vectors::F32(rows) => {
                // By the triangle inequality, a row within `limit` of one vector is within `limit + off` of the other.
                let limit = self.squared_limit(limit + self.off);
                let is_near = |row| {
                    rows.row(row).map(|row: &[f32]| row.len() != self.width() || l2_squared_within(row, &self.narrow, limit).is_some())
                };
                near.extend((0..rows.len()).filter(|row| is_near(*row).unwrap_or(false)).map(|row| row as u32));
            }
        }
        Ok(near)
    }

    /// The square of the limit, plus all that rounding can add: in a sum of n squares, in DOUBLE for REAL too, each term
    /// is off by some units in its last place and the sum by n, here and in the function. Squares that are too small for a number
    /// are 0; if they are too large, the limit is infinite.
    fn squared_limit(&self, limit: f64) -> f64 {
        let numbers = (self.width() + 4) as f64;
        limit * limit * (1.0 + 4.0 * numbers * f64::EPSILON) + numbers * f64::MIN_POSITIVE
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::ListArray;
    use arrow::datatypes::{Float32Type, Float64Type};

    use super::*;

    fn near(early_abandon: &EarlyAbandon, rows: ArrayRef, limit: f64) -> Vec<u32> {
        early_abandon.near(&rows, limit).unwrap()
    }

    fn wide(rows: Vec<Option<Vec<Option<f64>>>>) -> ArrayRef {
        Arc::new(ListArray::from_iter_primitive::<Float64Type, _, _>(rows))
    }

    #[test]
    fn rows_that_are_as_far_as_the_limit_are_near() {
        let early_abandon = EarlyAbandon::new(&wide(vec![Some(vec![Some(0.0), Some(0.0)])]), "f").unwrap().unwrap();
        let rows = vec![
            Some(vec![Some(3.0), Some(4.0)]),
            Some(vec![Some(3.0), Some(4.001)]),
            None,
            Some(vec![Some(1.0)]),
            Some(vec![None, Some(1.0)]),
        ];
        assert_eq!(near(&early_abandon, wide(rows), 5.0), [0, 3]);
    }

    #[test]
    fn narrow_rows_are_held_against_the_wide_vector_with_what_narrowing_takes() {
        let constant = wide(vec![Some(vec![Some(0.1), Some(1e9 + 1.0)])]);
        let early_abandon = EarlyAbandon::new(&constant, "f").unwrap().unwrap();
        let rows = vec![Some(vec![Some(0.1_f32), Some(1e9_f32)]), Some(vec![Some(0.1_f32), Some(2e9_f32)])];
        let rows = Arc::new(ListArray::from_iter_primitive::<Float32Type, _, _>(rows));
        assert_eq!(near(&early_abandon, rows, 1.0), [0]);
    }

    #[test]
    fn nothing_is_given_up_where_there_is_no_limit_in_numbers() {
        let early_abandon = EarlyAbandon::new(&wide(vec![Some(vec![Some(-1e200)])]), "f").unwrap().unwrap();
        for limit in [1e200, f64::NAN, f64::INFINITY] {
            assert_eq!(near(&early_abandon, wide(vec![Some(vec![Some(1e200)])]), limit), [0]);
            // The vector is infinite as REAL.
            let narrow = ListArray::from_iter_primitive::<Float32Type, _, _>(vec![Some(vec![Some(1e30_f32)])]);
            assert_eq!(near(&early_abandon, Arc::new(narrow), limit), [0]);
        }
        assert!(near(&early_abandon, wide(vec![Some(vec![Some(1e200)])]), 1e100).is_empty());
    }

    #[test]
    fn a_null_vector_is_compared_with_nothing() {
        assert!(EarlyAbandon::new(&wide(vec![None]), "f").unwrap().is_none());
        assert!(EarlyAbandon::new(&wide(vec![Some(vec![None])]), "f").unwrap().is_none());
    }
}
