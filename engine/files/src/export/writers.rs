//! One writer per format, behind a common interface.

use arrow::array::RecordBatch;
use arrow::datatypes::{DataType, Schema};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;

use super::csv_writer::{CsvLayout, CsvWriter};
use super::ipc_writer::IpcWriter;
use super::json_writer::JsonWriter;
use super::sink::Sink;
use super::target::ExportTarget;
use common::error::export::ExportError;
use common::file_format::FileFormat;
use common::type_names::plain::sql_type_name;

/// A row group is closed at this size, so that wide rows do not pile up in memory.
const ROW_GROUP_BYTES: usize = 128 << 20;

pub(super) enum FormatWriter {
    Parquet(Box<ArrowWriter<Sink>>),
    Csv(CsvWriter<Sink>),
    Json(JsonWriter<Sink>),
    Arrow(IpcWriter),
    Finished(FileFormat),
}

/// A format that can hold the schema; only then is a file created.
pub(super) struct Checked(FileFormat);

impl FormatWriter {
    pub fn check(format: FileFormat, schema: &Schema) -> Result<Checked, ExportError> {
        for field in schema.fields() {
            let data_type = field.data_type();
            let hint = match format {
                FileFormat::Csv if data_type.is_nested() => "use json, parquet or arrow, or select its parts",
                FileFormat::Json if !super::json_writer::can_hold(data_type) => "use parquet or arrow, or cast it to VARCHAR",
                FileFormat::Parquet if !parquet_can_hold(data_type) => "use arrow, or cast it to VARCHAR",
                _ => continue,
            };
            return Err(ExportError::UnsupportedType { column: field.name().clone(), data_type: sql_type_name(data_type), format, hint });
        }
        Ok(Checked(format))
    }

    pub fn format(&self) -> FileFormat {
        match self {
            FormatWriter::Parquet(_) => FileFormat::Parquet,
            FormatWriter::Csv(_) => FileFormat::Csv,
            FormatWriter::Json(_) => FileFormat::Json,
            FormatWriter::Arrow(_) => FileFormat::Arrow,
            FormatWriter::Finished(format) => *format,
        }
    }

    pub fn write(&mut self, batch: &RecordBatch) -> Result<(), String> {
        match self {
            FormatWriter::Parquet(writer) => {
                writer.write(batch).map_err(text)?;
                if writer.in_progress_size() > ROW_GROUP_BYTES {
                    writer.flush().map_err(text)?;
                }
                Ok(())
            }
            FormatWriter::Csv(writer) => writer.write(batch),
            FormatWriter::Json(writer) => writer.write(batch),
            FormatWriter::Arrow(writer) => writer.write(batch),
            FormatWriter::Finished(_) => Err("it is already finished".to_owned()),
        }
    }

    /// Returns the size of the whole.
    pub fn finish(&mut self) -> Result<u64, String> {
        let finished = FormatWriter::Finished(self.format());
        let sink = match std::mem::replace(self, finished) {
            FormatWriter::Parquet(writer) => writer.into_inner().map_err(text)?,
            FormatWriter::Csv(writer) => writer.into_inner()?,
            FormatWriter::Json(writer) => writer.into_inner(),
            FormatWriter::Arrow(writer) => writer.into_inner().map_err(text)?,
            FormatWriter::Finished(_) => return Err("it is already finished".to_owned()),
        };
        sink.finish().map_err(text)
    }
}

impl Checked {
    pub fn open(self, sink: Sink, schema: &Schema, is_stream: bool, csv: CsvLayout) -> Result<FormatWriter, String> {
        Ok(match (self.0, is_stream) {
            (FileFormat::Parquet, _) => {
                let properties = WriterProperties::builder().set_compression(Compression::ZSTD(ZstdLevel::default())).build();
                let schema = schema.clone().into();
                let writer = ArrowWriter::try_new(sink, schema, Some(properties)).map_err(text)?;
                FormatWriter::Parquet(Box::new(writer))
            }
            (FileFormat::Csv, _) => {
                let by_name = || ExportTarget::delimiter(&sink.name());
                let delimiter = csv.delimiter.unwrap_or_else(by_name);
                FormatWriter::Csv(CsvWriter::new(sink, schema, delimiter, csv.header)?)
            }
            (FileFormat::Json, _) => FormatWriter::Json(JsonWriter::new(sink)),
            (FileFormat::Arrow, _) => FormatWriter::Arrow(IpcWriter::new(sink, schema, is_stream).map_err(text)?),
        })
    }
}

fn parquet_can_hold(data_type: &DataType) -> bool {
    use arrow::datatypes::IntervalUnit::MonthDayNano;
    match data_type {
        DataType::Union(..) | DataType::Interval(MonthDayNano) => false,
        DataType::Struct(fields) => !fields.is_empty() && fields.iter().all(|field| parquet_can_hold(field.data_type())),
        DataType::List(field) | DataType::LargeList(field) | DataType::FixedSizeList(field, _) | DataType::Map(field, _) => {
            parquet_can_hold(field.data_type())
        }
        _ => true,
    }
}

fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}
