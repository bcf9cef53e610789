//! Damage is found by the query that reads it, by opening, and by a check of the whole store.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow::array::*;
use arrow::compute::cast;
use arrow::datatypes::{DataType, Int64Type, UInt64Type};
use arrow::ipc::reader::FileReader;
use pmem_store::{SealedSegment, Segment, Store, StoreError};
use tempfile::TempDir;

use crate::helpers::*;

/// A store with one small segment of table `t`; some of its columns are nested.
struct Sample {
    _dir: TempDir,
    store: Store,
    path: PathBuf,
    sealed: SealedSegment,
}

impl Sample {
    fn new() -> Sample {
        let rows = 300;
        let numbers: ArrayRef = Arc::new((0..rows).map(|row| (row % 3 != 0).then_some(row)).collect::<Int64Array>());
        let texts = strings(rows as usize, |row| format!("a string too long to be inlined {row}"));
        let lists = ListArray::from_iter_primitive::<Int64Type, _, _>((0..rows).map(|row| (row % 5 != 0).then(|| vec![Some(row); 2])));
        let views = cast(&texts, &DataType::Utf8View).unwrap();
        let flags = cast(&numbers, &DataType::Boolean).unwrap();
        let columns = vec![("n", numbers), ("s", texts), ("l", Arc::new(lists) as ArrayRef), ("w", views), ("b", flags)];
        let (dir, store) = store_with(&[batch(columns)]);
        let table = table(&store, "t");
        let handle = &table.segments()[0];
        let (path, sealed) = (handle.path().to_path_buf(), handle.record().sealed.clone());
        Sample { _dir: dir, store, path, sealed }
    }

    fn open(&self) -> Result<Segment, StoreError> {
        Segment::open(&self.path, &self.sealed)
    }

    fn problems(&self) -> Vec<String> {
        self.store.check(|_| {}).unwrap().problems
    }

    fn side(&self, extension: &str) -> PathBuf {
        self.path.with_extension(extension)
    }

    fn covered(&self) -> Vec<(bool, std::ops::Range<u64>)> {
        covered(&self.path)
    }
}

/// (is metadata, range) for everything in a segment that a checksum covers.
pub fn covered(segment: &Path) -> Vec<(bool, std::ops::Range<u64>)> {
    let sums = read_ipc(&segment.with_extension("sums.arrow"));
    let [offsets, lengths] = [2, 3].map(|index| sums.column(index).as_primitive::<UInt64Type>());
    let kinds = sums.column(1).as_string::<i32>();
    let range = |row| offsets.value(row)..offsets.value(row) + lengths.value(row);
    (0..sums.num_rows()).map(|row| (kinds.value(row) == "metadata", range(row))).collect()
}

pub fn read_ipc(path: &Path) -> RecordBatch {
    FileReader::try_new(File::open(path).unwrap(), None).unwrap().next().unwrap().unwrap()
}

/// Flips a bit of the file in place, runs `then` and flips it back.
fn with_flipped<T>(path: &Path, offset: u64, then: impl FnOnce() -> T) -> T {
    let file = File::options().read(true).write(true).open(path).unwrap();
    let flip = || {
        let mut byte = [0];
        file.read_exact_at(&mut byte, offset).unwrap();
        file.write_all_at(&[byte[0] ^ 0x10], offset).unwrap();
    };
    flip();
    let result = then();
    flip();
    result
}

/// File offsets of the buffers behind an array.
fn buffers_of(data: &ArrayData, segment: &Segment) -> Vec<(u64, u64)> {
    let validity = data.nulls().map(|nulls| nulls.buffer());
    let own = data.buffers().iter().chain(validity).filter(|buffer| !buffer.is_empty());
    let own = own.map(|buffer| ((buffer.as_ptr().addr() - segment.mapping().unwrap().as_ptr().addr()) as u64, buffer.len() as u64));
    own.chain(data.child_data().iter().flat_map(|child| buffers_of(child, segment))).collect()
}

#[test]
fn a_whole_store_has_no_problems_and_every_byte_is_counted() {
    let sample = Sample::new();
    let mut last = None;
    let report = sample.store.check(|progress| last = Some(progress)).unwrap();
    assert_eq!(report.problems, Vec::<String>::new());
    assert_eq!((report.tables, report.segments, report.ranges), (1, 1, sample.covered().len() as u64));
    let covered: u64 = sample.covered().iter().map(|(_, range)| range.end - range.start).sum();
    assert_eq!(report.bytes, covered + sample.sealed.side_size_bytes);
    assert_eq!(last.unwrap().bytes_done, report.bytes);
    assert_eq!(last.unwrap().bytes_total, sample.sealed.size_bytes + sample.sealed.side_size_bytes);
}

#[test]
fn a_flipped_byte_in_a_buffer_is_an_error_for_the_query_that_touches_it() {
    let sample = Sample::new();
    let whole = sample.open().unwrap();
    for column in 0..5 {
        let buffers = buffers_of(&whole.batch(0, &[column]).unwrap().column(0).to_data(), &whole);
        for (offset, length) in buffers {
            for at in [offset, offset + length / 2, offset + length - 1] {
                with_flipped(&sample.path, at, || {
                    let segment = sample.open().unwrap();
                    let error = segment.batch(0, &[column]).unwrap_err().to_string();
                    assert!(error.contains(sample.path.to_str().unwrap()), "{error}");
                    assert!(error.contains(&format!("at byte {offset}:")), "{error}");
                    let others: Vec<usize> = (0..5).filter(|other| *other != column).collect();
                    segment.batch(0, &others).unwrap();
                    // It is an error every time.
                    segment.batch(0, &[0, 1, 2, 3, 4]).unwrap_err();
                });
            }
        }
    }
}

#[test]
fn a_flipped_byte_in_metadata_is_an_error_on_open() {
    let sample = Sample::new();
    let metadata = sample.covered().into_iter().filter(|(is_metadata, _)| *is_metadata);
    for (_, range) in metadata {
        for at in [range.start, range.start + 9, (range.start + range.end) / 2, range.end - 1] {
            let error = with_flipped(&sample.path, at, || sample.open().unwrap_err().to_string());
            assert!(error.contains(sample.path.to_str().unwrap()), "{error}");
            assert!(error.contains(&format!("at byte {}:", range.start)), "{error}");
        }
    }
}

#[test]
fn a_flipped_byte_in_a_side_table_is_an_error_on_open_and_in_the_check() {
    let sample = Sample::new();
    for extension in ["sums.arrow", "zones.arrow", "columns.arrow"] {
        let side = sample.side(extension);
        let length = side.metadata().unwrap().len();
        for at in (0..20).map(|part| part * (length - 1) / 19) {
            with_flipped(&side, at, || {
                let error = sample.open().unwrap_err().to_string();
                assert!(error.contains(side.to_str().unwrap()), "{error}");
                assert_eq!(sample.problems().len(), 1);
            });
        }
    }
}

#[test]
fn a_check_finds_every_flipped_byte_but_those_of_padding() {
    let sample = Sample::new();
    let covered = sample.covered();
    let mut random = Random(7);
    for _ in 0..200 {
        let at = random.next() % sample.sealed.size_bytes;
        let range = covered.iter().find(|(_, range)| range.contains(&at));
        let problems = with_flipped(&sample.path, at, || sample.problems());
        match range {
            Some((_, range)) => {
                assert_eq!(problems.len(), 1, "byte {at}: {problems:?}");
                assert!(problems[0].starts_with("table main.t: ") && problems[0].contains(&format!("at byte {}:", range.start)));
            }
            None => assert_eq!(problems, Vec::<String>::new(), "byte {at}"),
        }
    }
    assert_eq!(sample.problems(), Vec::<String>::new());
}

#[test]
fn only_padding_between_buffers_has_no_checksum() {
    let sample = Sample::new();
    let bytes = fs::read(&sample.path).unwrap();
    let mut end = 0;
    for (_, range) in sample.covered() {
        assert!(range.start >= end && range.start - end < 64, "a gap before byte {}", range.start);
        assert!(bytes[end as usize..range.start as usize].iter().all(|byte| *byte == 0));
        end = range.end;
    }
    assert_eq!(end, sample.sealed.size_bytes);
}

#[test]
fn a_check_names_each_damaged_buffer() {
    let sample = Sample::new();
    let mut buffers = sample.covered().into_iter().filter(|(is_metadata, _)| !is_metadata).map(|(_, range)| range.start);
    let (first, second) = (buffers.next().unwrap(), buffers.nth(2).unwrap());
    let problems = with_flipped(&sample.path, first, || with_flipped(&sample.path, second, || sample.problems()));
    assert_eq!(problems.len(), 2);
    assert!(problems[0].contains(&format!("at byte {first}:")) && problems[1].contains(&format!("at byte {second}:")));
}

#[test]
fn a_missing_file_is_a_problem_of_the_check_and_an_error_on_open() {
    for extension in ["arrow", "sums.arrow", "zones.arrow", "columns.arrow"] {
        let sample = Sample::new();
        let file = sample.side(extension);
        fs::remove_file(&file).unwrap();
        assert!(sample.open().unwrap_err().to_string().contains(file.to_str().unwrap()));
        assert_eq!(sample.problems().len(), 1);
    }
}

#[test]
fn a_file_of_another_length_is_an_error_on_open() {
    let sample = Sample::new();
    let bytes = fs::read(&sample.path).unwrap();
    for length in [0, 1, 9, bytes.len() / 2, bytes.len() - 1] {
        fs::write(&sample.path, &bytes[..length]).unwrap();
        assert!(sample.open().unwrap_err().to_string().contains(sample.path.to_str().unwrap()));
        assert_eq!(sample.problems().len(), 1, "{length} bytes");
    }
    fs::write(&sample.path, [bytes.as_slice(), b"more"].concat()).unwrap();
    sample.open().unwrap_err();
    fs::write(&sample.path, &bytes).unwrap();
    sample.open().unwrap();
}

#[test]
fn a_segment_of_another_table_under_the_same_name_is_an_error() {
    let (sample, other) = (Sample::new(), store_with(&[ints(0..100)]));
    let foreign = table(&other.1, "t").segments()[0].path().to_path_buf();
    for extension in ["arrow", "sums.arrow", "zones.arrow", "columns.arrow"] {
        fs::copy(foreign.with_extension(extension), sample.side(extension)).unwrap();
    }
    sample.open().unwrap_err();
}
