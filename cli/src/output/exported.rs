//! CSV, JSON, Arrow and Parquet: the engine writes them, identically to a pipe and to a file.

use std::io::{self, Write};
use std::path::Path;
use std::sync::{Arc, Mutex};

use arrow::array::{ArrayRef, StringArray};
use arrow::datatypes::{DataType, Field, Schema};
use engine::export::{self, ExportError, Exporter};
use engine::import::FileFormat;
use engine::{RecordBatch, SchemaRef};

use super::cells::Cells;
use super::{Format, ResultWriter};
use crate::errors::{CliError, Result};

pub struct ExportWriter {
    /// `None` once the result is complete.
    exporter: Option<Exporter>,
    /// Bytes of the exporter that were not written to `out` yet; always empty for a file.
    passing: SharedBuffer,
    is_file: bool,
    format: FileFormat,
    /// Whether lists are written as text.
    flattens: bool,
}

impl ExportWriter {
    /// A writer for a result that shares its destination with others. It is for people, so that lists in CSV may be texts, which nothing
    /// reads back.
    pub fn stream(format: FileFormat, schema: &SchemaRef) -> Result<Self> {
        let passing = SharedBuffer::default();
        let flattens = format == FileFormat::Csv && schema.fields().iter().any(|field| field.data_type().is_nested());
        let flat = flattens.then(|| flat_schema(schema));
        let exporter = export::export_to(Box::new(passing.clone()), format, flat.as_ref().unwrap_or(schema));
        Ok(ExportWriter { exporter: Some(exporter.map_err(refused)?), passing, is_file: false, format, flattens })
    }

    /// A writer for a file with one result, which appears when it is complete.
    pub fn file(path: &Path, format: FileFormat, schema: &SchemaRef) -> Result<Self> {
        let exporter = export::open_export(path, Some(format), schema).map_err(refused)?;
        Ok(ExportWriter { exporter: Some(exporter), passing: SharedBuffer::default(), is_file: true, format, flattens: false })
    }
}

impl ResultWriter for ExportWriter {
    fn write(&mut self, batch: &RecordBatch, out: &mut dyn Write) -> Result<()> {
        if let Some(exporter) = &mut self.exporter {
            let written = if self.flattens { exporter.write(&flat(batch)?) } else { exporter.write(batch) };
            written.map_err(refused)?;
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

fn flat_schema(schema: &SchemaRef) -> SchemaRef {
    let flat = |field: &Field| match field.data_type().is_nested() {
        true => Field::new(field.name(), DataType::Utf8, true),
        false => field.clone(),
    };
    Arc::new(Schema::new(schema.fields().iter().map(|field| flat(field)).collect::<Vec<_>>()))
}

/// The batch with the texts of lists, structs and maps.
fn flat(batch: &RecordBatch) -> Result<RecordBatch> {
    let cells = Cells::new(batch)?;
    let mut text = String::new();
    let mut columns = Vec::with_capacity(batch.num_columns());
    for (index, column) in batch.columns().iter().enumerate() {
        if column.data_type().is_nested() {
            let texts = (0..batch.num_rows()).map(|row| cells.read(row, index, &mut text).then(|| text.clone()));
            columns.push(Arc::new(texts.collect::<StringArray>()) as ArrayRef);
        } else {
            columns.push(Arc::clone(column));
        }
    }
    RecordBatch::try_new(flat_schema(&batch.schema()), columns).map_err(CliError::message)
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
