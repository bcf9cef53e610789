//! Products of row-major matrices, on the calling thread.
//!
//! They use Goto's algorithm from the crate `gemm` (Goto and van de Geijn, Anatomy of High-Performance Matrix
//! Multiplication, 2008), with the instructions of the current processor. The error of an element is at most k roundings
//! of the sum of |a|·|b|. Infinity times zero is NaN, and NaN stays.

use super::real::{Real, check_sizes};

/// The number of rows of the result that one thread should take at once. Each such panel packs all of B anew, which costs 2 % of the
/// work at this height; several panels for each thread balance the load.
pub const PANEL_ROWS: usize = 1024;
/// The part of k and the columns of the result after which a product can be stopped: 10 ms of a panel, and a multiple of the
/// blocking inside, so that nothing is lost.
const DEPTH: usize = 512;
const COLUMNS: usize = 512;
/// Below this many multiplications, packing costs more than it saves.
const PLAIN_MAX: usize = 512;

/// Adds a·b to c, on this thread alone: a is m×k, b is k×n, c is m×n.
pub fn multiply_add<T: Real>(c: &mut [T], a: &[T], b: &[T], m: usize, k: usize, n: usize) {
    multiply_add_while(c, a, b, m, k, n, || true);
}

/// As [`multiply_add`], while `go_on` returns true; it is called about every 10 ms. Returns false if it was stopped: then c holds some of
/// the sums.
pub fn multiply_add_while<T: Real>(c: &mut [T], a: &[T], b: &[T], m: usize, k: usize, n: usize, go_on: impl Fn() -> bool) -> bool {
    check_sizes(c, m, n);
    check_sizes(a, m, k);
    check_sizes(b, k, n);
    if m * n * k <= PLAIN_MAX {
        multiply_add_plainly(c, a, b, k, n);
        return go_on();
    }
    for (at, c) in c.chunks_mut(PANEL_ROWS * n).enumerate() {
        let a = &a[at * PANEL_ROWS * k..][..c.len() / n * k];
        for depth in (0..k).step_by(DEPTH) {
            for column in (0..n).step_by(COLUMNS) {
                if !go_on() {
                    return false;
                }
                multiply_add_part(c, a, b, [k, n], [depth, column]);
            }
        }
    }
    true
}

fn multiply_add_plainly<T: Real>(c: &mut [T], a: &[T], b: &[T], k: usize, n: usize) {
    if k == 0 || n == 0 {
        return;
    }
    for (c, a) in c.chunks_exact_mut(n).zip(a.chunks_exact(k)) {
        for (a, b) in a.iter().zip(b.chunks_exact(n)) {
            for (c, b) in c.iter_mut().zip(b) {
                *c = *c + *a * *b;
            }
        }
    }
}

/// Adds to the columns of c from `column` on the products over the part of k from `depth` on.
fn multiply_add_part<T: Real>(c: &mut [T], a: &[T], b: &[T], [k, n]: [usize; 2], [depth, column]: [usize; 2]) {
    let (m, deep, wide) = (c.len() / n, DEPTH.min(k - depth), COLUMNS.min(n - column));
    let (c, a, b) = (&mut c[column..], &a[depth..], &b[depth * n + column..]);
    let (n_step, k_step) = (n.cast_signed(), k.cast_signed());
    // SAFETY: rows are n and k elements apart, of which `wide` and `deep` from the starts above are inside the slices, whose sizes
    // `check_sizes` compared; T is f32 or f64, as Real is sealed. Held by `products_are_those_of_plain_loops`.
    unsafe {
        gemm::gemm(
            m,
            wide,
            deep,
            c.as_mut_ptr(),
            1,
            n_step,
            true,
            a.as_ptr(),
            1,
            k_step,
            b.as_ptr(),
            1,
            n_step,
            T::ONE,
            T::ONE,
            false,
            false,
            false,
            gemm::Parallelism::None,
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    /// Integers, whose sums and products are exact in any order.
    fn whole<T: Real>(n: usize, seed: usize) -> Vec<T> {
        (0..n).map(|at| T::from_f64(((at * 7 + seed * 13) % 17) as f64 - 8.0)).collect()
    }

    fn plainly<T: Real>(a: &[T], b: &[T], [m, k, n]: [usize; 3]) -> Vec<f64> {
        let element = |i: usize, j: usize| (0..k).map(|l| a[i * k + l].into() * b[l * n + j].into()).sum::<f64>();
        (0..m * n).map(|at| element(at / n, at % n)).collect()
    }

    fn agrees_with_plain_loops<T: Real>(sizes: [usize; 3]) {
        let [m, k, n] = sizes;
        let (a, b, mut c) = (whole::<T>(m * k, 1), whole::<T>(k * n, 2), whole::<T>(m * n, 3));
        let products = plainly(&a, &b, sizes);
        let expected: Vec<f64> = c.iter().zip(products).map(|(c, product)| (*c).into() + product).collect();
        multiply_add(&mut c, &a, &b, m, k, n);
        assert_eq!(c.into_iter().map(Into::into).collect::<Vec<f64>>(), expected, "{sizes:?}");
    }

    #[test]
    fn products_are_those_of_plain_loops() {
        let odd = [[1, 1, 1], [8, 8, 8], [9, 8, 8], [1, 700, 3], [3, 1, 700], [700, 3, 1], [1, 1, 600], [37, 53, 29], [130, 515, 259]];
        let past_a_panel = [[PANEL_ROWS + 3, 5, 7], [2 * PANEL_ROWS, 1, 2], [2, DEPTH + 1, COLUMNS + 1]];
        for sizes in odd.into_iter().chain(past_a_panel) {
            agrees_with_plain_loops::<f64>(sizes);
            agrees_with_plain_loops::<f32>(sizes);
        }
    }

    #[test]
    fn products_of_nothing_add_nothing() {
        for [m, k, n] in [[0, 3, 4], [3, 0, 4], [3, 4, 0], [0, 0, 0]] {
            let (a, b, mut c) = (whole::<f64>(m * k, 1), whole::<f64>(k * n, 2), whole::<f64>(m * n, 3));
            let before = c.clone();
            multiply_add(&mut c, &a, &b, m, k, n);
            assert_eq!(c, before);
        }
    }

    #[test]
    fn nan_and_infinity_stay_in_their_rows_and_columns() {
        let n = 40;
        let (mut a, b, mut c) = (vec![0.0; n * n], vec![1.0; n * n], vec![0.0; n * n]);
        a[3 * n + 5] = f64::NAN;
        a[7 * n + 5] = f64::INFINITY;
        multiply_add(&mut c, &a, &b, n, n, n);
        for (row, values) in c.chunks(n).enumerate() {
            let is_right = |x: &f64| if row == 3 { x.is_nan() } else { *x == if row == 7 { f64::INFINITY } else { 0.0 } };
            assert!(values.iter().all(is_right), "{row}");
        }
        a[7 * n + 5] = 0.0;
        multiply_add(&mut c, &vec![0.0; n * n], &vec![f64::INFINITY; n * n], n, n, n);
        assert!(c.iter().all(|x| x.is_nan()));
    }

    #[test]
    fn a_product_ends_where_it_is_stopped() {
        let (m, k, n) = (4, 2 * DEPTH, 2 * COLUMNS);
        let (a, b, mut c) = (vec![1.0; m * k], vec![1.0; k * n], vec![0.0; m * n]);
        let calls = Cell::new(0);
        let go_on = || {
            calls.set(calls.get() + 1);
            calls.get() <= 3
        };
        assert!(!multiply_add_while(&mut c, &a, &b, m, k, n, go_on));
        let row: Vec<f64> = [DEPTH * 2, DEPTH].iter().flat_map(|sum| vec![*sum as f64; COLUMNS]).collect();
        assert_eq!(c[..n], row);
    }
}
