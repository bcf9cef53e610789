//! How fast objects are written and found. The command is in bench/README.md: it asserts no time.

use std::time::Instant;

use pmem_store::attributes::{AttributeValue, Attributes};
use pmem_store::objects::{Comparison, ObjectCatalog, ObjectKind, ObjectRecord, Predicate, PropertyKey};

use crate::helpers::*;

const KEYS: usize = 200;
const ATTRIBUTES: usize = 16;
const VALUES: usize = 1_000;

fn is(key: usize, operator: Comparison, value: usize) -> Predicate {
    Predicate::Compare { key: PropertyKey::Attribute(format!("k{key}")), operator, value: AttributeValue::Integer(value as i64) }
}

/// `QUIVER_OBJECTS` objects, a million by default.
#[test]
#[ignore = "measures; run by the command in bench/README.md"]
fn objects_are_written_and_found() {
    let count: usize = std::env::var("QUIVER_OBJECTS").map_or(1_000_000, |count| count.parse().unwrap());
    let (dir, store) = fresh();
    let mut random = Random(99);
    let names: Vec<String> = (0..KEYS).map(|key| format!("k{key}")).collect();
    let mut tags: Vec<Vec<(usize, usize)>> = Vec::with_capacity(count);
    let records: Vec<ObjectRecord> = (0..count)
        .map(|at| {
            let mut own: Vec<(usize, usize)> = Vec::with_capacity(ATTRIBUTES);
            while own.len() < ATTRIBUTES {
                let key = random.below(KEYS);
                if own.iter().all(|(other, _)| *other != key) {
                    own.push((key, random.below(VALUES)));
                }
            }
            let mut record = ObjectRecord::new(store.new_table_id(), ObjectKind::Group, 1_000);
            (record.namespace, record.name) = ("main".into(), format!("object_{at}"));
            let entries = own.iter().map(|(key, value)| (&names[*key], AttributeValue::Integer(*value as i64)));
            record.attributes = Attributes::from_entries(entries.collect()).unwrap();
            tags.push(own);
            record
        })
        .collect();
    let first = records[0].id;
    let began = Instant::now();
    let mut transaction = store.begin().unwrap();
    transaction.put_objects(records).unwrap();
    let written = began.elapsed();
    transaction.commit("CREATE GROUP").unwrap();
    println!("build_s {:.2} of which commit {:.2}", began.elapsed().as_secs_f64(), (began.elapsed() - written).as_secs_f64());
    let table = store.snapshot().unwrap().table("system", "objects").unwrap().unwrap();
    let bytes = |suffix: &str| -> u64 {
        let paths = table.segments().iter().map(|segment| segment.path().with_extension(suffix));
        paths.map(|path| path.metadata().unwrap().len()).sum()
    };
    let (rows, index) = (bytes("arrow"), bytes("index.arrow"));
    println!(
        "rows_MB {:.1} index_MB {:.1} index_bytes_per_attribute {:.2}",
        rows as f64 / 1e6,
        index as f64 / 1e6,
        index as f64 / (count * ATTRIBUTES) as f64
    );
    drop(table);
    drop(store);
    let began = Instant::now();
    let store = open(dir.path());
    println!("open_ms {:.1}", began.elapsed().as_secs_f64() * 1e3);
    let snapshot = store.snapshot().unwrap();
    let catalog = ObjectCatalog::of(&snapshot).unwrap();
    let began = Instant::now();
    catalog.search_ids(&is(0, Comparison::Equal, 0)).unwrap();
    println!("first_search_ms {:.1}", began.elapsed().as_secs_f64() * 1e3);
    let mut queries: [Vec<(Predicate, usize)>; 3] = Default::default();
    for _ in 0..5_000 {
        let object = random.below(count);
        let own = &tags[object];
        queries[0].push((is(own[0].0, Comparison::Equal, own[0].1), object));
        let all = own[..4].iter().map(|(key, value)| is(*key, Comparison::Equal, *value)).collect();
        queries[1].push((Predicate::And(all), object));
        let low = own[1].1.saturating_sub(50).min(VALUES - 100);
        let range = [is(own[1].0, Comparison::GreaterOrEqual, low), is(own[1].0, Comparison::LessOrEqual, low + 99)];
        queries[2].push((Predicate::And([is(own[0].0, Comparison::Equal, own[0].1)].into_iter().chain(range).collect()), object));
    }
    for (number, queries) in (1..).zip(&queries) {
        let began = Instant::now();
        let mut found = 0;
        for (predicate, object) in queries {
            let ids = catalog.search_ids(predicate).unwrap().unwrap();
            assert!(ids.contains(&(first + *object as u64)));
            found += ids.len();
        }
        let seconds = began.elapsed().as_secs_f64();
        println!("Q{number} per_s {:.0} ids_per_query {:.1}", queries.len() as f64 / seconds, found as f64 / queries.len() as f64);
    }
    let ids: Vec<u64> = (0..100_000).map(|at| first + at * (count as u64 / 100_000)).collect();
    let began = Instant::now();
    let mut tagged = catalog.get_all(&ids).unwrap();
    for record in &mut tagged {
        record.attributes.insert("new", &AttributeValue::Integer(1)).unwrap();
    }
    let mut transaction = store.begin().unwrap();
    transaction.put_objects(tagged).unwrap();
    transaction.commit("TAG").unwrap();
    println!("tags_per_s {:.0}", ids.len() as f64 / began.elapsed().as_secs_f64());
}
