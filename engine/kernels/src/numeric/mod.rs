//! The arithmetic of the kernels, on slices: no Arrow, no SQL, no threads of its own.
//!
//! Loops are written for the compiler to vectorise: fixed numbers of lanes, no branches on data. AVX2 is what the
//! project is built for (`.cargo/config.toml`), so only products of matrices choose their instructions when they run.

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
