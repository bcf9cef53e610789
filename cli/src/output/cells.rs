//! One value as text.

use std::fmt::Write;

use arrow::array::{Array, ArrayRef};
use arrow::buffer::NullBuffer;
use arrow::datatypes::DataType;
use arrow::error::ArrowError;
use arrow::util::display::{ArrayFormatter, DurationFormat, FormatOptions};
use engine::RecordBatch;

use super::lists::Lists;
use crate::errors::{CliError, Result};

/// SQL's spelling of dates and times, not ISO's `T`. A NULL inside a list or struct is spelled
/// out in every format: an empty place would be read as an empty string.
const OPTIONS: FormatOptions<'static> = FormatOptions::new()
    .with_null("NULL")
    .with_timestamp_format(Some("%Y-%m-%d %H:%M:%S%.f"))
    .with_timestamp_tz_format(Some("%Y-%m-%d %H:%M:%S%.f%:z"))
    .with_datetime_format(Some("%Y-%m-%d %H:%M:%S%.f"))
    .with_duration_format(DurationFormat::Pretty);

/// The values of a batch, ready to be written as text.
pub struct Cells<'a> {
    columns: Vec<Column<'a>>,
}

struct Column<'a> {
    values: ArrayFormatter<'a>,
    nulls: Option<NullBuffer>,
    /// Shortens long lists, if set.
    lists: Option<Lists<'a>>,
}

impl<'a> Cells<'a> {
    /// Shows every value in full.
    pub fn new(batch: &'a RecordBatch) -> Result<Self> {
        let column = |array: &'a ArrayRef| -> std::result::Result<_, ArrowError> {
            // Logical NULLs: a dictionary may have NULLs in its values as well as in its keys.
            Ok(Column { values: ArrayFormatter::try_new(array.as_ref(), &OPTIONS)?, nulls: array.logical_nulls(), lists: None })
        };
        let columns = batch.columns().iter().map(column);
        let columns = columns.collect::<std::result::Result<_, _>>().map_err(CliError::message)?;
        Ok(Cells { columns })
    }

    /// Shows only the first values of long lists, such as the blocks of a matrix.
    pub fn shortened(batch: &'a RecordBatch) -> Result<Self> {
        let mut cells = Cells::new(batch)?;
        let arrays = batch.columns().iter().zip(batch.schema_ref().fields());
        for (column, (array, field)) in cells.columns.iter_mut().zip(arrays) {
            column.lists = Lists::of(array, field, &OPTIONS).map_err(CliError::message)?;
        }
        Ok(cells)
    }

    /// Writes the value into `text`, which is cleared first. False for NULL.
    pub fn read(&self, row: usize, column: usize, text: &mut String) -> bool {
        text.clear();
        let column = &self.columns[column];
        if column.nulls.as_ref().is_some_and(|nulls| nulls.is_null(row)) {
            return false;
        }
        if column.lists.as_ref().is_some_and(|lists| lists.shorten(row, text)) {
            return true;
        }
        // A value that cannot be formatted (a date in the year 300,000) becomes an error text.
        let _ = write!(text, "{}", column.values.value(row));
        true
    }
}

/// Numbers are right-aligned.
pub fn is_number(data_type: &DataType) -> bool {
    match data_type {
        DataType::Dictionary(_, values) => is_number(values),
        other => other.is_numeric(),
    }
}

/// Data must not be able to move the cursor or change colours: control characters are spelled
/// out. Line ends stay, unless `one_line`.
pub fn harmless(text: &str, one_line: bool) -> String {
    let keeps = |c: char| !c.is_control() || (c == '\n' && !one_line);
    if text.chars().all(keeps) {
        return text.to_string();
    }
    let mut safe = String::with_capacity(text.len() + 8);
    for sign in text.chars() {
        match sign {
            sign if keeps(sign) => safe.push(sign),
            '\n' => safe.push_str("\\n"),
            '\t' => safe.push_str("\\t"),
            '\r' => safe.push_str("\\r"),
            sign => {
                let _ = write!(safe, "\\u{{{:x}}}", sign as u32);
            }
        }
    }
    safe
}
