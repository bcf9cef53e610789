//! Logs in temporary directories.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow::array::{AsArray, RecordBatch};
use arrow::compute::concat_batches;
use arrow::datatypes::{Int64Type, SchemaRef};
use pmem_store::log::{LogIdentity, LogView, TailLog};
use pmem_store::region::{PoisonFlag, RegionKind};
use pmem_store::{StoreError, ZONE_ROWS};
use tempfile::TempDir;

use crate::helpers::{batch, ints, strings};

pub const IDENTITY: LogIdentity = LogIdentity { table: 7, log: 42, schema_version: 3 };

/// Says that every version is in the catalog.
pub fn always(_: u64) -> bool {
    true
}

/// A log that lives as long as its directory.
pub struct Fixture {
    pub dir: TempDir,
    pub path: PathBuf,
    pub poison: Arc<PoisonFlag>,
    pub schema: SchemaRef,
}

impl Fixture {
    pub fn new(schema: SchemaRef) -> Fixture {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("segments").join("7").join("42.log");
        Fixture { dir, path, poison: PoisonFlag::new(), schema }
    }

    pub fn create(&self, capacity: u64, kind: RegionKind) -> TailLog {
        TailLog::create(&self.path, IDENTITY, Arc::clone(&self.schema), capacity, kind, &self.poison).unwrap()
    }

    pub fn open(&self) -> TailLog {
        self.open_as(RegionKind::Auto, &always).unwrap()
    }

    pub fn open_as(&self, kind: RegionKind, is_committed: &dyn Fn(u64) -> bool) -> Result<TailLog, StoreError> {
        TailLog::open(&self.path, IDENTITY, Arc::clone(&self.schema), kind, &self.poison, is_committed)
    }

    pub fn open_read_only(&self, is_committed: &dyn Fn(u64) -> bool) -> Result<TailLog, StoreError> {
        TailLog::open_read_only(&self.path, IDENTITY, Arc::clone(&self.schema), is_committed)
    }
}

/// A log of [`ints`] in a file of a mebibyte.
pub fn log_of_ints() -> (Fixture, TailLog) {
    let fixture = Fixture::new(ints(0..1).schema());
    let log = fixture.create(1 << 20, RegionKind::Auto);
    (fixture, log)
}

/// Appends rows as the next version and flushes; returns the version.
pub fn commit(log: &TailLog, rows: &RecordBatch) -> u64 {
    let version = log.last_version().unwrap_or(0) + 1;
    let appended = log.append(rows, version, false).unwrap();
    log.flush(appended.end_offset).unwrap();
    version
}

pub fn all(log: &TailLog) -> RecordBatch {
    rows_of(&log.view(u64::MAX).unwrap())
}

/// The rows of all chunks; it checks their positions.
pub fn rows_of(view: &LogView) -> RecordBatch {
    let chunks = view.chunks().unwrap();
    let mut next = 0;
    for (index, (start, chunk)) in chunks.iter().enumerate() {
        assert_eq!(*start, (index * ZONE_ROWS) as u64);
        assert_eq!(*start, next, "chunks follow each other");
        next += chunk.num_rows() as u64;
    }
    assert_eq!(next, view.row_count());
    let batches: Vec<RecordBatch> = chunks.into_iter().map(|(_, chunk)| chunk).collect();
    concat_batches(view.schema(), &batches).unwrap()
}

/// The values of a log of [`ints`].
pub fn values(log: &TailLog) -> Vec<i64> {
    all(log).column(0).as_primitive::<Int64Type>().values().to_vec()
}

pub fn assert_ints(log: &TailLog, expected: Range<i64>) {
    assert_eq!(values(log), expected.collect::<Vec<_>>());
}

/// About 256 bytes: a number and a text.
pub fn row(number: i64) -> RecordBatch {
    let text = strings(1, |_| format!("{number:>240}"));
    batch(vec![("v", ints(number..number + 1).column(0).clone()), ("text", text)])
}

/// The offset of each record, and after them the end of the log.
pub fn record_offsets(log: &TailLog) -> Vec<usize> {
    let bytes = std::fs::read(log.path()).unwrap();
    let mut offsets = vec![first_record(&bytes)];
    for _ in log.versions() {
        let at = offsets[offsets.len() - 1];
        offsets.push(at + u64_at(&bytes, at) as usize);
    }
    offsets
}

pub fn first_record(bytes: &[u8]) -> usize {
    u64_at(bytes, 48) as usize
}

pub fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap())
}

/// Changes bytes of a file, as a bad medium would. It does not truncate the file, which would start a write-back
/// each time.
pub fn overwrite(path: &Path, at: usize, new: &[u8]) {
    use std::os::unix::fs::FileExt;
    std::fs::OpenOptions::new().write(true).open(path).unwrap().write_all_at(new, at as u64).unwrap();
}
