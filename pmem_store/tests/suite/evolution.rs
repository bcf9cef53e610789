//! Columns are added, dropped and renamed; segments and older versions stay as they were written.

use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, RecordBatch};
use arrow::datatypes::{DataType, Field, Schema};
use pmem_store::{ColumnInfo, ColumnOrder, Store, StoreError, TableAlteration, TableSnapshot};

use crate::helpers::*;

const NEW: u32 = u32::MAX;

fn rows(columns: &[&str]) -> RecordBatch {
    let array = |at: usize| Arc::new(Int64Array::from_iter_values((0..10).map(|row| row * 10 + at as i64))) as ArrayRef;
    RecordBatch::try_from_iter_with_nullable(columns.iter().enumerate().map(|(at, name)| (*name, array(at), true))).unwrap()
}

/// Gives the table these columns; returns the new version.
fn alter(store: &Store, columns: &[(&str, u32)]) -> u64 {
    let mut transaction = store.begin().unwrap();
    transaction.alter_table("main", "t", altered(columns)).unwrap();
    transaction.commit("ALTER TABLE").unwrap()
}

fn altered(columns: &[(&str, u32)]) -> TableAlteration {
    let fields = columns.iter().map(|(name, _)| Field::new(*name, DataType::Int64, true));
    let infos = columns.iter().map(|(_, id)| ColumnInfo { id: *id, ..ColumnInfo::default() });
    let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
    TableAlteration { schema: Some((schema, infos.collect())), ..TableAlteration::default() }
}

/// For each segment, the indices of the table's columns in it.
fn places(table: &TableSnapshot) -> Vec<Option<Vec<Option<usize>>>> {
    table.segments().iter().map(|segment| segment.columns().map(|places| places.to_vec())).collect()
}

fn names_and_ids(table: &TableSnapshot) -> Vec<(String, u32)> {
    let columns = table.schema().fields().iter().zip(table.columns());
    columns.map(|(field, column)| (field.name().clone(), column.id)).collect()
}

#[test]
fn a_column_dropped_and_added_again_under_its_name_does_not_have_its_old_rows() {
    let (dir, store) = store_with(&[rows(&["a", "b"])]);
    alter(&store, &[("a", 0)]);
    append(&store, "t", &[rows(&["a"])]);
    alter(&store, &[("a", 0), ("b", NEW)]);
    append(&store, "t", &[rows(&["a", "b"])]);
    let check = |table: &TableSnapshot| {
        assert_eq!(names_and_ids(table), [("a".to_string(), 0), ("b".to_string(), 2)]);
        assert_eq!(places(table), [Some(vec![Some(0), None]), Some(vec![Some(0), None]), None]);
    };
    check(&table(&store, "t"));
    drop(store);
    let store = open(dir.path());
    check(&table(&store, "t"));
    alter(&store, &[("b", 2), ("a", 0)]);
    assert_eq!(places(&table(&store, "t")), [Some(vec![None, Some(0)]), Some(vec![None, Some(0)]), Some(vec![Some(1), Some(0)])]);
}

#[test]
fn every_version_has_the_columns_it_had() {
    let (dir, store) = store_with(&[rows(&["a", "b"])]);
    let initial = store.snapshot().unwrap().version();
    let renamed = alter(&store, &[("x", 0), ("b", 1)]);
    let dropped = alter(&store, &[("b", 1)]);
    let added = alter(&store, &[("b", 1), ("x", NEW)]);
    append(&store, "t", &[rows(&["b", "x"])]);
    let check = |store: &Store| {
        let at = |version: u64| store.table_at("main", "t", version).unwrap().unwrap();
        for (version, columns, expected) in [
            (initial, vec![("a", 0), ("b", 1)], vec![None]),
            (renamed, vec![("x", 0), ("b", 1)], vec![None]),
            (dropped, vec![("b", 1)], vec![Some(vec![Some(1)])]),
            (added, vec![("b", 1), ("x", 2)], vec![Some(vec![Some(1), None])]),
            (added + 1, vec![("b", 1), ("x", 2)], vec![Some(vec![Some(1), None]), None]),
        ] {
            let columns: Vec<(String, u32)> = columns.into_iter().map(|(name, id)| (name.to_string(), id)).collect();
            assert_eq!(names_and_ids(&at(version)), columns, "version {version}");
            assert_eq!(places(&at(version)), expected, "version {version}");
        }
    };
    check(&store);
    drop(store);
    check(&open(dir.path()));
}

#[test]
fn a_transaction_that_is_given_up_leaves_the_columns_and_the_ids_as_they_were() {
    let (_dir, store) = store_with(&[rows(&["a", "b"])]);
    let mut transaction = store.begin().unwrap();
    transaction.alter_table("main", "t", altered(&[("a", 0), ("c", NEW)])).unwrap();
    let own = transaction.snapshot().table("main", "t").unwrap().unwrap();
    assert_eq!(names_and_ids(&own), [("a".to_string(), 0), ("c".to_string(), 2)]);
    drop(transaction);
    assert_eq!(names_and_ids(&table(&store, "t")), [("a".to_string(), 0), ("b".to_string(), 1)]);
    alter(&store, &[("a", 0), ("b", 1), ("d", NEW)]);
    assert_eq!(names_and_ids(&table(&store, "t"))[2], ("d".to_string(), 2));
}

#[test]
fn pending_rows_keep_the_columns_that_they_were_written_with() {
    let (dir, store) = store_with(&[rows(&["a", "b"])]);
    let id = table(&store, "t").record().id;
    let mut transaction = store.begin().unwrap();
    transaction.append_rows(id, rows(&["a", "b"])).unwrap();
    let savepoint = transaction.savepoint();
    transaction.alter_table("main", "t", altered(&[("b", 1), ("c", NEW)])).unwrap();
    transaction.rollback_to(&savepoint);
    transaction.alter_table("main", "t", altered(&[("b", 1), ("d", NEW)])).unwrap();
    transaction.append_rows(id, rows(&["b", "d"])).unwrap();
    let own = transaction.snapshot().table("main", "t").unwrap().unwrap();
    assert_eq!((own.row_count(), own.tails().len()), (30, 1));
    drop(own);
    transaction.commit("ALTER TABLE").unwrap();
    let check = |store: &Store| {
        let table = table(store, "t");
        assert_eq!(table.row_count(), 30);
        assert_eq!(places(&table), [Some(vec![Some(1), None]), Some(vec![Some(1), None])]);
        assert_eq!(table.tails().iter().map(|tail| (tail.row_count(), tail.columns().is_none())).collect::<Vec<_>>(), [(10, true)]);
    };
    check(&store);
    drop(store);
    check(&open(dir.path()));
}

#[test]
fn rows_written_between_two_alterations_of_one_transaction_are_read_by_the_columns_of_that_moment() {
    let (dir, store) = fresh();
    let mut transaction = store.begin().unwrap();
    let id = store.new_table_id();
    transaction.create_table(id, new_table("t", &rows(&["a", "b"]).schema()), false).unwrap();
    for (columns, altered_to) in [(["a", "b"], [("b", 1), ("c", NEW)]), (["b", "c"], [("c", 2), ("d", NEW)])] {
        transaction.append_rows(id, rows(&columns)).unwrap();
        transaction.alter_table("main", "t", altered(&altered_to)).unwrap();
    }
    transaction.append_rows(id, rows(&["c", "d"])).unwrap();
    transaction.commit("ALTER TABLE").unwrap();
    let expected = [Some(vec![None, None]), Some(vec![Some(1), None])];
    assert_eq!(places(&table(&store, "t")), expected);
    drop(store);
    let store = open(dir.path());
    assert_eq!((places(&table(&store, "t")), table(&store, "t").row_count()), (expected.to_vec(), 30));
}

#[test]
fn a_column_added_to_a_table_of_the_first_format_gets_an_id_of_its_own() {
    let dir = copy_of(&std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/format-1"));
    let store = open(dir.path());
    let before = table(&store, "t");
    let mut fields: Vec<Field> = before.schema().fields().iter().map(|field| field.as_ref().clone()).collect();
    fields.push(Field::new("new", DataType::Int64, true));
    let mut columns = before.columns().to_vec();
    columns.push(ColumnInfo { id: NEW, ..ColumnInfo::default() });
    let mut transaction = store.begin().unwrap();
    let alteration = TableAlteration { schema: Some((Arc::new(Schema::new(fields)), columns)), ..TableAlteration::default() };
    transaction.alter_table("main", "t", alteration).unwrap();
    transaction.commit("ALTER TABLE").unwrap();
    drop((store, before));
    let altered = table(&open(dir.path()), "t");
    assert_eq!(altered.columns().iter().map(|column| column.id).collect::<Vec<_>>(), [0, 1, 2, 3, 4]);
    assert_eq!(places(&altered)[0], Some(vec![Some(0), Some(1), Some(2), Some(3), None]));
}

#[test]
fn a_key_that_begins_as_the_old_one_did_keeps_segments_in_order() {
    let (_dir, store) = store_with(&[rows(&["a", "b"])]);
    let order = |names: &[&str]| {
        names.iter().map(|name| ColumnOrder { column: (*name).to_string(), descending: false, nulls_first: false }).collect::<Vec<_>>()
    };
    let set = |names: &[&str]| {
        let mut transaction = store.begin().unwrap();
        let alteration = TableAlteration { cluster_key: Some(order(names)), ..TableAlteration::default() };
        transaction.alter_table("main", "t", alteration).unwrap();
        transaction.commit("ALTER TABLE").unwrap();
    };
    let sorted = || table(&store, "t").segments().iter().map(|segment| segment.record().sorted).collect::<Vec<_>>();
    set(&["a", "b"]);
    assert_eq!(sorted(), [false]);
    let id = table(&store, "t").record().id;
    let mut appender = store.appender(id, rows(&["a", "b"]).schema()).unwrap();
    appender.write(rows(&["a", "b"])).unwrap();
    let segments = appender.finish().unwrap();
    let mut transaction = store.begin().unwrap();
    transaction.add_segments(id, segments, true).unwrap();
    transaction.commit("INSERT").unwrap();
    set(&["a"]);
    assert_eq!(sorted(), [false, true]);
    let mut renamed = altered(&[("x", 0), ("b", 1)]);
    renamed.cluster_key = Some(order(&["x"]));
    let mut transaction = store.begin().unwrap();
    transaction.alter_table("main", "t", renamed).unwrap();
    transaction.commit("ALTER TABLE").unwrap();
    assert_eq!(sorted(), [false, true]);
    set(&["b"]);
    assert_eq!(sorted(), [false, false]);
}

#[test]
fn rows_written_for_the_old_definition_of_a_table_are_a_conflict() {
    for alteration in [
        altered(&[("a", 0), ("b", 1)]),
        TableAlteration { constraints: Some(vec!["a rule".into()]), ..TableAlteration::default() },
        TableAlteration { cluster_key: Some(Vec::new()), ..TableAlteration::default() },
    ] {
        let (_dir, store) = store_with(&[rows(&["a", "b"])]);
        let id = table(&store, "t").record().id;
        let mut writing = store.begin().unwrap();
        writing.append_rows(id, rows(&["a", "b"])).unwrap();
        let mut transaction = store.begin().unwrap();
        transaction.alter_table("main", "t", alteration).unwrap();
        transaction.commit("ALTER TABLE").unwrap();
        assert!(matches!(writing.commit("INSERT"), Err(StoreError::Conflict { table }) if table == "t"));
        assert_eq!(table(&store, "t").row_count(), 10);
    }
}
