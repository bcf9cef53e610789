//! The bytes of a log, as `docs/format.md` shows them. Little-endian.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::path::Path;
use std::sync::Arc;

use arrow::datatypes::{Schema, SchemaRef};

use crate::checksum::xxh3;
use crate::error::{Result, StoreError};
use crate::segment::ALIGNMENT;

const MAGIC: [u8; 8] = *b"QUIVRLOG";
pub(super) const FORMAT_VERSION: u32 = 1;
/// The header, and with it the first record, takes a multiple of this.
pub(super) const PAGE_BYTES: usize = 4096;
pub(super) const RECORD_HEADER_BYTES: usize = 64;
/// Flag: the record counts only if the catalog has its version.
pub(super) const WITH_CATALOG: u16 = 1;
/// Flag: rows of several commits, which a table at the end of the body tells apart. The version and the time
/// are those of the last one.
pub(super) const SEVERAL_COMMITS: u16 = 2;

/// Of the last word of a record's header; the time has the others.
const FLAG_BITS: u32 = 16;

const FIXED_BYTES: usize = 128;
const CHECKSUM_AT: usize = 120;

/// What a log belongs to. A file that says otherwise is not opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogIdentity {
    pub table: u64,
    /// An id of the store's segments: the one of the segment that the log becomes.
    pub log: u64,
    pub schema_version: u32,
}

/// What stands at the beginning of the file; never changes.
#[derive(Debug)]
pub(super) struct FileHeader {
    pub identity: LogIdentity,
    pub capacity_bytes: u64,
    pub epoch: u64,
    pub first_record: u64,
    pub schema: SchemaRef,
}

/// A number nobody else has drawn.
pub(super) fn random() -> u64 {
    // The keys of a `RandomState` come from the system's randomness, and no two are the same.
    RandomState::new().build_hasher().finish()
}

/// Where the first record lies behind a schema message of this length.
pub(super) fn first_record(schema_bytes: usize) -> u64 {
    (FIXED_BYTES + schema_bytes).next_multiple_of(PAGE_BYTES) as u64
}

/// The bytes before the first record.
pub(super) fn encode_header(identity: LogIdentity, capacity_bytes: u64, epoch: u64, schema_message: &[u8]) -> Vec<u8> {
    let first_record = first_record(schema_message.len());
    let mut bytes = vec![0; first_record as usize];
    put(&mut bytes, 0, &MAGIC);
    put(&mut bytes, 8, &FORMAT_VERSION.to_le_bytes());
    put(&mut bytes, 12, &identity.schema_version.to_le_bytes());
    for (at, value) in [(16, identity.table), (24, identity.log), (32, capacity_bytes), (40, epoch), (48, first_record)] {
        put(&mut bytes, at, &value.to_le_bytes());
    }
    put(&mut bytes, 56, &(schema_message.len() as u32).to_le_bytes());
    put(&mut bytes, FIXED_BYTES, schema_message);
    let checksum = xxh3(&bytes);
    put(&mut bytes, CHECKSUM_AT, &checksum.to_le_bytes());
    bytes
}

/// The size of the whole file of which `bytes` begin with the header.
pub(super) fn capacity_of(bytes: &[u8]) -> u64 {
    u64_at(bytes, 32)
}

/// Reads the header of a log of which `bytes` are the first.
pub(super) fn parse_begin(path: &Path, bytes: &[u8]) -> Result<FileHeader> {
    let damaged = |offset: u64, what: &str| StoreError::damaged(path, offset, what);
    if bytes.len() < PAGE_BYTES || bytes[..8] != MAGIC {
        return Err(damaged(0, "it does not begin as a log"));
    }
    let found = u32_at(bytes, 8);
    if found > FORMAT_VERSION {
        return Err(StoreError::NewerVersion { path: path.to_path_buf(), found, format_max: FORMAT_VERSION });
    }
    let first_record = u64_at(bytes, 48);
    let schema_end = FIXED_BYTES + u32_at(bytes, 56) as usize;
    let header = usize::try_from(first_record).ok().and_then(|end| bytes.get(..end));
    let header = header.filter(|header| header.len().is_multiple_of(PAGE_BYTES) && schema_end <= header.len());
    let mut header = header.ok_or_else(|| damaged(48, "its header has impossible lengths"))?.to_vec();
    let checksum = u64_at(&header, CHECKSUM_AT);
    put(&mut header, CHECKSUM_AT, &[0; 8]);
    let found = xxh3(&header);
    if found != checksum {
        return Err(damaged(0, &format!("its header has checksum {found:016x}, expected {checksum:016x}")));
    }
    let capacity_bytes = u64_at(bytes, 32);
    let schema = read_schema(&header[FIXED_BYTES..schema_end]);
    let schema = schema.ok_or_else(|| damaged(FIXED_BYTES as u64, "its schema cannot be read"))?;
    let identity = LogIdentity { table: u64_at(bytes, 16), log: u64_at(bytes, 24), schema_version: u32_at(bytes, 12) };
    Ok(FileHeader { identity, capacity_bytes, epoch: u64_at(bytes, 40), first_record, schema: Arc::new(schema) })
}

/// `fb_to_schema` panics on types it does not know; a panic here is damage, not a crash.
fn read_schema(message: &[u8]) -> Option<Schema> {
    let message = arrow_ipc::root_as_message(message.get(8..)?).ok()?;
    let schema = message.header_as_schema()?;
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| arrow_ipc::convert::fb_to_schema(schema))).ok()
}

/// The 64 bytes before the message of a record.
#[derive(Debug, Clone, Copy)]
pub(super) struct RecordHeader {
    pub checksum: u64,
    pub previous: u64,
    pub session: u64,
    pub version: u64,
    pub row_count: u32,
    pub message_bytes: u32,
    pub body_bytes: u64,
    pub flags: u16,
    /// Since 1970; 48 bits.
    pub committed_at_ms: u64,
}

impl RecordHeader {
    /// The commit word.
    pub fn record_bytes(&self) -> u64 {
        // A foreign body length may be anything; an impossible sum fits no commit word.
        (RECORD_HEADER_BYTES as u64 + u64::from(self.message_bytes)).saturating_add(self.body_bytes)
    }

    /// The same with the checksum it must have in front of a message and body of this hash.
    pub fn with_checksum(mut self, payload_xxh3: u64) -> RecordHeader {
        let mut covered = [0; RECORD_HEADER_BYTES - 8];
        covered[..48].copy_from_slice(&self.to_bytes()[16..]);
        covered[48..].copy_from_slice(&payload_xxh3.to_le_bytes());
        self.checksum = xxh3(&covered);
        self
    }

    pub fn to_bytes(self) -> [u8; RECORD_HEADER_BYTES] {
        let mut bytes = [0; RECORD_HEADER_BYTES];
        let words = [
            self.record_bytes(),
            self.checksum,
            self.previous,
            self.session,
            self.version,
            u64::from(self.row_count) | u64::from(self.message_bytes) << 32,
            self.body_bytes,
            u64::from(self.flags) | self.committed_at_ms << FLAG_BITS,
        ];
        for (target, word) in bytes.chunks_exact_mut(8).zip(words) {
            target.copy_from_slice(&word.to_le_bytes());
        }
        bytes
    }

    /// None if the commit word does not fit the lengths: no record begins here.
    pub fn parse(bytes: &[u8; RECORD_HEADER_BYTES]) -> Option<RecordHeader> {
        let header = RecordHeader {
            checksum: u64_at(bytes, 8),
            previous: u64_at(bytes, 16),
            session: u64_at(bytes, 24),
            version: u64_at(bytes, 32),
            row_count: u32_at(bytes, 40),
            message_bytes: u32_at(bytes, 44),
            body_bytes: u64_at(bytes, 48),
            flags: u64_at(bytes, 56) as u16,
            committed_at_ms: u64_at(bytes, 56) >> FLAG_BITS,
        };
        let commit_word = u64_at(bytes, 0);
        let fits = commit_word == header.record_bytes()
            && header.message_bytes > 0
            && (header.message_bytes as usize).is_multiple_of(ALIGNMENT)
            && commit_word.is_multiple_of(ALIGNMENT as u64);
        fits.then_some(header)
    }
}

fn put(bytes: &mut [u8], at: usize, value: &[u8]) {
    bytes[at..at + value.len()].copy_from_slice(value);
}

pub(super) fn u64_at(bytes: &[u8], at: usize) -> u64 {
    let mut word = [0; 8];
    word.copy_from_slice(&bytes[at..at + 8]);
    u64::from_le_bytes(word)
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    let mut word = [0; 4];
    word.copy_from_slice(&bytes[at..at + 4]);
    u32::from_le_bytes(word)
}
