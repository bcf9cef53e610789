//! How many segments are mapped at once.
//!
//! The kernel gives a process `vm.max_map_count` mappings (65,530 unless it is told otherwise), and fails whatever asks for one
//! more: a store of more segments could not be read at all. Beyond half of them, segments that nobody reads give their mapping
//! back, those first that were not read for longest (the clock algorithm), and map their file again when they are read.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{LazyLock, Weak};

use parking_lot::Mutex;

const MAP_COUNT_PATH: &str = "/proc/sys/vm/max_map_count";
const MAP_COUNT_DEFAULT: usize = 65_530;

static OF_PROCESS: LazyLock<MappingBudget> = LazyLock::new(|| {
    let allowed = std::fs::read_to_string(MAP_COUNT_PATH).ok().and_then(|text| text.trim().parse().ok());
    MappingBudget::new(allowed.unwrap_or(MAP_COUNT_DEFAULT) / 2)
});

/// A mapping that can be had again.
pub(super) trait Releasable: Send + Sync {
    /// Whether it was read since this was last called.
    fn was_read(&self) -> bool;

    /// Gives the mapping back unless somebody reads it; whether it did.
    fn release(&self) -> bool;
}

/// What is mapped, each once. A mapping that was dropped counts until its turn comes.
pub(super) struct MappingBudget {
    mapped_max: usize,
    mapped: Mutex<VecDeque<Weak<dyn Releasable>>>,
}

impl MappingBudget {
    fn new(mapped_max: usize) -> Self {
        MappingBudget { mapped_max, mapped: Mutex::default() }
    }

    pub fn of_process() -> &'static MappingBudget {
        &OF_PROCESS
    }

    /// Counts a mapping that was just made, and gives others back where there are too many. The caller holds no lock that
    /// [`Releasable::release`] takes.
    pub fn add(&self, mapping: Weak<dyn Releasable>) {
        let mut mapped = self.mapped.lock();
        // Once around to forget what was read, and once more: then all that is left is being read.
        for _ in 0..2 * mapped.len() {
            if mapped.len() < self.mapped_max {
                break;
            }
            let Some(oldest) = mapped.pop_front() else { break };
            let stays = oldest.upgrade().is_some_and(|oldest| oldest.was_read() || !oldest.release());
            if stays {
                mapped.push_back(oldest);
            }
        }
        mapped.push_back(mapping);
    }
}

/// Set by who reads, taken by who looks for what to give back.
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

    fn fakes(budget: &MappingBudget, count: usize, busy: bool) -> Vec<Arc<Fake>> {
        let fakes: Vec<_> = (0..count).map(|_| Arc::new(Fake { busy, ..Fake::default() })).collect();
        for fake in &fakes {
            let fake: Arc<dyn Releasable> = Arc::clone(fake) as _;
            budget.add(Arc::downgrade(&fake));
        }
        fakes
    }

    fn released(fakes: &[Arc<Fake>]) -> Vec<bool> {
        fakes.iter().map(|fake| fake.released.load(Ordering::Relaxed)).collect()
    }

    #[test]
    fn beyond_the_budget_the_oldest_that_was_not_read_is_given_back() {
        let budget = MappingBudget::new(3);
        let first = fakes(&budget, 3, false);
        first[0].read.set();
        let _others = fakes(&budget, 1, false);
        assert_eq!(released(&first), [false, true, false]);
    }

    #[test]
    fn what_somebody_reads_stays_and_nobody_waits_for_it() {
        let budget = MappingBudget::new(2);
        let busy = fakes(&budget, 5, true);
        assert_eq!(released(&busy), [false; 5]);
        assert_eq!(budget.mapped.lock().len(), 5);
    }

    #[test]
    fn a_mapping_that_is_gone_makes_room() {
        let budget = MappingBudget::new(2);
        drop(fakes(&budget, 2, false));
        let kept = fakes(&budget, 2, false);
        assert_eq!(released(&kept), [false; 2]);
    }
}
