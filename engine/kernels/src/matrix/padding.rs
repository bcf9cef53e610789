//! The elements of blocks outside of the matrix: the last row and column of blocks may exceed it. They are zero, and stay so:
//! 0 · ∞ is not zero, and every reader of whole blocks would count it.

use super::blocks::Key;
use crate::numeric::real::Real;

/// The rows and columns of a block at (i, j) that lie inside of the matrix with this `shape`.
pub fn inside(shape: [usize; 2], block: [usize; 2], i: Key, j: Key) -> [usize; 2] {
    let along = |axis: usize, key: Key| {
        let first = key.and_then(|key| usize::try_from(key).ok()).map_or(0, |key| key.saturating_mul(block[axis]));
        shape[axis].saturating_sub(first).min(block[axis])
    };
    [along(0, i), along(1, j)]
}

/// Sets what is outside to zero, in a panel that begins with the row `first_row` of a block with so many columns.
pub fn clear<T: Real>(panel: &mut [T], first_row: usize, columns: usize, [rows_inside, columns_inside]: [usize; 2]) {
    if columns_inside == columns && first_row + panel.len() / columns <= rows_inside {
        return;
    }
    for (row, elements) in (first_row..).zip(panel.chunks_mut(columns)) {
        let beyond = if row < rows_inside { columns_inside } else { 0 };
        elements[beyond..].fill(T::default());
    }
}

/// Whether everything outside is zero, in such a panel.
pub fn is_clear<T: Real>(panel: &[T], first_row: usize, columns: usize, [rows_inside, columns_inside]: [usize; 2]) -> bool {
    (first_row..).zip(panel.chunks(columns)).all(|(row, elements)| {
        let beyond = if row < rows_inside { columns_inside } else { 0 };
        elements[beyond..].iter().all(|element| *element == T::default())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_blocks_end_with_the_matrix() {
        let of = |i, j| inside([5, 4], [2, 3], Some(i), Some(j));
        assert_eq!([of(0, 0), of(2, 0), of(2, 1), of(0, 1)], [[2, 3], [1, 3], [1, 1], [2, 1]]);
        // A block completely outside, and one whose position overflows.
        assert_eq!([of(3, 0), of(i64::MAX, 0)], [[0, 3], [0, 3]]);
    }

    #[test]
    fn what_is_beyond_the_matrix_is_cleared_in_whatever_panels() {
        for first in 0..4 {
            let mut panels = [f64::NAN; 4 * 3];
            let (head, tail) = panels.split_at_mut(first * 3);
            clear(head, 0, 3, [2, 2]);
            clear(tail, first, 3, [2, 2]);
            let nans: Vec<bool> = panels.iter().map(|element| element.is_nan()).collect();
            assert_eq!(nans, [true, true, false, true, true, false, false, false, false, false, false, false]);
        }
    }

    #[test]
    fn only_zeros_of_either_sign_are_clear() {
        let with = |at: usize, element: f64| {
            let mut block = vec![0.0; 9];
            block[at] = element;
            let panels: Vec<bool> = (0..3).map(|row| is_clear(&block[row * 3..row * 3 + 3], row, 3, [2, 2])).collect();
            assert_eq!(is_clear(&block, 0, 3, [2, 2]), panels.iter().all(|is_clear| *is_clear));
            panels[at / 3]
        };
        assert!(with(0, 7.0) && with(4, f64::NAN) && with(8, -0.0));
        assert!(!with(2, 1.0) && !with(6, 1.0) && !with(8, f64::NAN));
    }
}
