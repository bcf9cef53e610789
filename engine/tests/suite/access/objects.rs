//! Rights on groups, and what users find.

use super::house;

fn names(rows: Vec<String>) -> Vec<String> {
    rows.iter().map(|row| row.split('|').nth(3).unwrap().to_string()).collect()
}

/// Ann's table and view in her group, and a table that is in no group.
fn with_group() -> super::Db {
    let db = house(&["ann", "bob"]);
    db.run("GRANT CREATE ON SCHEMA main TO ann, bob");
    let ann = db.as_user("ann");
    for sql in [
        "CREATE TABLE t AS SELECT 1 AS a",
        "CREATE TABLE secret AS SELECT 2 AS a",
        "CREATE VIEW v AS SELECT a + 1 AS b FROM t",
        "CREATE GROUP g WITH TAGS (k = 1)",
        "CREATE GROUP inner_g IN g",
        "ALTER GROUP inner_g ADD TABLE t, VIEW v",
        "TAG TABLE t, secret SET (k = 1)",
    ] {
        ann.run(sql);
    }
    db
}

#[test]
fn what_a_user_may_not_see_is_not_found_nor_counted() {
    let db = with_group();
    let bob = db.as_user("bob");
    assert!(bob.rows("FIND OBJECTS WHERE k = 1").is_empty());
    assert_eq!(bob.rows("SELECT count(*) FROM system.objects"), ["0"]);
    assert_eq!(bob.rows("SELECT count(*) FROM system.tags"), ["0"]);
    assert_eq!(bob.rows("SELECT count(*) FROM system.group_members"), ["0"]);
    assert_eq!(bob.rows("TAG OBJECTS WHERE k = 1 SET (stolen = true)"), ["0"]);
    assert_eq!(bob.error("DROP GROUP g").to_string(), "group \"g\" does not exist");
    assert_eq!(bob.error("TAG TABLE t SET (a = 1)").to_string(), "table \"t\" does not exist");
    assert_eq!(names(db.as_user("ann").rows("FIND OBJECTS WHERE k = 1")), ["t", "secret", "g"]);
    assert_eq!(names(db.as_user("root").rows("FIND OBJECTS WHERE k = 1")), ["t", "secret", "g"]);
}

#[test]
fn a_grant_on_a_group_reaches_what_is_in_it_now_and_later() {
    let db = with_group();
    let (ann, bob) = (db.as_user("ann"), db.as_user("bob"));
    ann.run("GRANT SELECT ON GROUP g TO bob");
    assert_eq!(bob.rows("SELECT a FROM t"), ["1"]);
    assert_eq!(bob.rows("SELECT b FROM v"), ["2"]);
    assert_eq!(names(bob.rows("FIND OBJECTS")), ["t", "v", "g", "inner_g"]);
    bob.error("SELECT a FROM secret");
    ann.run("ALTER GROUP g ADD TABLE secret");
    assert_eq!(bob.rows("SELECT a FROM secret"), ["2"]);
    for denied in
        ["INSERT INTO t VALUES (5)", "DROP TABLE t", "TAG TABLE t SET (a = 1)", "ALTER GROUP g REMOVE TABLE t", "DROP GROUP g CASCADE"]
    {
        bob.denied(denied);
    }
    assert_eq!(bob.rows("SELECT privilege, object_kind, object_name FROM system.grants WHERE object_kind = 'group'"), ["SELECT|group|g"]);
    ann.run("ALTER GROUP g REMOVE TABLE secret");
    bob.error("SELECT a FROM secret");
    ann.run("REVOKE SELECT ON GROUP g FROM bob");
    bob.error("SELECT a FROM t");
}

#[test]
fn a_published_group_is_read_by_everybody_until_it_is_not() {
    let db = with_group();
    let (ann, bob) = (db.as_user("ann"), db.as_user("bob"));
    bob.error("PUBLISH GROUP g");
    ann.run("PUBLISH GROUP g");
    assert_eq!(bob.rows("SELECT a FROM t"), ["1"]);
    ann.run("UNPUBLISH GROUP g");
    bob.error("SELECT a FROM t");
}

#[test]
fn only_who_owns_an_object_adds_it_to_a_group() {
    let db = with_group();
    let (ann, bob) = (db.as_user("ann"), db.as_user("bob"));
    bob.run("CREATE GROUP mine");
    ann.run("GRANT SELECT ON t TO bob");
    bob.denied("ALTER GROUP mine ADD TABLE t");
    assert!(bob.denied("FIND OBJECTS WHERE k = 1 INTO GROUP mine").contains("OWNERSHIP"));
    ann.run("GRANT OWNERSHIP ON GROUP g TO bob");
    bob.run("COMMENT ON GROUP g IS 'ours'");
    assert_eq!(ann.rows("SELECT owner, comment FROM system.objects WHERE name = 'g'"), ["ann|ours"]);
}

#[test]
fn a_group_that_was_dropped_leaves_no_grant_to_the_next_of_its_name() {
    let db = with_group();
    let (ann, bob) = (db.as_user("ann"), db.as_user("bob"));
    ann.run("GRANT SELECT ON GROUP g TO bob");
    ann.run("DROP GROUP g CASCADE");
    ann.run("CREATE GROUP g");
    ann.run("ALTER GROUP g ADD TABLE t");
    bob.error("SELECT a FROM t");
    assert!(bob.rows("FIND OBJECTS").is_empty());
    ann.run("GRANT SELECT ON t TO bob");
    assert_eq!(db.engine.store().access().grants().filter(|(_, object, _)| matches!(object, pmem_store::GrantObject::Group(_))).count(), 0);
}

#[test]
fn wrong_grants_on_groups_are_refused() {
    let db = with_group();
    let ann = db.as_user("ann");
    assert!(ann.error("GRANT INSERT ON GROUP g TO bob").to_string().starts_with("INSERT on a group"));
    assert_eq!(ann.error("GRANT SELECT ON GROUP gone TO bob").to_string(), "group \"gone\" does not exist");
    assert_eq!(ann.error("GRANT SELECT ON GROUP g TO nobody").to_string(), "user or role \"nobody\" does not exist");
    ann.error("PUBLISH GROUP");
    ann.error("PUBLISH TABLE t");
}

#[test]
fn a_schema_takes_its_groups_and_blobs_along_and_their_grants() {
    let db = with_group();
    let (ann, bob) = (db.as_user("ann"), db.as_user("bob"));
    db.run("CREATE SCHEMA s");
    db.run("GRANT OWNERSHIP ON SCHEMA s TO ann");
    ann.run("CREATE GROUP s.shared");
    ann.run("ALTER GROUP s.shared ADD TABLE t");
    ann.run("COPY BLOBS FROM (SELECT 's' AS schema_name, 'b' AS name, 'x' AS content)");
    ann.run("GRANT SELECT ON GROUP s.shared TO bob");
    assert_eq!(bob.rows("SELECT a FROM t"), ["1"]);
    assert!(ann.error("DROP SCHEMA s").to_string().contains("not empty"));
    ann.run("ALTER GROUP s.shared SET (read_only)");
    assert!(ann.error("DROP SCHEMA s CASCADE").to_string().contains("read-only"));
    ann.run("ALTER GROUP s.shared SET (read_only = false)");
    ann.run("DROP SCHEMA s CASCADE");
    bob.error("SELECT a FROM t");
    db.run("CREATE SCHEMA s");
    assert_eq!(db.rows("SELECT count(*) FROM system.objects WHERE schema_name = 's'"), ["0"]);
    assert_eq!(db.rows("SELECT count(*) FROM system.blobs"), ["0"]);
    assert_eq!(
        db.engine.store().snapshot().unwrap().objects().unwrap().all().unwrap().iter().filter(|object| object.name == "shared").count(),
        0
    );
}

#[test]
fn a_later_user_of_the_same_name_owns_nothing_of_the_former_one() {
    let db = with_group();
    db.run("DROP USER ann");
    std::thread::sleep(std::time::Duration::from_millis(5));
    db.run("CREATE USER ann PASSWORD 'pw-ann'");
    let ann = db.as_user("ann");
    assert!(ann.rows("FIND OBJECTS").is_empty());
    ann.error("DROP GROUP g CASCADE");
}

#[test]
fn a_right_that_was_revoked_since_does_not_commit_a_tag_or_a_member() {
    let db = with_group();
    let (ann, bob) = (db.as_user("ann"), db.as_user("bob"));
    ann.run("GRANT OWNERSHIP ON t TO bob");
    bob.run("BEGIN");
    bob.run("TAG TABLE t SET (stolen = true)");
    ann.run("REVOKE OWNERSHIP ON t FROM bob");
    bob.denied("COMMIT");
    assert!(ann.rows("FIND OBJECTS WHERE stolen").is_empty());
    bob.run("BEGIN");
    bob.run("CREATE TABLE own AS SELECT 1 AS a");
    bob.run("CREATE GROUP own_group");
    bob.run("ALTER GROUP own_group ADD TABLE own");
    bob.run("COMMIT");
    assert_eq!(bob.rows("FIND OBJECTS IN GROUP own_group").len(), 1);
}

#[test]
fn blobs_go_to_files_only_with_the_privilege_and_to_schemas_where_one_may_create() {
    let db = with_group();
    let (ann, bob) = (db.as_user("ann"), db.as_user("bob"));
    ann.run("COPY BLOBS FROM (SELECT 'b' AS name, 'bytes' AS content)");
    assert!(ann.denied(&format!("COPY BLOB b TO '{}'", db.file("never"))).contains("FILES"));
    assert!(ann.denied(&format!("COPY BLOB b FROM '{}'", db.file("never"))).contains("FILES"));
    db.run("CREATE SCHEMA closed");
    ann.error("ALTER BLOB b RENAME TO closed.b");
    assert!(bob.rows("SELECT * FROM system.blobs").is_empty());
    assert_eq!(bob.error("DROP BLOB b").to_string(), "blob \"b\" does not exist");
    ann.run("GRANT SELECT ON BLOB b TO bob");
    assert_eq!(bob.rows("SELECT size_bytes FROM system.blobs WHERE name = 'b'"), ["5"]);
    bob.denied("DROP BLOB b");
}
