//! Writes a stream of batches to a file.

use std::path::Path;

use arrow::array::RecordBatch;
use arrow::datatypes::Schema;
use futures::{Stream, StreamExt};

use super::{ExportSummary, open_export};
use common::error::export::ExportError;
use common::file_format::FileFormat;

/// Writes all batches of `stream` to `path`; no file is left if the stream or the writing fails.
pub async fn write<S, E>(mut stream: S, path: &Path, format: Option<FileFormat>, schema: &Schema) -> Result<ExportSummary, ExportError>
where
    S: Stream<Item = Result<RecordBatch, E>> + Unpin,
    E: std::error::Error + Send + Sync + 'static,
{
    let mut exporter = open_export(path, format, schema)?;
    while let Some(batch) = stream.next().await {
        exporter.write(&batch.map_err(|error| ExportError::Source(Box::new(error)))?)?;
    }
    exporter.finish()
}
