//! Fills one panel of a block of the result: some of its rows, written directly to the output.

use std::ops::Range;

use super::element::Element;
use super::work::{BlockSources, Inputs};
use crate::numeric::elements::Stores;
use crate::numeric::{elements, products, vectors};
use crate::threads::StopFlag;

/// A panel reads or writes so many bytes if memory bounds the speed: a fraction of a millisecond.
const PANEL_BYTES: usize = 1 << 20;

/// The sizes of the blocks and of the result, if it has a shape, and the scale factor.
#[derive(Debug, Clone, Copy)]
pub struct Sizes {
    pub a: [usize; 2],
    pub result: [usize; 2],
    pub shape: Option<[usize; 2]>,
    pub by: f64,
}

impl Sizes {
    /// The number of rows of a block that make one panel.
    pub fn panel_rows(&self, work: &BlockSources, element_bytes: usize) -> usize {
        let [rows, columns] = self.result;
        let fitting = match work {
            BlockSources::Products(_) => products::PANEL_ROWS,
            BlockSources::VectorProducts(pairs) => PANEL_BYTES / (pairs.len() * self.a[1] * element_bytes).max(1),
            _ => PANEL_BYTES / (columns * element_bytes),
        };
        fitting.clamp(1, rows)
    }
}

/// Overwrites all of `out`, the rows `rows` of the block. Once `stop` is set it ends soon, and the content of `out` is undefined.
pub fn fill<T: Element>(
    inputs: &Inputs<T>,
    sizes: &Sizes,
    work: &BlockSources,
    rows: Range<usize>,
    out: &mut [T],
    stores: Stores,
    stop: &StopFlag,
) {
    let of_a = |at: usize| inputs.a.values(at);
    let of_b = |at: usize| inputs.b.as_ref().map_or(&[][..], |b| b.values(at));
    let [_, columns] = sizes.result;
    let panel = rows.start * columns..rows.end * columns;
    match work {
        BlockSources::Sum(Some(a), Some(b)) => elements::add(&of_a(*a)[panel.clone()], &of_b(*b)[panel], out, stores),
        BlockSources::Sum(Some(a), None) => out.copy_from_slice(&of_a(*a)[panel]),
        BlockSources::Sum(None, Some(b)) => out.copy_from_slice(&of_b(*b)[panel]),
        BlockSources::Sum(None, None) | BlockSources::Null => out.fill(T::default()),
        BlockSources::Scaled(a) => elements::scale(&of_a(*a)[panel], T::from_f64(sizes.by), out, stores),
        BlockSources::Transposed(a) => elements::transpose_columns(of_a(*a), sizes.a[0], sizes.a[1], rows, out),
        BlockSources::Products(pairs) => {
            let [_, inner] = sizes.a;
            out.fill(T::default());
            for (a, b) in pairs.iter() {
                let left = &of_a(*a as usize)[rows.start * inner..rows.end * inner];
                let right = of_b(*b as usize);
                if !products::multiply_add_while(out, left, right, rows.len(), inner, columns, || !stop.is_set()) {
                    break;
                }
            }
        }
        BlockSources::VectorProducts(pairs) => {
            let [_, inner] = sizes.a;
            for (row, element) in rows.zip(out.iter_mut()) {
                if stop.is_set() {
                    break;
                }
                let of_row = |(a, x): &(u32, u32)| vectors::dot(&of_a(*a as usize)[row * inner..(row + 1) * inner], of_b(*x as usize));
                *element = T::from_f64(pairs.iter().map(of_row).sum());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use datafusion::execution::memory_pool::{MemoryConsumer, MemoryPool, UnboundedMemoryPool};

    use super::super::pairs::Pairs;
    use super::*;

    #[test]
    fn panels_are_small_where_memory_takes_the_time_and_large_enough_where_products_do() {
        let pool: Arc<dyn MemoryPool> = Arc::new(UnboundedMemoryPool::default());
        let product = BlockSources::Products(Pairs::new(vec![(0, 0)], MemoryConsumer::new("f").register(&pool)));
        let sizes = Sizes { a: [4096, 4096], result: [4096, 4096], shape: None, by: 1.0 };
        assert_eq!(sizes.panel_rows(&BlockSources::Sum(None, None), 8), 32);
        assert_eq!(sizes.panel_rows(&product, 8), products::PANEL_ROWS);
        let small = Sizes { a: [64, 64], result: [64, 64], shape: None, by: 1.0 };
        assert_eq!(small.panel_rows(&product, 8), 64);
        assert_eq!(small.panel_rows(&BlockSources::Transposed(0), 8), 64);
        let wide = Sizes { a: [1, 1 << 30], result: [1, 1 << 30], shape: None, by: 1.0 };
        assert_eq!(wide.panel_rows(&BlockSources::Scaled(0), 8), 1);
    }
}
