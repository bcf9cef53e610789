//! The user's options for the files to read.

use std::fmt::Write;

use arrow::datatypes::DataType;
use arrow::temporal_conversions::date64_to_datetime;

use super::encoding::Encoding;
use common::error::{EngineError, nearest};
use common::file_directories::FileDirectories;
use common::file_format::FileFormat;

/// The options of all formats, each with its other names.
const NAMES: [&[&str]; 9] = [
    &["types", "dtypes", "column_types"],
    &["columns"],
    &["ignore_errors"],
    &["hive_partitioning"],
    &["union_by_name"],
    &["auto_detect"],
    &["newlines_in_values"],
    &["double_quote"],
    &["compression"],
];

/// The options of CSV.
const CSV_NAMES: [&[&str]; 11] = [
    &["header", "has_header"],
    &["delim", "delimiter", "sep"],
    &["quote"],
    &["escape"],
    &["comment"],
    &["skip"],
    &["nullstr", "null", "null_value"],
    &["dateformat", "date_format", "timestampformat", "timestamp_format"],
    &["decimal_separator", "decimal"],
    &["encoding"],
    &["all_varchar"],
];

/// Where a text has no quotes, no escapes or no comments: no text in UTF-8 has this byte.
const NO_SIGN: u8 = 0xff;

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
    /// Patterns of strftime for dates and timestamps. Those of ISO 8601 are read besides.
    pub date_formats: Vec<String>,
    /// Numbers have a comma where SQL has a point.
    pub has_decimal_comma: bool,
    /// All columns are VARCHAR.
    pub has_texts_only: bool,
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
    /// The names and types of all columns; empty: those of the files.
    pub columns: Vec<(String, DataType)>,
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
            columns: Vec::new(),
            sample_bytes: 64 << 20,
            has_directory_columns: false,
            directories: FileDirectories::default(),
        }
    }
}

impl ReadOptions {
    /// Sets an option by one of its names, in lower case: wherever files are read, options have these names and errors.
    pub fn set(&mut self, name: &str, value: &str) -> Result<(), EngineError> {
        if let Some(option) = option_of(name, &CSV_NAMES) {
            return match self.format {
                None | Some(FileFormat::Csv) => self.csv.set(option, name, value),
                Some(_) => Err(EngineError::unsupported(format!("the option {name} of files that are not CSV"), Some("leave it out"))),
            };
        }
        match option_of(name, &NAMES) {
            Some("types" | "columns") => {
                let hint = "declare the types of a table's columns; read_csv takes types = {'zip': 'VARCHAR'}";
                return Err(EngineError::unsupported(format!("the option {name} as a text"), Some(hint)));
            }
            Some("ignore_errors") => self.on_error = if truth(name, value)? { OnError::Skip } else { OnError::Abort },
            Some("hive_partitioning") => self.has_directory_columns = truth(name, value)?,
            // The content says how it is compressed.
            Some("compression") => {}
            // The others are so in any case.
            Some(_) if truth(name, value)? => {}
            Some(_) => return Err(EngineError::unsupported(format!("{name} = false"), Some("leave it out"))),
            None => return Err(self.unknown(name)),
        }
        Ok(())
    }

    fn unknown(&self, name: &str) -> EngineError {
        let is_csv = matches!(self.format, None | Some(FileFormat::Csv));
        let options = || CSV_NAMES.into_iter().filter(move |_| is_csv).chain(NAMES);
        let hint = match nearest(name, options().flatten().copied()) {
            Some(near) => format!("did you mean {near}?"),
            None => format!("options there are: {}", options().map(|names| names[0]).collect::<Vec<_>>().join(", ")),
        };
        EngineError::Sql { message: format!("files have no option \"{name}\""), position: None, hint: Some(hint) }
    }
}

impl CsvOptions {
    /// `option` is the first of the names.
    fn set(&mut self, option: &str, name: &str, value: &str) -> Result<(), EngineError> {
        match option {
            "header" => self.header = Some(truth(name, value)?),
            "delim" => self.delimiter = Some(delimiter(name, value)?),
            "quote" => self.quote = Some(sign(name, value)?),
            "escape" => self.escape = Some(sign(name, value)?),
            "comment" => self.comment = Some(sign(name, value)?),
            "skip" => self.skip = Some(value.parse().map_err(|_| wrong(name, "a number of lines", value))?),
            "nullstr" => self.null.push(value.to_owned()),
            "dateformat" => self.date_formats.push(date_format(name, value)?),
            "decimal_separator" => {
                self.has_decimal_comma = match value {
                    "," => true,
                    "." => false,
                    _ => return Err(wrong(name, "a point or a comma", value)),
                };
            }
            "encoding" => {
                self.encoding = value.parse::<Encoding>().map_err(|message| EngineError::Sql { message, position: None, hint: None })?
            }
            "all_varchar" => self.has_texts_only = truth(name, value)?,
            _ => return Err(EngineError::internal(format!("nothing sets the option {name}"))),
        }
        Ok(())
    }
}

/// The first name of the option that `name` names.
fn option_of(name: &str, options: &[&'static [&'static str]]) -> Option<&'static str> {
    options.iter().find(|names| names.contains(&name)).map(|names| names[0])
}

fn truth(name: &str, value: &str) -> Result<bool, EngineError> {
    match value.to_ascii_lowercase().as_str() {
        "true" | "on" | "1" => Ok(true),
        "false" | "off" | "0" => Ok(false),
        _ => Err(wrong(name, "true or false", value)),
    }
}

fn delimiter(name: &str, value: &str) -> Result<u8, EngineError> {
    match value {
        "tab" | "\\t" => Ok(b'\t'),
        "" => Err(wrong(name, "one ASCII character", value)),
        _ if value.contains(|digit: char| digit.is_ascii_digit()) => Err(wrong(name, "one ASCII character that is no digit", value)),
        _ => sign(name, value),
    }
}

/// The empty text: there is none.
fn sign(name: &str, value: &str) -> Result<u8, EngineError> {
    match value.as_bytes() {
        [] => Ok(NO_SIGN),
        [byte] if byte.is_ascii() && !matches!(byte, b'\n' | b'\r') => Ok(*byte),
        _ => Err(wrong(name, "one ASCII character", value)),
    }
}

/// Fractions are refused: the parser of patterns knows them to the millisecond only, and would cut off the rest.
fn date_format(name: &str, value: &str) -> Result<String, EngineError> {
    // What is no pattern cannot write a time, either.
    let is_written = || date64_to_datetime(0).is_some_and(|time| write!(&mut String::new(), "{}", time.format(value)).is_ok());
    match value.contains('%') && !value.contains(['f', 'g', 'Z', 'z', '+']) && is_written() {
        true => Ok(value.to_owned()),
        false => Err(wrong(name, "a pattern like '%d/%m/%Y' or '%d.%m.%Y %H:%M:%S', without fractions and zones", value)),
    }
}

fn wrong(name: &str, expected: &str, value: &str) -> EngineError {
    EngineError::Sql { message: format!("the option {name} is {expected}, and not \"{value}\""), position: None, hint: None }
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
            ("timestampformat", "%d/%m/%Y %H:%M"),
            ("decimal", ","),
            ("all_varchar", "true"),
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
            date_formats: vec!["%d/%m/%Y".to_owned(), "%d/%m/%Y %H:%M".to_owned()],
            has_decimal_comma: true,
            has_texts_only: true,
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
            ("date_format", "%+"),
            ("date_format", "%d.%m.%Q"),
            ("delim", "5"),
            ("colour", "red"),
        ] {
            let error = options.set(name, value).unwrap_err().to_string();
            assert!(error.contains(name) || error.contains(value), "{error}");
        }
    }

    #[test]
    fn every_name_of_an_option_sets_it_or_says_why_not() {
        for name in CSV_NAMES.into_iter().chain(NAMES).flatten() {
            let values = ["true", "%Y", ",", "1", "utf-8"];
            let errors = values.map(|value| ReadOptions::default().set(name, value).map_err(|error| error.to_string()));
            let is_text = !matches!(option_of(name, &NAMES), Some("types" | "columns"));
            assert_eq!(errors.iter().any(Result::is_ok), is_text, "{name}");
            assert!(!errors.iter().filter_map(|error| error.as_ref().err()).any(|error| error.contains("nothing sets")), "{name}");
        }
    }

    #[test]
    fn a_text_without_quotes_escapes_and_comments_says_so_with_an_empty_sign() {
        let mut options = ReadOptions::default();
        for name in ["quote", "escape", "comment"] {
            options.set(name, "").unwrap();
        }
        assert_eq!((options.csv.quote, options.csv.escape, options.csv.comment), (Some(NO_SIGN), Some(NO_SIGN), Some(NO_SIGN)));
        options.set("delim", "").unwrap_err();
    }

    #[test]
    fn options_of_csv_are_refused_for_other_formats() {
        let mut options = ReadOptions { format: Some(FileFormat::Json), ..ReadOptions::default() };
        let error = options.set("sep", ";").unwrap_err().to_string();
        assert_eq!(error, "the option sep of files that are not CSV is not supported");
        options.set("ignore_errors", "true").unwrap();
        assert_eq!(options.on_error, OnError::Skip);
    }
}
