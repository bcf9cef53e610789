//! Finds the parts of an Arrow IPC file. It trusts no number in the file before it has checked its bounds:
//! `arrow-ipc` panics on some foreign bytes.

use std::path::Path;
use std::sync::Arc;

use arrow::datatypes::{Schema, SchemaRef};
use arrow_ipc::{Block, MetadataVersion, root_as_footer};

use crate::error::{Result, StoreError};

const MAGIC: &[u8; 6] = b"ARROW1";
const TRAILER_BYTES: usize = 10;

/// The positions of the parts of a segment file.
#[derive(Debug)]
pub(super) struct Layout {
    /// With the stored types.
    pub schema: SchemaRef,
    pub version: MetadataVersion,
    pub blocks: Vec<Block>,
    pub dictionaries: Vec<Block>,
    /// Byte range of the footer table itself.
    pub footer: std::ops::Range<usize>,
}

impl Layout {
    pub fn parse(path: &Path, bytes: &[u8]) -> Result<Layout> {
        let damaged = |offset: usize, what: &str| StoreError::damaged(path, offset as u64, what);
        if bytes.len() < 8 + TRAILER_BYTES || &bytes[..6] != MAGIC {
            return Err(damaged(0, "it does not begin as an Arrow file"));
        }
        let trailer = bytes.len() - TRAILER_BYTES;
        if &bytes[trailer + 4..] != MAGIC {
            return Err(damaged(trailer, "it does not end as an Arrow file, so it was cut short"));
        }
        let mut length = [0u8; 4];
        length.copy_from_slice(&bytes[trailer..trailer + 4]);
        let length = i32::from_le_bytes(length);
        let start = usize::try_from(length)
            .ok()
            .and_then(|length| trailer.checked_sub(length))
            .filter(|start| *start >= 8)
            .ok_or_else(|| damaged(trailer, "the footer length is out of bounds"))?;
        let footer =
            root_as_footer(&bytes[start..trailer]).map_err(|error| damaged(start, &format!("the footer is not readable: {error}")))?;
        let schema = read_schema(&footer).ok_or_else(|| damaged(start, "the footer has no readable schema"))?;
        let blocks: Vec<Block> = footer.recordBatches().map(|blocks| blocks.iter().copied().collect()).unwrap_or_default();
        let dictionaries: Vec<Block> = footer.dictionaries().map(|blocks| blocks.iter().copied().collect()).unwrap_or_default();
        for block in blocks.iter().chain(&dictionaries) {
            check_block(block, start).ok_or_else(|| damaged(start, "a block lies outside the file"))?;
        }
        Ok(Layout { schema, version: footer.version(), blocks, dictionaries, footer: start..bytes.len() })
    }
}

/// `fb_to_schema` panics on types it does not know; a panic here is damage, not a crash.
fn read_schema(footer: &arrow_ipc::Footer<'_>) -> Option<SchemaRef> {
    let schema = footer.schema()?;
    let schema: Schema = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| arrow_ipc::convert::fb_to_schema(schema))).ok()?;
    Some(Arc::new(schema))
}

fn check_block(block: &Block, end: usize) -> Option<()> {
    let (offset, body) = (u64::try_from(block.offset()).ok()?, u64::try_from(block.bodyLength()).ok()?);
    let metadata = u64::try_from(block.metaDataLength()).ok()?;
    let last = offset.checked_add(metadata)?.checked_add(body)?;
    (metadata >= 8 && last <= end as u64).then_some(())
}

/// The byte range of a block's message and of its body.
pub(super) fn block_ranges(block: &Block) -> (std::ops::Range<usize>, std::ops::Range<usize>) {
    let start = block.offset() as usize;
    let body = start + block.metaDataLength() as usize;
    (start..body, body..body + block.bodyLength() as usize)
}
