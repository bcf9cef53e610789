//! What the functions of one statement may make: little while it is planned, and while it runs what its pool has room for.

use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use datafusion::common::config::{ConfigEntry, ConfigExtension, ConfigOptions, ExtensionOptions};
use datafusion::common::{Result, config_err, exec_err};
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryPool, MemoryReservation};
use parking_lot::Mutex;

use crate::report::Bytes;

/// A constant that planning makes of a call. Plans are copied many times, and constants with them.
const CONSTANT_BYTES_MAX: usize = 256 << 10;
/// All of them together,
const CONSTANTS_BYTES_MAX: usize = 8 << 20;
/// and the time that making them may take: nothing ends a function that has begun.
const CONSTANTS_TIME_MAX: Duration = Duration::from_millis(500);
/// Of what planning took, what its operators are in the end.
const OPERATORS_ONE_OF: usize = 8;

/// Of a statement, where functions find it: among the settings that they are called with.
#[derive(Debug, Clone)]
pub struct StatementMemory(Arc<StatementMemoryState>);

#[derive(Debug)]
struct StatementMemoryState {
    pool: Arc<dyn MemoryPool>,
    runs: AtomicBool,
    constants_bytes: AtomicUsize,
    constants_ns: AtomicU64,
    planning: Mutex<Option<MemoryReservation>>,
}

impl StatementMemory {
    pub fn new(pool: Arc<dyn MemoryPool>) -> StatementMemory {
        let (constants_bytes, constants_ns, planning) = Default::default();
        StatementMemory(Arc::new(StatementMemoryState { pool, runs: AtomicBool::new(false), constants_bytes, constants_ns, planning }))
    }

    pub fn of(config: &ConfigOptions) -> Option<&StatementMemory> {
        config.extensions.get::<StatementMemory>()
    }

    pub fn pool(&self) -> &Arc<dyn MemoryPool> {
        &self.0.pool
    }

    /// Its text is about to become a plan, which takes so much more.
    pub fn plan(&self, bytes: usize) -> Result<()> {
        let mut planning = self.0.planning.lock();
        planning.get_or_insert_with(|| MemoryConsumer::new("planning").register(&self.0.pool)).try_grow(bytes)
    }

    /// Its operators start: from here on the pool alone says how much there may be.
    pub fn run(&self) {
        self.0.runs.store(true, Ordering::Relaxed);
        if let Some(planning) = self.0.planning.lock().as_ref() {
            planning.shrink(planning.size() - planning.size() / OPERATORS_ONE_OF);
        }
    }

    pub fn runs(&self) -> bool {
        self.0.runs.load(Ordering::Relaxed)
    }

    /// What `call` makes, at most `bytes` as far as can be told. A statement whose constants are too large for this is planned with the
    /// calls as they are: DataFusion keeps a call that fails, and it is made when the statement runs.
    pub fn constant<T>(&self, function: &str, bytes: usize, call: impl FnOnce() -> Result<T>) -> Result<T> {
        let total = self.0.constants_bytes.load(Ordering::Relaxed).saturating_add(bytes);
        let took = Duration::from_nanos(self.0.constants_ns.load(Ordering::Relaxed));
        if bytes > CONSTANT_BYTES_MAX || total > CONSTANTS_BYTES_MAX || took > CONSTANTS_TIME_MAX {
            let [bytes, max] = [bytes, CONSTANT_BYTES_MAX].map(|bytes| Bytes(bytes as u64));
            return exec_err!("{function}() may make {bytes} here, where a constant is needed that has at most {max}");
        }
        let start = Instant::now();
        let made = call();
        let took = u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX);
        self.0.constants_ns.fetch_add(took, Ordering::Relaxed);
        if made.is_ok() {
            self.0.constants_bytes.fetch_add(bytes, Ordering::Relaxed);
        }
        made
    }
}

impl ConfigExtension for StatementMemory {
    const PREFIX: &'static str = "quiver_statement";
}

/// No setting: nothing of it is listed, and nothing can be set.
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
        let made = (0..1_000).take_while(|_| statement.constant("f", CONSTANT_BYTES_MAX, || Ok(())).is_ok()).count();
        assert_eq!(made, CONSTANTS_BYTES_MAX / CONSTANT_BYTES_MAX - 1);
        let statement = memory();
        statement.constant("f", 1, || Ok(std::thread::sleep(CONSTANTS_TIME_MAX))).unwrap();
        assert!(statement.constant("f", 1, || Ok(())).is_err());
    }
}
