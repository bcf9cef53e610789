//! Copies of segments in memory. A segment that lies in an object store is read through one, into which its buffers are fetched when a
//! query needs them; a segment of the tier in memory has a copy of all its bytes.
//!
//! A copy is an unnamed file in memory. It is mapped as the file of any other segment is, and its memory is free when nobody has it mapped.
//! It is lost with the process, and whatever has a copy lies durably elsewhere.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Once};

use arrow::datatypes::Field;
use object_tier::ObjectError;
use parking_lot::Mutex;
use rustix::fs::{MemfdFlags, memfd_create};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use super::checksum::ChecksumEntry;
use super::object_file::{Fetched, ObjectFile, read_file};
use super::seal::SidePaths;
use super::with_mark;
use crate::error::{Result, StoreError};
use crate::files::RowLocation;
use crate::mapping::Mapping;

#[derive(Debug)]
pub(super) struct StagedFile {
    file: File,
    segment: PathBuf,
    size_bytes: u64,
    /// Where the rest of the bytes is fetched from; `None` if all are here.
    pub source: Option<ObjectFile>,
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
        let (segment, fetching) = (segment.to_path_buf(), Mutex::default());
        Ok(StagedFile { file, segment, size_bytes, source: None, local_columns: Vec::new(), fetching })
    }

    /// With the metadata of a segment whose rows are in an object store; see [`metadata_of`].
    pub fn of_object(segment: &Path, size_bytes: u64, url: String, entries: &[ChecksumEntry]) -> Result<StagedFile> {
        let path = SidePaths::of(segment).metadata;
        let (mut bytes, source) = metadata_file(&path, url, entries.len())?;
        let staged = StagedFile::new(segment, size_bytes)?;
        let mut at = 0;
        for entry in entries.iter().filter(|entry| entry.is_metadata) {
            let end = at + entry.length as usize;
            let missing = || StoreError::damaged(&path, bytes.len() as u64, "it is shorter than when it was written");
            staged.write(bytes.get(at..end).ok_or_else(missing)?, entry.offset)?;
            at = end;
        }
        Ok(StagedFile { source: Some(source), local_columns: bytes.split_off(at), ..staged })
    }

    pub fn map(&self, size_bytes: u64) -> Result<Arc<Mapping>> {
        Ok(Mapping::of_file(&self.file, &self.segment, Some(size_bytes))?)
    }

    /// Invariant: nobody has been given these bytes before they are written, and they are written with one content only.
    pub fn write(&self, bytes: &[u8], offset: u64) -> Result<()> {
        self.file.write_all_at(bytes, offset).map_err(|error| StoreError::io("copy to memory", &self.segment, error))
    }

    /// Fetches entries of the segment, whose checksums must be right.
    pub fn fetch(
        &self,
        entries: &[ChecksumEntry],
        indices: &[usize],
        verify: impl Fn(&[u8], &ChecksumEntry) -> Result<()>,
    ) -> Result<Fetched> {
        let Some(source) = &self.source else { return Ok(Fetched::default()) };
        let take = |bytes: &[u8], entry: &ChecksumEntry| {
            verify(bytes, entry)?;
            self.write(bytes, entry.offset)
        };
        match source.fetch(&self.segment, entries, indices, self.size_bytes, &take) {
            Err(StoreError::ObjectStore(ObjectError::NotFound { .. })) => {}
            fetched => return fetched,
        }
        // While this copy was in use, the rows have moved to another tier, or to another file of the same one.
        let RowLocation::Object(url) = RowLocation::of(&self.segment) else { return read_file(&self.segment, entries, indices, &take) };
        let (_, source) = metadata_file(&SidePaths::of(&self.segment).metadata, url, entries.len())?;
        source.fetch(&self.segment, entries, indices, self.size_bytes, &take)
    }
}

/// The file of the metadata without what it has of the file in the object store.
fn metadata_file(path: &Path, url: String, entries: usize) -> Result<(Vec<u8>, ObjectFile)> {
    let mut bytes = std::fs::read(path).map_err(|error| StoreError::io("read", path, error))?;
    let source = ObjectFile::new(url, &mut bytes, path, entries)?;
    Ok((bytes, source))
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
    with_mark(field, LOCAL_MARK)
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
