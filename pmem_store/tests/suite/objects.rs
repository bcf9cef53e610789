//! Objects: their rows, and what transactions do to them.

use std::sync::Arc;

use arrow::array::{ArrayRef, BinaryViewArray, RecordBatch};
use arrow::buffer::Buffer;
use arrow::datatypes::{DataType, Field, Schema};
use pmem_store::attributes::{AttributeError, AttributeValue, Attributes};
use pmem_store::objects::{Comparison, ObjectCatalog, ObjectId, ObjectKind, ObjectRecord, Predicate, PropertyKey};
use pmem_store::segment::with_attribute_index;
use pmem_store::{Durability, Snapshot, Store, StoreError, TableAlteration, TableVersion, ViewRecord};

use crate::helpers::*;

fn group(store: &Store, name: &str) -> ObjectRecord {
    ObjectRecord { namespace: "main".into(), name: name.into(), ..ObjectRecord::new(store.new_table_id(), ObjectKind::Group, 1_000) }
}

fn tagged(mut record: ObjectRecord, key: &str, value: i64) -> ObjectRecord {
    record.attributes.insert(key, &AttributeValue::Integer(value)).unwrap();
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
    let (_dir, store) = store_with(&[ints(0..1)]);
    put(&store, vec![group(&store, "first")]).unwrap();
    let table = tagged(ObjectRecord::new(table(&store, "t").record().id, ObjectKind::Table, 0), "a", 1);
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
    let (_dir, store) = store_with(&[ints(0..1)]);
    let table = ObjectRecord::new(table(&store, "t").record().id, ObjectKind::Table, 5);
    put(&store, vec![tagged(table.clone(), "a", 1)]).unwrap();
    let before = store.snapshot().unwrap();
    put(&store, vec![table.clone()]).unwrap();
    assert_eq!(get(&store, table.id), None);
    assert_eq!(before.objects().unwrap().get(table.id).unwrap(), Some(tagged(table, "a", 1)));
}

#[test]
fn names_and_values_that_cannot_be_kept_are_refused() {
    let (_dir, store) = fresh();
    let refused = |key: &str, value: AttributeValue| {
        let error = Attributes::new().insert(key, &value).unwrap_err();
        assert_eq!(Attributes::from_entries(vec![(key, value)]), Err(error.clone()));
        error
    };
    let integer = AttributeValue::Integer(1);
    assert_eq!(refused("", integer.clone()), AttributeError::NoKey);
    assert!(matches!(refused(&"k".repeat(257), integer.clone()), AttributeError::LongKey { found: 257 }));
    assert!(matches!(refused(":group", integer.clone()), AttributeError::ReservedKey(_)));
    assert!(matches!(refused("k", AttributeValue::Text("x".repeat(10 << 20))), AttributeError::LongValue { .. }));
    let mixed = AttributeValue::List(vec![integer.clone(), AttributeValue::Boolean(true)]);
    assert!(matches!(refused("k", mixed), AttributeError::MixedList { .. }));
    let many = Attributes::from_entries((0..1_000_000).map(|at| (at.to_string(), integer.clone())).collect()).unwrap();
    let with_many = put(&store, vec![ObjectRecord { attributes: many, ..group(&store, "g") }]);
    assert!(matches!(with_many, Err(StoreError::Attribute(AttributeError::ManyKeys { found: 1_000_000 }))));
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
    // Together these are worth a segment, and alone none is.
    let many: Vec<(ObjectRecord, Vec<u8>)> = (0..400).map(|at| (blob(&store, &format!("many_{at}")), content(at, 1_000 + at))).collect();
    let mut large: Vec<(ObjectRecord, Vec<u8>)> =
        (0..5).map(|at| (blob(&store, &format!("large_{at}")), content(at, 9_000_000 + at))).collect();
    large.push((blob(&store, "empty"), Vec::new()));
    // A segment is full with some of these.
    large.extend((0..5).map(|at| (blob(&store, &format!("larger_{at}")), content(at, 30_000_000 + at))));
    put_blobs(&store, small.clone()).unwrap();
    put_blobs(&store, many.clone()).unwrap();
    put_blobs(&store, large.clone()).unwrap();
    put_blobs(&store, vec![(small[3].0.clone(), b"new".to_vec())]).unwrap();
    let twice = put_blobs(&store, vec![(small[4].0.clone(), b"one".to_vec()), (small[4].0.clone(), b"two".to_vec())]);
    assert!(matches!(twice, Err(StoreError::Refused(_))));
    drop(store);
    let store = open(dir.path());
    let blobs = store.snapshot().unwrap().blobs().unwrap();
    for (at, (record, content)) in small.iter().enumerate().filter(|(at, _)| *at != 3) {
        assert_eq!(blobs.content(record.id).unwrap().unwrap().as_slice(), content, "{at}");
    }
    for (record, content) in large.iter().chain(&many) {
        let found = blobs.content(record.id).unwrap().unwrap();
        assert!(found.as_slice() == content.as_slice(), "{}", record.name);
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
    let segments = store.snapshot().unwrap().table("system", "blobs").unwrap().unwrap();
    assert_eq!(segments.segments().len(), 3, "one of many, two of large ones");
    for segment in segments.segments() {
        let statistics = segment.open().unwrap().statistics().clone();
        assert_eq!((statistics.column(0).min.null_count(), statistics.column(1).min.null_count()), (0, statistics.row_counts().len()));
    }
}

#[test]
fn attributes_that_cannot_be_indexed_end_the_write_and_leave_no_file() {
    let (dir, store) = fresh();
    let schema = Arc::new(Schema::new(vec![with_attribute_index(Field::new("properties", DataType::BinaryView, false))]));
    let id = create_table(&store, "t", &schema);
    let mut appender = store.appender(id, Arc::clone(&schema)).unwrap();
    let packed: ArrayRef = Arc::new(BinaryViewArray::from_iter_values([&[9u8, b'a'][..]]));
    appender.write(RecordBatch::try_new(schema, vec![packed]).unwrap()).unwrap();
    assert!(matches!(appender.finish(), Err(StoreError::Attribute(AttributeError::Damaged { .. }))));
    assert_eq!(segment_files(dir.path()).len(), 0);
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

#[test]
fn an_id_that_is_only_in_a_log_is_given_to_nothing_else_after_the_store_was_opened_again() {
    let (dir, store) = fresh();
    put(&store, vec![group(&store, "first")]).unwrap();
    let second = group(&store, "second");
    put(&store, vec![second.clone()]).unwrap();
    drop(store);
    let store = open(dir.path());
    assert!(store.new_table_id() > second.id);
    assert_eq!(get(&store, second.id), Some(second));
}

#[test]
fn two_transactions_that_make_a_circle_of_groups_together_conflict() {
    let (_dir, store) = fresh();
    let (one, other) = (group(&store, "one"), group(&store, "other"));
    put(&store, vec![one.clone(), other.clone()]).unwrap();
    let transactions = [(one.clone(), other.id), (other, one.id)].map(|(record, around)| {
        let mut transaction = store.begin().unwrap();
        transaction.put_objects(vec![ObjectRecord { groups: [around].into(), ..record }]).unwrap();
        transaction
    });
    let [first, second] = transactions.map(|transaction| transaction.commit("ALTER GROUP"));
    assert!(first.is_ok());
    assert!(matches!(second, Err(StoreError::Conflict { .. })), "{second:?}");
}

#[test]
fn a_table_that_is_dropped_while_it_gets_its_first_tag_leaves_no_row() {
    for is_drop_first in [true, false] {
        let (_dir, store) = store_with(&[ints(0..1)]);
        put(&store, vec![group(&store, "g")]).unwrap();
        let id = table(&store, "t").record().id;
        let (mut dropping, mut tagging) = (store.begin().unwrap(), store.begin().unwrap());
        dropping.drop_table("main", "t").unwrap();
        dropping.remove_objects(&[id]).unwrap();
        tagging.put_objects(vec![tagged(ObjectRecord::new(id, ObjectKind::Table, 0), "a", 1)]).unwrap();
        let (first, second) = if is_drop_first { (dropping, tagging) } else { (tagging, dropping) };
        first.commit("FIRST").unwrap();
        let second = second.commit("SECOND");
        assert!(matches!(second, Err(StoreError::Conflict { .. })), "{second:?}");
    }
    let (_dir, store) = store_with(&[ints(0..1)]);
    let id = table(&store, "t").record().id;
    let mut both = store.begin().unwrap();
    both.put_objects(vec![tagged(ObjectRecord::new(id, ObjectKind::Table, 0), "a", 1)]).unwrap();
    both.drop_table("main", "t").unwrap();
    both.remove_objects(&[id]).unwrap();
    both.commit("BOTH").unwrap();
    assert!(store.snapshot().unwrap().objects().unwrap().is_empty());
}

impl Random {
    fn scalar(&mut self) -> AttributeValue {
        let large = 1i64 << 60;
        match self.below(6) {
            0 => AttributeValue::Boolean(self.below(2) == 0),
            1 => AttributeValue::Integer([-1, 0, 1, 2, large, large + 1, i64::MAX][self.below(7)]),
            2 => AttributeValue::Double([-1.5, -0.0, 0.0, 1.0, 2.5, large as f64, f64::NAN, f64::INFINITY][self.below(8)]),
            3 => AttributeValue::Timestamp(self.below(3) as i64 - 1),
            _ => AttributeValue::Text(["", "a", "ab", "b", "a%", "\u{e4}"][self.below(6)].to_string()),
        }
    }

    fn value(&mut self) -> AttributeValue {
        if self.below(5) > 0 {
            return self.scalar();
        }
        let first = self.scalar();
        let same = (0..8).map(|_| self.scalar()).filter(|value| value.type_name() == first.type_name()).collect::<Vec<_>>();
        AttributeValue::List(if self.below(4) == 0 { Vec::new() } else { [vec![first], same].concat() })
    }

    fn predicate(&mut self, depth: u64) -> Predicate {
        use Comparison::{Equal, Greater, GreaterOrEqual, Less, LessOrEqual};
        let key = match self.below(8) {
            0 => PropertyKey::Kind,
            1 => PropertyKey::Name,
            _ => PropertyKey::Attribute(["p", "q", "r", "gone"][self.below(4)].to_string()),
        };
        match self.below(if depth == 0 { 5 } else { 9 }) {
            0 => Predicate::Exists(key),
            1 => {
                let pattern = ["a%", "%b", "_", "", "a\\%", "%"][self.below(6)].to_string();
                Predicate::Like { key, pattern, ignores_case: self.below(2) == 0 }
            }
            2..=4 => {
                let operator = [Equal, Less, LessOrEqual, Greater, GreaterOrEqual][self.below(5)];
                Predicate::Compare { key, operator, value: self.scalar() }
            }
            5 => Predicate::Not(Box::new(self.predicate(depth - 1))),
            6 => Predicate::Or((0..self.below(3)).map(|_| self.predicate(depth - 1)).collect()),
            _ => Predicate::And((0..self.below(4)).map(|_| self.predicate(depth - 1)).collect()),
        }
    }
}

/// The model looks at every object.
#[test]
fn every_condition_finds_by_the_index_what_it_finds_object_by_object() {
    let (_dir, store) = fresh();
    let mut random = Random(20_261_127);
    let objects: Vec<ObjectRecord> = (0..400)
        .map(|at| {
            let mut record = group(&store, ["a", "ab", "b", "c"][at % 4]);
            record.name += &format!("{at}");
            for key in ["p", "q", "r"] {
                if random.below(3) > 0 {
                    record.attributes.insert(key, &random.value()).unwrap();
                }
            }
            record
        })
        .collect();
    put(&store, objects[..300].to_vec()).unwrap();
    let id = store.snapshot().unwrap().table("system", "objects").unwrap().unwrap().record().id;
    store.seal_logs(id).unwrap();
    put(&store, objects[300..].to_vec()).unwrap();
    put(&store, objects[..20].iter().map(|record| tagged(record.clone(), "p", 1)).collect()).unwrap();
    let snapshot = store.snapshot().unwrap();
    let catalog = ObjectCatalog::of(&snapshot).unwrap();
    let all = catalog.all().unwrap();
    assert_eq!(all.len(), 400);
    let mut answered = 0;
    for _ in 0..5_000 {
        let predicate = random.predicate(3);
        let mut expected: Vec<ObjectId> =
            all.iter().filter(|object| predicate.evaluate(object) == Some(true)).map(|object| object.id).collect();
        let mut found: Vec<ObjectId> = catalog.search(&predicate).unwrap().into_iter().map(|object| object.id).collect();
        expected.sort_unstable();
        found.sort_unstable();
        assert_eq!(found, expected, "{predicate:?}");
        if let Some(mut ids) = catalog.search_ids(&predicate).unwrap() {
            ids.sort_unstable();
            assert_eq!(ids, expected, "{predicate:?}");
            answered += 1;
        }
    }
    assert!(answered > 1_000, "{answered}");
}
