//! The small Arrow tables beside a segment: checksums and statistics.

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::compute::concat_batches;
use arrow_ipc::reader::{FileDecoder, FileReader};
use arrow_ipc::writer::{FileWriter, IpcWriteOptions};

use super::ALIGNMENT;
use super::footer::{Layout, block_ranges};
use crate::checksum::xxh3;
use crate::error::{Result, StoreError};
use crate::files;
use crate::mapping::Mapping;
use crate::region::PoisonFlag;

/// Writes a small Arrow table as a file, fsynced; returns its bytes' checksum.
pub fn write_table(path: &Path, batch: &RecordBatch, poison: &PoisonFlag) -> Result<u64> {
    let options = IpcWriteOptions::try_new(ALIGNMENT, false, arrow_ipc::MetadataVersion::V5)?;
    let mut writer = FileWriter::try_new_with_options(Vec::new(), &batch.schema(), options)?;
    writer.write(batch)?;
    let bytes = writer.into_inner()?;
    let io = |action| move |error| StoreError::io(action, path, error);
    let mut file = File::create_new(path).map_err(io("create"))?;
    file.write_all(&bytes).map_err(io("write"))?;
    files::sync(&file, path, poison)?;
    Ok(xxh3(&bytes))
}

/// Reads a small Arrow table whose bytes must have the checksum `expected`.
pub fn read_table(path: &Path, expected: u64) -> Result<RecordBatch> {
    let bytes = fs::read(path).map_err(|error| StoreError::io("read", path, error))?;
    let found = xxh3(&bytes);
    if found != expected {
        let message = format!("checksum of the file is {found:016x}, expected {expected:016x}");
        return Err(StoreError::damaged(path, 0, message));
    }
    let reader = FileReader::try_new(std::io::Cursor::new(bytes), None)?;
    let schema = reader.schema();
    let batches = reader.collect::<Result<Vec<_>, _>>()?;
    Ok(concat_batches(&schema, &batches)?)
}

/// The same table with its buffers in the mapped file. `None` if it cannot be mapped or is damaged: then [`read_table`] says what is wrong.
pub fn map_table(path: &Path, expected: u64) -> Option<(Arc<Mapping>, RecordBatch)> {
    let mapping = Mapping::open(path, None).ok()?;
    let bytes = mapping.whole();
    if xxh3(&bytes) != expected {
        return None;
    }
    let layout = Layout::parse(path, &bytes).ok()?;
    let [block] = layout.blocks.as_slice() else { return None };
    let (message, body) = block_ranges(block);
    let bytes = bytes.slice_with_length(message.start, body.end - message.start);
    let decoder = FileDecoder::new(Arc::clone(&layout.schema), layout.version).with_require_alignment(true);
    let batch = decoder.read_record_batch(block, &bytes).ok()??;
    Some((mapping, batch))
}
