//! Builders that turn texts into typed columns. CSV fields and JSON scalars both end here,
//! so that both agree on what a text means as a type.

mod decimals;
mod scalars;

use arrow::array::ArrayRef;
use arrow::datatypes::DataType;

/// A column under construction.
pub trait Leaf: Send {
    /// Appends the value of `text`; appends nothing and returns `false` if the text is not a value of the type.
    #[must_use]
    fn push(&mut self, text: &str) -> bool;
    fn push_null(&mut self);
    fn len(&self) -> usize;
    /// Returns the column so far; the builder is empty again.
    fn finish(&mut self) -> ArrayRef;
}

/// `None`: no text can become this type.
pub fn leaf_for(data_type: &DataType) -> Option<Box<dyn Leaf>> {
    decimals::leaf_for(data_type).or_else(|| scalars::leaf_for(data_type))
}
