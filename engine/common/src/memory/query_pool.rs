//! The limit of one query, and the shares of its operators.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use datafusion::common::{DataFusionError, Result};
use datafusion::execution::memory_pool::{FairSpillPool, MemoryConsumer, MemoryLimit, MemoryPool, MemoryReservation};

use crate::report::Bytes;

/// Shares shrink when operators start late, and an operator with more than its share gives it back only at its next request. This part of
/// the limit is not shared out: it is reserved for such latecomers.
const KEPT_BACK_ONE_OF: usize = 16;
/// An operator that holds less than this part of the limit gets it without regard to its share: it has nothing yet that it could spill.
const FIRST_BYTES_ONE_OF: usize = 16;

/// The part of the process's pool that one query may take. It records the peak.
///
/// Each operator that can spill has an equal share. Without shares the partition that runs first would take the whole limit, and the next
/// one would be refused its first batch, when it has nothing to spill.
///
/// Invariant: memory is granted only within the limit, whatever the shares are.
#[derive(Debug)]
pub struct QueryPool {
    process: Arc<dyn MemoryPool>,
    shares: FairSpillPool,
    used_bytes: AtomicUsize,
    limit_bytes: usize,
    peak_bytes: AtomicUsize,
}

impl QueryPool {
    pub fn new(process: Arc<dyn MemoryPool>, limit_bytes: usize) -> Self {
        let shares = FairSpillPool::new(limit_bytes - limit_bytes / KEPT_BACK_ONE_OF);
        QueryPool { process, shares, used_bytes: AtomicUsize::new(0), limit_bytes, peak_bytes: AtomicUsize::new(0) }
    }

    pub fn peak_bytes(&self) -> usize {
        self.peak_bytes.load(Ordering::Relaxed)
    }

    fn took(&self, used: usize) {
        self.peak_bytes.fetch_max(used, Ordering::Relaxed);
    }

    fn refused(&self, reservation: &MemoryReservation, additional: usize) -> DataFusionError {
        let [limit, used, more] = [self.limit_bytes, self.reserved(), additional].map(|bytes| Bytes(bytes as u64));
        let operator = reservation.consumer().name();
        let text = format!("the query's memory limit of {limit} leaves no more for {operator}: it asked for {more}, {used} are in use");
        DataFusionError::ResourcesExhausted(text)
    }

    /// Other statements hold the memory that this one would be allowed, or its share of the process's pool is used up.
    fn refused_by_process(&self, reservation: &MemoryReservation, additional: usize) -> DataFusionError {
        let MemoryLimit::Finite(limit) = self.process.memory_limit() else { return self.refused(reservation, additional) };
        let [limit, used, more] = [limit, self.process.reserved(), additional].map(|bytes| Bytes(bytes as u64));
        let operator = reservation.consumer().name();
        let text =
            format!("the memory limit of {limit} for all statements leaves no more for {operator}: it asked for {more}, {used} are in use");
        DataFusionError::ResourcesExhausted(text)
    }

    /// Grants within the operator's share, if it has one.
    fn try_share(&self, reservation: &MemoryReservation, additional: usize) -> Result<()> {
        let is_first_bytes = reservation.size() + additional <= self.limit_bytes / FIRST_BYTES_ONE_OF;
        if reservation.consumer().can_spill() && !is_first_bytes {
            return self.shares.try_grow(reservation, additional);
        }
        self.shares.grow(reservation, additional);
        Ok(())
    }
}

impl fmt::Display for QueryPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let used = self.reserved() as u64;
        write!(f, "query(used: {}, limit: {})", Bytes(used), Bytes(self.limit_bytes as u64))
    }
}

impl MemoryPool for QueryPool {
    fn name(&self) -> &str {
        "query"
    }

    fn register(&self, consumer: &MemoryConsumer) {
        self.shares.register(consumer);
        self.process.register(consumer);
    }

    fn unregister(&self, consumer: &MemoryConsumer) {
        self.process.unregister(consumer);
        self.shares.unregister(consumer);
    }

    fn grow(&self, reservation: &MemoryReservation, additional: usize) {
        self.process.grow(reservation, additional);
        self.shares.grow(reservation, additional);
        self.took(self.used_bytes.fetch_add(additional, Ordering::Relaxed) + additional);
    }

    fn shrink(&self, reservation: &MemoryReservation, shrink: usize) {
        self.process.shrink(reservation, shrink);
        self.shares.shrink(reservation, shrink);
        self.used_bytes.fetch_sub(shrink, Ordering::Relaxed);
    }

    fn try_grow(&self, reservation: &MemoryReservation, additional: usize) -> Result<()> {
        let grown = |used: usize| used.checked_add(additional).filter(|used| *used <= self.limit_bytes);
        let before = self.used_bytes.fetch_update(Ordering::Relaxed, Ordering::Relaxed, grown);
        let before = before.map_err(|_| self.refused(reservation, additional))?;
        let granted = self.try_share(reservation, additional).map_err(|_| self.refused(reservation, additional)).and_then(|()| {
            self.process.try_grow(reservation, additional).map_err(|_| {
                self.shares.shrink(reservation, additional);
                self.refused_by_process(reservation, additional)
            })
        });
        match granted {
            Ok(()) => self.took(before + additional),
            Err(_) => {
                self.used_bytes.fetch_sub(additional, Ordering::Relaxed);
            }
        }
        granted
    }

    fn reserved(&self) -> usize {
        self.used_bytes.load(Ordering::Relaxed)
    }

    fn memory_limit(&self) -> MemoryLimit {
        MemoryLimit::Finite(self.limit_bytes)
    }
}
