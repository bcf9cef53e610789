//! The cached filters for the keys of each segment: bounds of zones, and a Bloom filter once reading the whole segment for it was
//! worthwhile.
//!
//! Segments are immutable, so a filter is valid for every version. It contains all rows of its segment, including deleted ones, because
//! another version may have them.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use arrow::datatypes::Schema;
use datafusion::common::Result;
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryPool, MemoryReservation};
use parking_lot::Mutex;
use pmem_store::TableId;

use super::bloom::Bloom;
use super::key::{Key, KeySignature, NO_KEY, comparable};
use super::reading::{DeletedRows, ZoneCursor, read_zones};
use super::tail_keys::TailSets;
use super::zone_bounds::ZoneBounds;
use crate::scan::ScanPart;

/// How many segments beyond those of the table are remembered before they are dropped.
const FORGOTTEN_MAX: usize = 16;

type ByPart = HashMap<(u64, KeySignature), Arc<PartKeys>>;

#[derive(Debug)]
pub struct KeyFilters {
    /// The pool of the process: filters count against its limit.
    pool: Arc<dyn MemoryPool>,
    tables: Mutex<HashMap<TableId, ByPart>>,
    pub tails: TailSets,
}

/// The keys of one part.
#[derive(Debug)]
pub struct PartKeys {
    pub bounds: ZoneBounds,
    /// The inner `None` means that memory did not suffice.
    filter: OnceLock<Option<Filter>>,
}

#[derive(Debug)]
struct Filter {
    bloom: Bloom,
    _memory: MemoryReservation,
}

impl KeyFilters {
    pub fn new(pool: &Arc<dyn MemoryPool>) -> KeyFilters {
        KeyFilters { pool: Arc::clone(pool), tables: Mutex::default(), tails: TailSets::default() }
    }

    pub fn of(&self, table: TableId, part: &ScanPart, key: &Key) -> Result<Arc<PartKeys>> {
        let Some(id) = part.segment_id() else {
            return Ok(Arc::new(PartKeys { bounds: ZoneBounds::of(part, key)?, filter: OnceLock::new() }));
        };
        let name = (id, Arc::clone(&key.signature));
        if let Some(keys) = self.tables.lock().get(&table).and_then(|parts| parts.get(&name)) {
            return Ok(Arc::clone(keys));
        }
        let keys = Arc::new(PartKeys { bounds: ZoneBounds::of(part, key)?, filter: OnceLock::new() });
        self.tables.lock().entry(table).or_default().insert(name, Arc::clone(&keys));
        Ok(keys)
    }

    /// The table now consists of these parts; filters of other parts only help readers of earlier versions.
    pub fn table_has(&self, table: TableId, parts: &[Arc<ScanPart>]) {
        self.tails.table_has(table, parts);
        let mut tables = self.tables.lock();
        if let Some(filters) = tables.get_mut(&table).filter(|filters| filters.len() > parts.len() * 2 + FORGOTTEN_MAX) {
            filters.retain(|(id, _), _| parts.iter().any(|part| part.segment_id() == Some(*id)));
        }
    }

    /// Drops the filters of dropped tables.
    pub fn forget_all_but(&self, alive: impl Fn(TableId) -> bool) {
        self.tails.forget_all_but(&alive);
        self.tables.lock().retain(|id, _| alive(*id));
    }

    /// The part's filter, built on first use; `None` if there is no memory for it.
    pub fn filter<'a>(&self, keys: &'a PartKeys, part: &ScanPart, key: &Key, declared: &Schema) -> Result<Option<&'a Bloom>> {
        if keys.filter.get().is_none() {
            let filter = self.build(part, key, declared)?;
            let _ = keys.filter.set(filter);
        }
        Ok(keys.filter.get().and_then(Option::as_ref).map(|filter| &filter.bloom))
    }

    fn build(&self, part: &ScanPart, key: &Key, declared: &Schema) -> Result<Option<Filter>> {
        let memory = MemoryConsumer::new("filters of unique keys").register(&self.pool);
        if memory.try_grow(Bloom::size_bytes(part.row_count())).is_err() {
            return Ok(None);
        }
        let mut bloom = Bloom::for_keys(part.row_count());
        read_zones(
            part,
            &key.columns,
            declared,
            DeletedRows::Read,
            |_| true,
            |zone| {
                let columns: Vec<_> = zone.columns.iter().map(comparable).collect();
                key.hashes(&columns)?.into_iter().filter(|hash| *hash != NO_KEY).for_each(|hash| bloom.insert(hash));
                Ok(ZoneCursor::Go)
            },
        )?;
        Ok(Some(Filter { bloom, _memory: memory }))
    }
}
