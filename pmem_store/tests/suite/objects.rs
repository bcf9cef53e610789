//! Objects: their rows, and what transactions do to them.

use arrow::buffer::Buffer;
use pmem_store::attributes::{AttributeError, AttributeValue};
use pmem_store::objects::{Comparison, ObjectCatalog, ObjectId, ObjectKind, ObjectRecord, Predicate, PropertyKey};
use pmem_store::{Durability, Snapshot, Store, StoreError, TableAlteration, TableVersion, ViewRecord};

use crate::helpers::*;

fn group(store: &Store, name: &str) -> ObjectRecord {
    ObjectRecord { namespace: "main".into(), name: name.into(), ..ObjectRecord::new(store.new_table_id(), ObjectKind::Group, 1_000) }
}

fn tagged(mut record: ObjectRecord, key: &str, value: i64) -> ObjectRecord {
    record.attributes.insert(key.into(), AttributeValue::Integer(value));
    record
}

fn put(store: &Store, records: Vec<ObjectRecord>) -> Result<u64, StoreError> {
    let mut transaction = store.begin()?;
    transaction.put_objects(records)?;
    transaction.commit("TAG")
}

fn get(store: &Store, id: ObjectId) -> Option<ObjectRecord> {
    store.snapshot().unwrap().objects().unwrap().get(id).unwrap()
}

fn named(snapshot: &Snapshot, name: &str) -> Option<ObjectRecord> {
    snapshot.objects().unwrap().named(ObjectKind::Group, "main", name).unwrap()
}

#[test]
fn an_object_is_found_by_id_and_name_after_the_store_was_opened_again() {
    let (dir, store) = fresh();
    let stars = tagged(ObjectRecord { owner: Some("ann".into()), comment: Some("ä".into()), ..group(&store, "stars") }, "plate", 4055);
    let inner = ObjectRecord { groups: [stars.id].into(), is_read_only: true, ..group(&store, "inner") };
    put(&store, vec![inner.clone(), stars.clone()]).unwrap();
    drop(store);
    let store = open(dir.path());
    assert_eq!(get(&store, stars.id), Some(stars.clone()));
    assert_eq!(get(&store, inner.id), Some(inner.clone()));
    assert_eq!(get(&store, 99), None);
    assert_eq!(named(&store.snapshot().unwrap(), "stars"), Some(stars.clone()));
    assert_eq!(named(&store.snapshot().unwrap(), "Stars"), None);
    assert_eq!(store.snapshot().unwrap().objects().unwrap().below(stars.id).unwrap(), [stars.id, inner.id].into());
}

#[test]
fn many_objects_are_a_segment_and_their_changes_rows_of_a_log() {
    let (_dir, store) = fresh();
    let groups: Vec<ObjectRecord> = (0..20_000).map(|at| tagged(group(&store, &format!("g{at}")), "at", at)).collect();
    put(&store, groups.clone()).unwrap();
    let changed: Vec<ObjectRecord> = groups.iter().skip(7).step_by(1000).map(|record| tagged(record.clone(), "at", -1)).collect();
    put(&store, changed.clone()).unwrap();
    assert_eq!(get(&store, groups[8].id), Some(groups[8].clone()));
    assert_eq!(get(&store, groups[1007].id), Some(changed[1].clone()));
    let mut transaction = store.begin().unwrap();
    transaction.remove_objects(&[groups[0].id, changed[0].id, 99_999]).unwrap();
    assert_eq!(transaction.snapshot().objects().unwrap().len(), 19_998);
    transaction.commit("DROP GROUP").unwrap();
    assert_eq!(get(&store, groups[0].id), None);
    assert_eq!(store.snapshot().unwrap().objects().unwrap().all().unwrap().len(), 19_998);
}

#[test]
fn two_transactions_that_change_one_object_conflict_and_those_of_different_ones_do_not() {
    let (_dir, store) = fresh();
    let (one, other) = (group(&store, "one"), group(&store, "other"));
    put(&store, vec![one.clone(), other.clone()]).unwrap();
    let begin = |record: ObjectRecord| {
        let mut transaction = store.begin().unwrap();
        transaction.put_objects(vec![record]).unwrap();
        transaction
    };
    let transactions = [begin(tagged(one.clone(), "a", 1)), begin(tagged(other, "a", 2)), begin(tagged(one, "a", 3))];
    let [first, second, third] = transactions.map(|transaction| transaction.commit("TAG"));
    assert!(first.is_ok() && second.is_ok());
    assert!(matches!(third, Err(StoreError::Conflict { .. })), "{third:?}");
}

#[test]
fn two_transactions_that_make_the_first_row_of_an_object_or_the_same_name_conflict() {
    let (_dir, store) = fresh();
    put(&store, vec![group(&store, "first")]).unwrap();
    let table = tagged(ObjectRecord::new(store.new_table_id(), ObjectKind::Table, 0), "a", 1);
    for pair in [[table.clone(), tagged(table, "b", 2)], [group(&store, "same"), group(&store, "same")]] {
        let transactions = pair.map(|record| {
            let mut transaction = store.begin().unwrap();
            transaction.put_objects(vec![record]).unwrap();
            transaction
        });
        let [first, second] = transactions.map(|transaction| transaction.commit("TAG"));
        assert!(first.is_ok());
        assert!(matches!(second, Err(StoreError::Conflict { .. })), "{second:?}");
    }
}

#[test]
fn a_row_that_says_nothing_is_removed_and_an_older_version_still_has_it() {
    let (_dir, store) = fresh();
    let table = ObjectRecord::new(store.new_table_id(), ObjectKind::Table, 5);
    put(&store, vec![tagged(table.clone(), "a", 1)]).unwrap();
    let before = store.snapshot().unwrap();
    put(&store, vec![table.clone()]).unwrap();
    assert_eq!(get(&store, table.id), None);
    assert_eq!(before.objects().unwrap().get(table.id).unwrap(), Some(tagged(table, "a", 1)));
}

#[test]
fn names_and_values_that_cannot_be_kept_are_refused() {
    let (_dir, store) = fresh();
    let with = |key: &str, value: AttributeValue| {
        let mut record = group(&store, "g");
        record.attributes.insert(key.into(), value);
        match put(&store, vec![record]) {
            Err(StoreError::Attribute(error)) => error,
            other => panic!("{key}: {other:?}"),
        }
    };
    let integer = AttributeValue::Integer(1);
    assert_eq!(with("", integer.clone()), AttributeError::NoKey);
    assert!(matches!(with(&"k".repeat(257), integer.clone()), AttributeError::LongKey { found: 257 }));
    assert!(matches!(with(":group", integer.clone()), AttributeError::ReservedKey(_)));
    assert!(matches!(with("k", AttributeValue::Text("x".repeat(10 << 20))), AttributeError::LongValue { .. }));
    let mixed = AttributeValue::List(vec![integer.clone(), AttributeValue::Boolean(true)]);
    assert!(matches!(with("k", mixed), AttributeError::MixedList { .. }));
    let many = (0..1_000_000).map(|at| (at.to_string(), integer.clone())).collect();
    let refused = put(&store, vec![ObjectRecord { attributes: many, ..group(&store, "g") }]);
    assert!(matches!(refused, Err(StoreError::Attribute(AttributeError::ManyKeys { found: 1_000_000 }))));
    assert!(store.snapshot().unwrap().objects().unwrap().is_empty());
}

#[test]
fn a_view_has_an_id_that_stays_when_it_is_replaced() {
    let (_dir, store) = store_with(&[ints(0..1)]);
    let create = |replace: bool, sql: &str| {
        let mut transaction = store.begin().unwrap();
        transaction.create_view(ViewRecord::new("main", "w", "view", sql), replace).unwrap();
        transaction.commit("CREATE VIEW").unwrap();
        store.snapshot().unwrap().view("main", "w").unwrap().unwrap()
    };
    let (first, second) = (create(false, "SELECT 1"), create(true, "SELECT 2"));
    assert!(first.id > table(&store, "t").record().id);
    assert_eq!((first.id, second.sql.as_str()), (second.id, "SELECT 2"));
}

#[test]
fn a_segment_that_was_a_log_has_an_index_and_answers_as_the_log_did() {
    let (dir, store) = fresh();
    let groups: Vec<ObjectRecord> = (0..500).map(|at| tagged(group(&store, &format!("g{at}")), "at", at % 50)).collect();
    put(&store, groups.clone()).unwrap();
    put(&store, vec![tagged(groups[7].clone(), "at", 99)]).unwrap();
    let search = |store: &Store, operator: Comparison, value: i64| -> Vec<ObjectId> {
        let (snapshot, value) = (store.snapshot().unwrap(), AttributeValue::Integer(value));
        let predicate = Predicate::Compare { key: PropertyKey::Attribute("at".into()), operator, value };
        let mut ids = ObjectCatalog::of(&snapshot).unwrap().search_ids(&predicate).unwrap().unwrap();
        ids.sort_unstable();
        ids
    };
    let all = |store: &Store| {
        [(Comparison::Equal, 7), (Comparison::Greater, 48), (Comparison::Less, 1)].map(|(operator, value)| search(store, operator, value))
    };
    let before = all(&store);
    assert_eq!(before.each_ref().map(Vec::len), [9, 11, 10]);
    let table = store.snapshot().unwrap().table("system", "objects").unwrap().unwrap().record().id;
    store.seal_logs(table).unwrap();
    let sealed = store.snapshot().unwrap().table("system", "objects").unwrap().unwrap();
    assert_eq!((sealed.tails().len(), sealed.segments().len()), (0, 1));
    assert!(sealed.segments()[0].open().unwrap().attribute_index().unwrap().is_some());
    assert_eq!(all(&store), before);
    assert_eq!(named(&store.snapshot().unwrap(), "g42"), Some(groups[42].clone()));
    drop((sealed, store));
    let store = open(dir.path());
    assert_eq!(all(&store), before);
    assert!(store.check(|_| {}).unwrap().problems.is_empty());
}

fn blob(store: &Store, name: &str) -> ObjectRecord {
    ObjectRecord { namespace: "main".into(), name: name.into(), ..ObjectRecord::new(store.new_table_id(), ObjectKind::Blob, 1_000) }
}

fn put_blobs(store: &Store, blobs: Vec<(ObjectRecord, Vec<u8>)>) -> Result<u64, StoreError> {
    let mut transaction = store.begin()?;
    transaction.put_blobs(blobs.into_iter().map(|(record, content)| (record, Buffer::from(content))).collect())?;
    transaction.commit("COPY BLOB")
}

#[test]
fn blobs_of_every_size_come_back_from_logs_and_segments() {
    let (dir, store) = fresh();
    let content = |at: usize, length: usize| -> Vec<u8> { (0..length).map(|byte| (byte * 7 + at) as u8).collect() };
    let small: Vec<(ObjectRecord, Vec<u8>)> = (0..50).map(|at| (blob(&store, &format!("small_{at}")), content(at, at * 13))).collect();
    let large: Vec<(ObjectRecord, Vec<u8>)> =
        (0..5).map(|at| (blob(&store, &format!("large_{at}")), content(at, 9_000_000 + at))).collect();
    put_blobs(&store, small.clone()).unwrap();
    put_blobs(&store, large.clone()).unwrap();
    put_blobs(&store, vec![(small[3].0.clone(), b"new".to_vec())]).unwrap();
    drop(store);
    let store = open(dir.path());
    let blobs = store.snapshot().unwrap().blobs().unwrap();
    for (at, (record, content)) in small.iter().enumerate().filter(|(at, _)| *at != 3) {
        assert_eq!(blobs.content(record.id).unwrap().unwrap().as_slice(), content, "{at}");
    }
    for (record, content) in &large {
        let found = blobs.content(record.id).unwrap().unwrap();
        assert!(found.as_slice() == content.as_slice());
        assert_eq!(found.as_ptr(), blobs.content(record.id).unwrap().unwrap().as_ptr(), "it is not copied");
    }
    assert_eq!(blobs.content(small[3].0.id).unwrap().unwrap().as_slice(), b"new");
    assert_eq!(get(&store, large[4].0.id).unwrap().size_bytes, 9_000_004);
    let mut transaction = store.begin().unwrap();
    transaction.remove_blobs(&[large[0].0.id]).unwrap();
    transaction.commit("DROP BLOB").unwrap();
    assert_eq!(store.snapshot().unwrap().blobs().unwrap().content(large[0].0.id).unwrap(), None);
    // A reader of the version before still has it.
    assert!(blobs.content(large[0].0.id).unwrap().unwrap().as_slice() == large[0].1.as_slice());
    assert!(store.check(|_| {}).unwrap().problems.is_empty());
}

#[test]
fn a_read_only_table_takes_no_change_on_any_way_until_it_is_not() {
    let (_dir, store) = store_with(&[ints(0..10)]);
    let set = |value: &str| {
        let mut transaction = store.begin().unwrap();
        let options = Some([("read_only".to_string(), value.to_string())].into());
        transaction.alter_table("main", "t", TableAlteration { options, ..TableAlteration::default() }).unwrap();
        transaction.commit("ALTER TABLE").unwrap();
    };
    let id = table(&store, "t").record().id;
    let mut open_log = store.begin().unwrap();
    open_log.append_rows(id, ints(10..11)).unwrap();
    open_log.commit("INSERT").unwrap();
    let mut meanwhile = store.begin().unwrap();
    meanwhile.append_rows(id, ints(11..12)).unwrap();
    set("true");
    let is_refused = |result: Result<(), StoreError>| assert!(matches!(result, Err(StoreError::ReadOnlyTable { .. })), "{result:?}");
    is_refused(meanwhile.commit("INSERT").map(drop));
    let direct = store.append_rows(&TableVersion::from(&table(&store, "t")), &ints(12..13), Some(Durability::Async)).unwrap();
    assert!(direct.is_none());
    let mut transaction = store.begin().unwrap();
    is_refused(transaction.append_rows(id, ints(12..13)));
    is_refused(transaction.clear_table("main", "t"));
    is_refused(transaction.drop_table("main", "t"));
    is_refused(transaction.delete_rows(id, rows_of(table(&store, "t").segments()[0].id(), [1])).map(drop));
    is_refused(transaction.alter_table("main", "t", TableAlteration { name: Some("u".into()), ..TableAlteration::default() }));
    assert_eq!(table(&store, "t").row_count(), 11);
    set("false");
    let mut transaction = store.begin().unwrap();
    transaction.append_rows(id, ints(12..13)).unwrap();
    transaction.commit("INSERT").unwrap();
    assert_eq!(table(&store, "t").row_count(), 12);
}
