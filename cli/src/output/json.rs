//! JSON lines: one object per row. Every key is there, NULL as `null`.

use std::io::Write;

use arrow::json::WriterBuilder;
use arrow::json::writer::LineDelimited;
use engine::RecordBatch;

use super::ResultWriter;
use crate::errors::{CliError, Result};

pub struct JsonWriter;

impl JsonWriter {
    pub fn new() -> Self {
        JsonWriter
    }
}

impl ResultWriter for JsonWriter {
    fn write(&mut self, batch: &RecordBatch, out: &mut dyn Write) -> Result<()> {
        let builder = WriterBuilder::new().with_explicit_nulls(true);
        let mut writer = builder.build::<_, LineDelimited>(Vec::new());
        writer.write(batch).map_err(CliError::message)?;
        writer.finish().map_err(CliError::message)?;
        Ok(out.write_all(&writer.into_inner())?)
    }

    fn finish(&mut self, _out: &mut dyn Write) -> Result<u64> {
        Ok(0)
    }
}
