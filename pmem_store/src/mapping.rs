//! Read-only mappings of sealed segment files; queries read them in place.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::ptr::NonNull;
use std::sync::Arc;

use arrow::buffer::Buffer;
use memmap2::{Mmap, MmapMut, MmapOptions};

use crate::fault::{Access, FaultGuard};

/// Why a file could not be mapped, or why a part of a mapping is not available.
#[derive(Debug, thiserror::Error)]
pub enum MappingError {
    #[error("cannot open \"{}\" for reading: {source}", path.display())]
    Open { path: PathBuf, source: io::Error },
    #[error("\"{}\" is not a regular file", path.display())]
    NotAFile { path: PathBuf },
    #[error("\"{}\" is empty; a sealed file never is, so it was damaged after it was written", path.display())]
    Empty { path: PathBuf },
    #[error("\"{}\" has {found} bytes where the catalog says {expected}; restore it from a backup", path.display())]
    Length { path: PathBuf, expected: u64, found: u64 },
    #[error("cannot map the {len} bytes of \"{}\": {source}", path.display())]
    Map { path: PathBuf, len: u64, source: io::Error },
    #[error("bytes {offset}..+{len} lie outside \"{}\", which has {size} bytes", path.display())]
    OutOfBounds { path: PathBuf, offset: usize, len: usize, size: usize },
}

/// A sealed file mapped read-only (`MAP_SHARED`, `PROT_READ`) as a whole.
///
/// # The contract this rests on
///
/// A `&[u8]` promises that its bytes do not change, and no mapping of a file can promise that by
/// itself: any process with write permission may change the file. What makes it good enough is a
/// rule of the store: **a sealed file is immutable**. It is never written, truncated or reused
/// after the region that wrote it was sealed, and deleting it is harmless while it is mapped.
/// Foreign writers to the store's directory are outside the trust boundary: one that overwrites
/// bytes in place changes what queries see. One that *truncates* the file does not end the process:
/// lost pages read as zeros and [`Mapping::damaged`] turns true, see [`crate::fault`].
///
/// So a reader computes first and asks `damaged()` afterwards, before it hands out the result.
/// Until it has asked, bytes may be zeros the file never held; code that skips validation must stay
/// in bounds for zeros too.
#[derive(Debug)]
pub struct Mapping {
    // Before `map`: fields drop in order, and the guard must be gone when the range is unmapped.
    guard: FaultGuard,
    map: Mmap,
    path: PathBuf,
}

impl Mapping {
    /// Maps the file at `path`. With `expected_len` (bytes) a file of another length is refused.
    ///
    /// # Errors
    ///
    /// The file cannot be opened or mapped, is not a regular file, is empty, or has not the
    /// expected length.
    pub fn open(path: &Path, expected_len: Option<u64>) -> Result<Arc<Mapping>, MappingError> {
        let open_error = |source| MappingError::Open { path: path.to_owned(), source };
        let file = File::open(path).map_err(open_error)?;
        Mapping::of_file(&file, path, expected_len)
    }

    /// As [`Mapping::open`], for an open file; `path` is its name in errors.
    pub(crate) fn of_file(file: &File, path: &Path, expected_len: Option<u64>) -> Result<Arc<Mapping>, MappingError> {
        let metadata = file.metadata().map_err(|source| MappingError::Open { path: path.to_owned(), source })?;
        let found = metadata.len();
        if !metadata.is_file() {
            return Err(MappingError::NotAFile { path: path.to_owned() });
        }
        if let Some(expected) = expected_len.filter(|&expected| expected != found) {
            return Err(MappingError::Length { path: path.to_owned(), expected, found });
        }
        if found == 0 {
            return Err(MappingError::Empty { path: path.to_owned() });
        }
        let map_error = |source| MappingError::Map { path: path.to_owned(), len: found, source };
        let len = usize::try_from(found).map_err(|_| map_error(io::ErrorKind::FileTooLarge.into()))?;
        // SAFETY: sealed files are immutable (see the type's contract) and truncation by others is
        // caught by the guard below. Held by
        // `a_truncated_file_reads_as_zeros_and_is_marked_damaged`.
        let map = unsafe { MmapOptions::new().len(len).map(file) }.map_err(map_error)?;
        Mapping::with_guard(map, path).map_err(map_error)
    }

    /// Zeros, in place of a file that cannot be read at all.
    pub(crate) fn zeros(path: &Path) -> Result<Arc<Mapping>, MappingError> {
        let map = MmapOptions::new().len(1).map_anon().and_then(MmapMut::make_read_only);
        let mapping = map.and_then(|map| Mapping::with_guard(map, path));
        mapping.map_err(|source| MappingError::Map { path: path.to_owned(), len: 1, source })
    }

    fn with_guard(map: Mmap, path: &Path) -> io::Result<Arc<Mapping>> {
        // SAFETY: `map` starts on a page, has this length, is ours alone and outlives the guard by
        // field order. Held by `slots_of_dropped_mappings_are_used_again`.
        let guard = unsafe { FaultGuard::register(map.as_ptr(), map.len(), Access::Read) }?;
        Ok(Arc::new(Mapping { guard, map, path: path.to_owned() }))
    }

    /// Size in bytes; never 0.
    #[expect(clippy::len_without_is_empty, reason = "a mapping is never empty")]
    pub fn len(&self) -> usize {
        self.map.len()
    }

    /// Address of the first byte; on a page boundary.
    pub fn as_ptr(&self) -> *const u8 {
        self.map.as_ptr()
    }

    /// The path of the mapped file, as given when it was opened.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether a part of the file was found missing or unreadable since it was mapped. Once true it
    /// stays true, and nothing that was read from the mapping is to be trusted.
    pub fn damaged(&self) -> bool {
        self.guard.damaged()
    }

    /// `len` bytes from `offset`, in place.
    ///
    /// # Errors
    ///
    /// [`MappingError::OutOfBounds`] if they are not all inside the file.
    pub fn slice(&self, offset: usize, len: usize) -> Result<&[u8], MappingError> {
        let end = offset.checked_add(len);
        end.and_then(|end| self.map.get(offset..end)).ok_or_else(|| MappingError::OutOfBounds {
            path: self.path.clone(),
            offset,
            len,
            size: self.map.len(),
        })
    }

    /// `len` bytes from `offset` as an Arrow buffer, in place; the buffer keeps the mapping alive.
    ///
    /// # Errors
    ///
    /// [`MappingError::OutOfBounds`] if they are not all inside the file.
    pub fn buffer(self: &Arc<Self>, offset: usize, len: usize) -> Result<Buffer, MappingError> {
        let start = NonNull::from(self.slice(offset, len)?).cast::<u8>();
        // SAFETY: as in `whole`. An allocation of its own, so that memory accounting counts these
        // bytes and not the file. Held by `a_buffer_outlives_the_mapping_it_was_taken_from`.
        Ok(unsafe { Buffer::from_custom_allocation(start, len, Arc::clone(self) as _) })
    }

    /// The whole file as an Arrow buffer, in place; the buffer keeps the mapping alive.
    pub fn whole(self: &Arc<Self>) -> Buffer {
        let start = NonNull::from(&self.map[..]).cast::<u8>();
        // SAFETY: the range is mapped as long as the `Arc` given as owner lives, and is never
        // written through. Held by `a_buffer_outlives_the_mapping_it_was_taken_from`.
        unsafe { Buffer::from_custom_allocation(start, self.map.len(), Arc::clone(self) as _) }
    }

    /// Whether the `len` bytes at `start` all lie in this mapping. It serves to count bytes that are read in
    /// place.
    pub fn contains(&self, start: *const u8, len: usize) -> bool {
        let offset = start.addr().checked_sub(self.as_ptr().addr());
        offset.and_then(|offset| offset.checked_add(len)).is_some_and(|end| end <= self.len())
    }
}
