//! Compares changes, restores and expiries in any order with the rows that every version must have.

use std::collections::BTreeMap;

use pmem_store::{Store, StoreError};

use super::{clear, insert, last, restore, seal, values, values_at};
use crate::helpers::*;

/// The rows that every readable version must have.
#[derive(Default)]
struct Model {
    rows: Vec<i64>,
    versions: BTreeMap<u64, Vec<i64>>,
    named: BTreeMap<String, u64>,
}

#[test]
fn any_order_of_changes_restores_and_expiries_gives_the_rows_of_a_model() {
    for seed in 0..4 {
        run_model(seed);
    }
}

fn run_model(seed: u64) {
    let mut random = Random(seed);
    let (dir, mut store) = store_with(&[ints(0..10)]);
    let mut model = Model { rows: (0..10).collect(), ..Model::default() };
    model.versions.insert(last(&store), model.rows.clone());
    for step in 0..50i64 {
        match random.below(16) {
            0..2 => {
                append(&store, "t", &[ints(step * 100..step * 100 + 5)]);
                model.rows.extend(step * 100..step * 100 + 5);
            }
            12..15 => {
                insert(&store, step * 100..step * 100 + 3);
                model.rows.extend(step * 100..step * 100 + 3);
            }
            15 => seal(&store),
            2..6 => delete_some(&store, &mut model, &mut random),
            6 => {
                clear(&store);
                model.rows.clear();
            }
            7..9 => {
                let versions: Vec<u64> = model.versions.keys().copied().collect();
                let version = versions[random.below(versions.len())];
                let same = model.rows == model.versions[&version];
                let restored = restore(&store, version).unwrap_or_else(|error| panic!("seed {seed}, step {step}: {error}"));
                model.rows = model.versions[&version].clone();
                assert!(restored == last(&store) || same);
            }
            9 => name_or_unname(&store, &mut model, &mut random, step),
            10 => expire(&store, &mut model, &mut random),
            11.. => {
                drop(store);
                store = open(dir.path());
            }
        }
        model.rows.sort_unstable();
        model.versions.insert(last(&store), model.rows.clone());
        for (version, rows) in &model.versions {
            assert_eq!(&values_at(&store, *version), rows, "seed {seed}, step {step}, version {version}");
        }
    }
    assert_eq!(store.check(|_| ()).unwrap().problems, [""; 0]);
}

fn delete_some(store: &Store, model: &mut Model, random: &mut Random) {
    let table = table(store, "t");
    let segments = table.segments().iter().map(|segment| (segment.id(), segment.record().sealed.row_count));
    let parts: Vec<(u64, u64)> = segments.chain(table.tails().iter().map(|tail| (tail.id(), tail.stored_rows()))).collect();
    if parts.is_empty() {
        return;
    }
    let (part, rows) = parts[random.below(parts.len())];
    let rows: Vec<u32> = (0..rows as u32).filter(|_| random.below(3) == 0).collect();
    let mut transaction = store.begin().unwrap();
    transaction.delete_rows(table.record().id, rows_of(part, rows)).unwrap();
    transaction.commit("DELETE").unwrap();
    model.rows = values(store);
}

fn name_or_unname(store: &Store, model: &mut Model, random: &mut Random, step: i64) {
    let mut transaction = store.begin().unwrap();
    match model.named.keys().next().cloned().filter(|_| random.below(2) == 0) {
        Some(name) => {
            transaction.drop_snapshot(&name).unwrap();
            let version = model.named.remove(&name).unwrap();
            let oldest = model.versions.keys().find(|version| !model.named.values().any(|named| named == *version)).copied();
            transaction.commit("DROP SNAPSHOT").unwrap();
            // Only its name kept it, if the versions after it have expired.
            if store.table_at("main", "t", version).is_err() {
                assert!(oldest.is_none_or(|oldest| oldest >= version));
                model.versions.remove(&version);
            }
        }
        None => {
            let version = transaction.create_snapshot(&format!("s{step}")).unwrap();
            transaction.commit("CREATE SNAPSHOT").unwrap();
            model.named.insert(format!("s{step}"), version);
        }
    }
}

fn expire(store: &Store, model: &mut Model, random: &mut Random) {
    let versions: Vec<u64> = model.versions.keys().copied().collect();
    let oldest = versions[random.below(versions.len())];
    store.expire_versions_before(oldest).unwrap();
    let is_named = |version: &u64| model.named.values().any(|named| named == version);
    model.versions.retain(|version, _| *version >= oldest || is_named(version));
    for version in versions.iter().filter(|version| !model.versions.contains_key(version)) {
        assert!(matches!(store.table_at("main", "t", *version), Err(StoreError::NoSuchVersion { .. })));
    }
}
