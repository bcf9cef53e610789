//! Checks Arrow IPC bytes from outside before `arrow-ipc` reads them.
//!
//! The reader allocates as many bytes as a length in the file says. A failed allocation aborts the
//! process, and `catch_unwind` does not prevent that; so every length is first compared with the size of the
//! file. `arrow-ipc` itself validates contents (offsets, UTF-8, null counts).

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};

use arrow_ipc::{Block, Endianness, Message, MessageHeader, MetadataVersion, RecordBatch, Schema, root_as_footer, root_as_message};

/// A file begins and ends with these bytes; a stream has none.
const ARROW_MAGIC: &[u8; 6] = b"ARROW1";
/// Footer length and magic at the end of a file.
const TAIL_BYTES: u64 = 10;
/// The limit of what one compressed buffer may claim to unpack to.
const UNPACKED_BYTES_MAX: i64 = 4 << 30;

/// Arrow data in a form that is not supported: why, and what to do.
///
/// `arrow-ipc` would silently read numbers with the wrong byte order, and metadata of any version.
pub fn foreign_form(message: &Message<'_>) -> Option<String> {
    form_of(message.version(), message.header_as_schema())
}

fn form_of(version: MetadataVersion, schema: Option<Schema<'_>>) -> Option<String> {
    if version < MetadataVersion::V4 || version > MetadataVersion::V5 {
        let number = version.0 + 1;
        return Some(format!(
            "its metadata has version {number}, and only versions 4 and 5 are supported; write it again with one of them"
        ));
    }
    let is_little = schema.is_none_or(|schema| schema.endianness() == Endianness::Little);
    (!is_little)
        .then(|| "its numbers are big-endian, and only little-endian ones are read; write it again on a machine that has those".to_string())
}

/// An error for damaged bytes; or `Some` reason why a valid form is not supported.
pub(super) fn check_file(file: &mut File) -> Result<Option<String>, String> {
    let size = file.seek(SeekFrom::End(0)).map_err(text)?;
    let tail_at = size.checked_sub(TAIL_BYTES).filter(|at| *at >= 8);
    let tail = read_at(file, tail_at.ok_or("it is too short")?, TAIL_BYTES)?;
    if !tail.ends_with(ARROW_MAGIC) {
        return Err("its end is missing; fetch or write it again".to_owned());
    }
    let footer_bytes = u64::from(u32::from_le_bytes([tail[0], tail[1], tail[2], tail[3]]));
    let footer_at = size.checked_sub(TAIL_BYTES + footer_bytes).ok_or("its footer is too long")?;
    let footer = read_at(file, footer_at, footer_bytes)?;
    let footer = root_as_footer(&footer).map_err(text)?;
    if footer.schema().is_none() {
        return Err("its footer has no schema".to_owned());
    }
    if let Some(foreign) = form_of(footer.version(), footer.schema()) {
        return Ok(Some(foreign));
    }
    let dictionaries = footer.dictionaries().into_iter().flatten();
    for block in dictionaries.chain(footer.recordBatches().into_iter().flatten()) {
        check_block(file, block, footer_at)?;
    }
    rewind(file).map(|()| None)
}

fn check_block(file: &mut File, block: &Block, limit: u64) -> Result<(), String> {
    let outside = || "a block lies outside of it".to_owned();
    let offset = u64::try_from(block.offset()).map_err(|_| outside())?;
    let metadata_bytes = u64::try_from(block.metaDataLength()).map_err(|_| outside())?;
    let body_bytes = u64::try_from(block.bodyLength()).map_err(|_| outside())?;
    let body_at = offset.checked_add(metadata_bytes).ok_or_else(outside)?;
    if body_at.checked_add(body_bytes).is_none_or(|end| end > limit) || metadata_bytes < 8 {
        return Err(outside());
    }
    let metadata = read_at(file, offset, metadata_bytes)?;
    let prefix = if metadata.starts_with(&[0xff; 4]) { 8 } else { 4 };
    let message = root_as_message(&metadata[prefix..]).map_err(text)?;
    check_message(file, &message, body_at, body_bytes)
}

/// As [`check_file`].
pub(super) fn check_stream(file: &mut File) -> Result<Option<String>, String> {
    let size = file.seek(SeekFrom::End(0)).map_err(text)?;
    let cut = || "it ends in the middle of a message; fetch or write it again".to_owned();
    let mut at = 0;
    while at + 4 <= size {
        let mut length = read_at(file, at, 4)?;
        at += 4;
        if length == [0xff; 4] {
            if at + 4 > size {
                return Err(cut());
            }
            length = read_at(file, at, 4)?;
            at += 4;
        }
        let metadata_bytes = u32::from_le_bytes([length[0], length[1], length[2], length[3]]);
        let metadata_bytes = u64::from(metadata_bytes);
        if metadata_bytes == 0 {
            break;
        }
        if metadata_bytes > size - at {
            return Err(cut());
        }
        let metadata = read_at(file, at, metadata_bytes)?;
        at += metadata_bytes;
        let message = root_as_message(&metadata).map_err(text)?;
        if let Some(foreign) = foreign_form(&message) {
            return Ok(Some(foreign));
        }
        let body_bytes = u64::try_from(message.bodyLength()).map_err(|_| cut())?;
        if body_bytes > size - at {
            return Err(cut());
        }
        check_message(file, &message, at, body_bytes)?;
        at += body_bytes;
    }
    rewind(file).map(|()| None)
}

fn check_message(file: &mut File, message: &Message<'_>, body_at: u64, body_bytes: u64) -> Result<(), String> {
    let batch = match message.header_type() {
        MessageHeader::RecordBatch => message.header_as_record_batch(),
        MessageHeader::DictionaryBatch => message.header_as_dictionary_batch().and_then(|dictionary| dictionary.data()),
        _ => return Ok(()),
    };
    let batch = batch.ok_or("a message has no content")?;
    if batch.length() < 0 {
        return Err("a batch has a negative number of rows".to_owned());
    }
    check_buffers(file, &batch, body_at, body_bytes)
}

fn check_buffers(file: &mut File, batch: &RecordBatch<'_>, body_at: u64, body_bytes: u64) -> Result<(), String> {
    for buffer in batch.buffers().into_iter().flatten() {
        let outside = || "a buffer lies outside of its batch".to_owned();
        let offset = u64::try_from(buffer.offset()).map_err(|_| outside())?;
        let length = u64::try_from(buffer.length()).map_err(|_| outside())?;
        if offset.checked_add(length).is_none_or(|end| end > body_bytes) {
            return Err(outside());
        }
        if batch.compression().is_some() && length >= 8 {
            let prefix = read_at(file, body_at + offset, 8)?;
            let unpacked = prefix.try_into().map_or(i64::MAX, i64::from_le_bytes);
            if unpacked > UNPACKED_BYTES_MAX {
                return Err(format!("a buffer claims to unpack to {unpacked} bytes"));
            }
        }
    }
    Ok(())
}

/// `bytes` was compared with the size of the file before.
fn read_at(file: &mut File, at: u64, bytes: u64) -> Result<Vec<u8>, String> {
    let mut buffer = vec![0; bytes as usize];
    file.seek(SeekFrom::Start(at)).and_then(|_| file.read_exact(&mut buffer)).map_err(text)?;
    Ok(buffer)
}

fn rewind(file: &mut File) -> Result<(), String> {
    file.rewind().map_err(|error: io::Error| error.to_string())
}

fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}
