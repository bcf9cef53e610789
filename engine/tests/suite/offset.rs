//! OFFSET over a table: the rows are the same wherever one begins, and those before are not read.

use pmem_store::ZONE_ROWS;

use super::helpers::{Db, numbers};

/// Two segments, rows in a log, deleted rows in all of them: a few, many in a row, and whole zones.
fn table() -> Db {
    let db = Db::new();
    db.load("t", &[], &numbers(0, 30_000));
    db.run("INSERT INTO t SELECT value, 0, 0, 'more' FROM generate_series(30000, 54999) AS g (value)");
    db.run("DELETE FROM t WHERE id IN (0, 8191, 8192, 29999) OR id BETWEEN 9000 AND 9100 OR id BETWEEN 16000 AND 25000");
    for id in 55_000..55_040 {
        db.run(&format!("INSERT INTO t VALUES ({id}, 0, 0, 'last')"));
    }
    db.run("DELETE FROM t WHERE id = 55007");
    db
}

#[test]
fn rows_after_an_offset_are_those_that_follow_in_the_table() {
    let db = table();
    let all = db.rows("SELECT id FROM t LIMIT 1000000");
    assert_eq!(all.len(), 30_000 + 25_000 + 40 - 4 - 101 - 9_001 - 1);
    let near = [8_000, 8_191, 8_192, 8_193, 16_383, 16_384, 20_892, 20_893, 30_000, 45_000, all.len() - 41, all.len() - 39, all.len() - 1];
    for offset in [0, 1, 2].into_iter().chain(near) {
        for limit in [1, 5, 9_000, 100_000] {
            let rows = db.rows(&format!("SELECT id FROM t LIMIT {limit} OFFSET {offset}"));
            assert!(rows == all[offset..all.len().min(offset + limit)], "LIMIT {limit} OFFSET {offset}");
        }
    }
    assert_eq!(db.rows(&format!("SELECT id FROM t LIMIT 5 OFFSET {}", all.len())), [""; 0]);
    assert_eq!(db.rows("SELECT id FROM t LIMIT 5 OFFSET 1000000000"), [""; 0]);
}

#[test]
fn rows_before_an_offset_are_not_read() {
    let db = Db::new();
    db.load("t", &[], &numbers(0, 20 * ZONE_ROWS as i64));
    let zone_bytes = 8 * ZONE_ROWS as u64;
    for offset in [0, ZONE_ROWS - 5, 10 * ZONE_ROWS, 20 * ZONE_ROWS - 10] {
        let ran = db.run(&format!("SELECT id FROM t LIMIT 10 OFFSET {offset}"));
        assert_eq!(ran.rows()[0], offset.to_string());
        assert!(ran.report.bytes_touched <= 2 * zone_bytes, "OFFSET {offset}: {:?}", ran.report);
    }
    let plan = db.run("EXPLAIN SELECT s, id + 1 FROM t LIMIT 10 OFFSET 100000").text();
    assert!(plan.contains("offset=100000, limit=10"), "{plan}");
    assert!(!plan.contains("GlobalLimitExec"), "{plan}");
}

#[test]
fn an_offset_counts_what_a_filter_leaves_and_the_order_of_a_sort() {
    let db = table();
    let even: usize = db.value("SELECT count(*) FROM t WHERE id % 2 = 0").parse().unwrap();
    let rest = db.value("SELECT count(*) FROM (SELECT id FROM t WHERE id % 2 = 0 LIMIT 1000000 OFFSET 12000)");
    assert_eq!(rest, (even - 12_000).to_string());
    let last = db.rows("SELECT id FROM t ORDER BY id DESC LIMIT 2 OFFSET 40");
    assert_eq!(last, ["54998", "54997"]);
    assert_eq!(db.rows("SELECT count(*) FROM (SELECT id FROM t LIMIT 100 OFFSET 45900)"), ["33"]);
    let twice = db.rows("SELECT id FROM (SELECT id FROM t LIMIT 20 OFFSET 100) LIMIT 3 OFFSET 18");
    assert_eq!(twice, db.rows("SELECT id FROM t LIMIT 2 OFFSET 118"));
}

#[test]
fn an_offset_that_reads_what_is_before_gives_the_same_rows() {
    let db = table();
    let sql = "SELECT id, s FROM t LIMIT 9000 OFFSET 20000";
    let skipped = db.rows(sql);
    db.run("SET quiver.skip_rows = false");
    assert!(db.run(&format!("EXPLAIN {sql}")).text().contains("GlobalLimitExec"));
    assert_eq!(db.rows(sql), skipped);
}
