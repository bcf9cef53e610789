//! The layout of a block matrix, from the columns of its table, before a row is read.

use std::fmt;

use arrow::datatypes::{DataType, Field, Schema};
use datafusion::common::Result;

use common::error::EngineError;
use common::messages::counted;
use common::tensor_shape::{shape_of, shape_text};
use common::tensors::{Vectors, tensor_field};
use common::type_names::{column_type_name, declared_name};

pub const I: &str = "i";
pub const J: &str = "j";
pub const BLOCK: &str = "block";

/// A key on the field `block`: rows and columns of the matrix, as JSON. Elements of the blocks outside of it are zero.
const MATRIX_SHAPE: &str = "quiver.matrix_shape";

const MATRIX_HINT: &str =
    "a block matrix has the columns i and j (BIGINT: block row and block column, from 0) and block (TENSOR(DOUBLE, rows, columns))";
const VECTOR_HINT: &str = "a vector in blocks has the columns i (BIGINT: which block, from 0) and block (DOUBLE[n], or REAL[n])";

/// A block matrix, or a vector in blocks, which is a matrix of one column without `j`.
#[derive(Debug, Clone, PartialEq)]
pub struct Layout {
    /// The name in the statement.
    pub name: String,
    /// Float64 or Float32.
    pub element: DataType,
    /// Rows and columns of a block.
    pub block: [usize; 2],
    /// Rows and columns of the matrix, if the field has them.
    pub shape: Option<[usize; 2]>,
    pub is_vector: bool,
}

impl fmt::Display for Layout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\" is ", self.name)?;
        if let Some(shape) = &self.shape {
            write!(f, "{} ", self.size_text(*shape))?;
        }
        write!(f, "in blocks of {}", self.block_text())
    }
}

impl Layout {
    /// The layout of a table with the columns i, j and block, in any order and no others.
    pub fn of_matrix(schema: &Schema, function: &str, name: &str) -> Result<Layout> {
        let field = columns(schema, function, name, &[I, J, BLOCK], MATRIX_HINT)?;
        let (element, width) = elements(field, function, name, false)?;
        let block = match shape_of(field).as_deref() {
            Some([rows, columns]) => [*rows, *columns],
            Some(shape) => {
                let dimensions = counted(shape.len(), "dimension");
                let message = format!("the blocks of \"{name}\" have {dimensions}, and those of a matrix have 2");
                return Err(refused(function, message, MATRIX_HINT));
            }
            None => {
                let message =
                    format!("the column block of \"{name}\" is {}, which says nothing of rows and columns", column_type_name(field));
                let hint = "say them in a view: CAST(block AS TENSOR(DOUBLE, rows, columns)) AS block";
                return Err(refused(function, message, hint));
            }
        };
        if width == 0 {
            return Err(refused(function, format!("the blocks of \"{name}\" have no elements"), MATRIX_HINT));
        }
        let shape = declared_shape(field);
        Ok(Layout { name: name.to_string(), element, block, shape, is_vector: false })
    }

    /// The layout of a table with the columns i and block, in any order and no others.
    pub fn of_vector(schema: &Schema, function: &str, name: &str) -> Result<Layout> {
        let field = columns(schema, function, name, &[I, BLOCK], VECTOR_HINT)?;
        let (element, width) = elements(field, function, name, true)?;
        if width == 0 || shape_of(field).is_some_and(|shape| shape.iter().filter(|size| **size != 1).count() > 1) {
            let message = format!("the column block of \"{name}\" is {} and no vector", column_type_name(field));
            return Err(refused(function, message, VECTOR_HINT));
        }
        let shape = declared_shape(field).filter(|[_, columns]| *columns == 1);
        Ok(Layout { name: name.to_string(), element, block: [width, 1], shape, is_vector: true })
    }

    /// The number of elements of a block.
    pub fn width(&self) -> usize {
        self.block[0] * self.block[1]
    }

    pub fn block_text(&self) -> String {
        self.size_text(self.block)
    }

    /// For a vector, the number of its elements.
    fn size_text(&self, shape: [usize; 2]) -> String {
        if self.is_vector { shape[0].to_string() } else { shape_text(&shape) }
    }
}

/// The field `block` of a table that has these columns and no others.
fn columns<'a>(schema: &'a Schema, function: &str, name: &str, names: &[&str], hint: &str) -> Result<&'a Field> {
    for column in names {
        if schema.field_with_name(column).is_err() {
            return Err(refused(function, format!("\"{name}\" has no column {column}"), hint));
        }
    }
    if let Some(other) = schema.fields().iter().find(|field| !names.contains(&field.name().as_str())) {
        let hint = format!("{hint}, and no others: leave them out by a view");
        return Err(refused(function, format!("\"{name}\" has an extra column \"{}\"", other.name()), &hint));
    }
    for key in names.iter().filter(|column| **column != BLOCK) {
        let data_type = schema.field_with_name(key)?.data_type();
        if *data_type != DataType::Int64 {
            let message = format!("the column {key} of \"{name}\" is {} and not BIGINT", declared_name(data_type));
            return Err(refused(function, message, hint));
        }
    }
    Ok(schema.field_with_name(BLOCK)?)
}

/// The type of the elements and the number of them in a block.
fn elements(field: &Field, function: &str, name: &str, is_vector: bool) -> Result<(DataType, usize)> {
    if let DataType::FixedSizeList(item, width) = field.data_type()
        && matches!(item.data_type(), DataType::Float64 | DataType::Float32)
    {
        return Ok((item.data_type().clone(), usize::try_from(*width).unwrap_or_default()));
    }
    let found = format!("the column block of \"{name}\" is {}", column_type_name(field));
    match Vectors::element(field.data_type()) {
        Some(DataType::Float64 | DataType::Float32) => {
            let hint = cast_hint(field, "say it in a view", is_vector);
            Err(refused(function, format!("{found}, and blocks are to be of a fixed size"), &hint))
        }
        Some(_) => {
            let message = format!("{found}, and the elements of blocks are to be DOUBLE or REAL");
            Err(refused(function, message, &cast_hint(field, "cast them in a view, or when they are stored", is_vector)))
        }
        None => {
            let hint = if is_vector { VECTOR_HINT } else { MATRIX_HINT };
            Err(refused(function, format!("{found} and no list of numbers"), hint))
        }
    }
}

/// A hint to cast to a supported type, with the sizes of the field if it has them, and otherwise with placeholders.
fn cast_hint(field: &Field, advice: &str, is_vector: bool) -> String {
    let is_nested = Vectors::element(field.data_type()).is_some_and(DataType::is_list);
    let target_type = match (is_vector, field.data_type(), shape_of(field).as_deref()) {
        (false, _, Some([rows, columns])) => format!("TENSOR(DOUBLE, {rows}, {columns})"),
        (false, ..) => "TENSOR(DOUBLE, rows, columns)".to_string(),
        // A cast does not flatten nested lists.
        (true, ..) if is_nested => return VECTOR_HINT.to_string(),
        (true, DataType::FixedSizeList(_, width), _) => format!("DOUBLE[{width}]"),
        (true, ..) => "DOUBLE[n]".to_string(),
    };
    format!("{advice}: CAST(block AS {target_type}) AS block")
}

/// `[rows, columns]` for a matrix, `[rows]` also for a vector. Any other text is ignored.
fn declared_shape(field: &Field) -> Option<[usize; 2]> {
    let sizes: Vec<usize> = serde_json::from_str(field.metadata().get(MATRIX_SHAPE)?).ok()?;
    match sizes.as_slice() {
        [rows] => Some([*rows, 1]),
        [rows, columns] => Some([*rows, *columns]),
        _ => None,
    }
}

/// The field `block` of a result.
pub fn block_field(element: &DataType, block: [usize; 2], shape: Option<[usize; 2]>) -> Result<Field> {
    Ok(with_shape(tensor_field(BLOCK, element.clone(), &block, true)?, shape))
}

/// The field `block` of a result that is a vector.
pub fn vector_field(element: &DataType, rows: usize, shape: Option<[usize; 2]>) -> Result<Field> {
    let field = Field::new(BLOCK, common::tensors::tensor_type(element.clone(), &[rows])?, true);
    Ok(with_shape(field, shape))
}

fn with_shape(mut field: Field, shape: Option<[usize; 2]>) -> Field {
    if let Some([rows, columns]) = shape {
        field.metadata_mut().insert(MATRIX_SHAPE.to_string(), format!("[{rows}, {columns}]"));
    }
    field
}

/// An error about bad input that was found at planning.
pub fn refused(function: &str, message: String, hint: &str) -> datafusion::common::DataFusionError {
    let hint = Some(hint.to_string());
    EngineError::Sql { message: format!("{function}: {message}"), position: None, hint }.into_datafusion()
}
