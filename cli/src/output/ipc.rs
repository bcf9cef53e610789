//! Arrow IPC stream: what `pyarrow.ipc.open_stream` reads from a pipe.

use std::io::Write;

use arrow::error::ArrowError;
use arrow::ipc::writer::StreamWriter;
use engine::{RecordBatch, SchemaRef};

use super::ResultWriter;
use crate::errors::{CliError, Result};

/// The stream writer owns its sink, so it gets a buffer that is emptied after every batch.
pub struct ArrowWriter {
    stream: StreamWriter<Vec<u8>>,
}

impl ArrowWriter {
    pub fn new(schema: &SchemaRef) -> Result<Self> {
        let stream = StreamWriter::try_new(Vec::new(), schema).map_err(refused)?;
        Ok(ArrowWriter { stream })
    }

    fn pass_on(&mut self, out: &mut dyn Write) -> Result<()> {
        let buffer = self.stream.get_mut();
        out.write_all(buffer)?;
        buffer.clear();
        Ok(())
    }
}

impl ResultWriter for ArrowWriter {
    fn write(&mut self, batch: &RecordBatch, out: &mut dyn Write) -> Result<()> {
        self.stream.write(batch).map_err(refused)?;
        self.pass_on(out)
    }

    fn finish(&mut self, out: &mut dyn Write) -> Result<u64> {
        self.stream.finish().map_err(refused)?;
        self.pass_on(out)?;
        Ok(0)
    }
}

fn refused(error: ArrowError) -> CliError {
    CliError::message(format!("the result cannot be written as Arrow: {error}"))
}
