//! The allocator of the process, and when a server returns unused memory to the system.

use std::time::Duration;
use std::{fs, io, thread};

/// Query operators allocate and free many buffers on many threads.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Returns unused memory whenever the process has more than three quarters of the memory limit of its queries.
///
/// mimalloc keeps freed memory for a second, and longer while nothing is allocated. The memory of statements that are refused one
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
