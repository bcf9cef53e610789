//! One value as text.

use std::fmt::Write;

use arrow::array::Array;
use arrow::buffer::NullBuffer;
use arrow::datatypes::DataType;
use arrow::error::ArrowError;
use arrow::util::display::{ArrayFormatter, DurationFormat, FormatOptions};
use engine::RecordBatch;

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
    columns: Vec<(ArrayFormatter<'a>, Option<NullBuffer>)>,
}

impl<'a> Cells<'a> {
    pub fn new(batch: &'a RecordBatch) -> Result<Self> {
        let column = |array: &'a dyn Array| -> std::result::Result<_, ArrowError> {
            // Logical: a dictionary holds its NULLs in the values as well as in the keys.
            Ok((
                ArrayFormatter::try_new(array, &OPTIONS)?,
                array.logical_nulls(),
            ))
        };
        let columns = batch.columns().iter().map(|array| column(array.as_ref()));
        let columns = columns
            .collect::<std::result::Result<_, _>>()
            .map_err(CliError::message)?;
        Ok(Cells { columns })
    }

    /// Writes the value into `text`, which is cleared first. False for NULL.
    pub fn read(&self, row: usize, column: usize, text: &mut String) -> bool {
        text.clear();
        let (formatter, nulls) = &self.columns[column];
        if nulls.as_ref().is_some_and(|nulls| nulls.is_null(row)) {
            return false;
        }
        // Values that cannot be shown (a date in the year 300,000) become a text that says so.
        let _ = write!(text, "{}", formatter.value(row));
        true
    }
}

/// Numbers stand to the right.
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
