//! A region on a plain mapped file, for platforms without libpmem.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use memmap2::{MmapMut, MmapOptions};

use super::mapped::{Backing, CreateError};

/// A file mapped read-write with memmap2; unmapped on drop.
pub(super) struct PlainMap {
    map: MmapMut,
}

impl Backing for PlainMap {
    const IS_MAPPED: bool = true;

    fn create(path: &Path, capacity: usize) -> Result<PlainMap, CreateError> {
        let file = create_file(path, capacity)?;
        // SAFETY: the file was just made under a name nobody else uses and is written only through
        // this mapping; its bytes are reserved, so a full disk cannot fault. Held by
        // `a_plain_region_seals_what_was_written`.
        let map = unsafe { MmapOptions::new().len(capacity).map_mut(&file) }?;
        Ok(PlainMap { map })
    }

    fn bytes(&self) -> &[u8] {
        &self.map
    }

    fn copy_in(&mut self, offset: usize, bytes: &[u8]) {
        self.map[offset..offset + bytes.len()].copy_from_slice(bytes);
    }

    fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.map
    }

    fn store_u64(&mut self, offset: usize, value: u64) {
        let target = self.map[offset..offset + 8].as_mut_ptr();
        // SAFETY: in range (sliced above) and aligned, as `mapped::MappedRegion` checked and
        // mappings start on a page; borrowed mutably. Held by
        // `a_published_value_is_stored_little_endian`.
        unsafe { AtomicU64::from_ptr(target.cast()) }.store(value.to_le(), Ordering::Release);
    }

    fn sync(&mut self, offset: usize, len: usize) -> io::Result<()> {
        self.map.flush_range(offset, len)
    }
}

/// Makes the file, which must not exist, and reserves its bytes.
pub(super) fn create_file(path: &Path, capacity: usize) -> io::Result<File> {
    let file = OpenOptions::new().read(true).write(true).create_new(true).open(path)?;
    let len = libc::off_t::try_from(capacity).map_err(|_| io::Error::from(io::ErrorKind::FileTooLarge))?;
    loop {
        // SAFETY: the descriptor is open; posix_fallocate returns the error instead of setting
        // errno. Held by `all_bytes_of_a_region_are_reserved_when_it_is_created` and
        // `a_reservation_the_system_refuses_leaves_no_file`.
        match unsafe { libc::posix_fallocate(file.as_raw_fd(), 0, len) } {
            0 => return Ok(file),
            libc::EINTR => {}
            number => return Err(io::Error::from_raw_os_error(number)),
        }
    }
}
