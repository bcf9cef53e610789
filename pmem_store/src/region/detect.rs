//! Detects which promise a directory can keep.

use std::ffi::CString;
use std::io;
use std::mem::MaybeUninit;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use super::libpmem_ffi::{self, PMEM_FILE_CREATE, PMEM_FILE_TMPFILE};
use super::{Mode, RegionError, RegionKind};

/// Large enough for any page size in use.
const PROBE_BYTES: usize = 64 * 1024;

/// The mode regions of this kind will have in the directory `dir`. Leaves nothing behind: the probe
/// is a file without a name. A directory that cannot be written is judged by its file system alone,
/// as `msync` or `volatile`.
///
/// # Errors
///
/// [`RegionError::FileSystem`] if `dir` does not exist or cannot be looked at;
/// [`RegionError::NoLibpmem`] if `kind` demands libpmem and there is none.
pub fn detect_mode(dir: &Path, kind: RegionKind) -> Result<Mode, RegionError> {
    let library = match kind {
        RegionKind::Auto => libpmem_ffi::library().ok(),
        RegionKind::Libpmem => Some(libpmem_ffi::library().map_err(|reason| RegionError::NoLibpmem { reason: reason.to_owned() })?),
        RegionKind::Plain | RegionKind::Simulated | RegionKind::SimulatedDax => None,
    };
    let volatile = is_volatile(dir).map_err(|source| RegionError::FileSystem { path: dir.to_owned(), source })?;
    if volatile {
        return Ok(Mode::Volatile);
    }
    let dax = library.is_some_and(|library| probe(library, dir));
    Ok(if dax { Mode::Dax } else { Mode::Msync })
}

/// Whether a new file in `dir` is persistent memory. Every DAX file system (ext4, xfs) knows
/// unnamed files, so one that refuses them has no DAX either.
fn probe(library: &libpmem_ffi::Libpmem, dir: &Path) -> bool {
    let Ok(mapped) = library.map(dir, PROBE_BYTES, PMEM_FILE_CREATE | PMEM_FILE_TMPFILE) else {
        return false;
    };
    // SAFETY: just mapped by pmem_map_file with this length and never handed out.
    // Held by `finding_the_mode_leaves_nothing_behind`.
    unsafe { (library.pmem_unmap)(mapped.start.as_ptr().cast(), mapped.len) };
    mapped.is_pmem
}

/// Whether the file system at `path` lives in memory.
pub(super) fn is_volatile(path: &Path) -> io::Result<bool> {
    let path = CString::new(path.as_os_str().as_bytes())?;
    let mut answer = MaybeUninit::<libc::statfs>::zeroed();
    // SAFETY: the path is NUL-terminated and `answer` valid; zeroes are a valid statfs, so it is
    // initialised even if the call fails. Held by `a_file_system_in_memory_is_volatile`.
    let (status, answer) = unsafe { (libc::statfs(path.as_ptr(), answer.as_mut_ptr()), answer.assume_init()) };
    if status != 0 {
        return Err(io::Error::last_os_error());
    }
    // f_type is signed on some platforms, and these numbers have 32 bits.
    Ok([TMPFS_MAGIC, RAMFS_MAGIC, HUGETLBFS_MAGIC].contains(&(answer.f_type as u32)))
}

/// Bytes a user may still write at `path`; `None` if the file system does not say.
pub(super) fn available_bytes(path: &Path) -> Option<u64> {
    let path = CString::new(path.as_os_str().as_bytes()).ok()?;
    let mut answer = MaybeUninit::<libc::statvfs>::zeroed();
    // SAFETY: as in `is_volatile`. Held by
    // `a_region_larger_than_the_disk_is_refused_and_leaves_no_file`.
    let (status, answer) = unsafe { (libc::statvfs(path.as_ptr(), answer.as_mut_ptr()), answer.assume_init()) };
    (status == 0 && answer.f_blocks > 0).then(|| answer.f_bavail.saturating_mul(answer.f_frsize))
}

const TMPFS_MAGIC: u32 = 0x0102_1994;
const RAMFS_MAGIC: u32 = 0x8584_58f6;
const HUGETLBFS_MAGIC: u32 = 0x9584_58f6;
