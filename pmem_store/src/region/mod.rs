//! Writes files of fixed capacity through memory; segments are made this way.
//!
//! A region is created empty and preallocated, written, flushed, and *sealed*: unmapped, trimmed to
//! what was written and synced. From then on the file never changes and is read through
//! [`crate::mapping`].
//!
//! - `mapped`: the common part of all regions: bounds, poisoning, clean-up, sealing
//! - `libpmem` (with `libpmem_ffi`, the only file that uses the library), `plain`, `simulated`:
//!   the three backings
//! - `detect`: finds out which promise a directory can keep; `environment`: settings that would break it
//!
//! - `log_region`: the file of a log, which is read while it is written, closed and opened again
//!
//! **Invariant:** a region never reuses an existing file, never leaves an unsealed one behind in a
//! living process, and never writes again after a flush has failed. A `LogRegion` keeps its file from
//! [`LogRegion::keep`] on, and never reuses the file of another.

mod detect;
mod environment;
mod error;
mod libpmem;
mod libpmem_ffi;
mod log_region;
mod mapped;
mod plain;
mod poison;
pub mod simulated;

use std::fmt;
use std::path::Path;
use std::sync::Arc;

pub use detect::detect_mode;
pub use environment::refuse_forced_pmem;
pub use error::RegionError;
pub use log_region::LogRegion;
pub use poison::{CommitInDoubt, PoisonFlag};

/// What a store promises about data it has acknowledged; shown to the user in lower case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mode {
    /// Persistent memory mapped with `MAP_SYNC`: durable once flushed from the CPU's caches,
    /// without the kernel.
    Dax,
    /// A file in the page cache: durable once msync has returned.
    Msync,
    /// A file system in memory (tmpfs, ramfs): gone with the power.
    Volatile,
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Mode::Dax => "dax",
            Mode::Msync => "msync",
            Mode::Volatile => "volatile",
        })
    }
}

/// Which implementation writes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum RegionKind {
    /// libpmem where it is installed, else [`RegionKind::Plain`].
    #[default]
    Auto,
    /// libpmem, or an error where it is not installed.
    Libpmem,
    /// A mapped file and msync, even on persistent memory.
    Plain,
    /// Memory that records what would reach the medium; the file is written when sealed. For crash
    /// tests.
    Simulated,
    /// The same, written in the order of persistent memory. For crash tests of logs.
    SimulatedDax,
}

/// A writable, preallocated file of fixed capacity. Dropped without [`Region::seal`], it removes
/// its file.
///
/// Every method that writes or flushes fails with [`RegionError::Poisoned`] once a flush of this
/// region, or of any other that shares its [`PoisonFlag`], has failed.
pub trait Region: Send {
    /// Size of the file until it is sealed, in bytes.
    fn capacity(&self) -> u64;

    /// How a flush of this region makes data durable.
    fn mode(&self) -> Mode;

    /// Copies `bytes` to `offset` (bytes). Durable only after [`Region::flush`]; until then any
    /// part may be.
    ///
    /// # Errors
    ///
    /// [`RegionError::OutOfBounds`] beyond the capacity; nothing is written then.
    fn write(&mut self, offset: u64, bytes: &[u8]) -> Result<(), RegionError>;

    /// Lets `make` write the `len` bytes from `offset` in place; bytes that it does not write keep their values. As after
    /// [`Region::write`], they are durable only after a flush.
    ///
    /// # Errors
    ///
    /// [`RegionError::OutOfBounds`] beyond the capacity; `make` is not called then.
    fn write_with(&mut self, offset: u64, len: u64, make: &mut dyn FnMut(&mut [u8])) -> Result<(), RegionError>;

    /// Stores `value` little-endian at `offset` (bytes, a multiple of 8) with one atomic store:
    /// after a crash the old or the new value is there, never a mixture. Orders nothing: flush what
    /// it announces first, and flush it after.
    ///
    /// # Errors
    ///
    /// [`RegionError::Misaligned`], [`RegionError::OutOfBounds`].
    fn publish_u64(&mut self, offset: u64, value: u64) -> Result<(), RegionError>;

    /// Returns when what was written to these `len` bytes from `offset` survives a loss of power,
    /// as far as the mode promises that.
    ///
    /// # Errors
    ///
    /// [`RegionError::Flush`] if the system could not write; then the region and its store are
    /// poisoned, because the kernel may have dropped the data and would report success the next
    /// time.
    fn flush(&mut self, offset: u64, len: u64) -> Result<(), RegionError>;

    /// All bytes of the region as written so far; zeros where nothing was written.
    fn as_slice(&self) -> &[u8];

    /// Flushes everything, unmaps the file, trims it to `len` bytes and syncs it. The directory is
    /// the caller's to sync, once for all files it made.
    ///
    /// # Errors
    ///
    /// As [`Region::flush`]; [`RegionError::SealedEmpty`] for 0; [`RegionError::Seal`] naming the
    /// step that failed. On any error the file is removed.
    fn seal(self: Box<Self>, len: u64) -> Result<(), RegionError>;

    /// The record of a simulated region; `None` for real ones. It stays readable after sealing.
    fn trace(&self) -> Option<simulated::Trace> {
        None
    }
}

/// Creates the file at `path` with `capacity` bytes, all reserved on the medium, as a region of
/// this kind.
///
/// # Errors
///
/// [`RegionError::NoSpace`] if the bytes cannot be reserved, [`RegionError::Exists`] if there is a
/// file already (it is left alone), [`RegionError::NoLibpmem`], [`RegionError::Create`] for other
/// refusals of the system. No new file remains.
pub fn create(path: &Path, capacity: u64, kind: RegionKind, poison: Arc<PoisonFlag>) -> Result<Box<dyn Region>, RegionError> {
    poison.check()?;
    match kind {
        RegionKind::Simulated | RegionKind::SimulatedDax => mapped::create::<simulated::Memory>(path, capacity, poison),
        RegionKind::Plain => mapped::create::<plain::PlainMap>(path, capacity, poison),
        RegionKind::Libpmem => mapped::create::<libpmem::PmemMap>(path, capacity, poison),
        RegionKind::Auto if libpmem_ffi::library().is_ok() => mapped::create::<libpmem::PmemMap>(path, capacity, poison),
        RegionKind::Auto => mapped::create::<plain::PlainMap>(path, capacity, poison),
    }
}
