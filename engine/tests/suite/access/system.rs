//! What system tables tell whom.

use super::house;
use crate::helpers::numbers;

#[test]
fn who_may_not_read_a_table_is_told_its_columns_and_not_how_its_rows_lie() {
    let db = house(&["bob"]);
    db.load("t", &[], &numbers(0, 1_000));
    db.load("t", &[], &numbers(1_000, 2_000));
    db.run("GRANT INSERT ON t TO bob");
    let bob = db.as_user("bob");
    let sizes = "SELECT row_count, deleted_rows, segment_count, size_bytes FROM system.tables";
    assert_eq!(bob.rows(sizes), ["NULL|NULL|NULL|NULL"]);
    let listed = |session: &engine::Session| session.tables().unwrap().into_iter().find(|table| table.name == "t").unwrap();
    assert_eq!((listed(&bob.session).rows, listed(&bob.session).size_bytes), (None, None));
    assert_eq!(listed(&db.session).rows, Some(2_000));
    assert_eq!(bob.rows("SELECT column_name FROM system.columns WHERE position = 1"), ["id"]);
    assert!(bob.rows("SELECT * FROM system.segments").is_empty());
    db.run("OPTIMIZE TABLE t");
    assert!(!db.rows("SELECT * FROM system.compactions").is_empty());
    assert!(bob.rows("SELECT * FROM system.compactions").is_empty());
    assert_eq!(bob.rows("SELECT count(*) - count(kept_bytes) > 0, count(kept_bytes) FROM system.snapshots"), ["true|0"]);
    db.run("GRANT SELECT ON t TO bob");
    assert_eq!(bob.rows(sizes), db.rows(sizes));
    assert!(!bob.rows("SELECT * FROM system.compactions").is_empty());
}

#[test]
fn where_files_lie_is_told_to_who_may_read_files() {
    let db = house(&["bob"]);
    db.load("t", &[], &numbers(0, 1_000));
    db.run("GRANT SELECT ON t TO bob");
    let (bob, root) = (db.as_user("bob"), db.as_user("root"));
    let path = "SELECT path FROM system.segments WHERE kind = 'segment'";
    assert_eq!(bob.rows(path), ["NULL"]);
    assert_eq!(bob.rows("SELECT row_count FROM system.segments"), ["1000"]);
    assert_eq!(root.rows(path), db.rows(path));
    db.run("GRANT FILES TO bob");
    assert_eq!(bob.rows(path), db.rows(path));
}

#[test]
fn the_text_of_a_view_is_told_to_who_may_know_of_all_that_it_names() {
    let db = house(&["bob", "ann"]);
    db.script("CREATE SCHEMA sales; CREATE TABLE sales.secret AS SELECT 1 AS a; CREATE VIEW vpub AS SELECT a FROM sales.secret");
    db.script(
        "CREATE VIEW vown AS SELECT 1 AS secrets; GRANT SELECT ON vpub TO bob; GRANT SELECT ON vown TO bob; GRANT OWNERSHIP ON vpub TO ann",
    );
    let definitions = "SELECT table_name, definition FROM system.tables ORDER BY 1";
    let shown = "vpub|CREATE VIEW vpub AS SELECT a FROM sales.secret";
    let (bob, ann) = (db.as_user("bob"), db.as_user("ann"));
    assert_eq!(bob.rows(definitions), ["vown|CREATE VIEW vown AS SELECT 1 AS secrets", "vpub|NULL"]);
    assert!(bob.rows("SELECT * FROM information_schema.views WHERE definition LIKE '%sales%'").is_empty());
    assert_eq!(ann.rows(definitions), [shown]);
    assert!(db.rows(definitions).contains(&shown.to_string()));
    db.run("GRANT INSERT ON sales.secret TO bob");
    assert!(bob.rows(definitions).contains(&shown.to_string()));
}

#[test]
fn versions_of_tables_that_one_may_not_know_of_are_not_listed() {
    let db = house(&["bob"]);
    db.script("CREATE TABLE hidden (a INT); INSERT INTO hidden SELECT 1; CREATE TABLE seen (a INT); GRANT INSERT ON seen TO bob; INSERT INTO hidden SELECT 2");
    let bob = db.as_user("bob");
    let versions = "SELECT operation, tables FROM system.snapshots";
    assert_eq!(bob.rows(versions), ["CREATE TABLE|[main.seen]"]);
    assert!(db.rows(versions).len() > 3 && db.as_user("root").rows(versions).len() > 3);
    // What has a name is there to be read, and what was done then is nobody's business still.
    db.run("CREATE SNAPSHOT monday");
    let named = bob.rows("SELECT operation, tables, names FROM system.snapshots WHERE array_length(names) > 0");
    assert_eq!(named, ["NULL|[]|[monday]"]);
}
