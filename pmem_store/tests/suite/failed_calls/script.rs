//! Steps that commit in every possible way, and the visible state of a store after them.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

use arrow::array::{AsArray, Int64Array};
use arrow::datatypes::Int64Type;
use pmem_store::{Durability, PrincipalRecord, ReplacedSegment, Replacement, Store, StoreError, TableAlteration, TableSnapshot};

use crate::helpers::*;

pub type Step = Box<dyn Fn(&Store) -> Result<(), StoreError>>;

/// The visible state, except for versions, because a step may make several.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct State {
    /// The values of each table, sorted.
    pub tables: BTreeMap<String, Vec<i64>>,
    pub snapshots: BTreeSet<String>,
    pub principals: Vec<String>,
}

pub fn state(store: &Store) -> Result<State, StoreError> {
    let snapshot = store.snapshot()?;
    let names = snapshot.tables()?.into_iter().map(|record| record.name.clone());
    let tables = names.map(|name| Ok((name.clone(), values(&find(store, &name)?)?))).collect::<Result<_, StoreError>>()?;
    let snapshots = snapshot.named_snapshots().into_iter().map(|named| named.name.clone()).collect();
    let principals = store.access().principals().map(|principal| principal.name.clone()).collect();
    Ok(State { tables, snapshots, principals })
}

fn values(table: &TableSnapshot) -> Result<Vec<i64>, StoreError> {
    let mut values = live_ints(table);
    for tail in table.tails() {
        let mut position = 0u32;
        for chunk in 0..tail.chunk_count() {
            for value in tail.chunk(chunk)?.column(0).as_primitive::<Int64Type>().values() {
                if tail.deletions().is_none_or(|deletions| !deletions.rows().contains(position)) {
                    values.push(*value);
                }
                position += 1;
            }
        }
    }
    values.sort_unstable();
    Ok(values)
}

/// The table, or an error if there is none because an earlier step has failed.
fn find(store: &Store, name: &str) -> Result<TableSnapshot, StoreError> {
    store.snapshot()?.table("main", name)?.ok_or(StoreError::TableGone)
}

fn first_segment(table: &TableSnapshot) -> Result<u64, StoreError> {
    table.segments().first().map(|segment| segment.id()).ok_or(StoreError::TableGone)
}

/// Runs the steps until one fails; returns the number of completed ones.
pub fn run(store: &Store, steps: &[Step]) -> (usize, Option<StoreError>) {
    for (done, step) in steps.iter().enumerate() {
        if let Err(error) = step(store) {
            return (done, Some(error));
        }
    }
    (steps.len(), None)
}

pub fn insert(store: &Store, name: &str, values: Range<i64>) -> Result<(), StoreError> {
    let mut transaction = store.begin()?;
    transaction.append_rows(find(store, name)?.record().id, ints(values))?;
    transaction.commit("INSERT").map(drop)
}

fn create(store: &Store, name: &str) -> Result<(), StoreError> {
    let mut transaction = store.begin()?;
    transaction.create_table(store.new_table_id(), new_table(name, &ints(0..1).schema()), false)?;
    transaction.commit("CREATE TABLE").map(drop)
}

fn insert_segment(store: &Store, name: &str, values: Range<i64>) -> Result<(), StoreError> {
    let id = find(store, name)?.record().id;
    let mut appender = store.appender(id, ints(0..1).schema())?;
    appender.write(ints(values))?;
    let segments = appender.finish()?;
    let mut transaction = store.begin()?;
    transaction.add_segments(id, segments, false)?;
    transaction.commit("INSERT").map(drop)
}

fn delete_first(store: &Store, name: &str) -> Result<(), StoreError> {
    let table = find(store, name)?;
    let mut transaction = store.begin()?;
    transaction.delete_rows(table.record().id, rows_of(first_segment(&table)?, [0]))?;
    transaction.commit("DELETE").map(drop)
}

/// Compacts: one segment replaces all.
fn compact(store: &Store, name: &str) -> Result<(), StoreError> {
    let before = find(store, name)?;
    let id = before.record().id;
    let values = live_ints(&before);
    let mut appender = store.appender(id, ints(0..1).schema())?;
    appender.write(batch(vec![("v", Arc::new(Int64Array::from(values)))]))?;
    let added = appender.finish()?;
    let mut position = 0;
    let removed = before.segments().iter().map(|segment| {
        let is_gone = |row: &u32| segment.deletions().is_some_and(|deletions| deletions.rows().contains(*row));
        let places = (0..segment.record().sealed.row_count as u32).map(|row| match is_gone(&row) {
            true => u32::MAX,
            false => {
                position += 1;
                position - 1
            }
        });
        ReplacedSegment { segment: segment.id(), deletions: segment.deletions().cloned(), row_mapping: places.collect() }
    });
    let removed = removed.collect();
    let schema_version = before.record().schema_version;
    let mut transaction = store.begin()?;
    transaction.replace_segments(Replacement { table: id, schema_version, removed, added, sorted: false })?;
    transaction.commit("COMPACT").map(drop)
}

fn change(store: &Store, change: impl FnOnce(&mut pmem_store::Transaction) -> Result<(), StoreError>) -> Result<(), StoreError> {
    let mut transaction = store.begin()?;
    change(&mut transaction)?;
    transaction.commit("CHANGE").map(drop)
}

fn add_user(store: &Store) -> Result<(), StoreError> {
    let (name, member_of) = ("ann".to_string(), BTreeSet::new());
    store.change_access(|access| {
        access.put(PrincipalRecord { name, password_hash: None, epoch: 1, is_admin: false, member_of, created_at_ms: 1 });
        Ok(())
    })
}

/// Inserts rows that are acknowledged when they are visible, and then makes them durable.
fn insert_and_flush(store: &Store, name: &str, values: Range<i64>) -> Result<(), StoreError> {
    let mut transaction = store.begin()?;
    transaction.append_rows(find(store, name)?.record().id, ints(values))?;
    transaction.set_durability(Durability::Async);
    transaction.commit("INSERT")?;
    store.flush()
}

/// Inserts and deletes rows of two tables, which must be visible together or not at all.
fn move_rows(store: &Store) -> Result<(), StoreError> {
    let (from, to) = (find(store, "t")?, find(store, "u")?);
    change(store, |transaction| {
        transaction.append_rows(to.record().id, ints(700..703))?;
        transaction.append_rows(from.record().id, ints(50..51))?;
        transaction.delete_rows(from.record().id, rows_of(first_segment(&from)?, [1, 2])).map(drop)
    })
}

fn rename(store: &Store) -> Result<(), StoreError> {
    change(store, |transaction| {
        let alteration = TableAlteration { name: Some("w".into()), ..TableAlteration::default() };
        transaction.alter_table("main", "u", alteration)
    })
}

/// Restores the state at which the snapshot was made.
fn restore(store: &Store) -> Result<(), StoreError> {
    let snapshot = store.snapshot()?;
    let named = snapshot.named_snapshots();
    let version = named.first().ok_or(StoreError::TableGone)?.version;
    change(store, |transaction| transaction.restore_table("main", "t", version).map(drop))
}

pub fn steps() -> Vec<Step> {
    vec![
        Box::new(|store| create(store, "t")),
        Box::new(|store| create(store, "u")),
        // The first log, rows in that log alone, and rows of many commits in one record.
        Box::new(|store| insert(store, "t", 0..10)),
        Box::new(|store| insert(store, "t", 10..12)),
        Box::new(|store| insert_and_flush(store, "t", 12..15)),
        Box::new(|store| insert_segment(store, "t", 100..140)),
        Box::new(|store| delete_first(store, "t")),
        Box::new(move_rows),
        // CHECKPOINT.
        Box::new(|store| store.seal_logs(find(store, "t")?.record().id).map(drop)),
        Box::new(|store| change(store, |transaction| transaction.create_snapshot("sn").map(drop))),
        Box::new(|store| insert_segment(store, "t", 200..230)),
        // OPTIMIZE.
        Box::new(|store| compact(store, "t")),
        Box::new(|store| insert(store, "t", 300..301)),
        Box::new(restore),
        Box::new(|store| change(store, |transaction| transaction.drop_snapshot("sn"))),
        // EXPIRE VERSIONS removes the files of older versions.
        Box::new(|store| store.expire_versions_older_than(u64::MAX)),
        Box::new(rename),
        Box::new(add_user),
        Box::new(|store| change(store, |transaction| transaction.clear_table("main", "w"))),
        Box::new(|store| store.set_retention_ms(0)),
        Box::new(|store| compact(store, "t")),
        Box::new(|store| change(store, |transaction| transaction.drop_table("main", "w"))),
        Box::new(|store| insert(store, "t", 400..404)),
    ]
}
