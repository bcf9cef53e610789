//! The allocator of the process, and when a server returns unused memory to the system.

use std::ffi::c_long;
use std::time::Duration;
use std::{fs, io, thread};

use libmimalloc_sys::{mi_option_set_default, mi_option_t, mi_option_use_numa_nodes};

/// Query operators allocate and free many buffers on many threads.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const LOOK_EVERY: Duration = Duration::from_millis(50);
/// Longer than most pauses between two queries. Memory that was returned costs a page fault, and a page of zeros, when the next query takes it.
const KEEP_FREED_MS: c_long = 10_000;
/// The option `purge_delay`, which the crate does not name: it lies before this one in `mimalloc.h`.
const PURGE_DELAY: mi_option_t = mi_option_use_numa_nodes - 1;

/// Keeps freed memory for some seconds instead of one, unless `MIMALLOC_PURGE_DELAY` says otherwise.
pub fn keep_freed_memory() {
    // SAFETY: the option is a number, and no other thread sets options (`freed_memory_is_kept`).
    unsafe { mi_option_set_default(PURGE_DELAY, KEEP_FREED_MS) };
}

/// Returns unused memory whenever the process has more than three quarters of the memory limit of its queries.
///
/// mimalloc keeps freed memory for [`KEEP_FREED_MS`], and longer while nothing is allocated. The memory of statements that are refused one
/// after another, each at its limit, would add up. ClickHouse's `MemoryWorker` does the same.
pub fn purge_above(memory_limit_bytes: usize) -> io::Result<()> {
    let threshold_kib = memory_limit_bytes as u64 / 4 * 3 / 1024;
    let watch = move || {
        loop {
            thread::sleep(LOOK_EVERY);
            if anonymous_kib().is_some_and(|kib| kib > threshold_kib) {
                // SAFETY: any thread may call mi_collect at any time, and it frees no memory that is in use
                // (`test_what_is_known_to_ask_for_much_stays_within_the_limit`).
                unsafe { libmimalloc_sys::mi_collect(true) };
            }
        }
    };
    thread::Builder::new().name("purge".to_owned()).spawn(watch).map(drop)
}

/// Anonymous pages only: mapped segments do not belong to the allocator.
fn anonymous_kib() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:"))?;
    line.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn freed_memory_is_kept() {
        // A second is what mimalloc has for this option, and for no other.
        // SAFETY: an option is read, and no other thread sets options (`freed_memory_is_kept`).
        let kept = || unsafe { libmimalloc_sys::mi_option_get(PURGE_DELAY) };
        let from_environment = std::env::var_os("MIMALLOC_PURGE_DELAY").is_some();
        assert!(from_environment || kept() == 1_000);
        keep_freed_memory();
        assert!(from_environment || kept() == KEEP_FREED_MS);
    }
}
