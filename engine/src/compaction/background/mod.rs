//! Background maintenance of a store that is open for writing: sealing logs, compaction, moves between tiers, prefetches, expiry of versions.
//!
//! `control` is the state that the thread shares with the engine (`maintenance`), `thread` its loop; `logs`, `tables`, `tiers`, `prefetch` and `expiry` know when
//! something is due.
//!
//! **Invariant:** the thread holds the store only while it works. So the store is closed with the engine, and not at the next wakeup of
//! the thread.

mod control;
mod expiry;
mod logs;
mod maintenance;
mod prefetch;
mod tables;
mod thread;
mod tiers;
mod wishes;

use pmem_store::Store;

use super::pick::Limits;
pub use maintenance::Maintenance;

/// The bytes that one job may write. Larger jobs would take more memory and time without making reads faster.
const JOB_BYTES_MAX: u64 = 2 << 30;

/// What will happen to the work that could not be done.
fn outlook(store: &Store) -> &'static str {
    match store.poisoned() {
        Some(_) => "nothing is done before the store is opened again",
        None => "it is tried again later",
    }
}

fn limits(memory_bytes: usize) -> Limits {
    Limits::of(memory_bytes as u64, JOB_BYTES_MAX)
}
