//! Matrices as single values: tensors of two dimensions are added, scaled, transposed and multiplied for each row of a table.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, ArrowPrimitiveType, AsArray, FixedSizeListArray, PrimitiveArray};
use arrow::buffer::NullBuffer;
use arrow::datatypes::{DataType, Field, FieldRef, Float32Type, Float64Type};
use datafusion::common::{DataFusionError, Result};
use datafusion::logical_expr::{Documentation, ScalarFunctionArgs};

use super::kernel::{Kernel, documented};
use super::operands::Operand;
use super::types::{as_number_type, as_vector_type, check_count, check_number_type, check_vector_type};
use crate::numeric::elements::{Stores, add, scale, transpose};
use crate::numeric::products::multiply_add;
use crate::numeric::real::Real;
use common::messages::counted;
use common::tensor_shape::{shape_of, shape_text};
use common::tensors::{Vectors, VectorsOf, refused, tensor_field, tensor_type};
use common::type_names::column_type_name;

/// Tensors of two dimensions with elements of DOUBLE or REAL; mixed arguments yield DOUBLE. NULL if an argument or an element is
/// NULL. NaN and infinities follow IEEE 754.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Block {
    /// a + b, both r×c.
    Add,
    /// a · s.
    Scale,
    /// r×c to c×r.
    Transpose,
    /// m×k by k×n to m×n.
    Multiply,
    /// r×c by a vector of c to a vector of r.
    Vector,
}

impl Kernel for Block {
    fn name(self) -> &'static str {
        match self {
            Block::Add => "matrix_add",
            Block::Scale => "matrix_scale",
            Block::Transpose => "matrix_transpose",
            Block::Multiply => "matrix_multiply",
            Block::Vector => "matrix_vector",
        }
    }

    fn documentation(self) -> Documentation {
        const MATRIX: &str = "A matrix: TENSOR(DOUBLE, rows, columns), or REAL.";
        let (description, syntax, second) = match self {
            Block::Add => ("The sum of two matrices of one shape.", "matrix_add(a, b)", Some(("b", MATRIX))),
            Block::Scale => ("A matrix with each element times a number.", "matrix_scale(a, s)", Some(("s", "A number."))),
            Block::Transpose => ("A matrix with its rows as columns.", "matrix_transpose(a)", None),
            Block::Multiply => {
                let of_b = "A matrix with as many rows as a has columns.";
                ("The product of two matrices.", "matrix_multiply(a, b)", Some(("b", of_b)))
            }
            Block::Vector => {
                let of_x = "A vector with as many elements as a has columns.";
                ("The product of a matrix and a vector.", "matrix_vector(a, x)", Some(("x", of_x)))
            }
        };
        let documentation = documented(description, syntax).with_argument("a", MATRIX);
        match second {
            Some((name, description)) => documentation.with_argument(name, description).build(),
            None => documentation.build(),
        }
    }

    fn coerced(self, types: &[DataType]) -> Vec<DataType> {
        let coerced = |(at, data_type): (usize, &DataType)| match (self, at) {
            (Block::Scale, 1) => as_number_type(data_type),
            (Block::Vector, 1) => as_vector_type(data_type),
            _ => data_type.clone(),
        };
        types.iter().enumerate().map(coerced).collect()
    }

    fn result(self, arguments: &[FieldRef]) -> Result<Field> {
        let (takes, count) = match self {
            Block::Add | Block::Multiply => ("two matrices", 2),
            Block::Scale => ("a matrix and a number", 2),
            Block::Transpose => ("one matrix", 1),
            Block::Vector => ("a matrix and a vector", 2),
        };
        check_count(self.name(), arguments, takes, &[count])?;
        let (rows, columns) = self.matrix(&arguments[0])?;
        let shape = match self {
            Block::Add | Block::Multiply => self.shape_of_two((rows, columns), self.matrix(&arguments[1])?)?,
            Block::Scale => {
                check_number_type(self.name(), "the second argument", arguments[1].data_type())?;
                vec![rows, columns]
            }
            Block::Transpose => vec![columns, rows],
            Block::Vector => {
                check_vector_type(self.name(), arguments[1].data_type())?;
                if let DataType::FixedSizeList(_, width) = arguments[1].data_type() {
                    self.check_vector_length((rows, columns), usize::try_from(*width).unwrap_or_default())?;
                }
                vec![rows]
            }
        };
        let element = self.element(arguments);
        match self {
            // A vector, and not a tensor of one dimension.
            Block::Vector => Ok(Field::new(self.name(), tensor_type(element, &shape)?, true)),
            _ => tensor_field(self.name(), element, &shape, true),
        }
    }

    fn compute(self, arguments: &ScalarFunctionArgs, rows: usize) -> Result<ArrayRef> {
        match self.element(&arguments.arg_fields) {
            DataType::Float32 => self.of_elements::<Float32Type>(arguments, rows),
            _ => self.of_elements::<Float64Type>(arguments, rows),
        }
    }
}

impl Block {
    /// Rows and columns of an argument.
    fn matrix(self, field: &Field) -> Result<(usize, usize)> {
        let description = match shape_of(field).as_deref() {
            Some([rows, columns]) => match Vectors::element(field.data_type()) {
                Some(DataType::Float64 | DataType::Float32) => return Ok((*rows, *columns)),
                _ => return Err(self.other_elements(field, (*rows, *columns))),
            },
            _ => column_type_name(field),
        };
        let message = format!("{} takes matrices, tensors of two dimensions, and not {description}", self.name());
        Err(refused(message, Some("CAST(x AS TENSOR(DOUBLE, rows, columns)) makes a matrix of a list, row by row")))
    }

    fn other_elements(self, field: &Field, (rows, columns): (usize, usize)) -> DataFusionError {
        let message = format!("{} takes matrices of DOUBLE or REAL, and not {}", self.name(), column_type_name(field));
        refused(message, Some(&format!("CAST(x AS TENSOR(DOUBLE, {rows}, {columns})) makes such a matrix of it")))
    }

    fn shape_of_two(self, a: (usize, usize), b: (usize, usize)) -> Result<Vec<usize>> {
        let (fit, needed) = match self {
            Block::Multiply => (a.1 == b.0, "the second is to have as many rows as the first has columns"),
            _ => (a == b, "they are to have one shape"),
        };
        match (fit, self) {
            (true, Block::Multiply) => Ok(vec![a.0, b.1]),
            (true, _) => Ok(vec![a.0, a.1]),
            (false, _) => {
                let (a, b) = (shape_text(&[a.0, a.1]), shape_text(&[b.0, b.1]));
                Err(refused(format!("{} of matrices of {a} and {b}: {needed}", self.name()), None))
            }
        }
    }

    fn check_vector_length(self, matrix: (usize, usize), length: usize) -> Result<()> {
        if length == matrix.1 {
            return Ok(());
        }
        let shape = shape_text(&[matrix.0, matrix.1]);
        let needed = "the vector is to have as many elements as the matrix has columns";
        Err(refused(format!("{} of a matrix of {shape} and a vector of {length}: {needed}", self.name()), None))
    }

    /// The element type of the result. The scaling number does not count.
    fn element(self, arguments: &[FieldRef]) -> DataType {
        let matrices = if self == Block::Scale { &arguments[..1] } else { arguments };
        let is_real = |field: &FieldRef| Vectors::element(field.data_type()) == Some(&DataType::Float32);
        if matrices.iter().all(is_real) { DataType::Float32 } else { DataType::Float64 }
    }

    fn of_elements<P: Elements>(self, arguments: &ScalarFunctionArgs, rows: usize) -> Result<ArrayRef> {
        let operands = arguments.args.iter().map(Operand::of).collect::<Result<Vec<_>>>()?;
        let first = operands[0].with_elements(&P::DATA_TYPE)?;
        let second = operands.get(1).map(|operand| operand.with_elements(&P::DATA_TYPE)).transpose()?;
        let result = &arguments.return_field;
        let DataType::FixedSizeList(item, width) = result.data_type() else { return Err(no_matrices(self)) };
        let shape = self.matrix(&arguments.arg_fields[0])?;
        let out_width = usize::try_from(*width).unwrap_or_default();
        let stores = Stores::of(rows.saturating_mul(out_width).saturating_mul(size_of::<P::Native>()));
        let argument_rows = ArgumentRows::<P>::of(self, shape, (&first, second.as_ref()), stores)?;
        let mut values = zeros::<P::Native>(self, rows, out_width)?;
        let mut present = Vec::with_capacity(rows);
        for row in 0..rows {
            let to = &mut values[row * out_width..(row + 1) * out_width];
            present.push(argument_rows.write(row, to)?);
        }
        let nulls = present.contains(&false).then(|| NullBuffer::from(present));
        let values = Arc::new(PrimitiveArray::<P>::new(values.into(), None));
        Ok(Arc::new(FixedSizeListArray::try_new_with_length(Arc::clone(item), *width, values, nulls, rows)?))
    }
}

/// The rows of the arguments.
struct ArgumentRows<'a, P: Elements> {
    block: Block,
    shape: (usize, usize),
    a: (VectorsOf<'a, P::Native>, &'a Operand),
    b: Option<(VectorsOf<'a, P::Native>, &'a Operand)>,
    scale: Option<&'a Operand>,
    stores: Stores,
}

impl<'a, P: Elements> ArgumentRows<'a, P> {
    fn of(block: Block, shape: (usize, usize), operands: (&'a Operand, Option<&'a Operand>), stores: Stores) -> Result<Self> {
        let (first, second) = operands;
        let rows = |operand: &'a Operand| P::rows(Vectors::of(operand.array(), block.name())?).ok_or_else(|| no_matrices(block));
        let (b, scale) = match (block, second) {
            (Block::Scale, scale) => (None, scale),
            (_, Some(operand)) => (Some((rows(operand)?, operand)), None),
            (_, None) => (None, None),
        };
        Ok(ArgumentRows { block, shape, a: (rows(first)?, first), b, scale, stores })
    }

    /// Writes one matrix into `to`, which is zero; false for NULL.
    fn write(&self, row: usize, to: &mut [P::Native]) -> Result<bool> {
        let Some(a) = self.a.0.row(self.a.1.at(row)) else { return Ok(false) };
        let b = self.b.as_ref().map(|(rows, operand)| rows.row(operand.at(row)));
        let (rows, columns) = self.shape;
        match (self.block, b) {
            (_, Some(None)) => return Ok(false),
            (Block::Add, Some(Some(b))) => add(a, b, to, self.stores),
            (Block::Multiply, Some(Some(b))) => multiply_add(to, a, b, rows, columns, b.len().checked_div(columns).unwrap_or(0)),
            (Block::Vector, Some(Some(x))) => {
                self.block.check_vector_length(self.shape, x.len())?;
                multiply_add(to, a, x, rows, columns, 1);
            }
            (Block::Transpose, _) => transpose(a, rows, columns, to),
            (_, _) => {
                let Some(by) = self.scale.and_then(|operand| number(operand, row)) else { return Ok(false) };
                scale(a, P::Native::from_f64(by), to, self.stores);
            }
        }
        Ok(true)
    }
}

fn number(operand: &Operand, row: usize) -> Option<f64> {
    let numbers = operand.array().as_primitive::<Float64Type>();
    let at = operand.at(row);
    numbers.is_valid(at).then(|| numbers.value(at))
}

/// REAL or DOUBLE.
trait Elements: ArrowPrimitiveType<Native: Real> {
    fn rows(vectors: Vectors<'_>) -> Option<VectorsOf<'_, Self::Native>>;
}

impl Elements for Float64Type {
    fn rows(vectors: Vectors<'_>) -> Option<VectorsOf<'_, f64>> {
        match vectors {
            Vectors::F64(rows) => Some(rows),
            Vectors::F32(_) => None,
        }
    }
}

impl Elements for Float32Type {
    fn rows(vectors: Vectors<'_>) -> Option<VectorsOf<'_, f32>> {
        match vectors {
            Vectors::F32(rows) => Some(rows),
            Vectors::F64(_) => None,
        }
    }
}

/// If there cannot be so much memory, it is an error and does not end the process.
fn zeros<T: Copy + Default>(block: Block, rows: usize, width: usize) -> Result<Vec<T>> {
    let size = || format!("{} of {}", counted(rows, "row"), counted(width, "element"));
    let too_large = || refused(format!("{} of {} is more than memory can hold", block.name(), size()), None);
    let count = rows.checked_mul(width).ok_or_else(too_large)?;
    Vec::<T>::new().try_reserve_exact(count).map_err(|_| too_large())?;
    Ok(vec![T::default(); count])
}

fn no_matrices(block: Block) -> DataFusionError {
    common::error::EngineError::internal(format!("{} got other arguments than planned", block.name())).into_datafusion()
}
