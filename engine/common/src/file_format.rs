//! The formats of files.

use std::fmt;
use std::str::FromStr;

/// A file format, for reading and for writing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FileFormat {
    Parquet,
    /// Delimited text: commas, tabs, semicolons or pipes.
    Csv,
    /// One JSON object per line, or one array of objects or other values.
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

/// The table functions that read files, each with its format.
pub const FILE_READERS: [(&str, FileFormat); 9] = [
    ("read_csv", FileFormat::Csv),
    ("read_csv_auto", FileFormat::Csv),
    ("read_parquet", FileFormat::Parquet),
    ("parquet_scan", FileFormat::Parquet),
    ("read_json", FileFormat::Json),
    ("read_json_auto", FileFormat::Json),
    ("read_ndjson", FileFormat::Json),
    ("read_ndjson_auto", FileFormat::Json),
    ("read_arrow", FileFormat::Arrow),
];

/// Whether a name in FROM that no table has is read as a path: of a file, of a directory, or a pattern.
pub fn is_file_name(name: &str) -> bool {
    const ENDS: [&str; 19] = [
        ".csv", ".tsv", ".tab", ".psv", ".tbl", ".parquet", ".pq", ".json", ".ndjson", ".jsonl", ".arrow", ".arrows", ".ipc", ".feather",
        ".gz", ".zst", ".zip", ".txt", ".xlsx",
    ];
    let name = name.to_ascii_lowercase();
    name.contains(['/', '*']) || ENDS.iter().any(|end| name.ends_with(end))
}
