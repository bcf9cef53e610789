//! The memory of a compaction job.
//!
//! A job reserves its memory from the pool before it begins, and divides it up itself. So queries lose that much and no more, and do not
//! share their spill budget with every sort of a compaction.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::execution::memory_pool::{FairSpillPool, MemoryConsumer, MemoryLimit, MemoryPool, MemoryReservation};
use datafusion::execution::runtime_env::RuntimeEnv;

/// In the background: this fraction of the process's pool, within these bounds.
const SHARE: usize = 4;
const BYTES_MAX: usize = 512 << 20;
const BYTES_MIN: usize = 8 << 20;

/// The memory of a background job.
pub fn background_bytes(pool: &Arc<dyn MemoryPool>) -> usize {
    match pool.memory_limit() {
        MemoryLimit::Finite(limit) => (limit / SHARE).clamp(BYTES_MIN, BYTES_MAX),
        _ => BYTES_MAX,
    }
}

/// How much memory a job needs.
#[derive(Debug, Clone, Copy, Default)]
pub struct Need {
    /// For row positions and batches that are merged; the job cannot run with less.
    pub fixed_bytes: usize,
    /// For sorting, which spills if it gets less than it wants.
    pub sort_bytes: usize,
    pub sort_bytes_min: usize,
}

/// Memory for one job.
pub struct JobMemory {
    /// Its pool is only for sorting.
    pub runtime: Arc<RuntimeEnv>,
    pub sort_bytes: usize,
    /// Released when the job ends.
    _reservation: MemoryReservation,
}

impl JobMemory {
    /// Takes at most `bytes_max`, but never less than the minimum.
    pub fn take(runtime: &Arc<RuntimeEnv>, need: Need, bytes_max: usize) -> Result<JobMemory> {
        let reservation = MemoryConsumer::new("compaction").register(&runtime.memory_pool);
        let share_bytes = need.sort_bytes.min(bytes_max.saturating_sub(need.fixed_bytes));
        let mut sort_bytes = share_bytes.max(need.sort_bytes_min);
        // Others may hold the rest at this time.
        while let Err(error) = reservation.try_grow(need.fixed_bytes.saturating_add(sort_bytes)) {
            if sort_bytes == need.sort_bytes_min {
                return Err(error);
            }
            sort_bytes = (sort_bytes / 2).max(need.sort_bytes_min);
        }
        let mut own = runtime.as_ref().clone();
        own.memory_pool = Arc::new(FairSpillPool::new(sort_bytes));
        Ok(JobMemory { runtime: Arc::new(own), sort_bytes, _reservation: reservation })
    }
}

#[cfg(test)]
mod tests {
    use datafusion::execution::runtime_env::RuntimeEnvBuilder;

    use super::*;

    #[test]
    fn a_job_gets_what_it_needs_and_at_most_its_share_of_the_rest() {
        let pool: Arc<dyn MemoryPool> = Arc::new(FairSpillPool::new(1_000));
        let runtime = RuntimeEnvBuilder::new().with_memory_pool(Arc::clone(&pool)).build_arc().unwrap();
        let need = Need { fixed_bytes: 100, sort_bytes: 10_000, sort_bytes_min: 50 };
        let one = JobMemory::take(&runtime, need, 500).unwrap();
        assert_eq!((one.sort_bytes, pool.reserved()), (400, 500));
        // The request is halved until it fits.
        let two = JobMemory::take(&runtime, need, 900).unwrap();
        assert_eq!((two.sort_bytes, pool.reserved()), (400, 1_000));
        assert!(JobMemory::take(&runtime, need, 900).is_err());
        drop(one);
        assert_eq!(JobMemory::take(&runtime, Need { sort_bytes: 60, ..need }, 900).unwrap().sort_bytes, 60);
        drop(two);
        assert_eq!(pool.reserved(), 0);
    }
}
