//! Users, roles and grants as rows of the catalog.

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow::datatypes::{DataType, Field, Schema};
use pmem_store::{
    Access, Author, GrantObject, OWNERSHIP, ObjectOwner, PrincipalRecord, Store, StoreError, TableId, ViewRecord, Visibility,
};
use pmem_store::{TableAlteration, TableRecord, restore_backup};

use super::child::{in_child, limit_file_size, rerun};
use super::helpers::{create_table, fresh, new_table, open, open_read_only};

fn principal(name: &str, password_hash: Option<&str>) -> PrincipalRecord {
    PrincipalRecord {
        name: name.into(),
        password_hash: password_hash.map(str::to_string),
        epoch: 7,
        is_admin: false,
        member_of: BTreeSet::new(),
        created_at_ms: 1,
    }
}

fn change(store: &Store, change: impl FnOnce(&mut Access)) {
    store
        .change_access(|access| {
            change(access);
            Ok::<(), StoreError>(())
        })
        .unwrap();
}

fn words(words: &[&str]) -> BTreeSet<String> {
    words.iter().map(|word| (*word).to_string()).collect()
}

fn granted(store: &Store, name: &str) -> Vec<GrantObject> {
    store.access().grants_to(name).map(|(object, _)| object.clone()).collect()
}

fn schema() -> Schema {
    Schema::new(vec![Field::new("a", DataType::Int64, true)])
}

#[derive(Debug)]
struct Bob {
    may_drop: bool,
    may_change: bool,
}

impl Author for Bob {
    fn name(&self) -> &str {
        "bob"
    }

    fn check_drop(&self, object: &GrantObject, _: &str, name: &str) -> Result<(), String> {
        if self.may_drop { Ok(()) } else { Err(format!("{name} stays: {object:?}")) }
    }

    fn check_changes(&self, tables: &BTreeSet<TableId>) -> Result<(), String> {
        if self.may_change || tables.is_empty() { Ok(()) } else { Err(format!("these stay as they are: {tables:?}")) }
    }
}

fn bob(may_drop: bool) -> Arc<dyn Author> {
    Arc::new(Bob { may_drop, may_change: true })
}

#[test]
fn a_change_is_visible_at_once_and_after_opening_again() {
    let (dir, store) = fresh();
    assert!(!store.access().has_users());
    change(&store, |access| {
        access.put(principal("bob", Some("hash")));
        access.put(principal("team", None));
        access.grant("team", GrantObject::Schema("main".into()), words(&["SELECT", "INSERT"]));
    });
    change(&store, |access| access.revoke("team", &GrantObject::Schema("main".into()), &words(&["INSERT", "DELETE"])));
    let access = store.access();
    assert!(access.has_users());
    drop(store);
    let opens: [fn(&std::path::Path) -> Store; 2] = [|path| open_read_only(path).unwrap(), open];
    for open_again in opens {
        let again = open_again(dir.path());
        assert_eq!(*again.access(), *access);
        assert_eq!(again.access().principal("bob").unwrap().password_hash.as_deref(), Some("hash"));
        assert_eq!(again.access().grants_to("team").next().unwrap().1, &words(&["SELECT"]));
    }
    assert!(!format!("{access:?}").contains("hash"));
}

#[test]
fn a_change_that_fails_changes_nothing_and_makes_no_version() {
    let (dir, store) = fresh();
    let version = store.snapshot().unwrap().version();
    let failed = store.change_access(|access| {
        access.put(principal("bob", Some("hash")));
        Err::<(), StoreError>(StoreError::Refused("no".into()))
    });
    assert!(failed.is_err());
    assert!(!store.access().has_users());
    change(&store, |access| access.put(principal("bob", Some("hash"))));
    assert_eq!(store.snapshot().unwrap().version(), version);
    drop(store);
    let reader = open_read_only(dir.path()).unwrap();
    assert!(reader.change_access(|_| Ok::<(), StoreError>(())).is_err());
}

#[test]
fn a_removed_principal_leaves_no_grant_and_no_member() {
    let (dir, store) = fresh();
    change(&store, |access| {
        let mut bob = principal("bob", Some("hash"));
        bob.member_of.insert("team".into());
        access.put(bob);
        access.put(principal("team", None));
        access.grant("team", GrantObject::Store, words(&["FILES"]));
    });
    change(&store, |access| access.remove("team"));
    drop(store);
    let store = open(dir.path());
    assert!(store.access().principal("bob").unwrap().member_of.is_empty());
    assert_eq!(store.access().grants().count(), 0);
}

#[test]
fn grants_go_with_their_object_and_stay_when_it_is_renamed() {
    let (dir, store) = fresh();
    let table = create_table(&store, "t", &schema());
    let mut transaction = store.begin().unwrap();
    transaction.create_namespace("s").unwrap();
    transaction.create_view(view("s", "v", "SELECT 1"), false).unwrap();
    transaction.commit("CREATE").unwrap();
    let objects = [GrantObject::Schema("s".into()), GrantObject::Table(table), GrantObject::View("s".into(), "v".into())];
    change(&store, |access| {
        access.put(principal("bob", Some("hash")));
        objects.iter().for_each(|object| access.grant("bob", object.clone(), words(&["SELECT"])));
    });
    let mut transaction = store.begin().unwrap();
    let renamed = TableAlteration { name: Some("u".into()), ..Default::default() };
    transaction.alter_table("main", "t", renamed).unwrap();
    transaction.commit("ALTER").unwrap();
    assert_eq!(granted(&store, "bob"), objects);
    let mut transaction = store.begin().unwrap();
    transaction.drop_table("main", "u").unwrap();
    transaction.drop_namespace("s", true).unwrap();
    transaction.commit("DROP").unwrap();
    assert!(granted(&store, "bob").is_empty());
    drop(store);
    assert!(granted(&open(dir.path()), "bob").is_empty());
}

fn view(namespace: &str, name: &str, sql: &str) -> ViewRecord {
    ViewRecord::new(namespace, name, "view", sql)
}

#[test]
fn the_author_of_a_commit_owns_what_it_has_made() {
    let (dir, store) = fresh();
    change(&store, |access| access.put(principal("bob", Some("hash"))));
    let id = store.new_table_id();
    let mut transaction = store.begin().unwrap();
    transaction.set_author(&bob(true));
    transaction.create_namespace("s").unwrap();
    transaction.create_table(id, new_table("t", &schema()), false).unwrap();
    transaction.commit("CREATE").unwrap();
    let owned = [GrantObject::Schema("s".into()), GrantObject::Table(id)];
    assert_eq!(granted(&store, "bob"), owned);
    assert!(store.access().grants().all(|(_, _, privileges)| *privileges == words(&[OWNERSHIP])));
    drop(store);
    assert_eq!(granted(&open(dir.path()), "bob"), owned);
}

#[test]
fn a_commit_takes_nothing_away_that_its_author_may_not_drop() {
    let (_dir, store) = fresh();
    change(&store, |access| access.put(principal("bob", Some("hash"))));
    create_table(&store, "t", &schema());
    let mut transaction = store.begin().unwrap();
    transaction.create_view(view("main", "v", "SELECT 1"), false).unwrap();
    transaction.commit("CREATE VIEW").unwrap();
    let id = store.new_table_id();
    let attempts: [&dyn Fn(&mut pmem_store::Transaction); 4] = [
        &|transaction| transaction.drop_table("main", "t").unwrap(),
        &|transaction| transaction.create_table(id, new_table("t", &schema()), true).unwrap(),
        &|transaction| transaction.create_view(view("main", "v", "SELECT 2"), true).unwrap(),
        &|transaction| transaction.drop_view("main", "v").unwrap(),
    ];
    for attempt in attempts {
        let mut transaction = store.begin().unwrap();
        transaction.set_author(&bob(false));
        attempt(&mut transaction);
        let error = transaction.commit("X").unwrap_err();
        assert!(matches!(error, StoreError::Denied(_)), "{error}");
    }
    let snapshot = store.snapshot().unwrap();
    assert!(snapshot.table("main", "t").unwrap().is_some());
    assert_eq!(snapshot.view("main", "v").unwrap().unwrap().sql, "SELECT 1");
}

#[test]
fn a_table_that_got_the_name_meanwhile_is_not_replaced_either() {
    let (_dir, store) = fresh();
    let mut transaction = store.begin().unwrap();
    transaction.set_author(&bob(false));
    transaction.create_table(store.new_table_id(), new_table("t", &schema()), true).unwrap();
    let id = create_table(&store, "t", &schema());
    assert!(matches!(transaction.commit("CREATE").unwrap_err(), StoreError::Denied(_)));
    assert_eq!(store.snapshot().unwrap().table("main", "t").unwrap().unwrap().record().id, id);
}

#[test]
fn a_commit_changes_no_table_that_its_author_may_not_change_by_then() {
    let (_dir, store) = fresh();
    let (changed, other) = (create_table(&store, "t", &schema()), create_table(&store, "other", &schema()));
    let nobody: Arc<dyn Author> = Arc::new(Bob { may_drop: true, may_change: false });
    let mut transaction = store.begin().unwrap();
    transaction.set_author(&nobody);
    let options = Some([("durability".to_string(), "async".to_string())].into());
    transaction.alter_table("main", "t", TableAlteration { options, ..Default::default() }).unwrap();
    let error = transaction.commit("ALTER").unwrap_err().to_string();
    assert!(error.contains(&changed.to_string()) && !error.contains(&other.to_string()), "{error}");
    let mut transaction = store.begin().unwrap();
    transaction.set_author(&nobody);
    transaction.create_namespace("s").unwrap();
    transaction.commit("CREATE").unwrap();
}

const STORE: &str = "QUIVER_TEST_STORE";

/// A file size limit acts like a broken disk: what redb has to write lies beyond it.
#[test]
fn a_change_of_users_with_an_unknown_outcome_is_the_last_thing_written() {
    let test = "access::a_change_of_users_with_an_unknown_outcome_is_the_last_thing_written";
    if in_child() {
        let store = open(std::path::Path::new(&std::env::var(STORE).unwrap()));
        let id = store.snapshot().unwrap().table("main", "t").unwrap().unwrap().record().id;
        // The file has room for these, so that nothing fails before the commit does.
        let names = || (0..200).map(|number| format!("{number}{}", "x".repeat(1_000)));
        change(&store, |access| names().for_each(|name| access.put(principal(&name, None))));
        change(&store, |access| names().for_each(|name| access.remove(&name)));
        change(&store, |access| access.put(principal("team", None)));
        limit_file_size(8_192);
        let failed = store.change_access(|access| {
            access.put(principal("bob", Some("hash")));
            Ok::<(), StoreError>(())
        });
        assert!(failed.is_err());
        assert!(!store.access().has_users(), "{failed:?}");
        assert!(store.poisoned().is_some_and(|why| why.contains("users and grants")), "{:?} {failed:?}", store.poisoned());
        assert!(store.begin().is_err() && store.appender(id, Arc::new(schema())).is_err());
        assert!(store.change_access(|_| Ok::<(), StoreError>(())).is_err());
        return;
    }
    let (dir, store) = fresh();
    create_table(&store, "t", &schema());
    drop(store);
    assert!(rerun(test, &[(STORE, dir.path().to_str().unwrap())]).success());
    let store = open(dir.path());
    change(&store, |access| access.put(principal("ann", Some("hash"))));
    assert!(store.access().principal("ann").is_some());
}

#[derive(Debug)]
struct OnlyT;

impl Visibility for OnlyT {
    fn has_namespace(&self, _: &str) -> bool {
        false
    }

    fn has_table(&self, table: &TableRecord) -> bool {
        table.name == "t"
    }

    fn has_view(&self, _: &ViewRecord) -> bool {
        false
    }

    fn has_object(&self, _: ObjectOwner<'_>) -> bool {
        false
    }
}

#[test]
fn a_restricted_snapshot_has_only_what_its_user_may_see() {
    let (_dir, store) = fresh();
    let (visible, hidden) = (create_table(&store, "t", &schema()), create_table(&store, "hidden", &schema()));
    let mut transaction = store.begin().unwrap();
    transaction.create_namespace("s").unwrap();
    transaction.create_view(view("main", "v", "SELECT 1"), false).unwrap();
    transaction.commit("CREATE").unwrap();
    let whole = store.snapshot().unwrap();
    let part = whole.seen_with(Arc::new(OnlyT));
    assert_eq!(part.tables().unwrap().len(), 1);
    assert_eq!(part.namespaces().unwrap(), ["main"]);
    assert!(part.has_namespace("main") && !part.has_namespace("s"));
    assert!(part.table("main", "t").unwrap().is_some() && part.table("main", "hidden").unwrap().is_none());
    assert!(part.table_by_id(hidden).unwrap().is_none() && part.glance(hidden).unwrap().is_none());
    assert!(part.changed_version(visible).is_some() && part.changed_version(hidden).is_none());
    assert!(part.view("main", "v").unwrap().is_none() && part.views().unwrap().is_empty());
    assert!(part.tables_in_use().iter().all(|table| table.name == "t"));
    assert_eq!(whole.tables().unwrap().len(), 2);
}

#[test]
fn the_key_of_tokens_is_kept_and_made_once() {
    let (dir, store) = fresh();
    let key = |store: &Store, byte: u8| store.token_key(|| Ok([byte; 32])).unwrap();
    assert_eq!(key(&store, 1), [1; 32]);
    assert_eq!(key(&store, 2), [1; 32]);
    drop(store);
    assert_eq!(key(&open_read_only(dir.path()).unwrap(), 3), [1; 32]);
    let (other_dir, other) = fresh();
    drop(other);
    assert!(open_read_only(other_dir.path()).unwrap().token_key(|| Ok([4; 32])).is_err());
}

#[test]
fn users_and_grants_are_in_a_backup() {
    let (dir, store) = fresh();
    change(&store, |access| {
        access.put(principal("bob", Some("hash")));
        access.grant("bob", GrantObject::Store, words(&["FILES"]));
    });
    let places = tempfile::tempdir().unwrap();
    let (backup, restored) = (places.path().join("backup"), places.path().join("restored"));
    let mut go_on = |_: pmem_store::BackupProgress| std::ops::ControlFlow::Continue(());
    store.backup(&backup, false, &mut go_on).unwrap();
    restore_backup(&backup, &restored, false, &mut go_on).unwrap();
    assert_eq!(*open(&restored).access(), *store.access());
    drop((store, dir));
}
