//! A region written through libpmem: CPU instructions on persistent memory, msync elsewhere.

use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use super::libpmem_ffi::{self, Libpmem, Mapped, PMEM_F_MEM_NODRAIN, PMEM_F_MEM_NONTEMPORAL, PMEM_FILE_CREATE, PMEM_FILE_EXCL};
use super::mapped::{Backing, CreateError};

/// Larger copies bypass the caches: they would only be flushed again, and other data
/// evicted for it.
const NONTEMPORAL_BYTES_MIN: usize = 4096;

/// A file mapped read-write by libpmem; unmapped on drop.
pub(super) struct PmemMap {
    library: &'static Libpmem,
    mapped: Mapped,
}

// SAFETY: the mapping belongs to this value alone and is not bound to a thread; all writes need
// `&mut`. Held by `a_region_can_be_written_by_another_thread_than_the_one_that_made_it`.
unsafe impl Send for PmemMap {}

impl PmemMap {
    /// Maps an existing file in its whole length.
    pub(super) fn open(path: &Path) -> Result<PmemMap, CreateError> {
        let library = libpmem_ffi::library().map_err(|reason| CreateError::NoLibpmem(reason.to_owned()))?;
        // Zero flags, because any flag would create or truncate the file.
        let mapped = library.map(path, 0, 0)?;
        Ok(PmemMap { library, mapped })
    }
}

impl Backing for PmemMap {
    const IS_MAPPED: bool = true;

    fn create(path: &Path, capacity: usize) -> Result<PmemMap, CreateError> {
        let library = libpmem_ffi::library().map_err(|reason| CreateError::NoLibpmem(reason.to_owned()))?;
        let mapped = loop {
            match library.map(path, capacity, PMEM_FILE_CREATE | PMEM_FILE_EXCL) {
                // posix_fallocate stops at any signal; the library has removed the file then.
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                mapped => break mapped?,
            }
        };
        let map = PmemMap { library, mapped };
        if map.mapped.len != capacity {
            return Err(io::Error::other("libpmem mapped another length than asked for").into());
        }
        Ok(map)
    }

    fn is_pmem(&self) -> bool {
        self.mapped.is_pmem
    }

    fn bytes(&self) -> &[u8] {
        // SAFETY: `len` bytes are mapped readable until drop, and writes need `&mut self`.
        // Held by `a_libpmem_region_seals_what_was_written`.
        unsafe { std::slice::from_raw_parts(self.mapped.start.as_ptr(), self.mapped.len) }
    }

    fn copy_in(&mut self, offset: usize, bytes: &[u8]) {
        debug_assert!(offset + bytes.len() <= self.mapped.len);
        // SAFETY: `mapped::MappedRegion` checked the range; source and target cannot overlap, as
        // the target is borrowed mutably. NODRAIN with NONTEMPORAL is a valid pair of flags. Held
        // by `writes_outside_the_capacity_are_refused` and `the_dax_path_writes_the_same_bytes`.
        unsafe {
            let target = self.mapped.start.as_ptr().add(offset);
            if self.mapped.is_pmem {
                let large = bytes.len() >= NONTEMPORAL_BYTES_MIN;
                let flags = PMEM_F_MEM_NODRAIN | if large { PMEM_F_MEM_NONTEMPORAL } else { 0 };
                (self.library.pmem_memcpy)(target.cast(), bytes.as_ptr().cast(), bytes.len(), flags);
            } else {
                std::ptr::copy_nonoverlapping(bytes.as_ptr(), target, bytes.len());
            }
        }
    }

    fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: `len` bytes are mapped writable until drop, and are borrowed as this value is. Held by
        // `bytes_made_in_place_are_sealed_as_written_ones`.
        unsafe { std::slice::from_raw_parts_mut(self.mapped.start.as_ptr(), self.mapped.len) }
    }

    fn written(&mut self, offset: usize, len: usize) {
        debug_assert!(offset + len <= self.mapped.len);
        if self.mapped.is_pmem {
            // SAFETY: the range is mapped, checked by `mapped::MappedRegion`. Plain stores stay in the caches until they are
            // flushed from there. Held by `the_dax_path_writes_the_same_bytes`.
            unsafe { (self.library.pmem_flush)(self.mapped.start.as_ptr().add(offset).cast(), len) };
        }
    }

    fn store_u64(&mut self, offset: usize, value: u64) {
        debug_assert!(offset.is_multiple_of(8) && offset + 8 <= self.mapped.len);
        // SAFETY: in range and aligned, checked by `mapped::MappedRegion` (the mapping starts on a
        // page); only this thread can reach it. Held by
        // `a_published_value_is_stored_little_endian`.
        unsafe {
            let target = self.mapped.start.as_ptr().add(offset);
            AtomicU64::from_ptr(target.cast()).store(value.to_le(), Ordering::Release);
            if self.mapped.is_pmem {
                (self.library.pmem_flush)(target.cast(), 8);
            }
        }
    }

    fn sync(&mut self, offset: usize, len: usize) -> io::Result<()> {
        // SAFETY: the range is mapped, checked by `mapped::MappedRegion`; pmem_msync rounds it to
        // pages itself. Held by `a_libpmem_region_seals_what_was_written`.
        unsafe {
            if self.mapped.is_pmem {
                // Every write has flushed its cache lines already. The drain is needed with eADR
                // too: it orders the non-temporal stores.
                (self.library.pmem_drain)();
                return Ok(());
            }
            let start = self.mapped.start.as_ptr().add(offset);
            match (self.library.pmem_msync)(start.cast(), len) {
                0 => Ok(()),
                _ => Err(io::Error::last_os_error()),
            }
        }
    }
}

impl Drop for PmemMap {
    fn drop(&mut self) {
        // SAFETY: mapped by pmem_map_file with this length, and nothing can refer to it any more.
        // It fails only for ranges that were never mapped. Held by
        // `a_region_that_is_gone_is_no_longer_mapped`.
        unsafe { (self.library.pmem_unmap)(self.mapped.start.as_ptr().cast(), self.mapped.len) };
    }
}
