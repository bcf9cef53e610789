//! `dot`, `l2_distance` and `cosine_distance` of two vectors.

use std::sync::Arc;

use arrow::array::{ArrayRef, Float64Array};
use arrow::datatypes::{DataType, Field, FieldRef};
use datafusion::common::{DataFusionError, Result};
use datafusion::logical_expr::{Documentation, ScalarFunctionArgs};

use super::kernel::{Kernel, documented};
use super::operands::{Operand, Widened};
use super::types::{as_vector_type, check_count, check_vector_type};
use crate::numeric::real::Real;
use crate::numeric::vectors::{cosine_distance, dot, l2_distance};
use common::messages::counted;
use common::tensor_shape::{shape_of, shape_text};
use common::tensors::{Vectors, refused};

/// They take two vectors of one length to a DOUBLE. NULL if a vector or an element of one is NULL; NaN if an element is NaN, and for
/// the cosine distance also if a vector is zero, which has no direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Pair {
    Dot,
    L2Distance,
    CosineDistance,
}

impl Pair {
    fn of<T: Real>(self, left: &[T], right: &[T]) -> f64 {
        match self {
            Pair::Dot => dot(left, right),
            Pair::L2Distance => l2_distance(left, right),
            Pair::CosineDistance => cosine_distance(left, right),
        }
    }
}

impl Kernel for Pair {
    fn name(self) -> &'static str {
        match self {
            Pair::Dot => "dot",
            Pair::L2Distance => "l2_distance",
            Pair::CosineDistance => "cosine_distance",
        }
    }

    fn documentation(self) -> Documentation {
        let (description, syntax) = match self {
            Pair::Dot => ("The sum of the products of the elements of two vectors.", "dot(a, b)"),
            Pair::L2Distance => ("The Euclidean distance of two vectors.", "l2_distance(a, b)"),
            Pair::CosineDistance => {
                ("1 minus the cosine of the angle between two vectors, from 0 to 2; NaN if one of them is zero.", "cosine_distance(a, b)")
            }
        };
        let documentation = documented(description, syntax).with_argument("a", "A vector: a list of DOUBLE or REAL.");
        documentation.with_argument("b", "A vector as long as the first.").build()
    }

    fn coerced(self, types: &[DataType]) -> Vec<DataType> {
        types.iter().map(as_vector_type).collect()
    }

    fn result(self, arguments: &[FieldRef]) -> Result<Field> {
        check_count(self.name(), arguments, "two vectors", &[2])?;
        arguments.iter().try_for_each(|field| check_vector_type(self.name(), field.data_type()))?;
        let (left, right) = (&arguments[0], &arguments[1]);
        match (width_of(left), width_of(right)) {
            (Some(a), Some(b)) if a != b => return Err(self.different_lengths(a, b)),
            (Some(_), Some(_)) => {
                if let (Some(one), Some(other)) = (shape_of(left), shape_of(right))
                    && one != other
                {
                    return Err(self.different_shapes(&one, &other));
                }
            }
            _ => {}
        }
        Ok(Field::new(self.name(), DataType::Float64, true))
    }

    fn compute(self, arguments: &ScalarFunctionArgs, rows: usize) -> Result<ArrayRef> {
        let (left, right) = (Operand::of(&arguments.args[0])?, Operand::of(&arguments.args[1])?);
        let of_left = Vectors::of(left.array(), self.name())?;
        let of_right = Vectors::of(right.array(), self.name())?;
        let computed: Float64Array = match (of_left, of_right) {
            (Vectors::F64(a), Vectors::F64(b)) => {
                let of_row = |row| self.of_rows(a.row(left.at(row)), b.row(right.at(row)));
                (0..rows).map(of_row).collect::<Result<_>>()?
            }
            (Vectors::F32(a), Vectors::F32(b)) => {
                let of_row = |row| self.of_rows(a.row(left.at(row)), b.row(right.at(row)));
                (0..rows).map(of_row).collect::<Result<_>>()?
            }
            (a, b) => {
                let (mut a, mut b) = (Widened::new(a), Widened::new(b));
                let of_row = |row| self.of_rows(a.row(left.at(row)), b.row(right.at(row)));
                (0..rows).map(of_row).collect::<Result<_>>()?
            }
        };
        Ok(Arc::new(computed))
    }
}

impl Pair {
    fn of_rows<T: Real>(self, left: Option<&[T]>, right: Option<&[T]>) -> Result<Option<f64>> {
        let (Some(left), Some(right)) = (left, right) else { return Ok(None) };
        if left.len() != right.len() {
            return Err(self.different_lengths(left.len(), right.len()));
        }
        Ok(Some(self.of(left, right)))
    }

    fn different_lengths(self, left: usize, right: usize) -> DataFusionError {
        let right = counted(right, "element");
        refused(format!("{} takes two vectors of one length, and these have {left} and {right}", self.name()), None)
    }

    fn different_shapes(self, left: &[usize], right: &[usize]) -> DataFusionError {
        let (left, right) = (shape_text(left), shape_text(right));
        let hint = "CAST(x AS DOUBLE[n]) makes a vector of a tensor, row by row";
        refused(format!("{} takes two tensors of one shape, and these are {left} and {right}", self.name()), Some(hint))
    }
}

fn width_of(field: &Field) -> Option<usize> {
    match field.data_type() {
        DataType::FixedSizeList(_, width) => usize::try_from(*width).ok(),
        _ => None,
    }
}
