//! Searches the index of a segment.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow::array::{Array, AsArray, BinaryArray, BooleanArray, RecordBatch, StringArray};
use arrow::buffer::OffsetBuffer;
use roaring::RoaringBitmap;

use super::postings;
use crate::error::{Result, StoreError};
use crate::mapping::Mapping;
use crate::segment::side_table::{map_table, read_table};

/// It keeps the mapping of its file.
#[derive(Debug)]
pub struct AttributeIndex {
    path: PathBuf,
    row_count: u32,
    keys: StringArray,
    has_lists: BooleanArray,
    offsets: OffsetBuffer<i32>,
    values: BinaryArray,
    rows: BinaryArray,
    _mapping: Option<Arc<Mapping>>,
}

impl AttributeIndex {
    pub fn open(path: &Path, expected_xxh3: u64, row_count: u64) -> Result<AttributeIndex> {
        let (mapping, batch) = match map_table(path, expected_xxh3) {
            Some((mapping, batch)) => (Some(mapping), batch),
            None => (None, read_table(path, expected_xxh3)?),
        };
        let damaged = || StoreError::damaged(path, 0, "it is no index of attributes");
        let row_count = u32::try_from(row_count).map_err(|_| damaged())?;
        let (keys, has_lists, offsets, values, rows) = Self::parts(&batch).ok_or_else(damaged)?;
        Ok(AttributeIndex { path: path.to_path_buf(), row_count, keys, has_lists, offsets, values, rows, _mapping: mapping })
    }

    fn parts(batch: &RecordBatch) -> Option<(StringArray, BooleanArray, OffsetBuffer<i32>, BinaryArray, BinaryArray)> {
        let [keys, has_lists, lists] = batch.columns() else { return None };
        let lists = lists.as_list_opt::<i32>()?;
        let entries = lists.values().as_struct_opt()?;
        let [values, rows] = entries.columns() else { return None };
        Some((
            keys.as_string_opt::<i32>()?.clone(),
            has_lists.as_boolean_opt()?.clone(),
            lists.offsets().clone(),
            values.as_binary_opt()?.clone(),
            rows.as_binary_opt()?.clone(),
        ))
    }

    pub fn row_count(&self) -> u32 {
        self.row_count
    }

    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.keys.iter().flatten()
    }

    /// The values of one key; `None` if no row has it.
    pub fn key(&self, key: &str) -> Option<KeyIndex<'_>> {
        let at = partition_point(0..self.keys.len(), |at| self.keys.value(at) < key);
        let is_here = at < self.keys.len() && self.keys.value(at) == key;
        is_here.then(|| KeyIndex {
            index: self,
            has_lists: self.has_lists.value(at),
            entries: self.offsets[at] as usize..self.offsets[at + 1] as usize,
        })
    }
}

/// The values of one key, in their order. Values are given as their sort keys.
#[derive(Debug, Clone)]
pub struct KeyIndex<'a> {
    index: &'a AttributeIndex,
    has_lists: bool,
    entries: Range<usize>,
}

impl KeyIndex<'_> {
    /// The entries whose values are in a range.
    pub fn range(&self, first: &[u8], is_first_in: bool, last: &[u8], is_last_in: bool) -> Range<usize> {
        let start = partition_point(self.entries.clone(), |at| match is_first_in {
            true => self.value(at) < first,
            false => self.value(at) <= first,
        });
        let end = partition_point(start..self.entries.end, |at| match is_last_in {
            true => self.value(at) <= last,
            false => self.value(at) < last,
        });
        start..end
    }

    /// Whether a row may have several values.
    pub fn has_lists(&self) -> bool {
        self.has_lists
    }

    pub fn entries(&self) -> Range<usize> {
        self.entries.clone()
    }

    pub fn value(&self, entry: usize) -> &[u8] {
        self.index.values.value(entry)
    }

    /// The bytes of the rows of these entries: what reading them costs.
    pub fn size_bytes(&self, entries: &Range<usize>) -> usize {
        let offsets = self.index.rows.offsets();
        (offsets[entries.end] - offsets[entries.start]) as usize
    }

    /// The rows of one entry, ascending.
    pub fn rows(&self, entry: usize) -> Result<Vec<u32>> {
        let rows = postings::rows(self.index.rows.value(entry), self.index.row_count);
        rows.ok_or_else(|| StoreError::damaged(&self.index.path, 0, "it has rows that its segment does not have"))
    }

    /// Calls `visit` with each row of one entry, ascending.
    pub fn visit_rows(&self, entry: usize, visit: impl FnMut(u32)) -> Result<()> {
        let visited = postings::visit_rows(self.index.rows.value(entry), self.index.row_count, visit);
        visited.ok_or_else(|| StoreError::damaged(&self.index.path, 0, "it has rows that its segment does not have"))
    }

    /// The rows of several entries together.
    pub fn rows_of(&self, entries: Range<usize>) -> Result<RoaringBitmap> {
        let mut all = RoaringBitmap::new();
        for entry in entries {
            let rows = self.rows(entry)?;
            match RoaringBitmap::from_sorted_iter(rows.iter().copied()) {
                Ok(rows) => all |= rows,
                Err(_) => all.extend(rows),
            }
        }
        Ok(all)
    }
}

/// The first place in the range for which the condition, which holds for all places before it, does not.
fn partition_point(range: Range<usize>, is_before: impl Fn(usize) -> bool) -> usize {
    let (mut low, mut high) = (range.start, range.end);
    while low < high {
        let middle = low + (high - low) / 2;
        match is_before(middle) {
            true => low = middle + 1,
            false => high = middle,
        }
    }
    low
}
