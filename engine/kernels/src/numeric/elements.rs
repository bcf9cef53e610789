//! Sums, multiples and transposes of row-major matrices: as fast as memory allows.

use std::ops::Range;

use super::real::{Real, check_sizes};

/// The side of a tile that fills whole cache lines in both matrices, and of one whose pages fit into the TLB.
const TILE: usize = 8;
const TILES: usize = 128;

/// Results larger than this do not stay in the cache of a core.
const CACHE_BYTES: usize = 4 << 20;

/// How results are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stores {
    /// Through the cache, for results that are read again soon.
    Cached,
    /// Past the cache, which avoids reading what is overwritten.
    Streamed,
}

impl Stores {
    /// The way to store results with this total size.
    pub fn of(size_bytes: usize) -> Stores {
        if size_bytes > CACHE_BYTES { Stores::Streamed } else { Stores::Cached }
    }
}

/// Writes the transpose of `from`, which has so many rows and columns, to `to`.
pub fn transpose<T: Real>(from: &[T], rows: usize, columns: usize, to: &mut [T]) {
    transpose_columns(from, rows, columns, 0..columns, to);
}

/// Writes the columns `range` of `from`, which has so many rows and columns, to `to` as rows.
pub fn transpose_columns<T: Real>(from: &[T], rows: usize, columns: usize, range: Range<usize>, to: &mut [T]) {
    check_sizes(from, rows, columns);
    check_sizes(to, range.len(), rows);
    assert!(range.end <= columns, "column {} of {columns}", range.end);
    for row in (0..rows).step_by(TILES) {
        for column in range.clone().step_by(TILES) {
            for i in (row..rows.min(row + TILES)).step_by(TILE) {
                for j in (column..range.end.min(column + TILES)).step_by(TILE) {
                    transpose_tile(from, to, [rows, columns], &range, [i, j]);
                }
            }
        }
    }
}

#[inline(always)]
fn transpose_tile<T: Real>(from: &[T], to: &mut [T], [rows, columns]: [usize; 2], range: &Range<usize>, [i, j]: [usize; 2]) {
    let to_row = |column: usize| (column - range.start) * rows;
    if i + TILE > rows || j + TILE > range.end {
        for (x, y) in (i..rows.min(i + TILE)).flat_map(|x| (j..range.end.min(j + TILE)).map(move |y| (x, y))) {
            to[to_row(y) + x] = from[x * columns + y];
        }
        return;
    }
    let mut tile = [[T::default(); TILE]; TILE];
    for x in 0..TILE {
        for (y, value) in from[(i + x) * columns + j..][..TILE].iter().enumerate() {
            tile[y][x] = *value;
        }
    }
    for (y, tile) in tile.iter().enumerate() {
        to[to_row(j + y) + i..][..TILE].copy_from_slice(tile);
    }
}

/// Writes a + b to `to`; all have the same size.
pub fn add<T: Real>(a: &[T], b: &[T], to: &mut [T], stores: Stores) {
    check_sizes(a, 1, to.len());
    check_sizes(b, 1, to.len());
    let sums = |at: usize, to: &mut [T]| {
        let places = at..at + to.len();
        for ((to, a), b) in to.iter_mut().zip(&a[places.clone()]).zip(&b[places]) {
            *to = *a + *b;
        }
    };
    stored(to, stores, sums);
}

/// Writes s·a to `to`, which has the same size.
pub fn scale<T: Real>(a: &[T], s: T, to: &mut [T], stores: Stores) {
    check_sizes(a, 1, to.len());
    let multiples = |at: usize, to: &mut [T]| {
        for (to, a) in to.iter_mut().zip(&a[at..]) {
            *to = s * *a;
        }
    };
    stored(to, stores, multiples);
}

/// `make` fills the elements from an offset of `to` on.
#[inline(always)]
fn stored<T: Real>(to: &mut [T], stores: Stores, make: impl Fn(usize, &mut [T])) {
    match stores {
        Stores::Cached => make(0, to),
        Stores::Streamed => past_cache(to, make),
    }
}

/// A cache line.
#[repr(align(64))]
struct Line<T, const N: usize>([T; N]);

#[inline(always)]
fn past_cache<T: Real>(to: &mut [T], make: impl Fn(usize, &mut [T])) {
    match size_of::<T>() {
        4 => lines_past_cache::<T, 16>(to, make),
        _ => lines_past_cache::<T, 8>(to, make),
    }
}

#[inline(always)]
fn lines_past_cache<T: Real, const N: usize>(to: &mut [T], make: impl Fn(usize, &mut [T])) {
    let start = to.as_ptr().align_offset(64).min(to.len());
    let (head, lines) = to.split_at_mut(start);
    make(0, head);
    let (lines, rest) = lines.as_chunks_mut::<N>();
    let rest_at = start + lines.len() * N;
    for (at, to) in lines.iter_mut().enumerate() {
        let mut line = Line([T::default(); N]);
        make(start + at * N, &mut line.0);
        store_line(&line, to);
    }
    make(rest_at, rest);
    // SAFETY: every x86-64 processor has this instruction. Held by `sums_past_the_cache_are_the_same`.
    #[cfg(target_arch = "x86_64")]
    unsafe {
        std::arch::x86_64::_mm_sfence();
    }
}

/// `to` begins a cache line.
#[inline(always)]
fn store_line<T: Real, const N: usize>(line: &Line<T, N>, to: &mut [T; N]) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{__m128i, _mm_load_si128, _mm_stream_si128};
        let (from, to) = (line.0.as_ptr().cast::<__m128i>(), to.as_mut_ptr().cast::<__m128i>());
        for part in 0..size_of::<[T; N]>() / size_of::<__m128i>() {
            // SAFETY: both are 64 bytes at a multiple of 64, and `past_cache` ends with the fence that such stores need.
            // Held by `sums_past_the_cache_are_the_same`.
            unsafe { _mm_stream_si128(to.add(part), _mm_load_si128(from.add(part))) };
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    to.copy_from_slice(&line.0);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers<T: Real>(n: usize, seed: usize) -> Vec<T> {
        (0..n).map(|at| T::from_f64((at * 31 + seed) as f64 / 7.0 - 100.0)).collect()
    }

    fn transposes<T: Real + std::fmt::Debug>(rows: usize, columns: usize) {
        let from = numbers::<T>(rows * columns, 1);
        let mut to = vec![T::default(); rows * columns];
        transpose(&from, rows, columns, &mut to);
        for (at, value) in to.iter().enumerate() {
            assert_eq!(*value, from[at % rows * columns + at / rows], "{rows}×{columns} at {at}");
        }
    }

    #[test]
    fn a_transpose_has_rows_as_columns() {
        for (rows, columns) in [(0, 0), (0, 3), (1, 1), (1, 9), (8, 8), (7, 17), (16, 8), (129, 131), (256, 10)] {
            transposes::<f64>(rows, columns);
            transposes::<f32>(rows, columns);
        }
    }

    #[test]
    fn some_columns_are_transposed_as_they_are_among_all() {
        let (rows, columns) = (70, 45);
        let from = numbers::<f64>(rows * columns, 1);
        let mut whole = vec![0.0; rows * columns];
        transpose(&from, rows, columns, &mut whole);
        let mut parts = vec![0.0; rows * columns];
        for range in [0..33, 33..34, 34..34, 34..45] {
            let to = range.start * rows..range.end * rows;
            transpose_columns(&from, rows, columns, range, &mut parts[to]);
        }
        assert_eq!(parts, whole);
    }

    fn same_past_the_cache<T: Real + std::fmt::Debug>() {
        // Every offset in a line at which a matrix may begin and end.
        for (start, n) in (0..17).flat_map(|start| [0, 1, 7, 8, 15, 16, 33, 100].map(|n| (start, n))) {
            let (a, b) = (numbers::<T>(n, 1), numbers::<T>(n, 2));
            let expected: Vec<T> = a.iter().zip(&b).map(|(a, b)| *a + *b).collect();
            for stores in [Stores::Cached, Stores::Streamed] {
                let mut to = numbers::<T>(n + 40, 9);
                let untouched = to.clone();
                add(&a, &b, &mut to[start..start + n], stores);
                assert_eq!(to[start..start + n], expected);
                assert_eq!((&to[..start], &to[start + n..]), (&untouched[..start], &untouched[start + n..]));
            }
            let s = T::from_f64(-2.5);
            let (mut to, mut past) = (numbers::<T>(n, 3), numbers::<T>(n + start, 4));
            scale(&a, s, &mut to, Stores::Cached);
            scale(&a, s, &mut past[start..], Stores::Streamed);
            assert_eq!(to, a.iter().map(|a| s * *a).collect::<Vec<T>>());
            assert_eq!(to, past[start..]);
        }
    }

    #[test]
    fn sums_past_the_cache_are_the_same() {
        same_past_the_cache::<f64>();
        same_past_the_cache::<f32>();
    }
}
