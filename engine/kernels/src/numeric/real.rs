//! The two element types that kernels compute with.

use std::ops::{Add, Mul};

mod sealed {
    pub trait Sealed {}
    impl Sealed for f32 {}
    impl Sealed for f64 {}
}

/// `f32` or `f64`. Sums of both are kept in `f64`.
pub trait Real:
    Copy + Send + Sync + Default + PartialOrd + Into<f64> + Add<Output = Self> + Mul<Output = Self> + sealed::Sealed + 'static
{
    /// Rounded to the nearest.
    fn from_f64(x: f64) -> Self;
    const ONE: Self;
}

impl Real for f32 {
    const ONE: f32 = 1.0;

    #[inline(always)]
    fn from_f64(x: f64) -> f32 {
        x as f32
    }
}

impl Real for f64 {
    const ONE: f64 = 1.0;

    #[inline(always)]
    fn from_f64(x: f64) -> f64 {
        x
    }
}

/// `a · b + c`, rounded once if the target processor has an instruction for that. Without one it would be
/// a call for each element.
#[inline(always)]
pub fn fused(a: f64, b: f64, c: f64) -> f64 {
    if cfg!(any(target_feature = "fma", target_arch = "aarch64")) { a.mul_add(b, c) } else { a * b + c }
}

/// Callers have checked the shapes with an error; here they decide which memory is touched.
pub fn check_sizes<T>(values: &[T], rows: usize, columns: usize) {
    if rows.checked_mul(columns) != Some(values.len()) {
        unreachable!("{rows}×{columns} of {} values", values.len());
    }
}
