//! How much of a table is read to find a key, or to find that it is not there.

use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array};
use tokio::runtime::Runtime;

use crate::{Engine, EngineOptions};
use table::constraints::{NewKeys, TableRules, all_parts, key_search};

const ROWS: i64 = 300_000;

struct Table {
    engine: Engine,
    runtime: Runtime,
}

impl Table {
    /// Column `id` is a key: 0, 2, 4 …, in the order that `order` gives.
    fn with_ids(order: &str) -> Table {
        // Background maintenance must not change what is counted here.
        let mut options = EngineOptions::default();
        options.maintenance.enabled = false;
        let table = Table { engine: Engine::open_temporary(options).unwrap(), runtime: Runtime::new().unwrap() };
        table.run("CREATE TABLE t (id bigint PRIMARY KEY, v bigint)");
        table.run(&format!("INSERT INTO t SELECT value * 2, value FROM generate_series(0, {}) AS g(value) ORDER BY {order}", ROWS - 1));
        table
    }

    fn run(&self, sql: &str) {
        self.runtime.block_on(async { self.engine.session().unwrap().execute(sql).await.unwrap().collect().await.unwrap() });
    }

    /// How many of the keys seem to be there, and how many rows were read.
    fn search(&self, ids: &[i64]) -> (usize, usize) {
        let table = self.engine.store().snapshot().unwrap().table("main", "t").unwrap().unwrap();
        let rules = TableRules::of(&self.engine.shared.rules, &table).unwrap();
        let key = &rules.keys[0];
        let mut new = NewKeys::new(key);
        let ids: ArrayRef = Arc::new(Int64Array::from(ids.to_vec()));
        new.add(key, &[ids]).unwrap();
        let (key_set, _) = new.key_set().unwrap();
        let parts = all_parts(&table).unwrap();
        let matches = key_search(&rules, &table, &parts).find(key, &key_set).unwrap();
        (matches.hashes.len(), matches.rows_read)
    }
}

#[test]
fn of_ordered_keys_one_zone_is_read_for_one_key() {
    let table = Table::with_ids("value");
    assert_eq!(table.search(&[200_000]), (1, 8_192));
    assert_eq!(table.search(&[200_001]), (0, 8_192));
    assert_eq!(table.search(&[-1, 2 * ROWS]), (0, 0));
    let (count, read) = table.search(&[1_000, 1_001, 100_000, 599_998]);
    assert_eq!(count, 3);
    assert!(read <= 3 * 8_192, "{read}");
}

#[test]
fn of_keys_in_no_order_hardly_any_segment_is_read_for_one_that_is_not_there() {
    let table = Table::with_ids("value * 7919 % 300007");
    let read: usize = (0..200).map(|number| table.search(&[number * 2_000 + 1]).1).sum();
    // One key in a hundred passes the filter by chance, and then part of the segment is read.
    assert!(read < 20 * ROWS as usize, "{read}");
    assert_eq!(table.search(&[200_000]).0, 1);
}

#[test]
fn rows_that_were_deleted_are_not_found_and_those_of_a_rolled_back_delete_are() {
    let table = Table::with_ids("value");
    let session = table.engine.session().unwrap();
    let run = |sql: &str| table.runtime.block_on(async { session.execute(sql).await.unwrap().collect().await.unwrap() });
    run("BEGIN");
    run("DELETE FROM t WHERE id = 200000");
    run("INSERT INTO t VALUES (200000, 1)");
    run("ROLLBACK");
    assert_eq!(table.search(&[200_000]).0, 1);
    run("DELETE FROM t WHERE id = 200000");
    assert_eq!(table.search(&[200_000]).0, 0);
}

#[test]
fn of_rows_in_a_log_none_is_read_for_a_key_that_is_not_there() {
    let table = Table::with_ids("value");
    for id in 0..50 {
        table.run(&format!("INSERT INTO t VALUES ({}, 0)", 1_000_001 + id * 2));
    }
    assert_eq!(table.search(&[1_000_000, 1_000_002, 2_000_000]), (0, 0));
    assert_eq!(table.search(&[1_000_031]), (1, 50));
    table.run("DELETE FROM t WHERE id = 1000031");
    assert_eq!(table.search(&[1_000_031]).0, 0);
    table.run("INSERT INTO t VALUES (1000031, 1), (3000001, 1)");
    assert_eq!((table.search(&[1_000_031]).0, table.search(&[3_000_001]).0), (1, 1));
    assert_eq!(table.search(&[3_000_003]), (0, 0));
}

#[test]
fn many_keys_are_found_among_many_rows() {
    let table = Table::with_ids("value * 7919 % 300007");
    let ids: Vec<i64> = (0..20_000).map(|number| number * 13).collect();
    let there = ids.iter().filter(|id| *id % 2 == 0).count();
    assert_eq!(table.search(&ids).0, there);
}
