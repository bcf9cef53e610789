//! Compares keys that share a hash.

use std::collections::{BTreeSet, HashSet};

use arrow::array::{ArrayRef, UInt32Array};
use arrow::compute::take;
use datafusion::common::Result;

use super::key::{Key, comparable};
use super::reading::{DeletedRows, ZoneCursor, is_alive, read_zones};
use super::search::KeySearch;

/// A key that two visible rows have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Duplicate {
    pub hash: u64,
    /// `(a) = (1)`
    pub shown: String,
}

/// Reads every row whose hash is among `suspects`, and returns the first duplicate key.
pub fn duplicate(table: &KeySearch<'_>, key: &Key, suspects: &BTreeSet<u64>) -> Result<Option<Duplicate>> {
    let encoder = key.encoder()?;
    let mut distinct_keys: HashSet<Box<[u8]>> = HashSet::new();
    let mut duplicate_key = None;
    for (part, _) in table.parts {
        let next = read_zones(
            part,
            &key.columns,
            table.declared,
            DeletedRows::Skip,
            |_| true,
            |zone| {
                let columns: Vec<ArrayRef> = zone.columns.iter().map(comparable).collect();
                let hashes = key.hashes(&columns)?;
                let is_suspect = |row: &usize| suspects.contains(&hashes[*row]) && is_alive(part, zone.start + row);
                let rows: Vec<u32> = (0..hashes.len()).filter(is_suspect).map(|row| row as u32).collect();
                if rows.is_empty() {
                    return Ok(ZoneCursor::Go);
                }
                let rows = UInt32Array::from(rows);
                let suspect_columns = columns.iter().map(|column| take(column, &rows, None)).collect::<Result<Vec<_>, _>>()?;
                let encoded = encoder.convert_columns(&suspect_columns)?;
                for (row, bytes) in encoded.iter().enumerate() {
                    if !distinct_keys.insert(bytes.as_ref().into()) {
                        let hash = hashes[rows.value(row) as usize];
                        duplicate_key = Some(Duplicate { hash, shown: key.shown(&suspect_columns, row) });
                        return Ok(ZoneCursor::Stop);
                    }
                }
                Ok(ZoneCursor::Go)
            },
        )?;
        if next == ZoneCursor::Stop {
            break;
        }
    }
    Ok(duplicate_key)
}
