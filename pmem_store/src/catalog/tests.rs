//! The cost of opening a store with a large catalog. These benchmarks are ignored by tests: `make bench-open` runs
//! them, with TMPDIR set to a directory of the disk to be measured.
//!
//! A million segments are records here and, except in the last benchmark, no files: opening a store reads none.

use std::fs::{self, File};
use std::path::Path;
use std::time::Instant;

use arrow::datatypes::{DataType, Field, Schema};
use roaring::RoaringBitmap;

use super::database::{Access, Database};
use super::records::{Garbage, GarbageKind, SegmentRecord, TableRecord, VersionRecord};
use super::write::CatalogWriter;
use crate::clock::now_ms;
use crate::deletions::Deletions;
use crate::files::{CATALOG_FILE, table_dir};
use crate::segment::SealedSegment;
use crate::state::{ColumnInfo, with_columns};
use crate::store::{Store, StoreOptions};

struct Shape {
    tables: u64,
    segments_per_table: u64,
    versions: u64,
    /// One of so many segments has deleted rows, and older versions have fewer of them.
    deleted_every: u64,
}

const FEW_TABLES: Shape = Shape { tables: 1_000, segments_per_table: 1_000, versions: 100_000, deleted_every: 10 };
const MANY_TABLES: Shape = Shape { tables: 100_000, segments_per_table: 10, versions: 100_000, deleted_every: 10 };

fn sealed(id: u64) -> SealedSegment {
    SealedSegment {
        id,
        row_count: 1_000_000,
        batch_count: 8,
        size_bytes: 100 << 20,
        side_size_bytes: 100_000,
        checksums_xxh3: id << 32,
        statistics_xxh3: id << 31,
        columns_xxh3: id << 30,
        index_xxh3: None,
        is_encoded: false,
    }
}

fn table(id: u64, version: u64) -> TableRecord {
    TableRecord {
        id,
        namespace: "main".into(),
        name: format!("table_{id}"),
        created_version: 1,
        changed_version: version,
        schema_version: 1,
        cluster_key: Vec::new(),
        options: Default::default(),
        next_column: 10,
        constraints: Vec::new(),
        created_at_ms: None,
    }
}

/// A store as commits would have made it, but made by one transaction.
fn generate(path: &Path, shape: &Shape) {
    drop(Store::open(path, StoreOptions::default()).unwrap());
    let database = std::sync::Arc::new(Database::open(&path.join(CATALOG_FILE), Access::Write).unwrap());
    let mut writer = CatalogWriter::begin(&database).unwrap();
    let fields: Vec<Field> = (0..10).map(|at| Field::new(format!("column_{at}"), DataType::Int64, true)).collect();
    let columns: Vec<ColumnInfo> = (0..10).map(|id| ColumnInfo { id, ..ColumnInfo::default() }).collect();
    let schema = with_columns(&Schema::new(fields), &columns);
    let version_of = |segment: u64| 1 + segment * (shape.versions - 1) / (shape.tables * shape.segments_per_table + 1);
    let mut segment = 0;
    for id in 1..=shape.tables {
        for _ in 0..shape.segments_per_table {
            segment += 1;
            let added_version = version_of(segment);
            let record = SegmentRecord {
                sealed: sealed(segment),
                schema_version: 1,
                added_version,
                sorted: false,
                removed_version: None,
                grown: Vec::new(),
            };
            writer.put_segment(id, &record).unwrap();
            if segment % shape.deleted_every == 0 {
                for (at, rows) in [(1, 10u32), (2, 100)] {
                    let rows: RoaringBitmap = (0..rows).map(|row| row * 7).collect();
                    writer.put_deletions(id, segment, added_version + at, &Deletions::new(rows)).unwrap();
                }
                let garbage = Garbage { table: id, from: added_version + 1, what: GarbageKind::Deletions(segment) };
                writer.add_garbage(added_version + 2, &garbage).unwrap();
            }
        }
        let record = table(id, version_of(segment));
        writer.put_table(&record).unwrap();
        writer.put_history(&record, 1).unwrap();
        writer.put_schema(id, 1, &schema).unwrap();
    }
    let now = now_ms();
    for version in 1..shape.versions {
        let tables = vec![1 + version * shape.tables / (shape.versions + 1)];
        let record = VersionRecord { committed_at_ms: now - shape.versions + version, operation: "INSERT".into(), tables };
        writer.note_version(version, &record).unwrap();
    }
    writer.store.next_segment = segment + 1;
    writer.store.next_table = shape.tables + 1;
    writer.commit(shape.versions, "INSERT", Vec::new()).unwrap();
}

fn timed<T>(what: &str, run: impl FnOnce() -> T) -> T {
    let start = Instant::now();
    let done = run();
    println!("  {what:<44} {:>9.1} ms", start.elapsed().as_secs_f64() * 1e3);
    done
}

fn open(path: &Path, read_only: bool) -> Store {
    Store::open(path, StoreOptions { read_only, ..StoreOptions::default() }).unwrap()
}

fn look(store: &Store, shape: &Shape) {
    let snapshot = timed("first snapshot", || store.snapshot().unwrap());
    let name = format!("table_{}", shape.tables / 2);
    let table = timed("first look at a table, with its segments", || snapshot.table("main", &name).unwrap().unwrap());
    assert_eq!(table.segments().len() as u64, shape.segments_per_table);
    timed("another look at it", || snapshot.table("main", &name).unwrap());
    assert_eq!(timed("names of all tables", || snapshot.tables().unwrap()).len() as u64, shape.tables);
    let then = timed("the table at an older version", || store.table_at("main", &name, shape.versions - 1).unwrap());
    assert!(then.is_some());
}

fn measure(shape: &Shape, path: &Path) {
    println!("{} tables of {} segments, {} versions", shape.tables, shape.segments_per_table, shape.versions);
    let start = Instant::now();
    generate(path, shape);
    let size = fs::metadata(path.join(CATALOG_FILE)).unwrap().len();
    println!("  (made in {:.0} s, a catalog of {} MiB)", start.elapsed().as_secs_f64(), size >> 20);
    for read_only in [true, false] {
        let what = if read_only { "open to read" } else { "open to write" };
        look(&timed(what, || open(path, read_only)), shape);
    }
    let store = open(path, false);
    timed("a commit that changes one table", || {
        let mut transaction = store.begin().unwrap();
        let snapshot = store.snapshot().unwrap();
        let first = snapshot.table("main", "table_1").unwrap().unwrap();
        let rows = [(first.segments()[0].id(), (0..1_000).collect())].into();
        transaction.delete_rows(1, rows).unwrap();
        transaction.commit("DELETE").unwrap()
    });
    drop(store);
    File::create(path.join("dirty")).unwrap();
    drop(timed("open to write after a crash, without files", || open(path, false)));
}

#[test]
#[ignore = "measures"]
fn opening_a_store_of_a_million_segments_in_a_thousand_tables() {
    let dir = tempfile::tempdir().unwrap();
    measure(&FEW_TABLES, dir.path());
}

#[test]
#[ignore = "measures"]
fn opening_a_store_of_a_hundred_thousand_tables() {
    let dir = tempfile::tempdir().unwrap();
    measure(&MANY_TABLES, dir.path());
}

/// Leftover files are found by listing all files: four for each segment, empty here.
#[test]
#[ignore = "measures"]
fn opening_a_store_with_a_million_files_after_a_crash() {
    let dir = tempfile::tempdir().unwrap();
    let shape = Shape { tables: 250, ..FEW_TABLES };
    generate(dir.path(), &shape);
    for id in 1..=shape.tables {
        let table = table_dir(dir.path(), id);
        fs::create_dir_all(&table).unwrap();
        for segment in (id - 1) * shape.segments_per_table + 1..=id * shape.segments_per_table {
            for side in ["arrow", "sums.arrow", "zones.arrow", "columns.arrow"] {
                File::create(table.join(format!("{segment}.{side}"))).unwrap();
            }
        }
    }
    println!("{} tables of {} segments, with their files", shape.tables, shape.segments_per_table);
    drop(timed("open to write", || open(dir.path(), false)));
    let leftover = table_dir(dir.path(), 7).join("99999999.arrow");
    for file in [&leftover, &dir.path().join("dirty")] {
        File::create(file).unwrap();
    }
    drop(timed("open to write after a crash", || open(dir.path(), false)));
    assert!(!leftover.exists());
}
