//! How much of each table was read since the store was opened, and when last.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;

use crate::clock::now_ms;
use crate::names::TableId;

/// The reads of one table.
#[derive(Debug, Default)]
pub struct Touches {
    bytes: AtomicU64,
    /// 0: never.
    last_ms: AtomicU64,
}

impl Touches {
    pub fn add(&self, bytes: u64) {
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
        self.last_ms.store(now_ms(), Ordering::Relaxed);
    }

    pub fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    pub fn last_ms(&self) -> Option<u64> {
        Some(self.last_ms.load(Ordering::Relaxed)).filter(|last_ms| *last_ms > 0)
    }
}

/// Those of all tables that were read.
#[derive(Debug, Default)]
pub struct TableTouches(Mutex<HashMap<TableId, Arc<Touches>>>);

impl TableTouches {
    pub fn of(&self, table: TableId) -> Arc<Touches> {
        Arc::clone(self.0.lock().entry(table).or_default())
    }
}
