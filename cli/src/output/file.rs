//! One result in one file, in a format the engine writes.

use std::io::Write;
use std::path::Path;

use engine::export::{self, Exporter};
use engine::import::FileFormat;
use engine::{RecordBatch, SchemaRef};

use super::{Format, ResultWriter};
use crate::errors::{CliError, Result};

pub struct FileWriter {
    /// `None` once the file is complete.
    exporter: Option<Exporter>,
}

impl FileWriter {
    pub fn create(path: &Path, format: Option<FileFormat>, schema: &SchemaRef) -> Result<Self> {
        let exporter = export::open_export(path, format, schema.clone()).map_err(CliError::message)?;
        Ok(FileWriter { exporter: Some(exporter) })
    }
}

impl ResultWriter for FileWriter {
    fn write(&mut self, batch: &RecordBatch, _out: &mut dyn Write) -> Result<()> {
        match &mut self.exporter {
            Some(exporter) => exporter.write(batch).map_err(CliError::message),
            None => Ok(()),
        }
    }

    fn finish(&mut self, _out: &mut dyn Write) -> Result<u64> {
        if let Some(exporter) = self.exporter.take() {
            exporter.finish().map_err(CliError::message)?;
        }
        Ok(0)
    }

    fn holds_back(&self) -> bool {
        true
    }
}

/// The formats that are one file per result, and cannot be appended to.
pub fn file_format(format: Format) -> Option<FileFormat> {
    match format {
        Format::Parquet => Some(FileFormat::Parquet),
        Format::Arrow => Some(FileFormat::Arrow),
        _ => None,
    }
}

pub fn needs_file() -> CliError {
    CliError::with_hint(
        "Parquet can only be written to a file",
        "add -o FILE, or use \\o FILE in the shell",
    )
}
