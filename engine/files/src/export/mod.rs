//! Writes record batches to files: Parquet, CSV, JSON lines, Arrow IPC.
//!
//! [`open_export`] writes beside the target under a temporary name and renames at the end, so an
//! export that fails (or is dropped) leaves the old file or none, never half a file. `writers` has
//! one writer for each format; `csv_writer` is ours because it must tell NULL from an empty text; `ipc_writer` writes
//! the Arrow types that every reader knows.

mod csv_writer;
mod ipc_writer;
mod json_writer;
mod sink;
mod stream;
mod target;
mod writers;

use std::io::Write;
use std::path::Path;

use arrow::array::RecordBatch;
use arrow::datatypes::{Schema, SchemaRef};

pub use csv_writer::CsvLayout;
pub use stream::write;
pub use target::ExportTarget;

pub use common::error::export::ExportError;
use common::file_format::FileFormat;
use sink::Sink;
use writers::FormatWriter;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ExportSummary {
    pub rows: u64,
    /// Bytes written, after compression.
    pub size_bytes: u64,
}

/// An export in progress. If it is dropped before [`Exporter::finish`], it leaves no file.
pub struct Exporter {
    writer: FormatWriter,
    schema: SchemaRef,
    name: String,
    rows: u64,
}

/// Begins a file. With `format: None` the suffix decides; `.gz` and `.zst` after `.csv` or
/// `.json` compress.
pub fn open_export(path: &Path, format: Option<FileFormat>, schema: &Schema) -> Result<Exporter, ExportError> {
    open_export_with(path, format, schema, CsvLayout::default())
}

/// The same, with the given CSV layout.
pub fn open_export_with(path: &Path, format: Option<FileFormat>, schema: &Schema, csv: CsvLayout) -> Result<Exporter, ExportError> {
    let target = ExportTarget::of(path, format)?;
    let writer = FormatWriter::check(target.format, schema)?;
    let sink = Sink::file(path, target.compression)?;
    Exporter::new(writer.open(sink, schema, false, csv), target.format, schema, target.name)
}

/// Begins an export to any sink, such as stdout. Arrow is written as a stream there.
pub fn export_to(sink: Box<dyn Write + Send>, format: FileFormat, schema: &Schema) -> Result<Exporter, ExportError> {
    let writer = FormatWriter::check(format, schema)?;
    let writer = writer.open(Sink::writer(sink), schema, true, CsvLayout::default());
    Exporter::new(writer, format, schema, "the output".to_owned())
}

impl Exporter {
    fn new(writer: Result<FormatWriter, String>, format: FileFormat, schema: &Schema, name: String) -> Result<Exporter, ExportError> {
        let writer = writer.map_err(|reason| ExportError::Write { name: name.clone(), format, reason })?;
        Ok(Exporter { writer, schema: schema.clone().into(), name, rows: 0 })
    }

    pub fn write(&mut self, batch: &RecordBatch) -> Result<(), ExportError> {
        self.writer.write(batch).map_err(|reason| self.failed(reason))?;
        self.rows += batch.num_rows() as u64;
        Ok(())
    }

    /// Completes the file and renames it to its final name.
    pub fn finish(mut self) -> Result<ExportSummary, ExportError> {
        let size_bytes = self.writer.finish().map_err(|reason| self.failed(reason))?;
        Ok(ExportSummary { rows: self.rows, size_bytes })
    }

    pub fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }

    fn failed(&self, reason: String) -> ExportError {
        ExportError::Write { name: self.name.clone(), format: self.writer.format(), reason }
    }
}
