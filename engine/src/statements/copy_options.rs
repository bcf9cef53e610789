//! The options of `COPY … TO`; an unknown or unsupported option is an error that names it.

use std::path::Path;

use common::error::EngineError;
use common::file_format::FileFormat;
use files::export::CsvLayout;
use files::import::ReadOptions;

pub struct ExportOptions {
    /// `None`: by the extension of the file.
    pub format: Option<FileFormat>,
    pub csv: CsvLayout,
}

pub fn export_options(path: &Path, options: &[(String, String)]) -> Result<ExportOptions, EngineError> {
    let mut read = ExportOptions { format: None, csv: CsvLayout::default() };
    // Header and delimiter are named and checked as for reading.
    let mut layout = ReadOptions::default();
    let mut only_csv = None;
    for (name, value) in options {
        match name.as_str() {
            "format" => {
                let format = value.parse();
                read.format = Some(format.map_err(|message| EngineError::Sql { message, position: None, hint: None })?);
            }
            "delimiter" | "delim" | "sep" if value == "\"" => return Err(refused(name, value)),
            "header" | "has_header" | "delimiter" | "delim" | "sep" => layout.set(name, value)?,
            "quote" if value == "\"" => {}
            "null" | "nullstr" | "null_value" if value.is_empty() => {}
            "compression" => compression(path, value)?,
            _ => return Err(refused(name, value)),
        }
        if !matches!(name.as_str(), "format" | "compression") {
            only_csv = Some(name);
        }
    }
    read.csv.delimiter = layout.csv.delimiter;
    read.csv.header = layout.csv.header.unwrap_or(read.csv.header);
    let is_csv = match read.format {
        Some(format) => format == FileFormat::Csv,
        None => files::export::ExportTarget::of(path, None)?.format == FileFormat::Csv,
    };
    match only_csv {
        Some(name) if !is_csv => {
            Err(EngineError::unsupported(format!("COPY option {} for files that are not CSV", name.to_uppercase()), None))
        }
        _ => Ok(read),
    }
}

fn refused(name: &str, value: &str) -> EngineError {
    let hint = match name {
        "quote" | "delimiter" | "delim" | "sep" => "fields are quoted with \"",
        "null" | "nullstr" | "null_value" => "NULL is the empty field, an empty text is \"\"",
        _ => "the options are FORMAT, HEADER, DELIMITER and COMPRESSION",
    };
    EngineError::unsupported(format!("COPY option {} '{value}'", name.to_uppercase()), Some(hint))
}

/// The file's extension decides; the option may only repeat it.
fn compression(path: &Path, value: &str) -> Result<(), EngineError> {
    let name = path.to_string_lossy().to_ascii_lowercase();
    let says = match value.to_ascii_lowercase().as_str() {
        "gzip" | "gz" => name.ends_with(".gz") || name.ends_with(".gzip"),
        "zstd" | "zst" => [".zst", ".zstd", ".parquet", ".pq"].iter().any(|suffix| name.ends_with(suffix)),
        "none" | "uncompressed" => ![".gz", ".gzip", ".zst", ".zstd", ".parquet", ".pq"].iter().any(|suffix| name.ends_with(suffix)),
        _ => false,
    };
    match says {
        true => Ok(()),
        false => {
            let hint = "the file's name decides: .csv.gz, .csv.zst, .json.gz, .json.zst; Parquet is always zstd";
            Err(EngineError::unsupported(format!("COPY option COMPRESSION '{value}' for \"{}\"", path.display()), Some(hint)))
        }
    }
}
