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
