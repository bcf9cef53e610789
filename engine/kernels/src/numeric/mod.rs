//! The arithmetic of the kernels, on slices: no Arrow, no SQL, no threads.
//!
//! Loops are written so that the compiler vectorises them: fixed numbers of lanes, no branches on data. The
//! project is built for AVX2 (`.cargo/config.toml`), so only products of matrices choose their instructions at run time.

pub mod cells;
pub mod centroids;
pub mod clusters;
pub mod elements;
pub mod histogram;
pub mod moments;
pub mod products;
pub mod real;
pub mod regression;
#[cfg(test)]
mod test_numbers;
pub mod tiles;
pub mod vectors;
