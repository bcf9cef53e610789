//! A file of fixed capacity that is read while it is written; it can be closed and opened again for writing.
//! A log lies in such a file. Readers have their own mappings of it ([`crate::mapping`]).
//!
//! On persistent memory it is written through libpmem's mapping. Elsewhere it is written with pwrite
//! and made durable with fdatasync, although the readers' mappings show the same pages: a store to
//! a mapped page makes the kernel write back the whole folio it lies in (seen: 124 KiB for 1 KiB),
//! pwrite only the blocks it touched.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;

use parking_lot::Mutex;

use super::libpmem::PmemMap;
use super::mapped::{Backing, CreateError, UnsealedFile, check_new, clean_up};
use super::simulated::Trace;
use super::{Mode, PoisonFlag, RegionError, RegionKind, detect, libpmem_ffi, plain};
use crate::fault::{Access, FaultGuard};

/// The writing side of a file that grows inside its capacity. If it is dropped before [`LogRegion::keep`], it
/// removes its file.
///
/// Fails with [`RegionError::Poisoned`] once a write or flush of this region, or of any other that
/// shares its [`PoisonFlag`], has failed.
pub struct LogRegion {
    medium: Medium,
    file: UnsealedFile,
    capacity: u64,
    mode: Mode,
    poison: Arc<PoisonFlag>,
}

enum Medium {
    Pmem(Mutex<GuardedMap>),
    File(File),
    Simulated { file: File, trace: Trace },
}

/// Fields drop in this order: the guard before the mapping it guards.
struct GuardedMap {
    guard: FaultGuard,
    map: PmemMap,
}

impl GuardedMap {
    fn new(map: PmemMap) -> io::Result<GuardedMap> {
        let bytes = map.bytes();
        // SAFETY: the mapping starts on a page, has this length, is ours alone and outlives the
        // guard by field order. Held by `the_dax_path_of_a_log_writes_the_same_records`.
        let guard = unsafe { FaultGuard::register(bytes.as_ptr(), bytes.len(), Access::ReadWrite) }?;
        Ok(GuardedMap { guard, map })
    }

    fn sync(&mut self) -> io::Result<()> {
        self.map.sync(0, 0)?;
        match self.guard.damaged() {
            // If a write lost its page, it went to a page of zeros.
            true => Err(io::Error::other("the file was truncated, or the medium failed, while it was written")),
            false => Ok(()),
        }
    }
}

impl LogRegion {
    /// Makes the file at `path` with `capacity` bytes, all reserved on the medium.
    ///
    /// # Errors
    ///
    /// As [`super::create`]. No new file remains.
    pub fn create(path: &Path, capacity: u64, kind: RegionKind, poison: Arc<PoisonFlag>) -> Result<LogRegion, RegionError> {
        poison.check()?;
        let simulated = matches!(kind, RegionKind::Simulated | RegionKind::SimulatedDax);
        let len = check_new(path, capacity, !simulated)?;
        let medium = create_medium(path, len, kind);
        let medium = medium.map_err(|error| clean_up(path, capacity, error))?;
        LogRegion::new(path, capacity, kind, medium, false, poison)
    }

    /// Opens the file at `path` for writing; it must have `capacity` bytes.
    ///
    /// # Errors
    ///
    /// [`RegionError::Open`], [`RegionError::Length`], [`RegionError::NoLibpmem`].
    pub fn open(path: &Path, capacity: u64, kind: RegionKind, poison: Arc<PoisonFlag>) -> Result<LogRegion, RegionError> {
        poison.check()?;
        let error = |source| RegionError::Open { path: path.to_owned(), source };
        let found = path.metadata().map_err(error)?.len();
        if found != capacity {
            return Err(RegionError::Length { path: path.to_owned(), expected: capacity, found });
        }
        let medium = open_medium(path, kind).map_err(|failure| match failure {
            CreateError::NoLibpmem(reason) => RegionError::NoLibpmem { reason },
            CreateError::System(source) => error(source),
        })?;
        LogRegion::new(path, capacity, kind, medium, true, poison)
    }

    fn new(
        path: &Path,
        capacity: u64,
        kind: RegionKind,
        medium: Medium,
        sealed: bool,
        poison: Arc<PoisonFlag>,
    ) -> Result<LogRegion, RegionError> {
        let file = UnsealedFile { path: path.to_owned(), sealed };
        let volatile = detect::is_volatile(path).map_err(|source| RegionError::FileSystem { path: path.to_owned(), source })?;
        let mode = match &medium {
            _ if kind == RegionKind::SimulatedDax => Mode::Dax,
            _ if volatile => Mode::Volatile,
            Medium::Pmem(_) => Mode::Dax,
            Medium::File(_) | Medium::Simulated { .. } => Mode::Msync,
        };
        Ok(LogRegion { medium, file, capacity, mode, poison })
    }

    /// Size of the file, in bytes.
    pub fn capacity(&self) -> u64 {
        self.capacity
    }

    /// How a flush of this region makes data durable.
    pub fn mode(&self) -> Mode {
        self.mode
    }

    pub fn path(&self) -> &Path {
        &self.file.path
    }

    pub fn poison(&self) -> &Arc<PoisonFlag> {
        &self.poison
    }

    /// The event record of a simulated region.
    pub fn trace(&self) -> Option<Trace> {
        match &self.medium {
            Medium::Simulated { trace, .. } => Some(trace.clone()),
            Medium::Pmem(_) | Medium::File(_) => None,
        }
    }

    /// Makes the length and the reserved bytes of a new file durable; from here on the file stays. The caller
    /// syncs its name.
    ///
    /// # Errors
    ///
    /// As [`LogRegion::flush`].
    pub fn keep(&mut self) -> Result<(), RegionError> {
        self.poison.check()?;
        let synced = match &self.medium {
            Medium::Pmem(map) => {
                let drained = map.lock().sync();
                drained.and_then(|()| File::open(&self.file.path)?.sync_all())
            }
            Medium::File(file) => file.sync_all(),
            Medium::Simulated { trace, .. } => trace.sync(0, self.capacity as usize),
        };
        synced.map_err(|source| self.flush_failed(source))?;
        self.file.sealed = true;
        Ok(())
    }

    /// Writes `bytes` at `offset`; all mappings of the file see them from now on. They are durable only after
    /// [`LogRegion::flush`]; until then any part of them may be.
    ///
    /// # Errors
    ///
    /// [`RegionError::OutOfBounds`] beyond the capacity, nothing is written then;
    /// [`RegionError::Write`] if the system could not, which poisons the store.
    pub fn write(&self, offset: u64, bytes: &[u8]) -> Result<(), RegionError> {
        self.poison.check()?;
        let start = self.check_range(offset, bytes.len() as u64)?;
        let written = match &self.medium {
            Medium::Pmem(map) => {
                map.lock().map.copy_in(start, bytes);
                Ok(())
            }
            Medium::File(file) => file.write_all_at(bytes, offset),
            Medium::Simulated { file, trace } => trace.write(file, offset, bytes),
        };
        written.map_err(|source| {
            let len = bytes.len() as u64;
            let path = self.file.path.clone();
            let error = RegionError::Write { path, offset, len, source };
            self.poison.poison(error.reason());
            error
        })
    }

    /// Writes `value` little-endian at `offset` (a multiple of 8), on persistent memory with one
    /// atomic store.
    ///
    /// # Errors
    ///
    /// [`RegionError::Misaligned`], and as [`LogRegion::write`].
    pub fn publish_u64(&self, offset: u64, value: u64) -> Result<(), RegionError> {
        if !offset.is_multiple_of(8) {
            return Err(RegionError::Misaligned { path: self.file.path.clone(), offset });
        }
        let Medium::Pmem(map) = &self.medium else {
            return self.write(offset, &value.to_le_bytes());
        };
        self.poison.check()?;
        let start = self.check_range(offset, 8)?;
        map.lock().map.store_u64(start, value);
        Ok(())
    }

    /// Returns when everything that was written before survives a loss of power, as far as the mode
    /// promises that. Other threads may write meanwhile. On persistent memory it covers what *this
    /// thread* wrote: a drain waits for the stores of its own CPU.
    ///
    /// # Errors
    ///
    /// [`RegionError::Flush`], which poisons the store.
    pub fn flush(&self) -> Result<(), RegionError> {
        self.poison.check()?;
        let flushed = match &self.medium {
            Medium::Pmem(map) => map.lock().sync(),
            Medium::File(file) => file.sync_data(),
            Medium::Simulated { trace, .. } => trace.sync(0, self.capacity as usize),
        };
        flushed.map_err(|source| self.flush_failed(source))
    }

    fn flush_failed(&self, source: io::Error) -> RegionError {
        let (path, len) = (self.file.path.clone(), self.capacity);
        let error = RegionError::Flush { path, offset: 0, len, source };
        self.poison.poison(error.reason());
        error
    }

    /// The offset in memory, if the range lies inside the capacity.
    fn check_range(&self, offset: u64, len: u64) -> Result<usize, RegionError> {
        match offset.checked_add(len) {
            // The cast fits, because readers map a file of this capacity.
            Some(end) if end <= self.capacity => Ok(offset as usize),
            _ => {
                let (path, capacity) = (self.file.path.clone(), self.capacity);
                Err(RegionError::OutOfBounds { path, offset, len, capacity })
            }
        }
    }
}

fn wants_libpmem(kind: RegionKind) -> bool {
    match kind {
        RegionKind::Libpmem => true,
        RegionKind::Auto => libpmem_ffi::library().is_ok(),
        RegionKind::Plain | RegionKind::Simulated | RegionKind::SimulatedDax => false,
    }
}

fn create_medium(path: &Path, len: usize, kind: RegionKind) -> Result<Medium, CreateError> {
    if wants_libpmem(kind) {
        // This creates and reserves the file whether or not it is persistent memory.
        return pmem_or_file(path, PmemMap::create(path, len)?);
    }
    if matches!(kind, RegionKind::Simulated | RegionKind::SimulatedDax) {
        let file = OpenOptions::new().read(true).write(true).create_new(true).open(path)?;
        file.set_len(len as u64)?;
        let trace = Trace::of_log(path, vec![0; len].into())?;
        return Ok(Medium::Simulated { file, trace });
    }
    Ok(Medium::File(plain::create_file(path, len)?))
}

fn open_medium(path: &Path, kind: RegionKind) -> Result<Medium, CreateError> {
    if wants_libpmem(kind) {
        return pmem_or_file(path, PmemMap::open(path)?);
    }
    let file = open_file(path)?;
    if matches!(kind, RegionKind::Simulated | RegionKind::SimulatedDax) {
        let trace = Trace::of_old(path, || std::fs::read(path))?;
        return Ok(Medium::Simulated { file, trace });
    }
    Ok(Medium::File(file))
}

fn pmem_or_file(path: &Path, map: PmemMap) -> Result<Medium, CreateError> {
    match map.is_pmem() {
        true => Ok(Medium::Pmem(Mutex::new(GuardedMap::new(map)?))),
        false => Ok(Medium::File(open_file(path)?)),
    }
}

fn open_file(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).write(true).open(path)
}
