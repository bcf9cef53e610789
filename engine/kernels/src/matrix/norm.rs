//! The norms of a matrix, computed in one pass over its blocks.
//!
//! one_norm is the greatest sum of absolute values of a column, infinity_norm that of a row, max_norm the greatest absolute value, and
//! frobenius the root of the sum of squares, as LAPACK's xLANGE defines them. Sums are DOUBLE for both element types, in the same
//! order on any number of threads. A NaN anywhere makes all of them NaN; a matrix without blocks has zeros.

use std::collections::HashMap;
use std::ops::Range;

use datafusion::common::Result;

use super::blocks::{Blocks, Key};
use super::element::Element;
use crate::threads::{StopFlag, for_each};

/// The elements of a piece of a block, and the bytes that are read before their results are combined.
const PIECE_ELEMENTS: usize = 1 << 17;
const ROUND_BYTES: usize = 64 << 20;

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Norms {
    pub frobenius: f64,
    pub one: f64,
    pub infinity: f64,
    pub max: f64,
}

/// The norms of blocks of `[rows, columns]` elements.
pub fn norms<T: Element>(blocks: &Blocks<T>, [rows, columns]: [usize; 2], threads: usize, stop: &StopFlag) -> Result<Norms> {
    let piece_rows = (PIECE_ELEMENTS / columns).clamp(1, rows);
    let per_round = (ROUND_BYTES / (rows * columns * size_of::<T>())).max(1);
    let mut sums = Sums::default();
    let indices: Vec<usize> = (0..blocks.list().len()).collect();
    for round in indices.chunks(per_round) {
        let mut pieces: Vec<Piece> = Vec::new();
        for block in round {
            let starts = (0..rows).step_by(piece_rows);
            pieces.extend(starts.map(|start| Piece::new(*block, start..rows.min(start + piece_rows), columns)));
        }
        for_each(threads, stop, pieces.iter_mut().collect(), |piece| {
            piece.see(blocks.values(piece.block), columns);
            Ok(())
        })?;
        stop.check()?;
        for piece in &pieces {
            let block = &blocks.list()[piece.block];
            sums.add(piece, (block.i, block.j), rows);
        }
    }
    Ok(sums.finish())
}

/// Some rows of a block.
struct Piece {
    block: usize,
    rows: Range<usize>,
    row_sums: Vec<f64>,
    column_sums: Vec<f64>,
    max: f64,
    frobenius: f64,
}

impl Piece {
    fn new(block: usize, rows: Range<usize>, columns: usize) -> Piece {
        Piece { block, row_sums: Vec::with_capacity(rows.len()), column_sums: vec![0.0; columns], rows, max: 0.0, frobenius: 0.0 }
    }

    fn see<T: Element>(&mut self, block: &[T], columns: usize) {
        let elements = &block[self.rows.start * columns..self.rows.end * columns];
        let mut squares = 0.0;
        for row in elements.chunks(columns) {
            for (element, column_sum) in row.iter().zip(&mut self.column_sums) {
                *column_sum += magnitude(*element);
            }
            let of_row = Lanes::of(row);
            self.row_sums.push(of_row.sum);
            squares += of_row.squares;
            self.max = greater(self.max, of_row.max);
        }
        self.frobenius = match SQUARES.contains(&squares) || squares.is_nan() || self.max == 0.0 || self.max.is_infinite() {
            true => squares.sqrt(),
            // If squares overflow or underflow, the numbers are divided by the largest one first.
            false => self.max * elements.iter().map(|element| (magnitude(*element) / self.max).powi(2)).sum::<f64>().sqrt(),
        };
    }
}

/// Sums of squares in this range have lost nothing visible to the limits of DOUBLE.
const SQUARES: Range<f64> = 1e-280..f64::INFINITY;

fn magnitude<T: Element>(element: T) -> f64 {
    let value: f64 = element.into();
    value.abs()
}

/// NaN if one of them is NaN.
fn greater(one: f64, other: f64) -> f64 {
    if one.is_nan() || one > other { one } else { other }
}

/// Several independent sums, so that the processor need not wait for each.
struct Lanes {
    sum: f64,
    squares: f64,
    max: f64,
}

impl Lanes {
    fn of<T: Element>(row: &[T]) -> Lanes {
        const LANES: usize = 8;
        let (mut sums, mut squares, mut maxima) = ([0.0; LANES], [0.0; LANES], [0.0_f64; LANES]);
        for elements in row.chunks(LANES) {
            for (lane, element) in elements.iter().enumerate() {
                let value = magnitude(*element);
                sums[lane] += value;
                squares[lane] += value * value;
                maxima[lane] = if value > maxima[lane] { value } else { maxima[lane] };
            }
        }
        let sum: f64 = sums.iter().sum();
        // Comparisons skip NaN, but the sum shows it.
        let max = if sum.is_nan() { f64::NAN } else { maxima.into_iter().fold(0.0, greater) };
        Lanes { sum, squares: squares.iter().sum(), max }
    }
}

/// The results so far. Sums of rows and columns are kept by block row and block column.
#[derive(Default)]
struct Sums {
    rows: HashMap<Key, Vec<f64>>,
    columns: HashMap<Key, Vec<f64>>,
    max: f64,
    frobenius: Vec<f64>,
}

impl Sums {
    fn add(&mut self, piece: &Piece, (i, j): (Key, Key), rows: usize) {
        let of_rows = self.rows.entry(i).or_insert_with(|| vec![0.0; rows]);
        of_rows[piece.rows.clone()].iter_mut().zip(&piece.row_sums).for_each(|(sum, more)| *sum += more);
        let of_columns = self.columns.entry(j).or_insert_with(|| vec![0.0; piece.column_sums.len()]);
        of_columns.iter_mut().zip(&piece.column_sums).for_each(|(sum, more)| *sum += more);
        self.max = greater(self.max, piece.max);
        self.frobenius.push(piece.frobenius);
    }

    fn finish(self) -> Norms {
        let greatest = |sums: HashMap<Key, Vec<f64>>| sums.into_values().flatten().fold(0.0, greater);
        let most = self.frobenius.iter().copied().fold(0.0, greater);
        let frobenius = match most > 0.0 && most.is_finite() {
            true => most * self.frobenius.iter().map(|norm| (norm / most).powi(2)).sum::<f64>().sqrt(),
            false => most,
        };
        Norms { frobenius, one: greatest(self.columns), infinity: greatest(self.rows), max: self.max }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_block(elements: &[f64], columns: usize) -> Norms {
        let rows = elements.len() / columns;
        let mut sums = Sums::default();
        for start in (0..rows).step_by(3) {
            let mut piece = Piece::new(0, start..rows.min(start + 3), columns);
            piece.see(elements, columns);
            sums.add(&piece, (Some(0), Some(0)), rows);
        }
        sums.finish()
    }

    #[test]
    fn norms_are_those_of_plain_loops() {
        let (rows, columns) = (7, 11);
        let elements: Vec<f64> = (0..rows * columns).map(|at| ((at * 37) % 19) as f64 - 9.0).collect();
        let row = |row: usize| (0..columns).map(|column| elements[row * columns + column].abs()).sum::<f64>();
        let column = |column: usize| (0..rows).map(|row| elements[row * columns + column].abs()).sum::<f64>();
        let norms = of_block(&elements, columns);
        assert_eq!(norms.infinity, (0..rows).map(row).fold(0.0, f64::max));
        assert_eq!(norms.one, (0..columns).map(column).fold(0.0, f64::max));
        assert_eq!(norms.max, 9.0);
        let frobenius = elements.iter().map(|element| element * element).sum::<f64>().sqrt();
        assert!((norms.frobenius - frobenius).abs() < 1e-13 * frobenius, "{} and {frobenius}", norms.frobenius);
    }

    #[test]
    fn squares_beyond_the_limits_of_a_double_do_not_spoil_the_root() {
        for by in [1e200, 1e-200] {
            let norm = of_block(&[3.0 * by, 0.0, 0.0, 4.0 * by], 1).frobenius;
            assert!((norm / by - 5.0).abs() < 1e-14, "{norm}");
        }
        assert_eq!(of_block(&[0.0; 4], 2).frobenius, 0.0);
        assert_eq!(
            of_block(&[f64::NEG_INFINITY, 1.0], 2),
            Norms { frobenius: f64::INFINITY, one: f64::INFINITY, infinity: f64::INFINITY, max: f64::INFINITY }
        );
    }

    #[test]
    fn a_nan_is_in_all_norms() {
        for at in 0..12 {
            let mut elements = vec![1.0; 12];
            elements[at] = f64::NAN;
            let Norms { frobenius, one, infinity, max } = of_block(&elements, 3);
            assert!([frobenius, one, infinity, max].iter().all(|norm| norm.is_nan()), "{at}");
        }
    }
}
