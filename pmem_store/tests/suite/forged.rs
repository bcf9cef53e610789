//! Forged segments with matching checksums: opening one never panics.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use arrow::array::*;
use arrow::datatypes::{Int64Type, UInt64Type};
use arrow::ipc::writer::FileWriter;
use pmem_store::{SealedSegment, Segment, StoreError, ZONE_ROWS};
use tempfile::TempDir;
use twox_hash::XxHash3_64;

use crate::check::{covered, read_ipc};
use crate::helpers::*;

/// Writes forged files and checksums that match each other, so that only the parser protects the reader.
struct Forger {
    dir: TempDir,
    bytes: Vec<u8>,
    sums: RecordBatch,
    metadata: Vec<(usize, std::ops::Range<usize>)>,
    sealed: SealedSegment,
}

impl Forger {
    fn of(path: &Path, sealed: &SealedSegment) -> Forger {
        let dir = tempfile::tempdir().unwrap();
        for extension in ["zones.arrow", "columns.arrow"] {
            fs::copy(path.with_extension(extension), dir.path().join("1.arrow").with_extension(extension)).unwrap();
        }
        let ranges = covered(path).into_iter().enumerate().filter(|(_, (is_metadata, _))| *is_metadata);
        let metadata = ranges.map(|(row, (_, range))| (row, range.start as usize..range.end as usize)).collect();
        let sums = read_ipc(&path.with_extension("sums.arrow"));
        Forger { dir, bytes: fs::read(path).unwrap(), sums, metadata, sealed: sealed.clone() }
    }

    fn open(&self, bytes: &[u8]) -> Result<Segment, StoreError> {
        let path = self.dir.path().join("1.arrow");
        fs::write(&path, bytes).unwrap();
        let mut columns = self.sums.columns().to_vec();
        let mut xxh3 = columns[4].as_primitive::<UInt64Type>().values().to_vec();
        self.metadata.iter().for_each(|(row, range)| xxh3[*row] = XxHash3_64::oneshot(&bytes[range.clone()]));
        columns[4] = Arc::new(UInt64Array::from(xxh3));
        let mut writer = FileWriter::try_new(Vec::new(), &self.sums.schema()).unwrap();
        writer.write(&RecordBatch::try_new(self.sums.schema(), columns).unwrap()).unwrap();
        let table = writer.into_inner().unwrap();
        fs::write(path.with_extension("sums.arrow"), &table).unwrap();
        Segment::open(&path, &SealedSegment { checksums_xxh3: XxHash3_64::oneshot(&table), ..self.sealed.clone() })
    }
}

#[test]
fn foreign_bytes_in_the_metadata_never_panic() {
    let lists = ListArray::from_iter_primitive::<Int64Type, _, _>((0..50).map(|row| Some(vec![Some(row); 2])));
    let (_dir, store) = store_with(&[batch(vec![("l", Arc::new(lists))])]);
    let table = table(&store, "t");
    let handle = &table.segments()[0];
    let forger = Forger::of(handle.path(), &handle.record().sealed);
    forger.open(&forger.bytes).unwrap();
    let mut random = Random(11);
    let mut refused = 0;
    for round in 0..500 {
        let mut forged = forger.bytes.clone();
        // Every other round changes the footer, which is in the last range.
        let last = forger.metadata.len() - 1;
        let (_, range) = &forger.metadata[if round % 2 == 0 { last } else { random.below(last + 1) }];
        for _ in 0..=random.below(4) {
            forged[range.start + random.below(range.len())] = [0, 1, 0x7f, 0x80, 0xff, random.next() as u8][random.below(6)];
        }
        match forger.open(&forged) {
            Err(_) => refused += 1,
            Ok(segment) => drop(segment.validate()),
        }
    }
    assert!(refused > 100, "{refused} of 500");
}

#[test]
fn validation_finds_values_that_do_not_fit_their_type_under_matching_checksums() {
    let texts: ArrayRef = strings(100, |row| format!("text {row}"));
    let (_dir, store) = store_with(&[batch(vec![("s", texts)])]);
    let table = table(&store, "t");
    let handle = &table.segments()[0];
    let mut forger = Forger::of(handle.path(), &handle.record().sealed);
    forger.open(&forger.bytes).unwrap().validate().unwrap();
    let ranges = covered(handle.path()).into_iter().enumerate();
    let buffers: Vec<_> = ranges
        .filter(|(_, (is_metadata, _))| !is_metadata)
        .map(|(row, (_, range))| (row, range.start as usize..range.end as usize))
        .collect();
    // The buffers are offsets and text.
    assert_eq!(buffers.len(), 2);
    forger.metadata.extend(buffers.clone());
    for (_, range) in buffers {
        let mut forged = forger.bytes.clone();
        forged[range].fill(0xff);
        let error = forger.open(&forged).unwrap().validate().unwrap_err().to_string();
        assert!(error.contains("its values are not of their types"), "{error}");
    }
}

#[test]
fn row_counts_that_overflow_together_are_an_error() {
    // The batches have 16, 16 and 2 zones; the first two will claim 2^63 rows minus a zone.
    let (_dir, store) = store_with(&[ints(0..34 * ZONE_ROWS as i64)]);
    let table = table(&store, "t");
    let handle = &table.segments()[0];
    let forger = Forger::of(handle.path(), &handle.record().sealed);
    let mut forged = forger.bytes.clone();
    let (real, claimed) = (16 * ZONE_ROWS as i64, i64::MAX - (ZONE_ROWS as i64 - 1));
    for (_, range) in &forger.metadata[1..3] {
        for word in forged[range.clone()].chunks_exact_mut(8).filter(|word| *word == real.to_le_bytes()) {
            word.copy_from_slice(&claimed.to_le_bytes());
        }
    }
    let error = forger.open(&forged).unwrap_err().to_string();
    assert!(error.contains("impossible number of rows"), "{error}");
}
