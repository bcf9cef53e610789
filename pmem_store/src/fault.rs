//! Turns SIGBUS inside one of our mappings into an error for the query that hit it.
//!
//! A load from a mapped file raises SIGBUS if the page cannot be read: the file was truncated
//! under the mapping, or the medium failed. The handler here puts a page of zeros in the place of
//! the lost one, marks the mapping as damaged and lets the load run again. The reader asks
//! [`crate::mapping::Mapping::damaged`] before it hands out what it computed.
//!
//! A fault anywhere else goes to the handler that was installed before ours, by default to the kernel, which
//! ends the process as if this file did not exist.
//!
//! # Why the handler needs no lock
//!
//! A handler may interrupt any code, also code that holds a lock, so it must not take one, nor
//! allocate. It walks a list of chunks of slots; chunks are only ever added and never freed, and
//! the `damaged` flag lives in the slot itself, so no pointer the handler follows can dangle.
//!
//! A slot is reassigned under a version that is odd while it changes (a seqlock). The handler skips
//! a slot whose version is odd, or changed while the handler read it. That is right: the slot it needs is
//! the one of the mapping that the faulting thread is reading; that thread keeps the mapping alive
//! (through an `Arc`, or by owning it), and so that slot is complete and does not change before the
//! handler has returned. A slot in motion belongs to a mapping that no thread can be reading. A consistent
//! snapshot of any other slot cannot contain the address, because live mappings do not overlap.

use std::io;
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicUsize, Ordering::*, compiler_fence, fence};

use libc::{c_int, c_void, siginfo_t};
use parking_lot::Mutex;

/// Slots per chunk: 64 KiB of address space, one chunk is enough for most stores.
const SLOTS_PER_CHUNK: usize = 1024;

/// How a guarded mapping is used. The replacement page allows the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    Read,
    ReadWrite,
}

/// One guarded mapping; the slot is free when `end` is 0. It has its own cache line, so that reading `damaged`
/// never waits for a neighbour's registration.
#[repr(align(64))]
struct Slot {
    version: AtomicU32,
    writable: AtomicBool,
    damaged: AtomicBool,
    start: AtomicUsize,
    end: AtomicUsize,
}

struct Chunk {
    slots: [Slot; SLOTS_PER_CHUNK],
    next: AtomicPtr<Chunk>,
}

/// The state of the registering side; the handler never reads it.
struct Registry {
    free: Vec<&'static Slot>,
    last: Option<&'static Chunk>,
    live: usize,
}

static FIRST: Chunk = Chunk::new();
static REGISTRY: Mutex<Registry> = Mutex::new(Registry { free: Vec::new(), last: None, live: 0 });
static PAGE_SIZE: AtomicUsize = AtomicUsize::new(0);
static PREVIOUS: OnceLock<libc::sigaction> = OnceLock::new();
static INSTALLED: OnceLock<Result<(), i32>> = OnceLock::new();

impl Slot {
    const fn new() -> Slot {
        Slot {
            version: AtomicU32::new(0),
            writable: AtomicBool::new(false),
            damaged: AtomicBool::new(false),
            start: AtomicUsize::new(0),
            end: AtomicUsize::new(0),
        }
    }

    /// Assigns the slot to a mapping, or frees it with `end == 0`. Callers hold the registry's lock.
    fn assign(&self, start: usize, end: usize, writable: bool) {
        let version = self.version.load(Relaxed);
        self.version.store(version.wrapping_add(1), Relaxed);
        fence(Release);
        self.start.store(start, Relaxed);
        self.end.store(end, Relaxed);
        self.writable.store(writable, Relaxed);
        self.damaged.store(false, Relaxed);
        self.version.store(version.wrapping_add(2), Release);
    }

    /// The range, if it is complete and contains `address`.
    fn snapshot_containing(&self, address: usize) -> Option<(usize, usize, bool)> {
        let version = self.version.load(Acquire);
        let (start, end) = (self.start.load(Relaxed), self.end.load(Relaxed));
        let writable = self.writable.load(Relaxed);
        fence(Acquire);
        let stable = version.is_multiple_of(2) && self.version.load(Relaxed) == version;
        (stable && start <= address && address < end).then_some((start, end, writable))
    }
}

impl Chunk {
    const fn new() -> Chunk {
        Chunk { slots: [const { Slot::new() }; SLOTS_PER_CHUNK], next: AtomicPtr::new(ptr::null_mut()) }
    }
}

impl Registry {
    fn take(&mut self) -> &'static Slot {
        if let Some(slot) = self.free.pop() {
            return slot;
        }
        let chunk = match self.last {
            None => &FIRST,
            Some(last) => {
                let chunk: &'static Chunk = Box::leak(Box::new(Chunk::new()));
                last.next.store(ptr::from_ref(chunk).cast_mut(), Release);
                chunk
            }
        };
        self.last = Some(chunk);
        let (first, rest) = chunk.slots.split_at(1);
        self.free.extend(rest.iter().rev());
        &first[0]
    }
}

/// Guards one mapping. Drop it before the mapping is unmapped.
#[derive(Debug)]
pub(crate) struct FaultGuard {
    slot: &'static Slot,
}

impl std::fmt::Debug for Slot {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Slot({:#x}..{:#x})", self.start.load(Relaxed), self.end.load(Relaxed))
    }
}

impl FaultGuard {
    /// Guards `len` bytes at `start`, and installs the handler if this is the first guard.
    ///
    /// # Safety
    ///
    /// `start` must be the page-aligned start of a file mapping of at least `len` bytes which stays
    /// mapped, and is not shared with another guard, until the returned value is dropped: the
    /// handler replaces its pages.
    pub(crate) unsafe fn register(start: *const u8, len: usize, access: Access) -> io::Result<FaultGuard> {
        install()?;
        let page = PAGE_SIZE.load(Relaxed);
        let start = start.addr();
        let mut registry = REGISTRY.lock();
        let slot = registry.take();
        slot.assign(start, start + len.next_multiple_of(page), access == Access::ReadWrite);
        registry.live += 1;
        Ok(FaultGuard { slot })
    }

    /// Whether a page was lost. If this returns false, everything read from the mapping before was real.
    pub(crate) fn damaged(&self) -> bool {
        // Orders the caller's loads from the mapping before the load of the flag.
        fence(Acquire);
        self.slot.damaged.load(Acquire)
    }
}

impl Drop for FaultGuard {
    fn drop(&mut self) {
        let mut registry = REGISTRY.lock();
        self.slot.assign(0, 0, false);
        registry.free.push(self.slot);
        registry.live -= 1;
    }
}

/// The number of mappings of this process that are guarded now.
pub fn guarded_mappings() -> usize {
    REGISTRY.lock().live
}

fn install() -> io::Result<()> {
    INSTALLED.get_or_init(install_once).map_err(io::Error::from_raw_os_error)
}

fn install_once() -> Result<(), i32> {
    let last_errno = || io::Error::last_os_error().raw_os_error().unwrap_or(libc::EINVAL);
    // SAFETY: sysconf has no preconditions. That the answer is the size of a page is held by
    // `pages_before_the_cut_are_still_read_as_they_are`.
    let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    PAGE_SIZE.store(usize::try_from(page).map_err(|_| libc::EINVAL)?, Relaxed);

    let mut previous = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: a null new action only asks; the kernel fills `previous`, for which zeroes are valid
    // anyway. Held by `a_handler_that_was_there_before_gets_the_faults_that_are_not_ours`.
    let previous = unsafe {
        if libc::sigaction(libc::SIGBUS, ptr::null(), previous.as_mut_ptr()) != 0 {
            return Err(last_errno());
        }
        previous.assume_init()
    };
    // It is stored before our handler can run, so that the handler always knows its predecessor.
    let _ = PREVIOUS.set(previous);

    let handler: extern "C" fn(c_int, *mut siginfo_t, *mut c_void) = on_sigbus;
    // SAFETY: an all-zero sigaction is a valid one; its fields are set before use. The handler has
    // the signature SA_SIGINFO asks for and does only what a signal handler may do (see its
    // comments). Held by `a_truncated_file_reads_as_zeros_and_is_marked_damaged` and
    // `errno_is_the_same_before_and_after_a_fault`.
    let status = unsafe {
        let mut action = MaybeUninit::<libc::sigaction>::zeroed().assume_init();
        action.sa_sigaction = handler as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_RESTART;
        libc::sigemptyset(&mut action.sa_mask);
        libc::sigaction(libc::SIGBUS, &action, ptr::null_mut())
    };
    if status == 0 { Ok(()) } else { Err(last_errno()) }
}

/// Runs in signal context: atomics, mmap and sigaction only; no locks, no allocation, no panic.
extern "C" fn on_sigbus(signal: c_int, info: *mut siginfo_t, context: *mut c_void) {
    // SAFETY: errno is thread-local and always there. The kernel passes a valid `info` under
    // SA_SIGINFO, and `si_addr` is set whenever si_code says that a fault raised it (checked
    // first). Held by `a_truncated_file_reads_as_zeros_and_is_marked_damaged`.
    unsafe {
        let errno = *libc::__errno_location();
        let handled = (*info).si_code > 0 && cover((*info).si_addr().addr());
        if !handled {
            chain(signal, info, context);
        }
        *libc::__errno_location() = errno;
    }
}

/// Covers the lost page at `address` with zeros, if it belongs to a guarded mapping.
fn cover(address: usize) -> bool {
    let mut chunk = &FIRST;
    loop {
        for slot in &chunk.slots {
            if let Some((start, end, writable)) = slot.snapshot_containing(address) {
                // The flag is set first: whoever can see a zero that is not in the file can see the flag
                // too.
                slot.damaged.store(true, SeqCst);
                compiler_fence(SeqCst);
                let page = PAGE_SIZE.load(Relaxed);
                let base = address & !(page - 1);
                // Scattered single pages may run out of memory areas (vm.max_map_count); one
                // replacement of everything cannot, and the mapping is lost to its readers either
                // way.
                return map_zeros(base, page, writable) || map_zeros(start, end - start, writable);
            }
        }
        // SAFETY: chunks are leaked, so a pointer that was ever stored stays valid. Held by
        // `slots_of_dropped_mappings_are_used_again`, which fills several.
        match unsafe { chunk.next.load(Acquire).as_ref() } {
            Some(next) => chunk = next,
            None => return false,
        }
    }
}

fn map_zeros(start: usize, len: usize, writable: bool) -> bool {
    let protection = libc::PROT_READ | if writable { libc::PROT_WRITE } else { 0 };
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED | libc::MAP_NORESERVE;
    // SAFETY: the range lies inside a mapping registered under `FaultGuard::register`'s contract
    // and kept alive by the faulting thread, so MAP_FIXED replaces only memory that is ours. Held
    // by `a_truncated_file_reads_as_zeros_and_is_marked_damaged`.
    let mapped = unsafe { libc::mmap(ptr::without_provenance_mut(start), len, protection, flags, -1, 0) };
    mapped != libc::MAP_FAILED
}

/// Hands a signal that is not ours to the handler that was installed before.
///
/// # Safety
///
/// Only with the arguments the kernel gave to [`on_sigbus`].
unsafe fn chain(signal: c_int, info: *mut siginfo_t, context: *mut c_void) {
    let previous = PREVIOUS.get();
    let action = previous.map_or(libc::SIG_DFL, |previous| previous.sa_sigaction);
    // SAFETY: a handler the process installed for this signal is called as the kernel would have;
    // the integer is a function of the type its SA_SIGINFO flag says. `info` is valid, see
    // `on_sigbus`. Held by `a_fault_outside_our_mappings_still_ends_the_process`,
    // `a_handler_that_was_there_before_gets_the_faults_that_are_not_ours`,
    // `an_older_handler_gets_the_address_of_a_fault` and
    // `where_the_signal_was_ignored_only_a_fault_ends_the_process`.
    unsafe {
        // BUS_MCEERR_AO comes without a faulting instruction, like a signal sent by kill.
        let code = (*info).si_code;
        let will_fault_again = code > 0 && code != BUS_MCEERR_AO;
        if action == libc::SIG_IGN && !will_fault_again {
            return;
        }
        if action == libc::SIG_DFL || action == libc::SIG_IGN {
            let mut default = MaybeUninit::<libc::sigaction>::zeroed().assume_init();
            default.sa_sigaction = libc::SIG_DFL;
            libc::sigaction(signal, &default, ptr::null_mut());
            if !will_fault_again {
                libc::raise(signal);
            }
        } else if previous.is_some_and(|previous| previous.sa_flags & libc::SA_SIGINFO != 0) {
            let handler: extern "C" fn(c_int, *mut siginfo_t, *mut c_void) = std::mem::transmute(action);
            handler(signal, info, context);
        } else {
            let handler: extern "C" fn(c_int) = std::mem::transmute(action);
            handler(signal);
        }
    }
}

/// A memory error that the hardware noticed but no load has consumed yet; the libc crate does not name it
/// everywhere.
const BUS_MCEERR_AO: c_int = 5;
