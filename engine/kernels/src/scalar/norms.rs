//! Norms of a vector.

use std::sync::Arc;

use arrow::array::{ArrayRef, Float64Array};
use arrow::datatypes::{DataType, Field, FieldRef};
use datafusion::common::Result;
use datafusion::logical_expr::{Documentation, ScalarFunctionArgs};

use super::kernel::{Kernel, documented};
use super::operands::Operand;
use super::types::{as_vector_type, check_count, check_vector_type};
use crate::numeric::real::Real;
use crate::numeric::vectors::{l1_norm, l2_norm, max_norm};
use common::tensors::Vectors;

/// They take a vector to a DOUBLE; for a matrix they are the norms of its elements. NULL if the vector or an element is NULL, NaN if an
/// element is NaN, 0 for a vector without elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Norm {
    L1,
    L2,
    Max,
}

impl Norm {
    fn of<T: Real>(self, vector: &[T]) -> f64 {
        match self {
            Norm::L1 => l1_norm(vector),
            Norm::L2 => l2_norm(vector),
            Norm::Max => max_norm(vector),
        }
    }
}

impl Kernel for Norm {
    fn name(self) -> &'static str {
        match self {
            Norm::L1 => "l1_norm",
            Norm::L2 => "l2_norm",
            Norm::Max => "max_norm",
        }
    }

    fn aliases(self) -> &'static [&'static str] {
        match self {
            Norm::L2 => &["norm"],
            Norm::L1 | Norm::Max => &[],
        }
    }

    fn documentation(self) -> Documentation {
        let (description, syntax) = match self {
            Norm::L1 => ("The sum of the absolute values of a vector's elements.", "l1_norm(v)"),
            Norm::L2 => ("The Euclidean length of a vector; of a matrix its Frobenius norm.", "l2_norm(v)"),
            Norm::Max => ("The greatest absolute value among a vector's elements.", "max_norm(v)"),
        };
        documented(description, syntax).with_argument("v", "A vector: a list of DOUBLE or REAL.").build()
    }

    fn coerced(self, types: &[DataType]) -> Vec<DataType> {
        types.iter().map(as_vector_type).collect()
    }

    fn result(self, arguments: &[FieldRef]) -> Result<Field> {
        check_count(self.name(), arguments, "one vector", &[1])?;
        check_vector_type(self.name(), arguments[0].data_type())?;
        Ok(Field::new(self.name(), DataType::Float64, true))
    }

    fn compute(self, arguments: &ScalarFunctionArgs, rows: usize) -> Result<ArrayRef> {
        let operand = Operand::of(&arguments.args[0])?;
        let norms: Float64Array = match Vectors::of(operand.array(), self.name())? {
            Vectors::F64(vectors) => (0..rows).map(|row| vectors.row(row).map(|vector| self.of(vector))).collect(),
            Vectors::F32(vectors) => (0..rows).map(|row| vectors.row(row).map(|vector| self.of(vector))).collect(),
        };
        Ok(Arc::new(norms))
    }
}
