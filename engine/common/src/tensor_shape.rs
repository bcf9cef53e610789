//! The shape of tensors in the metadata of a field: Arrow's extension `arrow.fixed_shape_tensor`.

use arrow::datatypes::{DataType, Field};

pub const TENSOR: &str = "arrow.fixed_shape_tensor";
pub const EXTENSION_NAME: &str = "ARROW:extension:name";
pub const EXTENSION_METADATA: &str = "ARROW:extension:metadata";

/// The shape of a tensor; `None` if the field is not a tensor, or if its elements are not in the order of the shape.
pub fn shape_of(field: &Field) -> Option<Vec<usize>> {
    let metadata = field.metadata();
    let DataType::FixedSizeList(_, width) = field.data_type() else { return None };
    if metadata.get(EXTENSION_NAME).map(String::as_str) != Some(TENSOR) {
        return None;
    }
    let parameters: serde_json::Value = serde_json::from_str(metadata.get(EXTENSION_METADATA)?).ok()?;
    if let Some(permutation) = parameters.get("permutation").and_then(|order| order.as_array()) {
        let is_identity = permutation.iter().enumerate().all(|(at, axis)| axis.as_u64() == Some(at as u64));
        if !is_identity {
            return None;
        }
    }
    let sizes = parameters.get("shape")?.as_array()?.iter().map(|size| usize::try_from(size.as_u64()?).ok());
    let shape = sizes.collect::<Option<Vec<usize>>>()?;
    (elements(&shape)? == usize::try_from(*width).ok()?).then_some(shape)
}

pub fn elements(shape: &[usize]) -> Option<usize> {
    shape.iter().try_fold(1_usize, |all, size| all.checked_mul(*size))
}

/// The shape as text: 2×3.
pub fn shape_text(shape: &[usize]) -> String {
    shape.iter().map(usize::to_string).collect::<Vec<_>>().join("×")
}

/// Whether tensors can have elements of this type.
pub fn is_element(data_type: &DataType) -> bool {
    data_type.is_integer() || matches!(data_type, DataType::Float32 | DataType::Float64)
}
