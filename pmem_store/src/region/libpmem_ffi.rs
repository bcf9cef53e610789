//! Bindings to libpmem 1.x, which is loaded at the first use: one binary runs with and without it. This is the only file
//! that uses the library.
//!
//! Declarations follow `libpmem.h` of 1.12.1.

use std::ffi::{CStr, c_void};
use std::io;
use std::os::raw::{c_char, c_int, c_uint};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr::NonNull;
use std::sync::OnceLock;

use libc::{mode_t, size_t};

/// Create the file, or *truncate* an existing one: never use it without [`PMEM_FILE_EXCL`] or
/// [`PMEM_FILE_TMPFILE`]. The library's `PMEM_FILE_SPARSE` is left out on purpose: it turns a full
/// disk into SIGBUS.
pub(super) const PMEM_FILE_CREATE: c_int = 1 << 0;
pub(super) const PMEM_FILE_EXCL: c_int = 1 << 1;
/// The path is a directory; the file has no name and vanishes with its last user.
pub(super) const PMEM_FILE_TMPFILE: c_int = 1 << 3;

pub(super) const PMEM_F_MEM_NODRAIN: c_uint = 1 << 0;
/// Undefined together with the library's TEMPORAL, WB or NOFLUSH flags.
pub(super) const PMEM_F_MEM_NONTEMPORAL: c_uint = 1 << 1;

const PMEM_MAJOR_VERSION: c_uint = 1;
const PMEM_MINOR_VERSION: c_uint = 1;

macro_rules! functions {
    ($($name:ident: fn($($argument:ty),*) $(-> $result:ty)?;)*) => {
        /// The library's functions.
        pub(super) struct Libpmem { $(pub(super) $name: unsafe extern "C" fn($($argument),*) $(-> $result)?,)* }

        impl Libpmem {
            /// # Safety
            ///
            /// `handle` is an open libpmem.so.1, never closed.
            unsafe fn resolve(handle: NonNull<c_void>) -> Result<Libpmem, String> {
                Ok(Libpmem { $($name: {
                    // SAFETY: handle is open and the name ends in a NUL; a function pointer has the
                    // size of the address, and the type is the one libpmem.h declares for this
                    // name. Held by `a_libpmem_region_seals_what_was_written`.
                    unsafe {
                        let address = libc::dlsym(handle.as_ptr(), concat!(stringify!($name), "\0").as_ptr().cast());
                        if address.is_null() {
                            return Err(format!("libpmem.so.1 has no {}, so it is too old", stringify!($name)));
                        }
                        std::mem::transmute::<*mut c_void, unsafe extern "C" fn($($argument),*) $(-> $result)?>(address)
                    }
                },)* })
            }
        }
    };
}

functions! {
    pmem_map_file: fn(*const c_char, size_t, c_int, mode_t, *mut size_t, *mut c_int) -> *mut c_void;
    pmem_unmap: fn(*mut c_void, size_t) -> c_int;
    pmem_msync: fn(*const c_void, size_t) -> c_int;
    pmem_flush: fn(*const c_void, size_t);
    pmem_drain: fn();
    pmem_memcpy: fn(*mut c_void, *const c_void, size_t, c_uint) -> *mut c_void;
    pmem_check_version: fn(c_uint, c_uint) -> *const c_char;
    pmem_errormsg: fn() -> *const c_char;
}

/// What [`Libpmem::map`] returns: a whole file mapped read-write.
pub(super) struct Mapped {
    pub(super) start: NonNull<u8>,
    pub(super) len: usize,
    pub(super) is_pmem: bool,
}

/// The loaded library, or why there is none. Tried once per process.
pub(super) fn library() -> Result<&'static Libpmem, &'static str> {
    static LIBRARY: OnceLock<Result<Libpmem, String>> = OnceLock::new();
    LIBRARY.get_or_init(load).as_ref().map_err(String::as_str)
}

fn load() -> Result<Libpmem, String> {
    // SAFETY: the name is NUL-terminated. Loading runs libpmem's constructor, which reads the
    // environment and the CPU's features, and nothing of ours. The handle is never closed, so the
    // functions stay valid. dlerror and pmem_check_version return NULL or a string that is valid
    // until the next call on this thread. Held by `a_libpmem_region_seals_what_was_written` and
    // `a_library_that_cannot_be_used_is_named_or_done_without`.
    unsafe {
        let handle = libc::dlopen(c"libpmem.so.1".as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL);
        let handle = NonNull::new(handle).ok_or_else(|| text(libc::dlerror()).unwrap_or_else(|| "libpmem.so.1 does not load".into()))?;
        let library = Libpmem::resolve(handle)?;
        match text((library.pmem_check_version)(PMEM_MAJOR_VERSION, PMEM_MINOR_VERSION)) {
            None => Ok(library),
            Some(reason) => Err(reason),
        }
    }
}

/// # Safety
///
/// `message` is NULL or a NUL-terminated string.
unsafe fn text(message: *const c_char) -> Option<String> {
    // SAFETY: not NULL here, and the caller vouches for the rest. Held by
    // `a_library_that_cannot_be_used_is_named_or_done_without`.
    (!message.is_null()).then(|| unsafe { CStr::from_ptr(message) }.to_string_lossy().into_owned())
}

impl Libpmem {
    /// Creates and maps a file of `len` bytes, reserved on the medium; with neither length nor
    /// flags, maps the file that is there.
    pub(super) fn map(&self, path: &Path, len: usize, flags: c_int) -> io::Result<Mapped> {
        let path = std::ffi::CString::new(path.as_os_str().as_bytes()).map_err(|_| io::Error::from(io::ErrorKind::InvalidInput))?;
        let (mut mapped_len, mut is_pmem) = (0, 0);
        // SAFETY: the path is NUL-terminated and both result pointers are valid for the call.
        // Held by `a_libpmem_region_seals_what_was_written`.
        let start = unsafe { (self.pmem_map_file)(path.as_ptr(), len, flags, 0o666, &mut mapped_len, &mut is_pmem) };
        // Read before anything else can change errno.
        let error = io::Error::last_os_error();
        match NonNull::new(start.cast::<u8>()) {
            Some(start) => Ok(Mapped { start, len: mapped_len, is_pmem: is_pmem != 0 }),
            None => Err(self.explain(error)),
        }
    }

    /// Keeps the error number if there is one, since callers tell a full disk by it.
    fn explain(&self, error: io::Error) -> io::Error {
        if error.raw_os_error().is_some_and(|number| number != 0) {
            return error;
        }
        // SAFETY: returns a string that is valid until the next failing call on this thread. No
        // test can hold it: every failure of the library that a test can cause sets errno.
        let message = unsafe { text((self.pmem_errormsg)()) };
        io::Error::other(message.unwrap_or_default())
    }
}
