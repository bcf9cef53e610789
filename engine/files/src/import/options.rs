//! The user's options for the files to read.

use arrow::datatypes::DataType;

use super::encoding::Encoding;
use common::file_directories::FileDirectories;
use common::file_format::FileFormat;

/// What to do with a row that cannot be read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnError {
    /// Stop with an error that says where.
    #[default]
    Abort,
    /// Leave the row out and count it.
    Skip,
}

/// How CSV files are written. What is `None` is inferred from the file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CsvOptions {
    pub delimiter: Option<u8>,
    pub header: Option<bool>,
    pub quote: Option<u8>,
    /// The sign before a quote that belongs to the text. A quote is always escaped by another one, too.
    pub escape: Option<u8>,
    /// The sign that begins a line which is no row.
    pub comment: Option<u8>,
    /// The number of physical lines above the table.
    pub skip: Option<u64>,
    /// Additional unquoted tokens that mean NULL, in every column; the empty one always does.
    pub null: Vec<String>,
    /// A pattern of strftime for dates and timestamps. Those of ISO 8601 are read besides.
    pub date_format: Option<String>,
    /// Numbers have a comma where SQL has a point.
    pub has_decimal_comma: bool,
    pub encoding: Encoding,
}

/// How to read files. The default infers everything and stops at the first bad row.
#[derive(Clone, Debug)]
pub struct ReadOptions {
    /// `None`: by content, then by extension.
    pub format: Option<FileFormat>,
    pub on_error: OnError,
    pub csv: CsvOptions,
    /// Types of columns, by name, instead of the inferred ones.
    pub types: Vec<(String, DataType)>,
    /// The bytes of text read per file to infer its types; all rows of a shorter file are used.
    pub sample_bytes: u64,
    /// Directories called `year=2024` have the values of a column `year`.
    pub has_directory_columns: bool,
    /// A file in another directory is refused.
    pub directories: FileDirectories,
}

impl Default for ReadOptions {
    fn default() -> Self {
        ReadOptions {
            format: None,
            on_error: OnError::default(),
            csv: CsvOptions::default(),
            types: Vec::new(),
            sample_bytes: 64 << 20,
            has_directory_columns: false,
            directories: FileDirectories::default(),
        }
    }
}

impl ReadOptions {
    /// Sets the option `name`, as `COPY` and other places that get options as texts know it. Types are no text: see `types`.
    pub fn set(&mut self, name: &str, value: &str) -> Result<(), String> {
        let csv = &mut self.csv;
        match name {
            "format" => self.format = Some(value.parse()?),
            "header" | "has_header" => csv.header = Some(truth(name, value)?),
            "delimiter" | "delim" | "sep" => csv.delimiter = Some(delimiter(value)?),
            "quote" => csv.quote = Some(sign(name, value)?),
            "escape" => csv.escape = Some(sign(name, value)?),
            "comment" => csv.comment = Some(sign(name, value)?),
            "skip" => {
                let lines = value.parse::<u64>().map_err(|_| format!("skip is a number of lines, not \"{value}\""))?;
                csv.skip = Some(lines);
            }
            "null" | "nullstr" | "null_value" => csv.null.push(value.to_owned()),
            "date_format" | "dateformat" | "timestamp_format" | "timestampformat" => csv.date_format = Some(date_format(value)?),
            "decimal" | "decimal_separator" => {
                csv.has_decimal_comma = match value {
                    "," => true,
                    "." => false,
                    _ => return Err(format!("decimal is a point or a comma, not \"{value}\"")),
                };
            }
            "encoding" => csv.encoding = value.parse()?,
            _ => {
                return Err(format!(
                    "there is no option \"{name}\" for reading files; the options are format, header, delimiter, quote, escape, comment, skip, \
                     null, date_format, decimal and encoding"
                ));
            }
        }
        Ok(())
    }
}

fn truth(name: &str, value: &str) -> Result<bool, String> {
    match value.to_ascii_lowercase().as_str() {
        "true" | "on" | "1" => Ok(true),
        "false" | "off" | "0" => Ok(false),
        _ => Err(format!("{name} is true or false, not \"{value}\"")),
    }
}

fn delimiter(value: &str) -> Result<u8, String> {
    match value {
        "tab" | "\\t" => Ok(b'\t'),
        _ => sign("delimiter", value),
    }
}

fn sign(name: &str, value: &str) -> Result<u8, String> {
    match value.as_bytes() {
        [byte] if byte.is_ascii() && !matches!(byte, b'\n' | b'\r') => Ok(*byte),
        _ => Err(format!("{name} is one ASCII character, not \"{value}\"")),
    }
}

/// Fractions are refused: the parser of patterns knows them to the millisecond only, and would cut off the rest.
fn date_format(value: &str) -> Result<String, String> {
    match value.contains('%') && !value.contains(['f', 'Z', 'z']) {
        true => Ok(value.to_owned()),
        false => {
            Err(format!("date_format is a pattern like '%d/%m/%Y' or '%d.%m.%Y %H:%M:%S', without fractions and zones, not \"{value}\""))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_set_by_name_and_wrong_ones_are_named() {
        let mut options = ReadOptions::default();
        for (name, value) in [
            ("header", "on"),
            ("delim", "tab"),
            ("quote", "'"),
            ("escape", "\\"),
            ("comment", "#"),
            ("skip", "3"),
            ("null", "-"),
            ("nullstr", "?"),
            ("date_format", "%d/%m/%Y"),
            ("decimal", ","),
            ("encoding", "Latin-1"),
        ] {
            options.set(name, value).unwrap();
        }
        let expected = CsvOptions {
            delimiter: Some(b'\t'),
            header: Some(true),
            quote: Some(b'\''),
            escape: Some(b'\\'),
            comment: Some(b'#'),
            skip: Some(3),
            null: vec!["-".to_owned(), "?".to_owned()],
            date_format: Some("%d/%m/%Y".to_owned()),
            has_decimal_comma: true,
            encoding: Encoding::Latin1,
        };
        assert_eq!(options.csv, expected);
        for (name, value) in [
            ("header", "maybe"),
            ("quote", "é"),
            ("skip", "-1"),
            ("decimal", "x"),
            ("encoding", "ebcdic"),
            ("date_format", "D/M/Y"),
            ("colour", "red"),
        ] {
            let error = options.set(name, value).unwrap_err();
            assert!(error.contains(name) || error.contains(value), "{error}");
        }
    }
}
