//! Scans hand out the mapped buffers themselves, and read only what the query needs.

use std::ops::Range;
use std::sync::Arc;

use arrow::array::{
    Array, ArrayData, ArrayRef, AsArray, BinaryViewArray, BooleanArray, Date32Array, Decimal128Array, Float32Array, Float64Array,
    Int32Array, Int64Array, ListArray, StringViewArray, StructArray, TimestampMicrosecondArray,
};
use arrow::datatypes::{DataType, Field, Int64Type};
use pmem_store::{Segment, ZONE_ROWS};

use super::helpers::{Db, nullable, numbers, options};

const ROWS: usize = 5 * ZONE_ROWS + 321;

/// Columns whose physical type is the declared one, with NULLs and without.
fn in_place() -> Vec<(&'static str, ArrayRef)> {
    let rows = || 0..ROWS;
    let now_and_then = |row: usize| !row.is_multiple_of(7);
    let text = |row: usize| format!("a text that does not fit into a view: {row}");
    let list = ListArray::from_iter_primitive::<Int64Type, _, _>(rows().map(|row| Some((0..row % 3).map(|value| Some(value as i64)))));
    let inner = Arc::new(Int64Array::from_iter_values(rows().map(|row| row as i64))) as ArrayRef;
    let pair = StructArray::from(vec![(Arc::new(Field::new("a", DataType::Int64, true)), inner)]);
    vec![
        ("i64", Arc::new(Int64Array::from_iter_values(rows().map(|row| row as i64)))),
        ("i64_null", Arc::new(Int64Array::from_iter(rows().map(|row| now_and_then(row).then_some(row as i64))))),
        ("i32", Arc::new(Int32Array::from_iter_values(rows().map(|row| row as i32)))),
        ("f64", Arc::new(Float64Array::from_iter_values(rows().map(|row| row as f64 / 3.0)))),
        ("f32", Arc::new(Float32Array::from_iter_values(rows().map(|row| row as f32)))),
        ("day", Arc::new(Date32Array::from_iter_values(rows().map(|row| row as i32)))),
        ("at", Arc::new(TimestampMicrosecondArray::from_iter(rows().map(|row| now_and_then(row).then_some(row as i64))))),
        ("wide", Arc::new(Decimal128Array::from_iter_values(rows().map(|row| row as i128 * 3)).with_precision_and_scale(38, 4).unwrap())),
        ("b", Arc::new(BooleanArray::from_iter(rows().map(|row| now_and_then(row).then_some(row % 2 == 0))))),
        ("s", Arc::new(StringViewArray::from_iter_values(rows().map(text)))),
        ("s_null", Arc::new(StringViewArray::from_iter(rows().map(|row| now_and_then(row).then(|| text(row)))))),
        ("short", Arc::new(StringViewArray::from_iter_values(rows().map(|row| (row % 10).to_string())))),
        ("x", Arc::new(BinaryViewArray::from_iter_values(rows().map(|row| text(row).into_bytes())))),
        ("list", Arc::new(list)),
        ("pair", Arc::new(pair)),
    ]
}

fn addresses(db: &Db, table: &str) -> Vec<Range<usize>> {
    let whole = db.segments(table).into_iter().map(|segment| segment.mapping().unwrap().whole());
    whole.map(|bytes| bytes.as_ptr() as usize..bytes.as_ptr() as usize + bytes.len()).collect()
}

/// The parts of an array's buffers that its rows lie in; None where one is outside `mapped`.
fn lies_in(data: &ArrayData, mapped: &[Range<usize>]) -> bool {
    let inside = |at: *const u8, bytes: usize| {
        let range = at as usize..at as usize + bytes;
        mapped.iter().any(|mapping| mapping.start <= range.start && range.end <= mapping.end)
    };
    let buffers = data.buffers().iter().filter(|buffer| !buffer.is_empty()).all(|buffer| inside(buffer.as_ptr(), buffer.len()));
    let validity = data.nulls().filter(|nulls| nulls.null_count() > 0);
    let validity = validity.is_none_or(|nulls| inside(nulls.buffer().as_ptr(), nulls.buffer().len()));
    buffers && validity && data.child_data().iter().all(|child| lies_in(child, mapped))
}

#[test]
fn every_buffer_of_an_unfiltered_scan_lies_in_the_mapping() {
    let db = Db::new();
    let columns = in_place();
    db.load_plain("t", &nullable(columns.clone()));
    db.load("t", &[], &nullable(columns.clone()));
    let mapped = addresses(&db, "t");
    assert_eq!(mapped.len(), 2);
    for (name, column) in columns {
        let ran = db.run(&format!("SELECT {name} FROM t"));
        assert_eq!(ran.row_count(), 2 * ROWS);
        for batch in &ran.batches {
            let array = batch.column(0);
            assert_eq!(array.data_type(), column.data_type(), "{name}");
            assert!(lies_in(&array.to_data(), &mapped), "a buffer of {name} is a copy");
        }
    }
}

#[test]
fn a_column_read_through_a_view_and_a_subquery_is_still_in_place() {
    let db = Db::new();
    db.load_plain("t", &numbers(0, ROWS as i64));
    db.run("CREATE VIEW v AS SELECT s AS text, id FROM t");
    let mapped = addresses(&db, "t");
    let ran = db.run("SELECT text FROM (SELECT text, id FROM v) AS q");
    assert_eq!(ran.row_count(), ROWS);
    assert!(ran.batches.iter().all(|batch| lies_in(&batch.column(0).to_data(), &mapped)));
}

#[test]
fn zones_that_pass_a_filter_whole_are_still_in_place() {
    let db = Db::new();
    db.load_plain("t", &numbers(0, 4 * ZONE_ROWS as i64));
    let mapped = addresses(&db, "t");
    let ran = db.run(&format!("SELECT s FROM t WHERE id >= {}", ZONE_ROWS));
    assert_eq!(ran.row_count(), 3 * ZONE_ROWS);
    assert!(ran.batches.iter().all(|batch| lies_in(&batch.column(0).to_data(), &mapped)));
}

/// A log that became a segment was encoded whatever the table's option said.
#[test]
fn small_writes_to_a_table_with_plain_columns_are_stored_in_their_types() {
    let db = Db::new();
    for (table, option, expected) in [("plain", "plain", DataType::Int64), ("other", "auto", DataType::Int16)] {
        db.run(&format!("CREATE TABLE {table} (a BIGINT) WITH (encoding = '{option}')"));
        for _ in 0..3 {
            db.run(&format!("INSERT INTO {table} SELECT value FROM generate_series(1, 5000) AS g (value)"));
        }
        db.run("CHECKPOINT");
        let stored = |segment: &Arc<Segment>| segment.stored_schema().field(0).data_type().clone();
        assert_eq!(db.segments(table).iter().map(stored).collect::<Vec<_>>(), [expected], "{table}");
    }
}

#[test]
fn a_result_outlives_the_engine_and_the_table_it_came_from() {
    let db = Db::new();
    db.load("t", &[], &numbers(0, ROWS as i64));
    let ran = db.run("SELECT s FROM t WHERE id >= 0");
    db.run("DROP TABLE t");
    drop(db);
    let mut rows = ran.rows();
    rows.sort_unstable();
    let expected = (0..ROWS).map(|row| format!("this is the text of row number {row:08}"));
    assert!(rows.into_iter().eq(expected));
}

#[test]
fn a_query_touches_the_bytes_of_its_columns_and_no_others() {
    let db = Db::new();
    db.load_plain("t", &numbers(0, ROWS as i64));
    let id = db.run("SELECT id FROM t").report;
    assert_eq!(id.bytes_touched, 8 * ROWS as u64);
    assert_eq!(id.bytes_returned, 8 * ROWS as u64);
    let both = db.run("SELECT id, r FROM t").report;
    assert_eq!(both.bytes_touched, 16 * ROWS as u64);
    let text = db.run("SELECT s FROM t").report.bytes_touched;
    let expected = (16 + 39) * ROWS as u64;
    assert!((expected..expected + expected / 20).contains(&text), "{text} for {expected}");
}

#[test]
fn other_columns_are_read_only_where_a_row_passes_the_filter() {
    let db = Db::new();
    db.load("t", &[], &numbers(0, 20 * ZONE_ROWS as i64));
    // `r` is in no order: every zone of it is read, and of `s` the zone of the one row.
    let ran = db.run("SELECT s FROM t WHERE r = 7919");
    assert_eq!(ran.rows(), ["this is the text of row number 00000001"]);
    let (filter, zone) = (20 * ZONE_ROWS as u64 * 8, ZONE_ROWS as u64 * (16 + 39));
    let touched = ran.report.bytes_touched;
    assert!(touched <= filter + 2 * zone, "{touched} bytes for {filter} of the filter and {zone} of the zone");
}

#[test]
fn every_batch_of_a_query_is_of_its_schema() {
    let db = Db::new();
    db.load("t", &[], &nullable(in_place()));
    for sql in ["SELECT * FROM t", "SELECT wide, day FROM t WHERE i64 % 2 = 0", "SELECT count(*) AS n, max(s) FROM t WHERE b"] {
        let output = super::helpers::wait(db.session.execute(sql)).unwrap();
        let schema = output.schema();
        let (batches, _) = super::helpers::wait(output.collect()).unwrap();
        assert!(batches.iter().all(|batch| batch.schema() == schema), "{sql}");
    }
}

#[test]
fn the_number_of_partitions_changes_no_answer() {
    let answers = |threads: usize| {
        let db = Db::with(engine::EngineOptions { threads: Some(threads), ..options() });
        db.load("t", &[], &numbers(0, 30 * ZONE_ROWS as i64 + 5));
        db.load("t", &[], &numbers(300_000, 300_003));
        let aggregate = db.sorted_rows("SELECT k, count(*), sum(id), min(s), max(r) FROM t GROUP BY k");
        let join = db.value("SELECT count(*) FROM t a JOIN t b ON a.r = b.r AND a.k > 4");
        let order = db.rows("SELECT id, s FROM t WHERE k = 3 ORDER BY r LIMIT 50");
        let windows = db.rows("SELECT id, sum(r) OVER (PARTITION BY k ORDER BY id) AS x FROM t ORDER BY x DESC, id LIMIT 20");
        (aggregate, join, order, windows)
    };
    let one = answers(1);
    for threads in [2, 5, 64] {
        assert_eq!(answers(threads), one, "with {threads} partitions");
    }
}

#[test]
fn threads_can_be_set_for_a_session() {
    let db = Db::new();
    db.load("t", &[], &numbers(0, 40 * ZONE_ROWS as i64));
    for threads in [1, 2, 7] {
        db.run(&format!("SET threads = {threads}"));
        let plan = db.run("EXPLAIN SELECT min(r) FROM t WHERE k = 1").text();
        assert!(plan.contains(&format!("partitions={threads}")), "{plan}");
        assert_eq!(db.value("SELECT count(*) FROM t WHERE id >= 0"), (40 * ZONE_ROWS).to_string());
    }
}

#[test]
fn a_batch_size_of_one_row_or_a_million_changes_no_answer() {
    let db = Db::new();
    db.load("t", &[], &numbers(0, 20_000));
    let expected = db.rows("SELECT id, s FROM t WHERE k = 3 ORDER BY id");
    for size in [1, 100, 1_000_000] {
        db.run(&format!("SET batch_size = {size}"));
        assert_eq!(db.rows("SELECT id, s FROM t WHERE k = 3 ORDER BY id"), expected);
    }
}

/// `concat` and `take` keep the buffers of all their batches, and a join of a join has the product of them: a query of 24
/// rows took minutes.
#[test]
fn texts_inside_structs_keep_no_buffers_of_rows_that_a_join_has_left_behind() {
    let db = Db::new();
    db.run("CREATE TABLE t (id BIGINT, m STRUCT(s VARCHAR))");
    db.run("INSERT INTO t SELECT value, {'s': repeat('long ', 5) || value} FROM generate_series(1, 60) AS g (value)");
    db.run("SET batch_size = 3");
    let joined = db.run("SELECT x.m FROM t x JOIN t y ON x.m = y.m LEFT JOIN t z ON x.id + z.id > 100 LEFT JOIN t w ON x.id + w.id > 100");
    assert_eq!(joined.row_count(), 2910);
    let buffers = joined.batches.iter().map(|batch| batch.column(0).as_struct().column(0).as_string_view().data_buffers().len());
    assert!(buffers.max() <= Some(64), "of batches of 3 rows");
}

#[test]
fn an_empty_table_is_scanned_as_one() {
    let db = Db::new();
    db.run("CREATE TABLE t (id bigint, s varchar) ORDER BY (id)");
    assert!(db.rows("SELECT * FROM t").is_empty());
    assert!(db.rows("SELECT s FROM t WHERE id > 3 ORDER BY id LIMIT 3").is_empty());
    assert_eq!(db.rows("SELECT count(*), min(id), max(s), sum(id) FROM t"), ["0|NULL|NULL|NULL"]);
    assert_eq!(db.rows("SELECT count(*) FROM t a LEFT JOIN t b ON a.id = b.id"), ["0"]);
    assert_eq!(db.run("SELECT * FROM t").report.zones_total, 0);
    db.run("INSERT INTO t SELECT * FROM t");
    db.run("CREATE TABLE u AS SELECT * FROM t WHERE id = 1");
    assert_eq!(db.value("SELECT count(*) FROM u"), "0");
}
