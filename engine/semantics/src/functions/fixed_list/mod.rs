//! Casts of lists to lists of a fixed size, to tensors, and to lists of lists.

mod convert;
mod list_bounds;
mod nested_cast;

use arrow::datatypes::{DataType, Field};
use datafusion::common::{Result, ScalarValue};

use common::tensor_shape::shape_of;
use common::tensors::tensor_field;
pub use convert::FixedLists;
use list_bounds::list_levels;
pub use nested_cast::NestedListCast;

/// Whether this module does the cast: it is to a list of a fixed size, and from a list of another size or depth.
pub fn is_resized(from: &DataType, to: &DataType) -> bool {
    let DataType::FixedSizeList(_, width) = to else { return false };
    let is_alike = matches!(from, DataType::FixedSizeList(_, size) if size == width);
    list_levels(from) > 0 && !(is_alike && list_levels(from) == list_levels(to))
}

/// Nested lists as one list of their elements, for a tensor of that many dimensions; `None` for other values.
pub fn flat_scalar(value: &ScalarValue, field: &Field) -> Result<Option<ScalarValue>> {
    let (mut element, levels) = (value.data_type(), list_levels(&value.data_type()));
    let Some(shape) = shape_of(field).filter(|shape| levels > 1 && levels == shape.len()) else { return Ok(None) };
    while let DataType::List(item) | DataType::LargeList(item) | DataType::FixedSizeList(item, _) = element {
        element = item.data_type().clone();
    }
    // Keeps the type of the elements, so that they are checked like all others.
    let flat = tensor_field(field.name(), element, &shape, true)?;
    let wanted = FixedLists::new(&flat, false).filter(|_| !value.is_null());
    wanted.map(|wanted| ScalarValue::try_from_array(&wanted.convert(&value.to_array()?)?, 0)).transpose()
}

/// A tensor or a list as the lists of lists of the target; `None` for other values.
pub fn nested_scalar(value: &ScalarValue, source: &Field, field: &Field) -> Result<Option<ScalarValue>> {
    let wanted = NestedListCast::new(source, field, false).filter(|_| !value.is_null());
    wanted.map(|wanted| ScalarValue::try_from_array(&wanted.convert(&value.to_array()?)?, 0)).transpose()
}
