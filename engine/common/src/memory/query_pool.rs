//! The limit of one query, and the shares of its operators.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use datafusion::common::{DataFusionError, Result};
use datafusion::execution::memory_pool::{FairSpillPool, MemoryConsumer, MemoryLimit, MemoryPool, MemoryReservation};

use crate::report::Bytes;

/// Shares become smaller when operators start late, and who has more then gives it back only when it next asks for more.
/// So much of the limit is not shared out, for those that come meanwhile,
const KEPT_BACK_ONE_OF: usize = 16;
/// and whoever has hardly anything may have so much of it: it could spill nothing instead.
const FIRST_BYTES_ONE_OF: usize = 16;

/// The part of the process's pool that one query may take; remembers the most it took.
///
/// Within it every operator that can spill has an even share. Without shares the partition that runs first takes
/// the whole limit, and the next one is refused its first batch when it holds nothing yet that it could spill.
///
/// Invariant: what is asked for is granted only within the limit, whatever the shares are.
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

    /// Where other statements hold what this one would still be allowed, or its share of all is used up.
    fn refused_by_process(&self, reservation: &MemoryReservation, additional: usize) -> DataFusionError {
        let MemoryLimit::Finite(limit) = self.process.memory_limit() else { return self.refused(reservation, additional) };
        let [limit, used, more] = [limit, self.process.reserved(), additional].map(|bytes| Bytes(bytes as u64));
        let operator = reservation.consumer().name();
        let text =
            format!("the memory limit of {limit} for all statements leaves no more for {operator}: it asked for {more}, {used} are in use");
        DataFusionError::ResourcesExhausted(text)
    }

    /// Within its share, if it has one.
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
