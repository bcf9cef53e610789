//! The two element types, in Rust and in Arrow.

use arrow::array::ArrowPrimitiveType;
use arrow::datatypes::{ArrowNativeType, Float32Type, Float64Type};

use pmem_store::segment::Elements;

use crate::numeric::real::Real;

pub trait Element: Real + ArrowNativeType {
    type Arrow: ArrowPrimitiveType<Native = Self>;

    /// `None` if the elements have the other type.
    fn of_elements(elements: Elements<'_>) -> Option<&mut [Self]>;
}

impl Element for f64 {
    type Arrow = Float64Type;

    fn of_elements(elements: Elements<'_>) -> Option<&mut [f64]> {
        if let Elements::F64(elements) = elements { Some(elements) } else { None }
    }
}

impl Element for f32 {
    type Arrow = Float32Type;

    fn of_elements(elements: Elements<'_>) -> Option<&mut [f32]> {
        if let Elements::F32(elements) = elements { Some(elements) } else { None }
    }
}
