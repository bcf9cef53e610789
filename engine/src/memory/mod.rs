//! Bounded memory: one pool for the process, and in it a limit for each query.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use datafusion::common::{DataFusionError, Result};
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryLimit, MemoryPool, MemoryReservation};

use crate::report::Bytes;

/// The part of the process's pool that one query may take; remembers the most it took.
#[derive(Debug)]
pub struct QueryPool {
    process: Arc<dyn MemoryPool>,
    limit_bytes: usize,
    used_bytes: AtomicUsize,
    peak_bytes: AtomicUsize,
}

impl QueryPool {
    pub fn new(process: Arc<dyn MemoryPool>, limit_bytes: usize) -> Self {
        QueryPool { process, limit_bytes, used_bytes: AtomicUsize::new(0), peak_bytes: AtomicUsize::new(0) }
    }

    pub fn peak_bytes(&self) -> usize {
        self.peak_bytes.load(Ordering::Relaxed)
    }

    fn took(&self, used: usize) {
        self.peak_bytes.fetch_max(used, Ordering::Relaxed);
    }
}

impl fmt::Display for QueryPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let used = self.used_bytes.load(Ordering::Relaxed) as u64;
        write!(f, "query(used: {}, limit: {})", Bytes(used), Bytes(self.limit_bytes as u64))
    }
}

impl MemoryPool for QueryPool {
    fn name(&self) -> &str {
        "query"
    }

    fn register(&self, consumer: &MemoryConsumer) {
        self.process.register(consumer);
    }

    fn unregister(&self, consumer: &MemoryConsumer) {
        self.process.unregister(consumer);
    }

    fn grow(&self, reservation: &MemoryReservation, additional: usize) {
        self.process.grow(reservation, additional);
        self.took(self.used_bytes.fetch_add(additional, Ordering::Relaxed) + additional);
    }

    fn shrink(&self, reservation: &MemoryReservation, shrink: usize) {
        self.process.shrink(reservation, shrink);
        self.used_bytes.fetch_sub(shrink, Ordering::Relaxed);
    }

    fn try_grow(&self, reservation: &MemoryReservation, additional: usize) -> Result<()> {
        let grown = |used: usize| used.checked_add(additional).filter(|used| *used <= self.limit_bytes);
        let before = self.used_bytes.fetch_update(Ordering::Relaxed, Ordering::Relaxed, grown).map_err(|used| {
            let (limit, used) = (Bytes(self.limit_bytes as u64), Bytes(used as u64));
            let text = format!("the query's memory limit of {limit} is reached ({used} in use by it)");
            DataFusionError::ResourcesExhausted(text)
        })?;
        if let Err(error) = self.process.try_grow(reservation, additional) {
            self.used_bytes.fetch_sub(additional, Ordering::Relaxed);
            return Err(error);
        }
        self.took(before + additional);
        Ok(())
    }

    fn reserved(&self) -> usize {
        self.used_bytes.load(Ordering::Relaxed)
    }

    fn memory_limit(&self) -> MemoryLimit {
        MemoryLimit::Finite(self.limit_bytes)
    }
}
