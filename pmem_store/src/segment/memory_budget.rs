//! The budget of bytes for copies of segments in memory. Beyond it, copies that nobody uses go, those that were not read for longest first.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use parking_lot::Mutex;

use super::cache_budget::Releasable;

/// Until a store sets another limit of its tier in memory.
const SIZE_MAX_BYTES: u64 = 1 << 30;

/// That of the process.
pub(super) static MEMORY: MemoryBudget = MemoryBudget::new(SIZE_MAX_BYTES);

/// The bytes that copies of this process may have together.
pub(crate) fn memory_limit_bytes() -> u64 {
    MEMORY.size_max_bytes.load(Ordering::Relaxed)
}

/// `None`: as much as without a limit of a store. What is too much then goes when the next copy comes.
pub(crate) fn set_memory_limit(limit_bytes: Option<u64>) {
    MEMORY.size_max_bytes.store(limit_bytes.unwrap_or(SIZE_MAX_BYTES), Ordering::Relaxed);
}

/// Releases copies until there is room for so many bytes; returns false if too many are in use.
pub(crate) fn make_room_in_memory(size_bytes: u64) -> bool {
    MEMORY.make_room(size_bytes)
}

pub(super) struct MemoryBudget {
    size_max_bytes: AtomicU64,
    size_bytes: AtomicU64,
    /// Counts reads.
    reads: AtomicU64,
    copies: Mutex<Vec<Weak<dyn Copied>>>,
}

/// A segment that may have a copy.
pub(super) trait Copied: Releasable {
    fn usage(&self) -> &MemoryUsage;
}

/// The bytes of one segment's copy, and when it was read.
#[derive(Debug, Default)]
pub(super) struct MemoryUsage {
    size_bytes: AtomicU64,
    last_read: AtomicU64,
    is_listed: AtomicBool,
}

impl MemoryUsage {
    pub fn read(&self, budget: &MemoryBudget) {
        if self.size_bytes.load(Ordering::Relaxed) > 0 {
            self.last_read.store(budget.reads.fetch_add(1, Ordering::Relaxed), Ordering::Relaxed);
        }
    }

    /// Its bytes were released.
    pub fn clear(&self, budget: &MemoryBudget) {
        budget.size_bytes.fetch_sub(self.size_bytes.swap(0, Ordering::Relaxed), Ordering::Relaxed);
    }
}

impl MemoryBudget {
    const fn new(size_max_bytes: u64) -> MemoryBudget {
        MemoryBudget {
            size_max_bytes: AtomicU64::new(size_max_bytes),
            size_bytes: AtomicU64::new(0),
            reads: AtomicU64::new(1),
            copies: Mutex::new(Vec::new()),
        }
    }

    /// Counts bytes that a copy has got. The caller holds no lock that [`Releasable::release`] takes.
    pub fn grow<T: Copied + 'static>(&self, copied: &Arc<T>, size_bytes: u64) {
        let usage = copied.usage();
        self.size_bytes.fetch_add(size_bytes, Ordering::Relaxed);
        usage.size_bytes.fetch_add(size_bytes, Ordering::Relaxed);
        usage.last_read.store(self.reads.fetch_add(1, Ordering::Relaxed), Ordering::Relaxed);
        if !usage.is_listed.swap(true, Ordering::Relaxed) {
            let copied: Arc<dyn Copied> = Arc::clone(copied) as _;
            self.copies.lock().push(Arc::downgrade(&copied));
        }
        self.make_room(0);
    }

    fn make_room(&self, size_bytes: u64) -> bool {
        let fits = || self.size_bytes.load(Ordering::Relaxed).saturating_add(size_bytes) <= self.size_max_bytes.load(Ordering::Relaxed);
        if fits() {
            return true;
        }
        let mut copies = self.copies.lock();
        let mut live: Vec<Arc<dyn Copied>> = copies.iter().filter_map(Weak::upgrade).collect();
        live.sort_by_key(|copied| copied.usage().last_read.load(Ordering::Relaxed));
        for copied in &live {
            if fits() {
                break;
            }
            copied.release();
        }
        *copies = live.iter().map(Arc::downgrade).collect();
        drop(copies);
        fits()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Default)]
    struct Fake {
        usage: MemoryUsage,
        busy: AtomicBool,
    }

    static BUDGET: MemoryBudget = MemoryBudget::new(100);

    impl Releasable for Fake {
        fn was_read(&self) -> bool {
            false
        }

        fn release(&self) -> bool {
            let idle = !self.busy.load(Ordering::Relaxed);
            if idle {
                self.usage.clear(&BUDGET);
            }
            idle
        }
    }

    impl Copied for Fake {
        fn usage(&self) -> &MemoryUsage {
            &self.usage
        }
    }

    #[test]
    fn what_was_not_read_for_longest_goes_unless_it_is_in_use() {
        let fakes: Vec<Arc<Fake>> = (0..4).map(|_| Arc::default()).collect();
        let sizes = || fakes.iter().map(|fake| fake.usage.size_bytes.load(Ordering::Relaxed)).collect::<Vec<_>>();
        fakes[..3].iter().for_each(|fake| BUDGET.grow(fake, 20));
        // Its bytes come in pieces.
        BUDGET.grow(&fakes[1], 10);
        fakes[0].usage.read(&BUDGET);
        fakes[2].busy.store(true, Ordering::Relaxed);
        BUDGET.grow(&fakes[3], 40);
        assert_eq!(sizes(), [20, 0, 20, 40]);
        assert!(BUDGET.make_room(40) && !BUDGET.make_room(90));
        assert_eq!((sizes(), BUDGET.size_bytes.load(Ordering::Relaxed)), (vec![0, 0, 20, 0], 20));
        // What was released counts again when it comes back.
        BUDGET.grow(&fakes[1], 30);
        assert_eq!((sizes(), BUDGET.size_bytes.load(Ordering::Relaxed)), (vec![0, 30, 20, 0], 50));
    }
}
