//! The two types of elements, as Rust and as Arrow have them.

use arrow::array::ArrowPrimitiveType;
use arrow::datatypes::{ArrowNativeType, Float32Type, Float64Type};

use crate::kernels::numeric::real::Real;

pub trait Element: Real + ArrowNativeType {
    type Arrow: ArrowPrimitiveType<Native = Self>;
}

impl Element for f64 {
    type Arrow = Float64Type;
}

impl Element for f32 {
    type Arrow = Float32Type;
}
