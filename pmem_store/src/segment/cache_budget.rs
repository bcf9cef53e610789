//! Budgets for what is kept of open segments: their mappings, and decoded batches.
//!
//! The kernel gives a process `vm.max_map_count` mappings (65,530 by default), and every request for one
//! more fails: a store with more segments could not be read at all. Half of them are the budget of mappings. Decoded batches take
//! memory that no query counts, because later queries read them too, so they have a budget of bytes.
//!
//! Beyond a budget, idle entries are released, the least recently read first (the clock algorithm), and made again
//! when they are read.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{LazyLock, Weak};

use parking_lot::Mutex;

use crate::fault::guarded_mappings;

const MAP_COUNT_PATH: &str = "/proc/sys/vm/max_map_count";
const MAP_COUNT_DEFAULT: usize = 65_530;
/// A decoded batch of 20 columns takes some 4 KiB, one of 10,000 columns 2 MiB.
const DECODED_MAX_BYTES: usize = 64 << 20;

static MAP_COUNT_MAX: LazyLock<usize> = LazyLock::new(|| {
    let allowed = std::fs::read_to_string(MAP_COUNT_PATH).ok().and_then(|text| text.trim().parse().ok());
    allowed.unwrap_or(MAP_COUNT_DEFAULT)
});

/// The budget of the process; each mapping counts as one.
pub(super) static MAPPINGS: LazyLock<CacheBudget> = LazyLock::new(|| CacheBudget::new(*MAP_COUNT_MAX / 2));

/// Whether a file beside a segment may be mapped for as long as the segment is open. Such mappings have no turn in [`MAPPINGS`].
pub(super) fn has_spare_mappings() -> bool {
    guarded_mappings() < *MAP_COUNT_MAX / 4
}

/// The budget of the process; each batch counts with its bytes outside of the mapping.
pub(super) static DECODED_BATCHES: LazyLock<CacheBudget> = LazyLock::new(|| CacheBudget::new(DECODED_MAX_BYTES));

/// A cached resource that can be made again.
pub(super) trait Releasable: Send + Sync {
    /// Whether it was read since this was last called.
    fn was_read(&self) -> bool;

    /// Releases it unless it is in use; returns whether it did.
    fn release(&self) -> bool;
}

/// The cached items, each with its size. A dropped item counts until its turn comes.
pub(super) struct CacheBudget {
    size_max: usize,
    kept: Mutex<Kept>,
}

#[derive(Default)]
struct Kept {
    size: usize,
    items: VecDeque<(usize, Weak<dyn Releasable>)>,
}

impl CacheBudget {
    pub fn new(size_max: usize) -> Self {
        CacheBudget { size_max, kept: Mutex::default() }
    }

    /// Counts a new item, and releases others if there is too much. The caller holds no lock that
    /// [`Releasable::release`] takes.
    pub fn add(&self, item: Weak<dyn Releasable>, size: usize) {
        let mut kept = self.kept.lock();
        // The first round clears the marks, the second releases: all that is left then is in use.
        for _ in 0..2 * kept.items.len() {
            if kept.size.saturating_add(size) <= self.size_max {
                break;
            }
            let Some((oldest_size, oldest)) = kept.items.pop_front() else { break };
            let stays = oldest.upgrade().is_some_and(|oldest| oldest.was_read() || !oldest.release());
            match stays {
                true => kept.items.push_back((oldest_size, oldest)),
                false => kept.size -= oldest_size,
            }
        }
        kept.size += size;
        kept.items.push_back((size, item));
    }
}

/// Readers set it, and the clock clears it.
#[derive(Debug, Default)]
pub(super) struct ReadMark(AtomicBool);

impl ReadMark {
    pub fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    pub fn take(&self) -> bool {
        self.0.swap(false, Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[derive(Default)]
    struct Fake {
        read: ReadMark,
        busy: bool,
        released: AtomicBool,
    }

    impl Releasable for Fake {
        fn was_read(&self) -> bool {
            self.read.take()
        }

        fn release(&self) -> bool {
            self.released.store(!self.busy, Ordering::Relaxed);
            !self.busy
        }
    }

    fn fakes(budget: &CacheBudget, sizes: &[usize], busy: bool) -> Vec<Arc<Fake>> {
        let fake = |size: &usize| {
            let fake = Arc::new(Fake { busy, ..Fake::default() });
            let releasable: Arc<dyn Releasable> = Arc::clone(&fake) as _;
            budget.add(Arc::downgrade(&releasable), *size);
            fake
        };
        sizes.iter().map(fake).collect()
    }

    fn released(fakes: &[Arc<Fake>]) -> Vec<bool> {
        fakes.iter().map(|fake| fake.released.load(Ordering::Relaxed)).collect()
    }

    #[test]
    fn beyond_the_budget_the_oldest_unread_item_is_released() {
        let budget = CacheBudget::new(3);
        let first = fakes(&budget, &[1; 3], false);
        first[0].read.set();
        let _others = fakes(&budget, &[1], false);
        assert_eq!(released(&first), [false, true, false]);
    }

    #[test]
    fn as_much_is_released_as_a_new_item_needs() {
        let budget = CacheBudget::new(10);
        let first = fakes(&budget, &[2, 3, 4], false);
        let _others = fakes(&budget, &[5], false);
        assert_eq!(released(&first), [true, true, false]);
        assert_eq!(budget.kept.lock().size, 9);
    }

    #[test]
    fn what_somebody_reads_stays_and_nobody_waits_for_it() {
        let budget = CacheBudget::new(2);
        let busy = fakes(&budget, &[1; 5], true);
        assert_eq!(released(&busy), [false; 5]);
        assert_eq!(budget.kept.lock().items.len(), 5);
    }

    #[test]
    fn what_is_gone_makes_room() {
        let budget = CacheBudget::new(2);
        drop(fakes(&budget, &[1; 2], false));
        let kept = fakes(&budget, &[1; 2], false);
        assert_eq!(released(&kept), [false; 2]);
    }
}
