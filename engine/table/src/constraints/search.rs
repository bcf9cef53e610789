//! Finds which keys of a statement may already be in the table.

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow::array::Array;
use arrow::datatypes::Schema;
use datafusion::common::Result;
use pmem_store::{TableId, ZONE_ROWS};

use super::key::{Key, comparable};
use super::key_filters::{KeyFilters, PartKeys};
use super::new_keys::KeySet;
use super::reading::{DeletedRows, ZoneCursor, is_alive, read_zones};
use crate::scan::ScanPart;

/// With more keys, some pass nearly every filter by chance.
const FILTER_KEYS_MAX: usize = 256;

/// Reading fewer zones is faster than building a filter for the whole part.
const FILTER_ZONES_MIN: usize = 4;

/// A table in which keys are searched.
pub struct KeySearch<'a> {
    pub table: TableId,
    pub declared: &'a Schema,
    /// Each with its first relevant row.
    pub parts: &'a [(Arc<ScanPart>, usize)],
    pub filters: &'a KeyFilters,
}

/// The result of a search.
#[derive(Debug, Default)]
pub struct KeyMatches {
    /// The hashes, among those searched for, of visible rows. Different keys may share a hash.
    pub hashes: BTreeSet<u64>,
    /// How many rows' keys were compared: those in zones that neither bounds nor filters excluded.
    pub rows_read: usize,
}

impl KeySearch<'_> {
    pub fn find(&self, key: &Key, key_set: &KeySet) -> Result<KeyMatches> {
        let mut matches = KeyMatches::default();
        if key_set.hashes().is_empty() {
            return Ok(matches);
        }
        for (part, first_row) in self.parts {
            if part.is_log() && !self.filters.tails.may_have(self.table, part, key, self.declared, key_set)? {
                continue;
            }
            let keys = self.filters.of(self.table, part, key)?;
            let Some(zones) = self.zones(part, key, &keys, key_set)? else { continue };
            let is_selected = |zone: usize| zones[zone] && (zone + 1) * ZONE_ROWS > *first_row;
            read_zones(part, &key.columns, self.declared, DeletedRows::Skip, is_selected, |zone| {
                let columns: Vec<_> = zone.columns.iter().map(comparable).collect();
                matches.rows_read += columns.first().map_or(0, |column| column.len());
                for (row, hash) in key.hashes(&columns)?.into_iter().enumerate() {
                    let row = zone.start + row;
                    if key_set.contains(hash) && row >= *first_row && is_alive(part, row) {
                        matches.hashes.insert(hash);
                    }
                }
                Ok(ZoneCursor::Go)
            })?;
        }
        Ok(matches)
    }

    /// The zones of a part that must be read; `None` if there are none.
    fn zones(&self, part: &ScanPart, key: &Key, keys: &PartKeys, key_set: &KeySet) -> Result<Option<Vec<bool>>> {
        let zones = key_set.zones(&keys.bounds);
        let count = zones.iter().filter(|zone| **zone).count();
        if count == 0 {
            return Ok(None);
        }
        if count <= FILTER_ZONES_MIN || key_set.hashes().len() > FILTER_KEYS_MAX || part.segment_id().is_none() {
            return Ok(Some(zones));
        }
        let Some(filter) = self.filters.filter(keys, part, key, self.declared)? else { return Ok(Some(zones)) };
        let maybe: Vec<u64> = key_set.hashes().iter().copied().filter(|hash| filter.may_contain(*hash)).collect();
        if maybe.is_empty() {
            return Ok(None);
        }
        Ok(Some(key_set.narrowed(maybe).zones(&keys.bounds)))
    }
}
