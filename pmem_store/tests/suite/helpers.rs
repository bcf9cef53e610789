//! Common helpers of the suite: stores in temporary directories, and data.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use arrow::compute::concat_batches;
use arrow::datatypes::{Schema, SchemaRef};
use pmem_store::segment::storable_schema;
use pmem_store::{NewTable, Segment, Store, StoreError, StoreOptions, TableId, TableSnapshot};
use roaring::RoaringBitmap;
use tempfile::TempDir;

pub fn open(path: &Path) -> Store {
    Store::open(path, StoreOptions::default()).unwrap()
}

pub fn open_read_only(path: &Path) -> Result<Store, StoreError> {
    Store::open(path, StoreOptions { read_only: true, ..StoreOptions::default() })
}

/// A new store in a directory that exists.
pub fn fresh() -> (TempDir, Store) {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    (dir, store)
}

pub fn new_table<'a>(name: &'a str, schema: &'a Schema) -> NewTable<'a> {
    NewTable {
        namespace: "main",
        name,
        schema,
        columns: Vec::new(),
        cluster_key: Vec::new(),
        constraints: Vec::new(),
        options: BTreeMap::new(),
    }
}

pub fn create_table(store: &Store, name: &str, schema: &Schema) -> TableId {
    let mut transaction = store.begin().unwrap();
    let id = store.new_table_id();
    transaction.create_table(id, new_table(name, schema), false).unwrap();
    transaction.commit("CREATE TABLE").unwrap();
    id
}

pub fn append(store: &Store, name: &str, batches: &[RecordBatch]) {
    let id = table(store, name).record().id;
    let schema = storable_schema(&batches[0].schema()).unwrap();
    let mut appender = store.appender(id, Arc::new(schema)).unwrap();
    for batch in batches {
        appender.write(batch.clone()).unwrap();
    }
    let segments = appender.finish().unwrap();
    let mut transaction = store.begin().unwrap();
    transaction.add_segments(id, segments, false).unwrap();
    transaction.commit("INSERT").unwrap();
}

/// A store with one table `t` that holds `batches`.
pub fn store_with(batches: &[RecordBatch]) -> (TempDir, Store) {
    let (dir, store) = fresh();
    create_table(&store, "t", &batches[0].schema());
    append(&store, "t", batches);
    (dir, store)
}

/// The same with all columns in their physical types.
pub fn plain_store_with(batches: &[RecordBatch]) -> (TempDir, Store) {
    let (dir, store) = fresh();
    let id = create_table(&store, "t", &batches[0].schema());
    let schema = storable_schema(&batches[0].schema()).unwrap();
    let mut appender = store.appender(id, Arc::new(schema)).unwrap().with_plain_columns();
    batches.iter().for_each(|batch| appender.write(batch.clone()).unwrap());
    let segments = appender.finish().unwrap();
    let mut transaction = store.begin().unwrap();
    transaction.add_segments(id, segments, false).unwrap();
    transaction.commit("INSERT").unwrap();
    (dir, store)
}

pub fn drop_table(store: &Store, name: &str) {
    let mut transaction = store.begin().unwrap();
    transaction.drop_table("main", name).unwrap();
    transaction.commit("DROP TABLE").unwrap();
}

pub fn table(store: &Store, name: &str) -> TableSnapshot {
    store.snapshot().unwrap().table("main", name).unwrap().unwrap()
}

/// The first segment of table `t`, mapped anew.
pub fn segment(store: &Store) -> Segment {
    let table = table(store, "t");
    let handle = &table.segments()[0];
    Segment::open(handle.path(), &handle.record().sealed).unwrap()
}

pub fn read_segment(segment: &Segment) -> RecordBatch {
    let columns: Vec<usize> = (0..segment.schema().fields().len()).collect();
    let batches: Vec<RecordBatch> = (0..segment.batch_count()).map(|index| segment.batch(index, &columns).unwrap()).collect();
    concat_batches(segment.schema(), &batches).unwrap()
}

pub fn read(table: &TableSnapshot) -> RecordBatch {
    let batches: Vec<RecordBatch> = table.segments().iter().map(|handle| read_segment(&handle.open().unwrap())).collect();
    let schema: SchemaRef = batches.first().map_or(Arc::clone(table.schema()), RecordBatch::schema);
    concat_batches(&schema, &batches).unwrap()
}

/// The values of a table of [`ints`].
pub fn read_ints(table: &TableSnapshot) -> Vec<i64> {
    read(table).column(0).as_any().downcast_ref::<Int64Array>().unwrap().values().to_vec()
}

/// The values of a table of [`ints`] that are not deleted, and their positions.
pub fn live_ints(table: &TableSnapshot) -> Vec<i64> {
    let segments = table.segments().iter();
    let live = segments.flat_map(|segment| {
        let rows = read_segment(&segment.open().unwrap());
        let values = rows.column(0).as_any().downcast_ref::<Int64Array>().unwrap().values().to_vec();
        let deletions = segment.deletions().cloned();
        let is_live = move |row: usize| deletions.as_ref().is_none_or(|deletions| !deletions.rows().contains(row as u32));
        values.into_iter().enumerate().filter(move |(row, _)| is_live(*row)).map(|(_, value)| value)
    });
    live.collect()
}

/// Rows of one segment, as arguments of [`pmem_store::Transaction::delete_rows`].
pub fn rows_of(segment: u64, rows: impl IntoIterator<Item = u32>) -> BTreeMap<u64, RoaringBitmap> {
    BTreeMap::from([(segment, rows.into_iter().collect())])
}

/// Deletes rows of the table's first segment in a separate transaction.
pub fn delete(store: &Store, name: &str, rows: impl IntoIterator<Item = u32>) -> u64 {
    let table = table(store, name);
    let mut transaction = store.begin().unwrap();
    transaction.delete_rows(table.record().id, rows_of(table.segments()[0].id(), rows)).unwrap();
    transaction.commit("DELETE").unwrap()
}

pub fn ints(values: std::ops::Range<i64>) -> RecordBatch {
    batch(vec![("v", Arc::new(Int64Array::from_iter_values(values)))])
}

pub fn strings(count: usize, make: impl Fn(usize) -> String) -> ArrayRef {
    Arc::new(StringArray::from_iter_values((0..count).map(make)))
}

/// Every column may be NULL.
pub fn batch(columns: Vec<(&str, ArrayRef)>) -> RecordBatch {
    RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(name, array)| (name, array, true))).unwrap()
}

/// Every file below `path`, relative to it, sorted.
pub fn files_below(path: &Path) -> Vec<PathBuf> {
    fn walk(dir: &Path, root: &Path, files: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(dir).unwrap().flatten() {
            match entry.file_type().unwrap().is_dir() {
                true => walk(&entry.path(), root, files),
                false => files.push(entry.path().strip_prefix(root).unwrap().to_path_buf()),
            }
        }
    }
    let mut files = Vec::new();
    walk(path, path, &mut files);
    files.sort();
    files
}

/// The segment files of a store, without their side files.
pub fn segment_files(store: &Path) -> Vec<PathBuf> {
    let is_segment = |path: &PathBuf| path.to_str().is_some_and(|path| path.matches('.').count() == 1);
    files_below(&store.join("segments")).into_iter().filter(is_segment).collect()
}

/// What a crash of the process leaves: copies of the current files, open or not.
pub fn copy_of(store: &Path) -> TempDir {
    let copy = tempfile::tempdir().unwrap();
    for file in files_below(store) {
        let target = copy.path().join(&file);
        fs::create_dir_all(target.parent().unwrap()).unwrap();
        fs::copy(store.join(&file), target).unwrap();
    }
    copy
}

/// SplitMix64: the same numbers in every run.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let value = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        value ^ (value >> 31)
    }

    pub fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }
}
