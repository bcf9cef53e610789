//! CSV, JSON, Arrow and Parquet: the engine writes them, identically to a pipe and to a file.

use std::io::{self, Write};
use std::path::Path;
use std::sync::{Arc, Mutex};

use engine::export::{self, ExportError, Exporter};
use engine::import::FileFormat;
use engine::{RecordBatch, SchemaRef};

use super::{Format, ResultWriter};
use crate::errors::{CliError, Result};

pub struct ExportWriter {
    /// `None` once the result is complete.
    exporter: Option<Exporter>,
    /// Bytes of the exporter that were not written to `out` yet; always empty for a file.
    passing: SharedBuffer,
    is_file: bool,
    format: FileFormat,
}

impl ExportWriter {
    /// A writer for a result that shares its destination with others.
    pub fn stream(format: FileFormat, schema: &SchemaRef) -> Result<Self> {
        let passing = SharedBuffer::default();
        let exporter = export::export_to(Box::new(passing.clone()), format, schema);
        Ok(ExportWriter { exporter: Some(exporter.map_err(refused)?), passing, is_file: false, format })
    }

    /// A writer for a file with one result, which appears when it is complete.
    pub fn file(path: &Path, format: FileFormat, schema: &SchemaRef) -> Result<Self> {
        let exporter = export::open_export(path, Some(format), schema).map_err(refused)?;
        Ok(ExportWriter { exporter: Some(exporter), passing: SharedBuffer::default(), is_file: true, format })
    }
}

impl ResultWriter for ExportWriter {
    fn write(&mut self, batch: &RecordBatch, out: &mut dyn Write) -> Result<()> {
        if let Some(exporter) = &mut self.exporter {
            exporter.write(batch).map_err(refused)?;
        }
        Ok(out.write_all(&self.passing.take())?)
    }

    fn finish(&mut self, out: &mut dyn Write) -> Result<u64> {
        if let Some(exporter) = self.exporter.take() {
            exporter.finish().map_err(refused)?;
        }
        out.write_all(&self.passing.take())?;
        Ok(0)
    }

    fn holds_back(&self) -> bool {
        self.is_file
    }

    /// False for formats in which every piece would become a batch of the file.
    fn takes_pieces(&self) -> bool {
        self.format != FileFormat::Arrow
    }
}

/// The exporter owns its sink and reports its errors as text. So it gets a sink that cannot fail,
/// and a closed pipe is still recognized.
#[derive(Clone, Default)]
struct SharedBuffer(Arc<Mutex<Vec<u8>>>);

impl SharedBuffer {
    fn take(&self) -> Vec<u8> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner()))
    }
}

impl Write for SharedBuffer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut buffer = self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        buffer.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The engine's name of an export format.
pub fn file_format(format: Format) -> Option<FileFormat> {
    match format {
        Format::Parquet => Some(FileFormat::Parquet),
        Format::Arrow => Some(FileFormat::Arrow),
        Format::Csv => Some(FileFormat::Csv),
        Format::Json => Some(FileFormat::Json),
        Format::Table | Format::Box | Format::Markdown => None,
    }
}

fn refused(error: ExportError) -> CliError {
    CliError::message(error)
}
