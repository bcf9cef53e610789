//! Checks a foreign message before `arrow-ipc` reads it.
//!
//! The reader allocates as many bytes as the message claims, and a failed allocation aborts the
//! process. So every length is compared with the received bytes. The reader itself validates the contents (offsets, UTF-8).

use arrow_flight::FlightData;
use arrow_ipc::{CompressionType, MessageHeader, RecordBatch, root_as_message};
use tonic::Status;

/// A message with more rows than this can only have columns without bytes (NULL, or of width 0).
const ROWS_MAX: i64 = 1 << 28;

pub fn check(message: &FlightData, unpacked_bytes_max: u64) -> Result<(), Status> {
    if message.data_header.is_empty() {
        return Err(refused("it has bytes and no header that says what they are"));
    }
    let header = root_as_message(&message.data_header).map_err(|_| refused("its header is damaged"))?;
    if let Some(foreign) = engine::import::foreign_form(&header) {
        return Err(Status::invalid_argument(format!("the Arrow data of a message cannot be read: {foreign}")));
    }
    let batch = match header.header_type() {
        MessageHeader::RecordBatch => header.header_as_record_batch(),
        MessageHeader::DictionaryBatch => header.header_as_dictionary_batch().and_then(|dictionary| dictionary.data()),
        _ => return Ok(()),
    };
    check_batch(batch.ok_or_else(|| refused("it has no content"))?, &message.data_body, unpacked_bytes_max)
}

fn check_batch(batch: RecordBatch<'_>, body: &[u8], unpacked_bytes_max: u64) -> Result<(), Status> {
    let rows_allowed = 0..=ROWS_MAX;
    if !rows_allowed.contains(&batch.length()) {
        return Err(refused("its number of rows is out of range; send fewer rows at a time"));
    }
    let is_compressed = batch.compression().is_some();
    if batch.compression().is_some_and(|compression| compression.codec() == CompressionType::LZ4_FRAME) {
        // Its reader decompresses everything before it checks the length.
        return Err(refused("it is compressed with LZ4, which is not taken; send it with ZSTD, or as it is"));
    }
    let (mut packed_bytes, mut unpacked_bytes) = (0u64, 0u64);
    for buffer in batch.buffers().into_iter().flatten() {
        let bytes = range(body, buffer.offset(), buffer.length()).ok_or_else(|| refused("a buffer lies outside of it"))?;
        packed_bytes = packed_bytes.saturating_add(bytes.len() as u64);
        if is_compressed && !bytes.is_empty() {
            unpacked_bytes = unpacked_bytes.saturating_add(uncompressed_length(bytes)?);
        }
    }
    // Overlapping buffers would each be copied if they are not aligned.
    if packed_bytes > body.len() as u64 {
        return Err(refused("its buffers lie over each other"));
    }
    if unpacked_bytes > unpacked_bytes_max {
        return Err(too_many_bytes(unpacked_bytes, unpacked_bytes_max));
    }
    // The smallest values are bits. There are at most as many values without bits as rows, also within lists.
    let values_max = unpacked_bytes.saturating_add(body.len() as u64).saturating_mul(8).max(ROWS_MAX as u64);
    let nodes = batch.nodes().into_iter().flatten();
    let is_possible =
        |length: i64, nulls: i64| u64::try_from(length).is_ok_and(|length| length <= values_max) && (0..=length).contains(&nulls);
    if !nodes.into_iter().all(|node| is_possible(node.length(), node.null_count())) {
        return Err(refused("a column has a number of values that cannot be"));
    }
    Ok(())
}

fn range(body: &[u8], offset: i64, length: i64) -> Option<&[u8]> {
    let offset = usize::try_from(offset).ok()?;
    body.get(offset..offset.checked_add(usize::try_from(length).ok()?)?)
}

/// The length at the beginning of a compressed buffer; -1 for a buffer that is not compressed.
fn uncompressed_length(buffer: &[u8]) -> Result<u64, Status> {
    let prefix = buffer.first_chunk::<8>().ok_or_else(|| refused("a compressed buffer is too short"))?;
    match i64::from_le_bytes(*prefix) {
        -1 => Ok(0),
        length => u64::try_from(length).map_err(|_| refused("a compressed buffer has a negative length")),
    }
}

pub fn too_many_bytes(bytes: u64, bytes_max: u64) -> Status {
    Status::resource_exhausted(format!("a message unpacks to {bytes} bytes, and {bytes_max} are allowed; send fewer rows at a time"))
}

fn refused(why: &str) -> Status {
    Status::invalid_argument(format!("the Arrow data of a message makes no sense: {why}"))
}
