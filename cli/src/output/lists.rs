//! Long lists in the cell of a table: their first values, and their length.

use std::fmt::Write;

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::datatypes::{DataType, Field};
use arrow::error::ArrowError;
use arrow::util::display::{ArrayFormatter, FormatOptions};
use engine::column_type_name;

/// Lists up to this length are shown in full.
const WHOLE_MAX: usize = 64;
/// The number of values that are shown of a longer list; `\x` and all other formats show all of them.
const SHOWN: usize = 6;

/// The lists of a column.
pub struct Lists<'a> {
    lists: &'a dyn Array,
    values: ArrayFormatter<'a>,
    /// The shape of a tensor, such as `512×512`.
    shape: Option<String>,
}

impl<'a> Lists<'a> {
    /// `None` for columns of other types.
    pub fn of(array: &'a ArrayRef, field: &Field, options: &FormatOptions<'a>) -> Result<Option<Lists<'a>>, ArrowError> {
        let values = match array.data_type() {
            DataType::List(_) => array.as_list::<i32>().values(),
            DataType::LargeList(_) => array.as_list::<i64>().values(),
            DataType::FixedSizeList(..) => array.as_fixed_size_list().values(),
            _ => return Ok(None),
        };
        let values = ArrayFormatter::try_new(values.as_ref(), options)?;
        Ok(Some(Lists { lists: array.as_ref(), values, shape: shape_of(field) }))
    }

    /// Writes the list of a row in shortened form; false if it is short enough to be shown in full.
    pub fn shorten(&self, row: usize, text: &mut String) -> bool {
        let bounds = match self.lists.data_type() {
            DataType::List(_) => self.lists.as_list::<i32>().value_offsets().get(row..=row + 1).map(|at| (at[0] as usize, at[1] as usize)),
            DataType::LargeList(_) => {
                self.lists.as_list::<i64>().value_offsets().get(row..=row + 1).map(|at| (at[0] as usize, at[1] as usize))
            }
            DataType::FixedSizeList(_, size) => usize::try_from(*size).ok().map(|size| (row * size, (row + 1) * size)),
            _ => None,
        };
        let Some((start, end)) = bounds.filter(|(start, end)| end - start > WHOLE_MAX) else { return false };
        text.push('[');
        for index in start..start + SHOWN {
            // Writing to a String cannot fail, and a value that cannot be formatted becomes an error text.
            let _ = write!(text, "{}, ", self.values.value(index));
        }
        let _ = match &self.shape {
            Some(shape) => write!(text, "…] {shape}"),
            None => write!(text, "…] {} values", end - start),
        };
        true
    }
}

/// The shape in a type such as `TENSOR(DOUBLE, 512, 512)`.
fn shape_of(field: &Field) -> Option<String> {
    let name = column_type_name(field);
    let (_, sizes) = name.strip_prefix("TENSOR(")?.strip_suffix(')')?.split_once(", ")?;
    Some(sizes.replace(", ", "×"))
}
