//! Copies of segments in memory. A segment that lies in an object store is read through one, into which its buffers are fetched when a
//! query needs them; a segment of the tier in memory has a copy of all its bytes.
//!
//! A copy is an unnamed file in memory. It is mapped as the file of any other segment is, and its memory is free when nobody has it mapped.
//! It is lost with the process, and whatever has a copy lies durably elsewhere.

use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Once};

use arrow::datatypes::Field;
use object_tier::{Bytes, ObjectError};
use parking_lot::Mutex;
use rustix::fs::{MemfdFlags, memfd_create};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use super::checksum::ChecksumEntry;
use super::seal::SidePaths;
use crate::error::{Result, StoreError};
use crate::files::RowLocation;
use crate::mapping::Mapping;

/// Ranges with no more than this between them are read in one request, with what lies between. A request to an object store takes some 20 ms
/// before its first byte, in which 1 MiB arrives.
pub const MERGE_GAP_BYTES: u64 = 1 << 20;
/// Longer requests are divided, because several at once are faster.
pub const REQUEST_MAX_BYTES: u64 = 8 << 20;

#[derive(Debug)]
pub(super) struct StagedFile {
    file: File,
    segment: PathBuf,
    /// Where the rest of the bytes is fetched from; `None` if all are here.
    pub url: Option<String>,
    /// What the file of the metadata has behind it: see [`kept_local`].
    pub local_columns: Vec<u8>,
    /// One reader fetches, so that others find what they need when it has come.
    pub fetching: Mutex<()>,
}

impl StagedFile {
    /// Full of zeros, which take no memory.
    pub fn new(segment: &Path, size_bytes: u64) -> Result<StagedFile> {
        allow_many_files();
        let failed = |error| StoreError::io("copy to memory", segment, error);
        let file = File::from(memfd_create("quiver-segment", MemfdFlags::CLOEXEC).map_err(|error| failed(error.into()))?);
        file.set_len(size_bytes).map_err(failed)?;
        Ok(StagedFile { file, segment: segment.to_path_buf(), url: None, local_columns: Vec::new(), fetching: Mutex::default() })
    }

    /// With the metadata of a segment whose rows are in an object store; see [`metadata_of`].
    pub fn of_object(segment: &Path, size_bytes: u64, url: String, entries: &[ChecksumEntry]) -> Result<StagedFile> {
        let path = SidePaths::of(segment).metadata;
        let mut bytes = std::fs::read(&path).map_err(|error| StoreError::io("read", &path, error))?;
        let staged = StagedFile::new(segment, size_bytes)?;
        let mut at = 0;
        for entry in entries.iter().filter(|entry| entry.is_metadata) {
            let end = at + entry.length as usize;
            let missing = || StoreError::damaged(&path, bytes.len() as u64, "it is shorter than when it was written");
            staged.write(bytes.get(at..end).ok_or_else(missing)?, entry.offset)?;
            at = end;
        }
        Ok(StagedFile { url: Some(url), local_columns: bytes.split_off(at), ..staged })
    }

    pub fn map(&self, size_bytes: u64) -> Result<Arc<Mapping>> {
        Ok(Mapping::of_file(&self.file, &self.segment, Some(size_bytes))?)
    }

    /// Invariant: nobody has been given these bytes before they are written, and they are written with one content only.
    pub fn write(&self, bytes: &[u8], offset: u64) -> Result<()> {
        self.file.write_all_at(bytes, offset).map_err(|error| StoreError::io("copy to memory", &self.segment, error))
    }

    /// Fetches these ranges, whose checksums must be right. Returns the number of requests.
    pub fn fetch(&self, entries: &[&ChecksumEntry], verify: impl Fn(&[u8], &ChecksumEntry) -> Result<()>) -> Result<u64> {
        let Some(url) = &self.url else { return Ok(0) };
        let requests = requests(entries);
        let answers = match object_tier::read_ranges(url, &requests) {
            Err(ObjectError::NotFound { .. }) => self.read_elsewhere(&requests)?,
            answers => answers?,
        };
        for entry in entries {
            let mut bytes = Vec::with_capacity(entry.length as usize);
            for (request, answer) in requests.iter().zip(&answers) {
                let (from, to) = (entry.offset.max(request.start), (entry.offset + entry.length).min(request.end));
                if from < to {
                    let range = (from - request.start) as usize..(to - request.start) as usize;
                    bytes.extend_from_slice(answer.get(range).unwrap_or_default());
                }
            }
            verify(&bytes, entry)?;
            self.write(&bytes, entry.offset)?;
        }
        Ok(requests.len() as u64)
    }

    /// While this copy was in use, the rows have moved to another tier, or to another file of the same one.
    fn read_elsewhere(&self, requests: &[Range<u64>]) -> Result<Vec<Bytes>> {
        let failed = |error| StoreError::io("read", &self.segment, error);
        if let RowLocation::Object(url) = RowLocation::of(&self.segment) {
            return Ok(object_tier::read_ranges(&url, requests)?);
        }
        let file = File::open(&self.segment).map_err(failed)?;
        let read = |range: &Range<u64>| {
            let mut bytes = vec![0; (range.end - range.start) as usize];
            file.read_exact_at(&mut bytes, range.start).map(|()| bytes.into()).map_err(failed)
        };
        requests.iter().map(read).collect()
    }
}

/// Each copy is an open file, of which a process may often have 1,024 until it asks for more.
fn allow_many_files() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let limit = getrlimit(Resource::Nofile);
        // If it is refused, some copies may be.
        let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit });
    });
}

/// In the metadata of a field: the column stays in the store's directory when the rows go to an object store.
const LOCAL_MARK: &str = "quiver.local";

/// The field of a column without which no row is found, also of rows that nobody can fetch.
pub(crate) fn kept_local(field: Field) -> Field {
    let mut metadata = field.metadata().clone();
    metadata.insert(LOCAL_MARK.to_string(), "1".to_string());
    field.with_metadata(metadata)
}

pub(super) fn is_local(field: &Field) -> bool {
    field.metadata().contains_key(LOCAL_MARK)
}

/// The bytes of a segment that describe its batches, one range after another. They stay in the store's directory when the rows go to an object
/// store, so that a segment is opened and its zones are skipped without a request.
pub(super) fn metadata_of(bytes: &[u8], entries: &[ChecksumEntry]) -> Vec<u8> {
    let of_entry = |entry: &ChecksumEntry| bytes.get(entry.offset as usize..(entry.offset + entry.length) as usize).unwrap_or_default();
    entries.iter().filter(|entry| entry.is_metadata).flat_map(of_entry).copied().collect()
}

/// The requests for entries that are sorted by their offsets.
fn requests(entries: &[&ChecksumEntry]) -> Vec<Range<u64>> {
    let mut merged: Vec<Range<u64>> = Vec::new();
    for entry in entries {
        let end = entry.offset + entry.length;
        match merged.last_mut() {
            Some(last) if entry.offset <= last.end + MERGE_GAP_BYTES => last.end = last.end.max(end),
            _ => merged.push(entry.offset..end),
        }
    }
    let pieces = |range: Range<u64>| {
        let starts = range.clone().step_by(REQUEST_MAX_BYTES as usize);
        starts.map(move |start| start..(start + REQUEST_MAX_BYTES).min(range.end)).collect::<Vec<_>>()
    };
    merged.into_iter().flat_map(pieces).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(offset: u64, length: u64) -> ChecksumEntry {
        ChecksumEntry { batch: 0, is_metadata: false, offset, length, xxh3: 0 }
    }

    #[test]
    fn near_ranges_are_one_request_and_long_ones_several() {
        let (gap, max) = (MERGE_GAP_BYTES, REQUEST_MAX_BYTES);
        let of = |entries: &[ChecksumEntry]| {
            let requests = requests(&entries.iter().collect::<Vec<_>>());
            requests.into_iter().map(|range| (range.start, range.end)).collect::<Vec<_>>()
        };
        assert_eq!(of(&[entry(64, 100), entry(164 + gap, 10)]), [(64, 174 + gap)]);
        assert_eq!(of(&[entry(64, 100), entry(165 + gap, 10)]), [(64, 164), (165 + gap, 175 + gap)]);
        assert_eq!(of(&[entry(10, 2 * max + 1)]), [(10, 10 + max), (10 + max, 10 + 2 * max), (10 + 2 * max, 11 + 2 * max)]);
        assert_eq!(of(&[]), []);
    }
}
