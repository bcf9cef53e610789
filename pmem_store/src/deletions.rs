//! Rows of a segment that are deleted: a deletion vector beside rows that never change.
//!
//! Source of the format: the portable serialisation of Roaring bitmaps
//! (<https://github.com/RoaringBitmap/RoaringFormatSpec>).
//!
//! Invariant: a vector only grows. Each version that deletes rows writes a new vector, which contains
//! the previous one, so that a reader of an older version keeps its own.

use roaring::RoaringBitmap;

/// The positions of the deleted rows in a segment. A value never changes.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Deletions {
    rows: RoaringBitmap,
}

impl Deletions {
    pub fn new(rows: RoaringBitmap) -> Deletions {
        Deletions { rows }
    }

    pub fn rows(&self) -> &RoaringBitmap {
        &self.rows
    }

    pub fn len(&self) -> u64 {
        self.rows.len()
    }

    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// How many of the rows `start..end` are deleted.
    pub fn count_in(&self, start: usize, end: usize) -> u64 {
        self.rows.range_cardinality(start as u32..end as u32)
    }

    /// The deleted rows of `start..end`, counted from `start`, ascending.
    pub fn positions_in(&self, start: usize, end: usize) -> impl Iterator<Item = usize> + '_ {
        self.rows.range(start as u32..end as u32).map(move |row| row as usize - start)
    }

    pub(crate) fn hide(&mut self, rows: std::ops::Range<u32>) {
        self.rows.insert_range(rows);
    }

    /// Those among the first `row_count` rows.
    pub(crate) fn before(&self, row_count: u64) -> Deletions {
        let rows = self.rows.iter().take_while(|row| u64::from(*row) < row_count);
        Deletions { rows: rows.collect() }
    }

    pub(crate) fn to_bytes(&self) -> std::io::Result<Vec<u8>> {
        let mut rows = self.rows.clone();
        rows.optimize();
        let mut bytes = Vec::with_capacity(rows.serialized_size());
        rows.serialize_into(&mut bytes)?;
        Ok(bytes)
    }

    pub(crate) fn from_bytes(bytes: &[u8]) -> std::io::Result<Deletions> {
        Ok(Deletions { rows: RoaringBitmap::deserialize_from(bytes)? })
    }
}
