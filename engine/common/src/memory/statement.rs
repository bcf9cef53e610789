//! How much the functions of one statement may allocate: little while it is planned, and what its pool grants while it runs. It also
//! records whether its planning was cancelled.

use std::any::Any;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use datafusion::common::config::{ConfigEntry, ConfigExtension, ConfigOptions, ExtensionOptions};
use datafusion::common::{Result, config_err, exec_err};
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryPool, MemoryReservation};
use parking_lot::Mutex;

use crate::error::EngineError;
use crate::report::Bytes;

/// The largest constant that planning may fold a call into. Plans are copied many times, and constants with them.
const CONSTANT_BYTES_MAX: usize = 256 << 10;
/// All such constants together.
const CONSTANTS_BYTES_MAX: usize = 8 << 20;
/// The time for computing them: a function that has begun cannot be interrupted.
const CONSTANTS_TIME_MAX: Duration = Duration::from_millis(500);
/// The operators take this part of the memory that planning took.
const OPERATORS_ONE_OF: usize = 8;

/// The memory of a statement. Functions find it among the settings that they are called with.
#[derive(Debug, Clone)]
pub struct StatementMemory(Arc<StatementMemoryState>);

#[derive(Debug)]
struct StatementMemoryState {
    pool: Arc<dyn MemoryPool>,
    runs: AtomicBool,
    constants_bytes: AtomicUsize,
    constants_ns: AtomicU64,
    planning: Mutex<Option<MemoryReservation>>,
    has_ended: AtomicBool,
    /// Who reads the rows; empty before there are operators.
    reader: Mutex<Option<Weak<()>>>,
}

impl StatementMemory {
    pub fn new(pool: Arc<dyn MemoryPool>) -> StatementMemory {
        let (runs, constants_bytes, constants_ns, planning, has_ended, reader) = Default::default();
        StatementMemory(Arc::new(StatementMemoryState { pool, runs, constants_bytes, constants_ns, planning, has_ended, reader }))
    }

    pub fn of(config: &ConfigOptions) -> Option<&StatementMemory> {
        config.extensions.get::<StatementMemory>()
    }

    pub fn pool(&self) -> &Arc<dyn MemoryPool> {
        &self.0.pool
    }

    /// Reserves memory for planning, before the text becomes a plan.
    pub fn plan(&self, bytes: usize) -> Result<()> {
        let mut planning = self.0.planning.lock();
        planning.get_or_insert_with(|| MemoryConsumer::new("planning").register(&self.0.pool)).try_grow(bytes)
    }

    /// Called when the operators start: from then on only the pool limits the memory.
    pub fn run(&self) {
        self.0.runs.store(true, Ordering::Relaxed);
        if let Some(planning) = self.0.planning.lock().as_ref() {
            planning.shrink(planning.size() - planning.size() / OPERATORS_ONE_OF);
        }
    }

    /// Says who reads the rows of the operators that were started.
    pub fn is_read_by(&self, reader: Weak<()>) {
        *self.0.reader.lock() = Some(reader);
    }

    /// Whether the rows are for nobody any more, so that a function may stop.
    pub fn has_no_reader(&self) -> bool {
        self.0.reader.lock().as_ref().is_some_and(|reader| reader.strong_count() == 0)
    }

    /// Cancels the planning.
    pub fn end_planning(&self) {
        self.0.has_ended.store(true, Ordering::Relaxed);
    }

    /// An error if the planning was cancelled.
    pub fn check_planning(&self) -> Result<()> {
        match self.0.has_ended.load(Ordering::Relaxed) {
            true => Err(EngineError::Cancelled.into_datafusion()),
            false => Ok(()),
        }
    }

    pub fn runs(&self) -> bool {
        self.0.runs.load(Ordering::Relaxed)
    }

    /// Computes a constant of at most about `bytes`. If the constants of a statement are too large, it is planned with the calls as they
    /// are: DataFusion keeps a call that fails, and evaluates it when the statement runs.
    pub fn constant<T>(&self, function: &str, bytes: usize, call: impl FnOnce() -> Result<T>) -> Result<T> {
        let total = self.0.constants_bytes.load(Ordering::Relaxed).saturating_add(bytes);
        let took = Duration::from_nanos(self.0.constants_ns.load(Ordering::Relaxed));
        if bytes > CONSTANT_BYTES_MAX || total > CONSTANTS_BYTES_MAX || took > CONSTANTS_TIME_MAX {
            let [bytes, max] = [bytes, CONSTANT_BYTES_MAX].map(|bytes| Bytes(bytes as u64));
            return exec_err!("{function}() may make {bytes} here, where a constant is needed that has at most {max}");
        }
        let start = Instant::now();
        let result = call();
        let took = u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX);
        self.0.constants_ns.fetch_add(took, Ordering::Relaxed);
        if result.is_ok() {
            self.0.constants_bytes.fetch_add(bytes, Ordering::Relaxed);
        }
        result
    }
}

impl ConfigExtension for StatementMemory {
    const PREFIX: &'static str = "quiver_statement";
}

/// Not a setting: it is not listed and cannot be set.
impl ExtensionOptions for StatementMemory {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn as_any_mut(&mut self) -> &mut dyn Any {
        self
    }

    fn cloned(&self) -> Box<dyn ExtensionOptions> {
        Box::new(self.clone())
    }

    fn set(&mut self, key: &str, _: &str) -> Result<()> {
        config_err!("there is no setting \"{}.{key}\"", Self::PREFIX)
    }

    fn entries(&self) -> Vec<ConfigEntry> {
        Vec::new()
    }
}

#[cfg(test)]
mod tests {
    use datafusion::execution::memory_pool::UnboundedMemoryPool;

    use super::*;

    #[test]
    fn constants_are_small_few_and_soon_made() {
        let memory = || StatementMemory::new(Arc::new(UnboundedMemoryPool::default()));
        let statement = memory();
        assert_eq!(statement.constant("f", CONSTANT_BYTES_MAX, || Ok(7)).unwrap(), 7);
        let error = statement.constant("f", CONSTANT_BYTES_MAX + 1, || Ok(7)).unwrap_err().to_string();
        assert!(error.contains("f() may make 262 kB here"), "{error}");
        let count = (0..1_000).take_while(|_| statement.constant("f", CONSTANT_BYTES_MAX, || Ok(())).is_ok()).count();
        assert_eq!(count, CONSTANTS_BYTES_MAX / CONSTANT_BYTES_MAX - 1);
        let statement = memory();
        statement
            .constant("f", 1, || {
                std::thread::sleep(CONSTANTS_TIME_MAX);
                Ok(())
            })
            .unwrap();
        assert!(statement.constant("f", 1, || Ok(())).is_err());
    }
}
