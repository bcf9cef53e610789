//! What functions of users have in common, in whatever language they are written: the types that they get, their limits, and how DataFusion calls
//! them.

mod aggregate;
mod kernel;
mod portable;
mod scalar;
mod table;

use std::sync::Arc;

use arrow::array::{Array, ArrayRef};
use arrow::compute::cast;
use arrow::datatypes::{DataType, FieldRef};
use arrow::error::ArrowError;

pub use aggregate::{AggregateKernel, UserAggregate};
pub use kernel::Kernel;
pub use portable::PortableFunction;
pub use scalar::{ScalarKernel, UserScalar};
pub use table::{TableInput, TableKernel};

/// What one call may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct FunctionLimits {
    pub memory_bytes: usize,
    pub time_ms: u64,
}

/// Texts and bytes without views, which not every reader of Arrow knows; dictionaries as their values.
pub fn plain_type(data_type: &DataType) -> DataType {
    match data_type {
        DataType::Utf8View => DataType::Utf8,
        DataType::BinaryView => DataType::Binary,
        DataType::Dictionary(_, values) => plain_type(values),
        DataType::List(field) => DataType::List(plain_field(field)),
        DataType::LargeList(field) => DataType::LargeList(plain_field(field)),
        DataType::FixedSizeList(field, size) => DataType::FixedSizeList(plain_field(field), *size),
        DataType::Map(field, is_sorted) => DataType::Map(plain_field(field), *is_sorted),
        DataType::Struct(fields) => DataType::Struct(fields.iter().map(plain_field).collect()),
        other => other.clone(),
    }
}

pub fn plain_field(field: &FieldRef) -> FieldRef {
    Arc::new(field.as_ref().clone().with_data_type(plain_type(field.data_type())))
}

/// The column in this type; in place if it has it.
pub fn as_type(column: &ArrayRef, data_type: &DataType) -> Result<ArrayRef, ArrowError> {
    if column.data_type() == data_type { Ok(Arc::clone(column)) } else { cast(column, data_type) }
}
