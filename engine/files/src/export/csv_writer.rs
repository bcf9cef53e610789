//! CSV with a header, in a form that our own import reads back unchanged: NULL is an empty
//! field, an empty text is `""`, bytes are `\x` and hex digits.

use std::fmt::Write as _;
use std::io::Write;

use arrow::array::{Array, ArrayRef, AsArray, RecordBatch};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Schema};
use arrow::util::display::{ArrayFormatter, FormatOptions};

/// The sink gets the text in pieces of about this size.
const FLUSH_BYTES: usize = 64 << 10;

/// The layout of a CSV file, where it differs from the default.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CsvLayout {
    /// `None`: the suffix of the file decides.
    pub delimiter: Option<u8>,
    pub header: bool,
}

impl Default for CsvLayout {
    fn default() -> Self {
        CsvLayout { delimiter: None, header: true }
    }
}

pub(super) struct CsvWriter<W: Write> {
    sink: W,
    delimiter: u8,
    buffer: String,
}

impl<W: Write> CsvWriter<W> {
    pub fn new(sink: W, schema: &Schema, delimiter: u8, header: bool) -> Result<Self, String> {
        let mut writer = CsvWriter { sink, delimiter, buffer: String::new() };
        if !header {
            return Ok(writer);
        }
        for (index, field) in schema.fields().iter().enumerate() {
            writer.separate(index);
            writer.push_text(field.name());
        }
        writer.buffer.push('\n');
        writer.flush(0)?;
        Ok(writer)
    }

    pub fn write(&mut self, batch: &RecordBatch) -> Result<(), String> {
        let arrays = batch.columns().iter().map(writable).collect::<Result<Vec<_>, _>>()?;
        let options = FormatOptions::new().with_display_error(false);
        let formatters = arrays
            .iter()
            .map(|array| ArrayFormatter::try_new(array.as_ref(), &options))
            .collect::<Result<Vec<_>, _>>()
            .map_err(|error| error.to_string())?;
        for row in 0..batch.num_rows() {
            for (index, (array, formatter)) in arrays.iter().zip(&formatters).enumerate() {
                self.separate(index);
                if array.is_valid(row) {
                    self.push_value(array, row, formatter)?;
                }
            }
            self.buffer.push('\n');
            self.flush(FLUSH_BYTES)?;
        }
        Ok(())
    }

    pub fn into_inner(mut self) -> Result<W, String> {
        self.flush(0)?;
        Ok(self.sink)
    }

    fn separate(&mut self, index: usize) {
        if index > 0 {
            self.buffer.push(char::from(self.delimiter));
        }
    }

    fn push_value(&mut self, array: &ArrayRef, row: usize, formatter: &ArrayFormatter<'_>) -> Result<(), String> {
        match array.data_type() {
            DataType::Utf8View => self.push_text(array.as_string_view().value(row)),
            DataType::BinaryView => {
                self.buffer.push_str("\\x");
                for byte in array.as_binary_view().value(row) {
                    // Writing to a String cannot fail.
                    let _ = write!(self.buffer, "{byte:02x}");
                }
            }
            _ => {
                let from = self.buffer.len();
                let value = formatter.value(row);
                write!(self.buffer, "{value}").map_err(|_| format!("row {row} has a value out of range of {}", array.data_type()))?;
                // Names of zones and intervals have no special characters today, but that may change.
                if needs_quotes(&self.buffer[from..], self.delimiter) {
                    let text = self.buffer.split_off(from);
                    self.push_text(&text);
                }
            }
        }
        Ok(())
    }

    fn push_text(&mut self, text: &str) {
        if !text.is_empty() && !needs_quotes(text, self.delimiter) {
            return self.buffer.push_str(text);
        }
        self.buffer.push('"');
        for (index, piece) in text.split('"').enumerate() {
            if index > 0 {
                self.buffer.push_str("\"\"");
            }
            self.buffer.push_str(piece);
        }
        self.buffer.push('"');
    }

    fn flush(&mut self, at_bytes: usize) -> Result<(), String> {
        if self.buffer.len() > at_bytes {
            self.sink.write_all(self.buffer.as_bytes()).map_err(|error| error.to_string())?;
            self.buffer.clear();
        }
        Ok(())
    }
}

fn needs_quotes(text: &str, delimiter: u8) -> bool {
    text.bytes().any(|byte| byte == delimiter || matches!(byte, b'"' | b'\n' | b'\r'))
}

/// Casts texts and bytes to one layout each, and decodes encodings.
fn writable(array: &ArrayRef) -> Result<ArrayRef, String> {
    let target_type = match array.data_type() {
        DataType::Utf8 | DataType::LargeUtf8 => DataType::Utf8View,
        DataType::Binary | DataType::LargeBinary | DataType::FixedSizeBinary(_) => DataType::BinaryView,
        DataType::Dictionary(_, value) => value.as_ref().clone(),
        DataType::RunEndEncoded(_, values) => values.data_type().clone(),
        _ => return Ok(array.clone()),
    };
    // It repeats, because the values of a dictionary may have a layout of their own.
    writable(&cast(array, &target_type).map_err(|error| error.to_string())?)
}
