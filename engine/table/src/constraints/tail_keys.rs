//! The keys of rows in a log, cached in a set that grows with the log, so that a small insert does not read all small inserts before it.
//!
//! A set may contain rows that a reader's version does not have yet, but never lacks one: rows of a log keep their positions, and a
//! visible row is never removed.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use arrow::datatypes::Schema;
use datafusion::common::Result;
use parking_lot::Mutex;
use pmem_store::{TableId, ZONE_ROWS};

use super::key::{Key, KeySignature, NO_KEY, comparable};
use super::new_keys::KeySet;
use super::reading::{DeletedRows, ZoneCursor, read_zones};
use crate::scan::ScanPart;

/// By log and key.
type ByLog = HashMap<(u64, KeySignature), Arc<Mutex<TailKeys>>>;

#[derive(Debug, Default)]
pub struct TailSets {
    tables: Mutex<HashMap<TableId, ByLog>>,
}

/// The keys of the first rows of a log.
#[derive(Debug, Default)]
struct TailKeys {
    rows: usize,
    hashes: HashSet<u64>,
}

impl TailSets {
    /// Whether a row of the log may have one of the keys.
    pub fn may_have(&self, table: TableId, part: &ScanPart, key: &Key, declared: &Schema, key_set: &KeySet) -> Result<bool> {
        let name = (part.id(), Arc::clone(&key.signature));
        let keys = Arc::clone(self.tables.lock().entry(table).or_default().entry(name).or_default());
        let mut keys = keys.lock();
        keys.grow(part, key, declared)?;
        Ok(key_set.hashes().iter().any(|hash| keys.hashes.contains(hash)))
    }

    /// Drops the sets of logs that have become segments, which have filters instead.
    pub fn table_has(&self, table: TableId, parts: &[Arc<ScanPart>]) {
        if let Some(logs) = self.tables.lock().get_mut(&table) {
            logs.retain(|(id, _), _| parts.iter().any(|part| part.id() == *id && part.segment_id().is_none()));
        }
    }

    pub fn forget_all_but(&self, alive: impl Fn(TableId) -> bool) {
        self.tables.lock().retain(|id, _| alive(*id));
    }
}

impl TailKeys {
    fn grow(&mut self, part: &ScanPart, key: &Key, declared: &Schema) -> Result<()> {
        let old_rows = self.rows;
        if part.row_count() <= old_rows {
            return Ok(());
        }
        let is_new = |zone: usize| (zone + 1) * ZONE_ROWS > old_rows;
        read_zones(part, &key.columns, declared, DeletedRows::Read, is_new, |zone| {
            let columns: Vec<_> = zone.columns.iter().map(comparable).collect();
            let skipped = old_rows.saturating_sub(zone.start);
            self.hashes.extend(key.hashes(&columns)?.into_iter().skip(skipped).filter(|hash| *hash != NO_KEY));
            Ok(ZoneCursor::Go)
        })?;
        self.rows = part.row_count();
        Ok(())
    }
}
