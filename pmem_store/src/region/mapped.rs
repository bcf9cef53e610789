//! The common part of all regions, whatever their backing: bounds, poisoning, clean-up and sealing.

use std::fs::OpenOptions;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::simulated::Trace;
use super::{Mode, PoisonFlag, Region, RegionError, detect};
use crate::fault::{Access, FaultGuard};

/// The part in which regions differ. The caller checks ranges before it calls these.
pub(super) trait Backing: Send + Sized + 'static {
    /// Whether `bytes` is a file mapping, so that touching it may fault.
    const IS_MAPPED: bool;

    /// Creates the file, which must not exist, and reserves `capacity` bytes.
    fn create(path: &Path, capacity: usize) -> Result<Self, CreateError>;

    /// Whether flushing the CPU's caches is enough.
    fn is_pmem(&self) -> bool {
        false
    }

    fn bytes(&self) -> &[u8];
    fn copy_in(&mut self, offset: usize, bytes: &[u8]);
    fn bytes_mut(&mut self) -> &mut [u8];

    /// The caller has written to these bytes through [`Backing::bytes_mut`]; this does what `copy_in` does besides copying.
    fn written(&mut self, _offset: usize, _len: usize) {}

    fn store_u64(&mut self, offset: usize, value: u64);
    fn sync(&mut self, offset: usize, len: usize) -> io::Result<()>;

    /// Releases the memory; what was synced is in the file at `path` afterwards.
    fn close(self, _path: &Path) -> io::Result<()> {
        Ok(())
    }

    fn trace(&self) -> Option<Trace> {
        None
    }
}

pub(super) enum CreateError {
    NoLibpmem(String),
    System(io::Error),
}

impl From<io::Error> for CreateError {
    fn from(error: io::Error) -> CreateError {
        CreateError::System(error)
    }
}

/// A region over any backing.
struct MappedRegion<B> {
    // Fields drop in this order: the guard before the mapping it guards, the mapping before its
    // file is removed.
    guard: Option<FaultGuard>,
    backing: B,
    file: UnsealedFile,
    poison: Arc<PoisonFlag>,
    mode: Mode,
}

/// Removes the file on drop unless it was sealed: a failed import must not keep its space until the
/// next start.
pub(super) struct UnsealedFile {
    pub(super) path: PathBuf,
    pub(super) sealed: bool,
}

impl Drop for UnsealedFile {
    fn drop(&mut self) {
        if !self.sealed {
            // If this fails the file stays until the store is opened again, which removes what the
            // catalog does not name.
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

/// The error for a file of `capacity` bytes that the system did not make.
pub(super) fn create_error(path: &Path, capacity: u64, source: io::Error) -> RegionError {
    let path = path.to_owned();
    match source.raw_os_error() {
        Some(libc::EEXIST) => RegionError::Exists { path },
        Some(libc::ENOSPC | libc::EDQUOT | libc::EFBIG) => RegionError::NoSpace { path, capacity, source },
        _ => RegionError::Create { path, capacity, source },
    }
}

/// The length of a file to be made. It is an error if the file exists or, with `takes_space`, if there is no room
/// for it.
pub(super) fn check_new(path: &Path, capacity: u64, takes_space: bool) -> Result<usize, RegionError> {
    let error = |source| create_error(path, capacity, source);
    // This is checked here too, so that a failure later can only concern a file of our own.
    if path.symlink_metadata().is_ok() {
        return Err(error(io::Error::from_raw_os_error(libc::EEXIST)));
    }
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    let directory = directory.unwrap_or(Path::new("."));
    // Without this check a hopeless reservation first takes all the space that is left, from everybody.
    if takes_space && detect::available_bytes(directory).is_some_and(|free| free < capacity) {
        return Err(error(io::Error::from_raw_os_error(libc::ENOSPC)));
    }
    let len = usize::try_from(capacity).ok().filter(|&len| len > 0 && len <= isize::MAX as usize);
    len.ok_or_else(|| error(io::ErrorKind::InvalidInput.into()))
}

/// Removes the remains of a failed creation and returns the error for it.
pub(super) fn clean_up(path: &Path, capacity: u64, error: CreateError) -> RegionError {
    match error {
        CreateError::NoLibpmem(reason) => RegionError::NoLibpmem { reason },
        CreateError::System(source) => {
            if source.raw_os_error() != Some(libc::EEXIST) {
                let _ = std::fs::remove_file(path);
            }
            create_error(path, capacity, source)
        }
    }
}

pub(super) fn create<B: Backing>(path: &Path, capacity: u64, poison: Arc<PoisonFlag>) -> Result<Box<dyn Region>, RegionError> {
    let len = check_new(path, capacity, B::IS_MAPPED)?;
    let backing = B::create(path, len).map_err(|error| clean_up(path, capacity, error))?;
    let error = |source| create_error(path, capacity, source);
    let file = UnsealedFile { path: path.to_owned(), sealed: false };
    let mode = match (detect::is_volatile(path).map_err(error)?, backing.is_pmem()) {
        (true, _) => Mode::Volatile,
        (false, true) => Mode::Dax,
        (false, false) => Mode::Msync,
    };
    let guard = if B::IS_MAPPED {
        // SAFETY: the mapping starts on a page, has `len` bytes, is ours alone and outlives the
        // guard by field order. Held by
        // `a_region_whose_file_was_truncated_is_refused_at_the_next_flush`.
        Some(unsafe { FaultGuard::register(backing.bytes().as_ptr(), len, Access::ReadWrite) }.map_err(error)?)
    } else {
        None
    };
    Ok(Box::new(MappedRegion { guard, backing, file, poison, mode }))
}

impl<B: Backing> MappedRegion<B> {
    /// The range as memory offsets, if it lies inside the capacity.
    fn range(&self, offset: u64, len: u64) -> Result<(usize, usize), RegionError> {
        let capacity = self.capacity();
        match offset.checked_add(len) {
            // The cast fits, because the capacity itself came from a usize.
            Some(end) if end <= capacity => Ok((offset as usize, len as usize)),
            _ => Err(RegionError::OutOfBounds { path: self.file.path.clone(), offset, len, capacity }),
        }
    }

    fn sync(&mut self, offset: usize, len: usize) -> io::Result<()> {
        self.backing.sync(offset, len)?;
        // If a write lost its page, it went to a page of zeros, and no msync reports that.
        if self.guard.as_ref().is_some_and(FaultGuard::damaged) {
            return Err(io::Error::other("the file was truncated, or the medium failed, while it was written"));
        }
        Ok(())
    }
}

impl<B: Backing> Region for MappedRegion<B> {
    fn capacity(&self) -> u64 {
        self.backing.bytes().len() as u64
    }

    fn mode(&self) -> Mode {
        self.mode
    }

    fn write(&mut self, offset: u64, bytes: &[u8]) -> Result<(), RegionError> {
        self.poison.check()?;
        let (offset, _) = self.range(offset, bytes.len() as u64)?;
        self.backing.copy_in(offset, bytes);
        Ok(())
    }

    fn write_with(&mut self, offset: u64, len: u64, make: &mut dyn FnMut(&mut [u8])) -> Result<(), RegionError> {
        self.poison.check()?;
        let (start, len) = self.range(offset, len)?;
        make(&mut self.backing.bytes_mut()[start..start + len]);
        self.backing.written(start, len);
        Ok(())
    }

    fn publish_u64(&mut self, offset: u64, value: u64) -> Result<(), RegionError> {
        self.poison.check()?;
        let (start, _) = self.range(offset, 8)?;
        if !offset.is_multiple_of(8) {
            return Err(RegionError::Misaligned { path: self.file.path.clone(), offset });
        }
        self.backing.store_u64(start, value);
        Ok(())
    }

    fn flush(&mut self, offset: u64, len: u64) -> Result<(), RegionError> {
        self.poison.check()?;
        let (start, size) = self.range(offset, len)?;
        self.sync(start, size).map_err(|source| {
            let error = RegionError::Flush { path: self.file.path.clone(), offset, len, source };
            self.poison.poison(error.reason());
            error
        })
    }

    fn as_slice(&self) -> &[u8] {
        self.backing.bytes()
    }

    fn seal(mut self: Box<Self>, len: u64) -> Result<(), RegionError> {
        self.poison.check()?;
        self.range(0, len)?;
        if len == 0 {
            return Err(RegionError::SealedEmpty { path: self.file.path.clone() });
        }
        self.flush(0, len)?;
        let MappedRegion { guard, backing, mut file, poison, .. } = *self;
        drop(guard);
        let seal_error = |step, path: &Path, source| RegionError::Seal { path: path.to_owned(), step, source };
        backing.close(&file.path).map_err(|source| seal_error("write", &file.path, source))?;

        let on_disk = OpenOptions::new().write(true).open(&file.path);
        let on_disk = on_disk.map_err(|source| seal_error("open", &file.path, source))?;
        // Nothing maps the file now, so trimming it cannot take a page from anybody.
        on_disk.set_len(len).map_err(|source| seal_error("trim", &file.path, source))?;
        on_disk.sync_all().map_err(|source| {
            // As with msync: the kernel reports a failed write once and then calls the pages clean.
            let error = RegionError::Flush { path: file.path.clone(), offset: 0, len, source };
            poison.poison(error.reason());
            error
        })?;
        file.sealed = true;
        Ok(())
    }

    fn trace(&self) -> Option<Trace> {
        self.backing.trace()
    }
}
