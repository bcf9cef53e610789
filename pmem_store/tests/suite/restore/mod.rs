//! RESTORE TABLE: a table gets its old content back.

mod logs;
mod model;
mod tables;

use arrow::array::AsArray;
use arrow::datatypes::Int64Type;
use pmem_store::{Store, StoreError, TableSnapshot};

use crate::helpers::*;

pub fn restore(store: &Store, version: u64) -> Result<u64, StoreError> {
    let mut transaction = store.begin().unwrap();
    transaction.restore_table("main", "t", version)?;
    transaction.commit("RESTORE TABLE")
}

pub fn last(store: &Store) -> u64 {
    store.snapshot().unwrap().version()
}

pub fn clear(store: &Store) -> u64 {
    let mut transaction = store.begin().unwrap();
    transaction.clear_table("main", "t").unwrap();
    transaction.commit("TRUNCATE").unwrap()
}

/// A small write: it goes to the table's log.
pub fn insert(store: &Store, values: std::ops::Range<i64>) -> u64 {
    let mut transaction = store.begin().unwrap();
    transaction.append_rows(table(store, "t").record().id, ints(values)).unwrap();
    transaction.commit("INSERT").unwrap()
}

/// In ascending order, wherever they are stored.
pub fn values_of(table: &TableSnapshot) -> Vec<i64> {
    let mut values = live_ints(table);
    for tail in table.tails() {
        let chunks =
            (0..tail.chunk_count()).flat_map(|chunk| tail.chunk(chunk).unwrap().column(0).as_primitive::<Int64Type>().values().to_vec());
        let is_live = |row: &usize| tail.deletions().is_none_or(|deletions| !deletions.rows().contains(*row as u32));
        values.extend(chunks.enumerate().filter(|(row, _)| is_live(row)).map(|(_, value)| value));
    }
    values.sort_unstable();
    values
}

pub fn values(store: &Store) -> Vec<i64> {
    values_of(&table(store, "t"))
}

pub fn values_at(store: &Store, version: u64) -> Vec<i64> {
    values_of(&store.table_at("main", "t", version).unwrap().unwrap())
}

pub fn seal(store: &Store) {
    store.seal_logs(table(store, "t").record().id).unwrap();
}
