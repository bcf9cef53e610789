//! What the user may say about the files to read.

use std::fmt;
use std::str::FromStr;

/// A file format, for reading and for writing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FileFormat {
    Parquet,
    /// Delimited text: commas, tabs, semicolons or pipes.
    Csv,
    /// One JSON object per line, or one array of objects.
    Json,
    /// Arrow IPC: the file format or the stream format.
    Arrow,
}

impl fmt::Display for FileFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            FileFormat::Parquet => "Parquet",
            FileFormat::Csv => "CSV",
            FileFormat::Json => "JSON",
            FileFormat::Arrow => "Arrow IPC",
        })
    }
}

impl FromStr for FileFormat {
    type Err = String;

    /// The names used in SQL (`FORMAT csv`) and as file extensions.
    fn from_str(name: &str) -> Result<Self, String> {
        match name.to_ascii_lowercase().as_str() {
            "parquet" | "pq" => Ok(FileFormat::Parquet),
            "csv" | "tsv" | "psv" | "tbl" => Ok(FileFormat::Csv),
            "json" | "jsonl" | "ndjson" => Ok(FileFormat::Json),
            "arrow" | "arrows" | "ipc" | "feather" => Ok(FileFormat::Arrow),
            _ => Err(format!("{name:?} is not a file format: use parquet, csv, json or arrow")),
        }
    }
}

/// What to do with a row that cannot be read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnError {
    /// Stop and say where.
    #[default]
    Abort,
    /// Leave the row out and count it.
    Skip,
}

/// How CSV files are written. What is `None` is found out from the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CsvOptions {
    pub delimiter: Option<u8>,
    pub header: Option<bool>,
    /// `None`: quotes have no meaning.
    pub quote: Option<u8>,
    /// Further unquoted tokens that mean NULL, in every column; the empty one always does.
    pub null: Vec<String>,
}

impl Default for CsvOptions {
    fn default() -> Self {
        CsvOptions { delimiter: None, header: None, quote: Some(b'"'), null: Vec::new() }
    }
}

/// How to read files. The default finds out everything and stops at the first bad row.
#[derive(Clone, Debug)]
pub struct ReadOptions {
    /// `None`: by content, then by extension.
    pub format: Option<FileFormat>,
    pub on_error: OnError,
    pub csv: CsvOptions,
    /// Text read per file to infer its types; a file that is shorter is inferred from all its rows.
    pub sample_bytes: u64,
}

impl Default for ReadOptions {
    fn default() -> Self {
        ReadOptions { format: None, on_error: OnError::default(), csv: CsvOptions::default(), sample_bytes: 64 << 20 }
    }
}
