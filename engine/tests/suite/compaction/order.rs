//! Tables with a cluster key.

use super::super::helpers::{Db, Random, numbers};
use super::{in_segments, segment_count};

fn sorts(db: &Db, sql: &str) -> bool {
    db.run(&format!("EXPLAIN {sql}")).text().contains("SortExec")
}

/// Rows of random keys in many segments, some of them deleted.
fn shuffled(order: &str) -> Db {
    let db = Db::new();
    db.run(&format!("CREATE TABLE t (a INT, b VARCHAR, n INT) ORDER BY ({order})"));
    let mut random = Random(7);
    in_segments(
        &db,
        (0..12).map(|at| {
            let row = |row: usize| match random.below(10) {
                0 => format!("(NULL, 'text {}', {})", random.below(100), at * 100 + row),
                _ => format!("({}, 'text {}', {})", random.below(50), random.below(100), at * 100 + row),
            };
            format!("INSERT INTO t VALUES {}", (0..100).map(row).collect::<Vec<_>>().join(", "))
        }),
    );
    db.run("DELETE FROM t WHERE n % 7 = 0");
    db
}

#[test]
fn what_was_compacted_is_in_the_order_of_the_key() {
    for order in ["a, b", "b DESC", "a DESC NULLS LAST, n", "a NULLS FIRST, b DESC"] {
        let db = shuffled(order);
        let sql = format!("SELECT * FROM t ORDER BY {order}, n");
        let expected = db.rows(&sql);
        db.run("OPTIMIZE TABLE t");
        assert_eq!(db.rows(&sql), expected, "{order}");
        assert_eq!((segment_count(&db, "t"), db.value("SELECT bool_and(is_sorted) FROM system.segments").as_str()), (1, "true"));
        let by_key = format!("SELECT * FROM t ORDER BY {order}");
        assert!(!sorts(&db, &by_key), "{order}");
        let keys = |rows: Vec<String>| -> Vec<String> { rows.iter().map(|row| row.rsplit_once('|').unwrap().0.to_owned()).collect() };
        let (mut found, mut expected) = (db.rows(&by_key), expected);
        if order == "a, b" {
            assert_eq!(keys(found.clone()), keys(expected.clone()), "{order}");
        }
        found.sort();
        expected.sort();
        assert_eq!(found, expected, "{order}");
    }
}

#[test]
fn segments_that_follow_one_another_are_known_to_do_so_whatever_their_ids() {
    let db = Db::new();
    db.load("t", &["id"], &numbers(0, 20_000));
    db.load("t", &[], &numbers(20_000, 40_000));
    db.load("t", &[], &numbers(40_000, 60_000));
    db.run("DELETE FROM t WHERE id < 10000");
    db.run("OPTIMIZE TABLE t");
    // Before all others, and with the last id.
    db.load("t", &[], &numbers(0, 10_000));
    let sql = "SELECT id FROM t ORDER BY id";
    assert!(!sorts(&db, sql));
    assert_eq!(db.rows(sql), (0..60_000).map(|id| id.to_string()).collect::<Vec<_>>());
    assert_eq!(db.rows("SELECT id FROM t ORDER BY id LIMIT 2"), ["0", "1"]);
    // Equal keys may lie in two of them.
    db.load("t", &[], &numbers(59_999, 80_000));
    assert!(!sorts(&db, sql));
    assert_eq!(db.rows("SELECT id FROM t ORDER BY id OFFSET 59998 LIMIT 4"), ["59998", "59999", "59999", "60000"]);
    db.load("t", &[], &numbers(79_990, 90_000));
    assert!(sorts(&db, sql));
}

#[test]
fn a_new_order_is_made_by_a_compaction() {
    let db = Db::new();
    db.load("t", &["id"], &numbers(0, 30_000));
    db.run("ALTER TABLE t SET ORDER BY (k, r DESC)");
    assert!(sorts(&db, "SELECT id FROM t ORDER BY k, r DESC"));
    db.run("OPTIMIZE TABLE t");
    assert!(!sorts(&db, "SELECT id FROM t ORDER BY k, r DESC"));
    assert_eq!(db.value("SELECT count(*) FROM (SELECT k, lag(k) OVER (ORDER BY k, r DESC) AS before FROM t) WHERE before > k"), "0");
    assert_eq!(db.rows("SELECT count(*), sum(id) FROM t"), ["30000|449985000"]);
}
