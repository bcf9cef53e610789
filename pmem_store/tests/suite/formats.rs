//! This version opens stores that past versions wrote. Each folder of `fixtures` is a store as
//! the program of its time left it.

use std::path::Path;

use arrow::array::AsArray;
use arrow::datatypes::Int64Type;
use pmem_store::StoreError;

use crate::helpers::*;

/// Tables `t` (21 rows, two segments, clustered by `id`) and `s.u` (2 rows), view `v`.
fn format_1() -> tempfile::TempDir {
    copy_of(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/format-1"))
}

#[test]
fn a_store_of_before_versions_is_read_as_it_is() {
    let dir = format_1();
    let before = files_below(dir.path()).len();
    let store = open_read_only(dir.path()).unwrap();
    let t = table(&store, "t");
    assert_eq!((t.row_count(), t.segments().len()), (21, 2));
    let names: Vec<&str> = t.schema().fields().iter().map(|field| field.name().as_str()).collect();
    assert_eq!(names, ["id", "name", "price", "at"]);
    let ids: Vec<u32> = t.columns().iter().map(|column| column.id).collect();
    assert_eq!(ids, [0, 1, 2, 3]);
    assert_eq!(t.record().cluster_key[0].column, "id");
    let ids = read_segment(&t.segments()[0].open().unwrap());
    assert_eq!(ids.column(0).as_primitive::<Int64Type>().values().to_vec(), (1..=20).collect::<Vec<i64>>());
    assert_eq!(store.snapshot().unwrap().views().unwrap()[0].name, "v");
    let report = store.check(|_| {}).unwrap();
    assert_eq!((report.segments, report.problems), (3, vec![]));
    drop(store);
    assert_eq!(files_below(dir.path()).len() - before, 1, "the lock");
}

#[test]
fn a_store_of_before_versions_can_be_changed_and_then_has_them() {
    let dir = format_1();
    let store = open(dir.path());
    // The fixture's versions are more than a day old, and would expire when the store is opened again.
    store.set_retention_ms(1_000 * 365 * 24 * 3_600_000).unwrap();
    let first = store.snapshot().unwrap().version();
    let version = delete(&store, "t", 0..5);
    assert_eq!(table(&store, "t").row_count(), 16);
    assert_eq!(store.table_at("main", "t", first).unwrap().unwrap().row_count(), 21);
    drop(store);
    let store = open(dir.path());
    assert_eq!(table(&store, "t").row_count(), 16);
    assert_eq!(store.table_at("main", "t", version).unwrap().unwrap().row_count(), 16);
    assert!(matches!(store.table_at("main", "t", 1), Err(StoreError::BeforeTable { .. })));
}
