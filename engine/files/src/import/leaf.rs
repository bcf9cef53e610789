//! Builders that take texts and make typed columns: the end of the way for CSV fields and JSON
//! scalars, so that both agree on what a text means as a type.

mod decimals;
mod scalars;

use arrow::array::ArrayRef;
use arrow::datatypes::DataType;

/// A column under construction.
pub trait Leaf: Send {
    /// Appends the value of `text`; appends nothing and says `false` when it has none.
    #[must_use]
    fn push(&mut self, text: &str) -> bool;
    fn push_null(&mut self);
    fn len(&self) -> usize;
    /// The column so far; the builder is empty again.
    fn finish(&mut self) -> ArrayRef;
}

/// `None`: no text can become this type.
pub fn leaf_for(data_type: &DataType) -> Option<Box<dyn Leaf>> {
    decimals::leaf_for(data_type).or_else(|| scalars::leaf_for(data_type))
}
