//! Zones and segments that cannot hold a row of the answer are not read, and the report says how many.

use std::sync::Arc;

use arrow::array::{ArrayRef, Date32Array, Decimal128Array, Float64Array, Int64Array, StringViewArray};
use engine::QueryReport;
use pmem_store::{Segment, ZONE_ROWS};

use super::helpers::{Db, nullable, numbers};

const ZONES: u64 = 40;
const ROWS: i64 = 40 * ZONE_ROWS as i64;

/// Table `t` of forty zones, by `id`, but not declared to be: nothing but statistics prunes.
fn forty_zones() -> Db {
    let db = Db::new();
    db.load("t", &[], &numbers(0, ROWS));
    db
}

fn pruned(db: &Db, sql: &str) -> (Vec<String>, QueryReport) {
    let ran = db.run(sql);
    (ran.rows(), ran.report)
}

#[test]
fn a_point_query_reads_one_zone_and_counts_the_others_as_pruned() {
    let db = forty_zones();
    let (rows, report) = pruned(&db, "SELECT id, k FROM t WHERE id = 100000");
    assert_eq!(rows, ["100000|0"]);
    assert_eq!((report.zones_total, report.zones_pruned), (ZONES, ZONES - 1));
    assert!(report.bytes_touched <= 2 * 8 * ZONE_ROWS as u64, "{report:?}");
    assert_eq!((report.rows_scanned, report.rows_total), (ROWS as u64, ROWS as u64));
}

#[test]
fn the_report_says_in_one_line_what_was_touched_and_pruned() {
    let db = forty_zones();
    let (_, report) = pruned(&db, "SELECT id FROM t WHERE id = 100000");
    assert_eq!(report.to_string(), "touched 32.8 kB in place, returned 8 B, 39 of 40 zones pruned");
}

#[test]
fn a_filter_is_not_evaluated_where_all_rows_of_a_zone_pass() {
    let db = forty_zones();
    let zone_bytes = 8 * ZONE_ROWS as u64;
    for (predicate, count, zones_tested) in [
        ("id >= 8192 AND id < 81920", 73_728, 0),
        ("id > 8191 AND 81919 >= id", 73_728, 0),
        ("id >= 8000 AND id <= 81920", 73_921, 2),
        ("id IS NOT NULL AND id < 81920", 81_920, 0),
        ("id = 100000", 1, 1),
        ("id <> 100000", ROWS as u64 - 1, 40),
        ("id % 2 = 0 AND id < 81920", 40_960, 10),
        // A condition on every zone, which some rows do not pass because they are NULL.
        ("k >= 0", db.value("SELECT count(k) FROM t").parse().unwrap(), 40),
    ] {
        let (rows, report) = pruned(&db, &format!("SELECT count(*) FROM t WHERE {predicate}"));
        assert_eq!(rows, [count.to_string()], "{predicate}");
        assert!(report.bytes_touched <= zones_tested * zone_bytes, "{predicate}: {report:?}");
    }
    // What is in the output is read, and counted, nevertheless.
    let (rows, report) = pruned(&db, "SELECT id FROM t WHERE id < 8192");
    assert_eq!((rows.len(), report.bytes_touched > 0), (8192, true));
    // Rows that are deleted do not come back.
    db.run("DELETE FROM t WHERE id BETWEEN 9000 AND 9009");
    assert_eq!(db.value("SELECT count(*) FROM t WHERE id >= 8192 AND id < 81920"), "73718");
}

#[test]
fn zones_that_pass_as_a_whole_are_found_in_every_type() {
    let db = Db::new();
    let columns = "value AS id, value::DECIMAL(9,2) / 10 AS d, DATE '2020-01-01' + (value / 100)::INTEGER AS day, TIMESTAMP '2020-01-01' + (value || ' seconds')::INTERVAL AS at, \
                   'a text that is so long that its bound is cut off before the number ' || lpad(value::TEXT, 8, '0') AS s, value / 8.0::DOUBLE AS f, value >= 20000 AS b";
    db.run(&format!("CREATE TABLE t AS SELECT {columns} FROM generate_series(0, 40959) AS s (value)"));
    for predicate in [
        "d >= 819.2",
        "d < 1638.40",
        "d = 900",
        "day > DATE '2020-06-01'",
        "day <= '2020-03-22'",
        "at >= TIMESTAMP '2020-01-01 02:16:32'",
        "at < '2020-01-01 04:33:04'",
        "s >= 'a text that is so long that its bound is cut off before the number 00008192'",
        "s < 'a text that is so long that its bound is cut off before the number 00016384'",
        "s > 'a text'",
        "s = 'a text that is so long that its bound is cut off before the number 00016384'",
        "f >= 1024",
        "f < 'NaN'",
        "b",
        "b = true",
        "b < true",
        "NOT b",
    ] {
        let sql = format!("SELECT count(*), min(id), max(id) FROM t WHERE {predicate}");
        let found = db.rows(&sql);
        db.run("SET quiver.zone_pruning = false");
        assert_eq!(db.rows(&sql), found, "{predicate}");
        db.run("SET quiver.zone_pruning = true");
    }
}

#[test]
fn predicates_of_many_forms_prune() {
    let db = forty_zones();
    for (predicate, rows, zones_read) in [
        ("id < 10", 10, 1),
        ("id >= 327670", 10, 1),
        ("id BETWEEN 8190 AND 8200", 11, 2),
        ("id IN (5, 100000, 300000)", 3, 3),
        ("id = 5 OR id = 300000", 2, 2),
        ("id > 300000 AND id < 300010", 9, 1),
        ("300000 = id", 1, 1),
        ("id + 0 = 300000 AND id > 290000", 1, 5),
        ("s = 'this is the text of row number 00200000'", 1, 1),
        ("s LIKE 'this is the text of row number 001999%'", 100, 1),
        ("s >= 'this is the text of row number 00327679'", 1, 1),
        ("NOT (id >= 10)", 10, 1),
        ("id = 7.0", 1, 1),
        ("id = '300000'", 1, 1),
        ("id < 20 AND k IS NULL", 0, 0),
        ("id IS NULL", 0, 0),
        ("id = 3 AND id = 4", 0, 0),
        ("id = -1", 0, 0),
    ] {
        let (found, report) = pruned(&db, &format!("SELECT id FROM t WHERE {predicate}"));
        assert_eq!(found.len(), rows, "{predicate}");
        let read = report.zones_total - report.zones_pruned;
        assert!(read <= zones_read, "{predicate}: {read} zones read, {zones_read} would do");
    }
}

#[test]
fn narrow_decimals_dates_and_floats_prune_by_literals_of_other_types() {
    let db = Db::new();
    let rows = || 0..10 * ZONE_ROWS as i64;
    let columns: [(&str, ArrayRef); 3] = [
        ("money", Arc::new(Decimal128Array::from_iter_values(rows().map(i128::from)).with_precision_and_scale(12, 2).unwrap())),
        ("day", Arc::new(Date32Array::from_iter_values(rows().map(|row| (row / 100) as i32 + 10_000)))),
        ("x", Arc::new(Float64Array::from_iter_values(rows().map(|row| row as f64)))),
    ];
    db.load("t", &[], &nullable(columns));
    for predicate in [
        "money = 5",
        "money = 5.00",
        "money < 1.5",
        "money BETWEEN 100 AND 101.25",
        "money = 5::double",
        "money > 819.1",
        "money IN (1, 2, 3.5)",
        "day = '1997-06-01'",
        "day = date '1997-06-01'",
        "day < timestamp '1997-05-20 00:00:00'",
        "day BETWEEN date '1997-06-01' AND date '1997-06-01' + interval '3 days'",
        "x = 5",
        "x < 100.5",
        "x > 81000 AND x < 81002",
        "x = '77'",
    ] {
        let (rows, report) = pruned(&db, &format!("SELECT money FROM t WHERE {predicate}"));
        assert!(!rows.is_empty(), "{predicate}");
        assert!(report.zones_pruned >= 8, "{predicate}: {} of 10 zones pruned", report.zones_pruned);
    }
}

#[test]
fn a_segment_no_row_of_which_can_pass_is_pruned_as_a_whole() {
    let db = Db::new();
    for start in [0, 50_000, 100_000] {
        db.load("t", &[], &numbers(start, start + 20_000));
    }
    let (rows, report) = pruned(&db, "SELECT k FROM t WHERE id = 60000");
    assert_eq!(rows, ["0"]);
    assert_eq!((report.segments_total, report.segments_pruned), (3, 2));
    assert_eq!((report.zones_total, report.zones_pruned), (9, 8));
}

#[test]
fn a_filter_that_says_nothing_of_bounds_prunes_nothing() {
    let db = forty_zones();
    let (rows, report) = pruned(&db, "SELECT id FROM t WHERE id % 100000 = 77");
    assert_eq!(rows.len(), 4);
    assert_eq!((report.zones_total, report.zones_pruned), (ZONES, 0));
}

#[test]
fn a_zone_with_a_nan_is_never_pruned_by_an_order() {
    let db = Db::new();
    let values = (0..4 * ZONE_ROWS).map(|row| if row == ZONE_ROWS { f64::NAN } else { 1.0 });
    db.load("t", &[], &nullable([("x", Arc::new(Float64Array::from_iter_values(values)) as ArrayRef)]));
    let (rows, report) = pruned(&db, "SELECT x FROM t WHERE x > 5");
    assert_eq!(rows, ["NaN"]);
    assert_eq!(report.zones_pruned, 3);
    assert_eq!(db.value("SELECT count(*) FROM t WHERE isnan(x)"), "1");
    assert_eq!(db.value("SELECT count(*) FROM t WHERE x <= 5"), (4 * ZONE_ROWS - 1).to_string());
}

#[test]
fn zones_of_nulls_alone_are_pruned_and_zones_with_a_null_are_found() {
    let db = Db::new();
    let values = (0..4 * ZONE_ROWS).map(|row| (row >= ZONE_ROWS && row != 2 * ZONE_ROWS).then_some(row as i64));
    db.load("t", &[], &nullable([("v", Arc::new(Int64Array::from_iter(values)) as ArrayRef)]));
    let (rows, report) = pruned(&db, "SELECT count(*) FROM t WHERE v IS NULL");
    assert_eq!(rows, [(ZONE_ROWS + 1).to_string()]);
    assert_eq!(report.zones_pruned, 2);
    let (rows, report) = pruned(&db, "SELECT count(*) FROM t WHERE v IS NOT NULL");
    assert_eq!(rows, [(3 * ZONE_ROWS - 1).to_string()]);
    assert_eq!(report.zones_pruned, 1);
}

#[test]
fn strings_that_differ_after_the_length_of_a_bound_are_all_found() {
    let db = Db::new();
    let shared = "x".repeat(200);
    let values = (0..3 * ZONE_ROWS).map(|row| format!("{shared}{row:06}"));
    db.load("t", &[], &nullable([("s", Arc::new(StringViewArray::from_iter_values(values)) as ArrayRef)]));
    for (row, op, count) in [(0, "=", 1), (20_000, "=", 1), (20_000, ">", 4_575), (20_000, "<=", 20_001), (24_575, ">=", 1)] {
        let sql = format!("SELECT count(*) FROM t WHERE s {op} '{shared}{row:06}'");
        assert_eq!(db.value(&sql), count.to_string(), "{op} {row}");
    }
    assert_eq!(db.value(&format!("SELECT count(*) FROM t WHERE s < '{shared}'")), "0");
    assert_eq!(db.value(&format!("SELECT count(*) FROM t WHERE s LIKE '{shared}01%'")), "10000");
}

#[test]
fn a_list_of_many_values_prunes_or_not_but_never_loses_a_row() {
    let db = forty_zones();
    for count in [1, 20, 255, 256, 257, 2_000] {
        let list: Vec<String> = (0..count).map(|index| (index * 13 + 200_000).to_string()).collect();
        let (rows, _) = pruned(&db, &format!("SELECT id FROM t WHERE id IN ({})", list.join(", ")));
        assert_eq!(rows.len(), count, "a list of {count}");
        let not_in = format!("SELECT count(*) FROM t WHERE id NOT IN ({})", list.join(", "));
        assert_eq!(db.value(&not_in), (ROWS as usize - count).to_string(), "a list of {count}");
    }
}

#[test]
fn a_join_with_few_rows_prunes_zones_of_the_big_table() {
    let db = forty_zones();
    db.run("CREATE TABLE few AS SELECT value * 3 + 100000 AS id FROM generate_series(1, 20) AS g(value)");
    let (rows, report) = pruned(&db, "SELECT t.s FROM t JOIN few ON t.id = few.id");
    assert_eq!(rows.len(), 20);
    assert!(report.zones_pruned >= ZONES - 2, "{report:?}");
    assert!(report.bytes_touched < 1_500_000, "{report:?}");
    let (rows, report) = pruned(&db, "SELECT count(*) FROM t WHERE id IN (SELECT id FROM few WHERE id < 100010)");
    assert_eq!(rows, ["3"]);
    assert!(report.zones_pruned >= ZONES - 2, "{report:?}");
}

#[test]
fn a_join_with_no_rows_reads_little_of_the_big_table() {
    let db = forty_zones();
    db.run("CREATE TABLE none (id bigint)");
    let (rows, _) = pruned(&db, "SELECT t.s FROM t JOIN none ON t.id = none.id");
    assert!(rows.is_empty());
    let (rows, _) = pruned(&db, "SELECT count(*) FROM t LEFT JOIN none ON t.id = none.id");
    assert_eq!(rows, [ROWS.to_string()]);
    let (rows, _) = pruned(&db, "SELECT count(*) FROM none RIGHT JOIN t ON t.id = none.id WHERE none.id IS NULL");
    assert_eq!(rows, [ROWS.to_string()]);
}

#[test]
fn the_first_rows_of_an_order_prune_zones_that_cannot_hold_any() {
    let db = forty_zones();
    let (rows, report) = pruned(&db, "SELECT s FROM t ORDER BY id LIMIT 3");
    let expected: Vec<String> = (0..3).map(|id| format!("this is the text of row number {id:08}")).collect();
    assert_eq!(rows, expected);
    assert!(report.zones_pruned > 0, "{report:?}");
    let (rows, _) = pruned(&db, "SELECT id FROM t ORDER BY id DESC LIMIT 3");
    assert_eq!(rows, [ROWS - 1, ROWS - 2, ROWS - 3].map(|id| id.to_string()));
    let (rows, _) = pruned(&db, "SELECT id FROM t ORDER BY k DESC, id LIMIT 3 OFFSET 1");
    assert_eq!(rows, ["19", "29", "39"]);
}

#[test]
fn the_first_rows_of_an_order_with_nulls_are_right_whatever_was_pruned() {
    let db = Db::new();
    let values = (0..6 * ZONE_ROWS).map(|row| (row % ZONE_ROWS != 17).then_some((row * 31 % 50_000) as i64));
    db.load("t", &[], &nullable([("v", Arc::new(Int64Array::from_iter(values)) as ArrayRef)]));
    assert_eq!(db.rows("SELECT v FROM t ORDER BY v NULLS FIRST LIMIT 8"), ["NULL", "NULL", "NULL", "NULL", "NULL", "NULL", "0", "1"]);
    assert_eq!(db.rows("SELECT v FROM t ORDER BY v DESC NULLS LAST LIMIT 2"), ["49999", "49998"]);
    assert_eq!(db.rows("SELECT v FROM t ORDER BY v DESC LIMIT 7")[6], "49999");
    assert_eq!(db.rows("SELECT v FROM t WHERE v > 100 ORDER BY v NULLS FIRST LIMIT 1"), ["101"]);
}

#[test]
fn a_limit_stops_the_scan_early() {
    let db = forty_zones();
    let (rows, report) = pruned(&db, "SELECT s FROM t LIMIT 5");
    assert_eq!(rows.len(), 5);
    assert!(report.rows_scanned < report.rows_total / 4, "{report:?}");
    let (rows, report) = pruned(&db, "SELECT s FROM t LIMIT 5 OFFSET 10000");
    assert_eq!(rows.len(), 5);
    assert!(report.rows_scanned < report.rows_total / 2, "{report:?}");
    assert!(db.rows("SELECT s FROM t LIMIT 0").is_empty());
}

#[test]
fn a_limit_over_a_filter_stops_when_it_has_its_rows() {
    let db = forty_zones();
    let (rows, report) = pruned(&db, "SELECT s FROM t WHERE k = 7 LIMIT 5");
    assert_eq!(rows.len(), 5);
    assert!(report.rows_scanned < report.rows_total / 4, "{report:?}");
}

/// What holds its result asks where the buffers of all segments lie that it reads.
#[test]
fn a_segment_that_is_left_out_is_not_mapped_for_the_query() {
    let db = Db::new();
    db.load("t", &[], &numbers(0, 20_000));
    db.load("t", &[], &numbers(20_000, 40_000));
    db.run("SELECT count(*) FROM t");
    let segments = db.segments("t");
    assert!(segments.iter().all(|segment| segment.release_mapping()));
    db.run("CREATE TEMP TABLE few AS SELECT id, s FROM t WHERE id = 30000");
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    let is_mapped = |segment: &Arc<Segment>| maps.contains(segment.path().canonicalize().unwrap().to_str().unwrap());
    assert_eq!(segments.iter().map(is_mapped).collect::<Vec<_>>(), [false, true]);
    assert_eq!(db.rows("SELECT * FROM few"), ["30000|this is the text of row number 00030000"]);
}
