//! The keys of the rows that a statement writes, as they are searched for in the rest of the table.

use arrow::array::ArrayRef;
use datafusion::common::{Result, ScalarValue};
use datafusion_functions_aggregate_common::min_max::{max_batch, min_batch};

use super::bloom::Bloom;
use super::key::{Key, NO_KEY, ordered_bytes};
use super::zone_bounds::{Zone, ZoneBounds};

/// Up to this number the keys themselves are kept; beyond it only hashes and ranges.
const LISTED_MAX: usize = 4_096;

/// Beyond this number hashes are first looked up in a filter, which fits the cache when they do not.
const FILTERED_MIN: usize = 4_096;

#[derive(Debug)]
pub struct NewKeys {
    /// One for each row.
    hashes: Vec<u64>,
    ranges: Vec<Option<(ScalarValue, ScalarValue)>>,
    listed: Option<Vec<ListedKey>>,
}

#[derive(Debug, Clone)]
struct ListedKey {
    hash: u64,
    /// For each column, as bytes in the order of the values.
    bytes: Vec<Box<[u8]>>,
}

impl NewKeys {
    pub fn new(key: &Key) -> NewKeys {
        NewKeys { hashes: Vec::new(), ranges: vec![None; key.columns.len()], listed: Some(Vec::new()) }
    }

    /// `columns` are the key's columns, already comparable.
    pub fn add(&mut self, key: &Key, columns: &[ArrayRef]) -> Result<()> {
        let hashes = key.hashes(columns)?;
        for (range, column) in self.ranges.iter_mut().zip(columns) {
            widen(range, column)?;
        }
        if self.hashes.len() + hashes.len() > LISTED_MAX {
            self.listed = None;
        }
        if let Some(listed) = &mut self.listed {
            let bytes = columns.iter().map(ordered_bytes).collect::<Result<Vec<_>>>()?;
            for (row, hash) in hashes.iter().enumerate().filter(|(_, hash)| **hash != NO_KEY) {
                let bytes = bytes.iter().map(|column| column.row(row).as_ref().into()).collect();
                listed.push(ListedKey { hash: *hash, bytes });
            }
        }
        self.hashes.extend(hashes);
        Ok(())
    }

    pub fn is_empty(&self) -> bool {
        self.hashes.iter().all(|hash| *hash == NO_KEY)
    }

    pub fn size_bytes(&self) -> usize {
        // Once in the order of the rows, and once sorted.
        self.hashes.capacity() * size_of::<u64>() * 2
    }

    /// The rows with this hash, counted from 0.
    pub fn rows_of(&self, hash: u64) -> impl Iterator<Item = usize> + '_ {
        self.hashes.iter().enumerate().filter(move |(_, other)| **other == hash).map(|(row, _)| row)
    }

    /// The keys to search for, and the hashes that several rows have.
    pub fn key_set(&self) -> Result<(KeySet, Vec<u64>)> {
        let mut hashes: Vec<u64> = self.hashes.iter().copied().filter(|hash| *hash != NO_KEY).collect();
        hashes.sort_unstable();
        let mut twice: Vec<u64> = hashes.windows(2).filter(|pair| pair[0] == pair[1]).map(|pair| pair[0]).collect();
        twice.dedup();
        hashes.dedup();
        let mut ranges = Vec::with_capacity(self.ranges.len());
        for range in &self.ranges {
            ranges.push(match range {
                Some((min, max)) => Some((bytes(min)?, bytes(max)?)),
                None => None,
            });
        }
        let mut listed = self.listed.clone();
        if let Some(listed) = &mut listed {
            listed.sort_by(|a, b| a.bytes.cmp(&b.bytes));
        }
        Ok((KeySet { filter: filter_of(&hashes), hashes, ranges, listed }, twice))
    }
}

fn widen(range: &mut Option<(ScalarValue, ScalarValue)>, column: &ArrayRef) -> Result<()> {
    let (min, max) = (min_batch(column)?, max_batch(column)?);
    if min.is_null() || max.is_null() {
        return Ok(());
    }
    *range = Some(match range.take() {
        None => (min, max),
        Some((least, greatest)) => (if min < least { min } else { least }, if max > greatest { max } else { greatest }),
    });
    Ok(())
}

fn bytes(value: &ScalarValue) -> Result<Box<[u8]>> {
    Ok(ordered_bytes(&value.to_array()?)?.row(0).as_ref().into())
}

fn filter_of(hashes: &[u64]) -> Option<Bloom> {
    (hashes.len() > FILTERED_MIN).then(|| {
        let mut filter = Bloom::for_keys(hashes.len());
        hashes.iter().for_each(|hash| filter.insert(*hash));
        filter
    })
}

/// Keys to search for.
#[derive(Debug)]
pub struct KeySet {
    /// Sorted and without duplicates.
    hashes: Vec<u64>,
    filter: Option<Bloom>,
    /// For each column; `None` if its range is unknown, or if no row has a value.
    ranges: Vec<Option<(Box<[u8]>, Box<[u8]>)>>,
    /// Sorted by their bytes.
    listed: Option<Vec<ListedKey>>,
}

impl KeySet {
    /// The keys of `self` whose hashes are among these.
    pub fn narrowed(&self, hashes: Vec<u64>) -> KeySet {
        let listed =
            self.listed.as_ref().map(|listed| listed.iter().filter(|key| hashes.binary_search(&key.hash).is_ok()).cloned().collect());
        KeySet { filter: filter_of(&hashes), hashes, ranges: self.ranges.clone(), listed }
    }

    pub fn hashes(&self) -> &[u64] {
        &self.hashes
    }

    pub fn contains(&self, hash: u64) -> bool {
        self.filter.as_ref().is_none_or(|filter| filter.may_contain(hash)) && self.hashes.binary_search(&hash).is_ok()
    }

    /// Which zones may contain one of the keys.
    pub fn zones(&self, bounds: &ZoneBounds) -> Vec<bool> {
        (0..bounds.zone_count()).map(|zone| self.may_be_in(bounds, zone)).collect()
    }

    fn may_be_in(&self, bounds: &ZoneBounds, zone: usize) -> bool {
        let mut ranges = self.ranges.iter().enumerate();
        let in_range = ranges.all(|(column, range)| range.as_ref().is_none_or(|(min, max)| bounds.zone(column, zone).meets(min, max)));
        in_range && self.listed.as_ref().is_none_or(|listed| one_in(listed, bounds, zone))
    }
}

fn one_in(listed: &[ListedKey], bounds: &ZoneBounds, zone: usize) -> bool {
    let first = match bounds.zone(0, zone) {
        Zone::Nulls => return false,
        Zone::Unknown => listed,
        Zone::Between(least, greatest) => {
            let from = listed.partition_point(|key| key.bytes[0] < *least);
            let rest = &listed[from..];
            &rest[..rest.partition_point(|key| key.bytes[0] <= *greatest)]
        }
    };
    first.iter().any(|key| {
        let mut columns = key.bytes.iter().enumerate().skip(1);
        columns.all(|(column, bytes)| bounds.zone(column, zone).meets(bytes, bytes))
    })
}
