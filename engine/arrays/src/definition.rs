//! What an array is: its dimensions, its chunks, and the value of cells that were never written.
//!
//! An array is stored as a table with a row for each chunk that was written: the number of the chunk along each dimension, the least and the
//! greatest of its cells, and the cells, in row-major order. A chunk at the end of a dimension is as large as the others, so that the
//! dimension can grow. A row also has the length that each growing dimension had to have for it; the longest is the length of the array.

use std::collections::HashSet;
use std::sync::Arc;

use arrow::buffer::Buffer;
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion::common::ScalarValue;
use serde::{Deserialize, Serialize};

use common::error::EngineError;
use common::messages::counted;
use common::tensor_shape::is_element;
use common::tensors::tensor_field;
use common::type_names::{declared_name, quoted};

/// The column of an array's relation that has the cells.
pub const VALUE: &str = "value";
pub const LEAST: &str = "least";
pub const GREATEST: &str = "greatest";
pub const CELLS: &str = "cells";
/// After the name of a growing dimension: the column of the lengths.
const LENGTH_SUFFIX: &str = "_length";

/// Longer numbers are written as texts in statements.
const PLAIN_DIGITS_MAX: usize = 20;

/// Names of columns that the engine adds begin so.
const OWN_PREFIX: &str = "__quiver";

/// As many as NumPy's arrays had for long.
pub const DIMENSIONS_MAX: usize = 32;
/// A chunk is read, and changed, as a whole.
const CHUNK_BYTES_MAX: u64 = 128 << 20;
/// Chunks that nobody chose have at most so many bytes.
const DEFAULT_CHUNK_BYTES: u64 = 1 << 20;
/// The most cells of such a chunk along a growing dimension.
const GROWING_CHUNK_MAX: u64 = 1024;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Dimension {
    pub name: String,
    /// `None`: it grows with what is written.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub length: Option<u64>,
    /// Cells of a chunk along this dimension.
    pub chunk: u64,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub unit: Option<String>,
}

/// The form in which the catalog keeps an array beside the columns of its table.
#[derive(Serialize, Deserialize)]
struct Stored {
    dimensions: Vec<Dimension>,
    fill: String,
}

#[derive(Debug, Clone, PartialEq)]
pub struct ArrayDefinition {
    pub dimensions: Vec<Dimension>,
    pub element: DataType,
    /// The value of cells that were never written; of the type of the elements.
    pub fill: ScalarValue,
}

/// A dimension as CREATE ARRAY says it.
#[derive(Debug, Clone)]
pub struct NewDimension {
    pub name: String,
    pub length: Option<u64>,
    pub unit: Option<String>,
}

impl ArrayDefinition {
    /// A new array. Without `chunk` the chunks have up to 1 MiB, without `fill` it is 0.
    pub fn new(
        dimensions: Vec<NewDimension>,
        element: DataType,
        chunk: Option<&[u64]>,
        fill: Option<ScalarValue>,
    ) -> Result<ArrayDefinition, EngineError> {
        if !is_element(&element) {
            let message = format!("an array cannot have cells of type {}", declared_name(&element));
            let hint = "cells are DOUBLE or REAL, or integers: TINYINT, SMALLINT, INTEGER, BIGINT, each also UNSIGNED";
            return Err(refused(message, hint));
        }
        check_dimensions(&dimensions)?;
        let chunk = match chunk {
            Some(chunk) => checked_chunk(&dimensions, chunk)?,
            None => default_chunk(&dimensions, width_of(&element) as u64),
        };
        let bytes = chunk.iter().try_fold(width_of(&element) as u64, |bytes, size| bytes.checked_mul(*size));
        if bytes.is_none_or(|bytes| bytes > CHUNK_BYTES_MAX) {
            let message = format!("chunks of {} {} are larger than 128 MiB", sizes_text(&chunk), declared_name(&element));
            return Err(refused(message, "a chunk is read and written as a whole: some 64 KiB to 4 MiB serve most uses"));
        }
        let fill = match fill {
            Some(fill) if fill.is_null() => {
                return Err(refused("the fill of an array cannot be NULL".into(), "NaN is a value of REAL and DOUBLE"));
            }
            Some(fill) => fill,
            None => ScalarValue::new_zero(&element).map_err(|error| EngineError::internal(error.to_string()))?,
        };
        let dimensions = dimensions.into_iter().zip(chunk).map(|(dimension, chunk)| {
            let NewDimension { name, length, unit } = dimension;
            Dimension { name, length, chunk, unit }
        });
        Ok(ArrayDefinition { dimensions: dimensions.collect(), element, fill })
    }

    /// The array whose chunks are the rows of a table with these columns.
    pub fn of_table(stored: &str, chunks: &Schema) -> Result<ArrayDefinition, EngineError> {
        let damaged = |reason: String| EngineError::internal(format!("the definition of an array cannot be read: {reason}"));
        let stored: Stored = serde_json::from_str(stored).map_err(|error| damaged(error.to_string()))?;
        let cells = chunks.field_with_name(CELLS).map_err(|error| damaged(error.to_string()))?;
        let DataType::FixedSizeList(item, _) = cells.data_type() else { return Err(damaged("its cells are no tensor".into())) };
        let element = item.data_type().clone();
        let fill = ScalarValue::try_from_string(stored.fill, &element).map_err(|error| damaged(error.to_string()))?;
        Ok(ArrayDefinition { dimensions: stored.dimensions, element, fill })
    }

    /// The text that the catalog keeps.
    pub fn stored(&self) -> Result<String, EngineError> {
        let stored = Stored { dimensions: self.dimensions.clone(), fill: self.fill.to_string() };
        serde_json::to_string(&stored).map_err(|error| EngineError::internal(error.to_string()))
    }

    /// The columns of the table of the chunks.
    pub fn chunk_schema(&self) -> Result<SchemaRef, EngineError> {
        let mut fields: Vec<Field> = self.dimensions.iter().map(|dimension| Field::new(&dimension.name, DataType::Int64, false)).collect();
        fields.extend(self.growing().map(|(_, dimension)| Field::new(length_column(&dimension.name), DataType::Int64, false)));
        fields.extend([LEAST, GREATEST].map(|name| Field::new(name, self.element.clone(), false)));
        let shape: Vec<usize> = self.dimensions.iter().map(|dimension| dimension.chunk as usize).collect();
        fields.push(tensor_field(CELLS, self.element.clone(), &shape, false)?);
        Ok(Arc::new(Schema::new(fields)))
    }

    /// The columns of the relation with a row for each cell.
    pub fn cell_schema(&self) -> SchemaRef {
        let mut fields: Vec<Field> = self.dimensions.iter().map(|dimension| Field::new(&dimension.name, DataType::Int64, false)).collect();
        fields.push(Field::new(VALUE, self.element.clone(), false));
        Arc::new(Schema::new(fields))
    }

    /// The growing dimensions, with their positions among all.
    pub fn growing(&self) -> impl Iterator<Item = (usize, &Dimension)> {
        self.dimensions.iter().enumerate().filter(|(_, dimension)| dimension.length.is_none())
    }

    /// The column of the lengths of each growing dimension.
    pub fn length_columns(&self) -> Vec<usize> {
        (0..self.growing().count()).map(|at| self.dimensions.len() + at).collect()
    }

    /// The number of cells along each dimension; `growing` has those of the growing dimensions.
    pub fn lengths(&self, growing: &[u64]) -> Vec<u64> {
        let mut growing = growing.iter().copied();
        self.dimensions.iter().map(|dimension| dimension.length.unwrap_or_else(|| growing.next().unwrap_or(0))).collect()
    }

    /// The statement that makes the array again.
    pub fn create_statement(&self, name: &str) -> String {
        let dimensions = self.dimensions.iter().map(|dimension| {
            let length = dimension.length.map_or_else(|| "UNLIMITED".to_string(), |length| length.to_string());
            let unit = dimension.unit.as_ref().map_or_else(String::new, |unit| format!(" UNIT '{}'", unit.replace('\'', "''")));
            format!("{} {length}{unit}", quoted(&dimension.name))
        });
        let dimensions = dimensions.collect::<Vec<_>>().join(", ");
        let chunk = self.dimensions.iter().map(|dimension| dimension.chunk.to_string()).collect::<Vec<_>>().join(", ");
        format!("CREATE ARRAY {name} ({dimensions}) OF {} CHUNK ({chunk}) FILL {}", declared_name(&self.element), self.fill_text())
    }

    fn fill_text(&self) -> String {
        let text = self.fill.to_string();
        // A number with many digits, or of which the sign matters, is read as it is from a text alone.
        let is_plain = text.len() <= PLAIN_DIGITS_MAX && text != "-0" && text.parse::<f64>().is_ok_and(f64::is_finite);
        if is_plain { text } else { format!("'{text}'") }
    }

    pub fn width(&self) -> usize {
        width_of(&self.element)
    }

    pub fn chunk_cells(&self) -> usize {
        self.dimensions.iter().map(|dimension| dimension.chunk as usize).product()
    }

    /// The bytes of one cell that was never written.
    pub fn fill_bytes(&self) -> Result<Buffer, EngineError> {
        let array = self.fill.to_array().map_err(|error| EngineError::internal(error.to_string()))?;
        let data = array.to_data();
        Ok(data.buffers()[0].slice_with_length(data.offset() * self.width(), self.width()))
    }
}

pub fn length_column(dimension: &str) -> String {
    format!("{dimension}{LENGTH_SUFFIX}")
}

fn width_of(element: &DataType) -> usize {
    element.primitive_width().unwrap_or(1)
}

fn check_dimensions(dimensions: &[NewDimension]) -> Result<(), EngineError> {
    if dimensions.is_empty() || dimensions.len() > DIMENSIONS_MAX {
        let message = format!("an array has 1 to {DIMENSIONS_MAX} dimensions, and this one has {}", dimensions.len());
        return Err(refused(message, "more columns than that are a table"));
    }
    let mut names: HashSet<String> = [VALUE, LEAST, GREATEST, CELLS].map(String::from).into();
    let lengths = dimensions.iter().filter(|dimension| dimension.length.is_none()).map(|dimension| length_column(&dimension.name));
    for name in lengths.chain(dimensions.iter().map(|dimension| dimension.name.clone())) {
        if name.starts_with(OWN_PREFIX) || !names.insert(name.clone()) {
            let message = format!("a dimension cannot be called {}, because a column of the array is", quoted(&name));
            return Err(refused(message, "give it another name"));
        }
    }
    if let Some(empty) = dimensions.iter().find(|dimension| dimension.length == Some(0)) {
        return Err(refused(
            format!("dimension {} has length 0", quoted(&empty.name)),
            "the length is at least 1; UNLIMITED grows with what is written",
        ));
    }
    let cells = dimensions.iter().filter_map(|dimension| dimension.length).try_fold(1_u64, u64::checked_mul);
    if cells.is_none_or(|cells| i64::try_from(cells).is_err()) {
        return Err(refused(format!("the array has more than {} cells", i64::MAX), "make a dimension shorter, or UNLIMITED"));
    }
    Ok(())
}

fn checked_chunk(dimensions: &[NewDimension], chunk: &[u64]) -> Result<Vec<u64>, EngineError> {
    if chunk.len() != dimensions.len() {
        let message = format!("CHUNK has {} and the array {}", counted(chunk.len(), "size"), counted(dimensions.len(), "dimension"));
        return Err(refused(message, "write a size for each dimension: CHUNK (64, 64)"));
    }
    for (dimension, size) in dimensions.iter().zip(chunk) {
        let name = quoted(&dimension.name);
        if *size == 0 {
            return Err(refused(format!("the chunks have size 0 along {name}"), "the size is at least 1"));
        }
        if let Some(length) = dimension.length.filter(|length| length < size) {
            return Err(refused(
                format!("the chunks have size {size} along {name}, whose length is {length}"),
                "chunks are at most as long as their array",
            ));
        }
    }
    Ok(chunk.to_vec())
}

/// The longest side is halved until a chunk is small enough. What is left is for growing dimensions: a chunk is stored whole however little of
/// it was written, and a program often adds one index after the other.
fn default_chunk(dimensions: &[NewDimension], width: u64) -> Vec<u64> {
    let mut chunk: Vec<u64> = dimensions.iter().map(|dimension| dimension.length.unwrap_or(1)).collect();
    let bytes = |chunk: &[u64]| chunk.iter().fold(width, |bytes, size| bytes.saturating_mul(*size));
    while bytes(&chunk) > DEFAULT_CHUNK_BYTES {
        let Some(longest) = chunk.iter_mut().max() else { break };
        *longest = longest.div_ceil(2);
    }
    let growing: Vec<usize> = (0..chunk.len()).filter(|at| dimensions[*at].length.is_none()).collect();
    let can_grow = |chunk: &[u64]| growing.iter().copied().min_by_key(|at| chunk[*at]).filter(|at| chunk[*at] < GROWING_CHUNK_MAX);
    while let Some(at) = can_grow(&chunk).filter(|_| bytes(&chunk) * 2 <= DEFAULT_CHUNK_BYTES) {
        chunk[at] *= 2;
    }
    chunk
}

/// Sizes as text: 64×64.
pub fn sizes_text(sizes: &[u64]) -> String {
    sizes.iter().map(u64::to_string).collect::<Vec<_>>().join("×")
}

/// An error about bad input.
pub fn refused(message: String, hint: &str) -> EngineError {
    EngineError::Sql { message, position: None, hint: Some(hint.to_string()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_that_nobody_chose_hold_little_of_growing_dimensions() {
        let chunk_of = |lengths: &[Option<u64>]| {
            let named = lengths.iter().enumerate().map(|(at, length)| NewDimension { name: format!("d{at}"), length: *length, unit: None });
            default_chunk(&named.collect::<Vec<_>>(), 4)
        };
        assert_eq!(chunk_of(&[Some(4096), Some(4096)]), [512, 512]);
        assert_eq!(chunk_of(&[None, Some(8_000_000)]), [1, 250_000]);
        assert_eq!(chunk_of(&[None, Some(3)]), [1024, 3]);
        assert_eq!(chunk_of(&[None, None]), [512, 512]);
        assert_eq!(chunk_of(&[Some(7)]), [7]);
    }
}
