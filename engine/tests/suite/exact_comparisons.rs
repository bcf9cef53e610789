//! Values that are finer than the column they are compared with: nothing of them is cut off, in whatever statement.

use std::iter::once;
use std::sync::Arc;

use arrow::array::{
    ArrayRef, Date32Array, Int64Array, RecordBatch, TimestampMicrosecondArray, TimestampMillisecondArray, TimestampNanosecondArray,
    TimestampSecondArray,
};
use arrow::datatypes::TimeUnit::{self, Microsecond, Millisecond, Nanosecond, Second};

use super::helpers::{Db, Ran, nullable, wait};

const ZONES: [Option<&str>; 3] = [None, Some("UTC"), Some("+02:00")];
const UNITS: [TimeUnit; 3] = [Second, Millisecond, Microsecond];
const DAY: i128 = 86_400_000_000_000;

/// In the column's unit, around 1970.
const TICKS: [i64; 5] = [-2, -1, 0, 1, 2];

fn nanoseconds(unit: TimeUnit) -> i128 {
    match unit {
        Second => 1_000_000_000,
        Millisecond => 1_000_000,
        Microsecond => 1_000,
        Nanosecond => 1,
    }
}

fn times(unit: TimeUnit, zone: Option<&str>, values: Vec<Option<i64>>) -> ArrayRef {
    match unit {
        Second => Arc::new(TimestampSecondArray::from(values).with_timezone_opt(zone)),
        Millisecond => Arc::new(TimestampMillisecondArray::from(values).with_timezone_opt(zone)),
        Microsecond => Arc::new(TimestampMicrosecondArray::from(values).with_timezone_opt(zone)),
        Nanosecond => Arc::new(TimestampNanosecondArray::from(values).with_timezone_opt(zone)),
    }
}

/// A table `t` of times and one NULL, numbered in `id`.
fn db(unit: TimeUnit, zone: Option<&str>) -> Db {
    let values: Vec<Option<i64>> = TICKS.into_iter().map(Some).chain(once(None)).collect();
    let id = Arc::new(Int64Array::from_iter_values(0..values.len() as i64)) as ArrayRef;
    let db = Db::new();
    db.load("t", &[], &nullable([("id", id), ("ts", times(unit, zone, values))]));
    db
}

fn with(db: &Db, sql: &str, values: &[ArrayRef]) -> Vec<String> {
    let columns = values.iter().enumerate().map(|(place, column)| (format!("${}", place + 1), Arc::clone(column)));
    let parameters = RecordBatch::try_from_iter(columns).unwrap();
    let ran = wait(async {
        let output = db.session.execute_with(sql, &parameters, 0).await?;
        let kind = output.kind();
        let (batches, report) = output.collect().await?;
        Ok::<_, engine::EngineError>(Ran { batches, report, kind })
    });
    ran.unwrap_or_else(|error| panic!("{sql}: {error}")).rows()
}

/// Values between and on the ticks of a column, in a finer unit.
fn finer(column: TimeUnit, unit: TimeUnit) -> Vec<i64> {
    let tick = (nanoseconds(column) / nanoseconds(unit)) as i64;
    TICKS.into_iter().flat_map(|value| [value * tick - tick / 2, value * tick - 1, value * tick, value * tick + 1]).collect()
}

/// The rows of `t` that `holds` of, by their number.
fn rows_where(column: TimeUnit, holds: impl Fn(i128) -> bool) -> Vec<String> {
    let rows = TICKS.iter().enumerate().filter(|(_, tick)| holds(i128::from(**tick) * nanoseconds(column)));
    rows.map(|(id, _)| id.to_string()).collect()
}

type Holds = fn(i128, i128) -> bool;

const OPS: [(&str, Holds); 8] = [
    ("ts = $1", |ts, value| ts == value),
    ("ts <> $1", |ts, value| ts != value),
    ("ts < $1", |ts, value| ts < value),
    ("$1 >= ts", |ts, value| ts <= value),
    ("$1 < ts", |ts, value| ts > value),
    ("ts >= $1", |ts, value| ts >= value),
    ("ts IS NOT DISTINCT FROM $1", |ts, value| ts == value),
    ("NOT (ts > $1)", |ts, value| ts <= value),
];

fn for_each_pair(mut check: impl FnMut(&Db, TimeUnit, TimeUnit, Option<&str>)) {
    for zone in ZONES {
        for column in UNITS {
            let db = db(column, zone);
            for unit in [Millisecond, Microsecond, Nanosecond].into_iter().filter(|unit| nanoseconds(*unit) < nanoseconds(column)) {
                check(&db, column, unit, zone);
            }
        }
    }
}

#[test]
fn a_finer_parameter_is_compared_with_all_its_digits() {
    for_each_pair(|db, column, unit, zone| {
        for value in finer(column, unit) {
            let exact = i128::from(value) * nanoseconds(unit);
            let parameters = [times(unit, zone, vec![Some(value)])];
            for (condition, holds) in OPS {
                let found = with(db, &format!("SELECT id FROM t WHERE {condition} ORDER BY id"), &parameters);
                assert_eq!(found, rows_where(column, |ts| holds(ts, exact)), "{condition} of {column} with {value} {unit}, {zone:?}");
            }
            let distinct = with(db, "SELECT id FROM t WHERE ts IS DISTINCT FROM $1 ORDER BY id", &parameters);
            let mut expected = rows_where(column, |ts| ts != exact);
            expected.push("5".to_string());
            assert_eq!(distinct, expected, "{value} {unit}");
        }
    });
}

#[test]
fn lists_and_ranges_of_finer_parameters_are_exact_too() {
    for_each_pair(|db, column, unit, zone| {
        let tick = (nanoseconds(column) / nanoseconds(unit)) as i64;
        let (low, high) = (-tick - 1, tick + 1);
        let values = [low, tick, high];
        let parameters: Vec<ArrayRef> = values.iter().map(|value| times(unit, zone, vec![Some(*value)])).collect();
        let exact = |value: i64| i128::from(value) * nanoseconds(unit);
        let ids =
            |condition: &str, parameters: &[ArrayRef]| with(db, &format!("SELECT id FROM t WHERE {condition} ORDER BY id"), parameters);
        assert_eq!(ids("ts IN ($1, $2, $3)", &parameters), rows_where(column, |ts| values.iter().any(|value| ts == exact(*value))));
        assert_eq!(ids("ts NOT IN ($1, $2, $3)", &parameters), rows_where(column, |ts| values.iter().all(|value| ts != exact(*value))));
        assert_eq!(ids("ts NOT IN ($1)", &parameters[..1]), rows_where(column, |_| true));
        assert_eq!(ids("ts IN ($1, NULL)", &parameters[..1]), [""; 0]);
        let bounds = [Arc::clone(&parameters[0]), Arc::clone(&parameters[2])];
        let within = |ts: i128| exact(low) <= ts && ts <= exact(high);
        assert_eq!(ids("ts BETWEEN $1 AND $2", &bounds), rows_where(column, within));
        assert_eq!(ids("ts NOT BETWEEN $1 AND $2", &bounds), rows_where(column, |ts| !within(ts)));
    });
}

#[test]
fn a_comparison_that_no_time_can_fulfil_is_null_for_null() {
    let db = db(Second, None);
    let parameters = [times(Millisecond, None, vec![Some(1_500)])];
    let sql = "SELECT id, ts = $1, ts <> $1, CASE ts WHEN $1 THEN 'found' ELSE 'other' END FROM t WHERE id >= 4 ORDER BY id";
    assert_eq!(with(&db, sql, &parameters), ["4|false|true|other", "5|NULL|NULL|other"]);
}

#[test]
fn changes_of_rows_find_those_that_queries_find() {
    let parameters = |value| [times(Microsecond, None, vec![Some(value)])];
    let db = db(Millisecond, None);
    let changed = |sql: &str, value| with(&db, sql, &parameters(value)).concat();
    assert_eq!(changed("DELETE FROM t WHERE ts >= $1", 2_001), "0");
    assert_eq!(changed("DELETE FROM t WHERE ts = $1", 1_900), "0");
    assert_eq!(changed("DELETE FROM t WHERE ts < $1", -2_000), "0");
    assert_eq!(changed("UPDATE t SET id = 10 WHERE ts > $1", 1_999), "1");
    assert_eq!(changed("UPDATE t SET id = 11 WHERE ts <= $1", -1_001), "1");
    let merge = "MERGE INTO t USING (SELECT 1 AS one) AS s ON t.ts = $1 WHEN MATCHED THEN DELETE";
    assert_eq!(changed(merge, 1_001), "0");
    assert_eq!(changed(merge, 1_000), "1");
    assert_eq!(db.rows("SELECT id FROM t ORDER BY id"), ["1", "2", "5", "10", "11"]);
}

#[test]
fn values_that_are_known_only_while_a_plan_is_made_or_runs_are_not_cut_off() {
    let db = db(Second, None);
    db.load("f", &[], &nullable([("x", times(Nanosecond, None, vec![Some(-1_500_000_000), Some(1_500_000_000), None]))]));
    for (condition, rows) in [
        // A constant in a subquery, which meets the column when the filter is pushed down.
        ("ts = (SELECT TIMESTAMP '1970-01-01 00:00:01.5')", vec![]),
        ("ts < (SELECT max(x) FROM f)", vec!["0", "1", "2", "3"]),
        ("ts > (SELECT min(x) FROM f) AND ts < (SELECT max(x) FROM f)", vec!["1", "2", "3"]),
        ("ts = ANY([TIMESTAMP '1970-01-01 00:00:01.5', TIMESTAMP '1970-01-01 00:00:01'])", vec!["3"]),
        ("arrow_cast(ts, 'Timestamp(Nanosecond, None)') <= TIMESTAMP '1969-12-31 23:59:58.5'", vec!["0"]),
        ("try_cast(ts AS TIMESTAMP) >= coalesce(NULL, TIMESTAMP '1969-12-31 23:59:58.5')", vec!["1", "2", "3", "4"]),
        ("ts < '1969-12-31 23:59:58.5'", vec!["0"]),
        ("CAST(ts AS TIMESTAMP(3)) IN (TIMESTAMP '1970-01-01 00:00:01.5', TIMESTAMP '1970-01-01 00:00:01')", vec!["3"]),
        ("CAST(CAST(ts AS TIMESTAMP(3)) AS TIMESTAMP(6)) < TIMESTAMP '1970-01-01 00:00:00.5'", vec!["0", "1", "2"]),
        ("TIMESTAMP '1969-12-31 23:59:58.5' <> TRY_CAST(ts AS TIMESTAMP(3))", vec!["0", "1", "2", "3", "4"]),
    ] {
        assert_eq!(db.rows(&format!("SELECT id FROM t WHERE {condition} ORDER BY id")), rows, "{condition}");
    }
    assert_eq!(db.rows("SELECT id FROM (SELECT id, ts, TIMESTAMP '1970-01-01 00:00:01.5' AS x FROM t) WHERE ts >= x"), ["4"]);
    assert_eq!(
        db.rows("SELECT id, count(x) FROM t LEFT JOIN f ON ts > x AND x < TIMESTAMP '1970-01-01' GROUP BY id ORDER BY id"),
        ["0|0", "1|1", "2|1", "3|1", "4|1", "5|0"]
    );
    assert_eq!(db.rows("SELECT id FROM t JOIN f ON ts = x"), [""; 0]);
}

#[test]
fn zones_are_skipped_by_the_exact_value() {
    let db = Db::new();
    let rows = 4 * pmem_store::ZONE_ROWS as i64;
    let id = Arc::new(Int64Array::from_iter_values(0..rows)) as ArrayRef;
    db.load("t", &[], &nullable([("id", id), ("ts", times(Second, None, (0..rows).map(Some).collect()))]));
    let edge = pmem_store::ZONE_ROWS as i64;
    for (condition, value, count) in [
        ("ts < $1", edge * 1_000 + 1, edge + 1),
        ("ts <= $1", edge * 1_000 - 1, edge),
        ("ts > $1", edge * 1_000 - 1, rows - edge),
        ("ts <> $1", edge * 1_000 + 1, rows),
        ("ts = $1", edge * 1_000 + 1, 0),
        ("ts = $1", edge * 1_000, 1),
    ] {
        let found = with(&db, &format!("SELECT count(*) FROM t WHERE {condition}"), &[times(Millisecond, None, vec![Some(value)])]);
        assert_eq!(found, [count.to_string()], "{condition} with {value} ms");
    }
}

#[test]
fn a_date_meets_times_of_its_day() {
    let db = Db::new();
    let days = Arc::new(Date32Array::from(vec![Some(-1), Some(0), Some(1), Some(2_932_896), None])) as ArrayRef;
    db.load("t", &[], &nullable([("id", Arc::new(Int64Array::from_iter_values(0..5)) as ArrayRef), ("d", days)]));
    let ids = |condition: &str, value: i128| {
        let parameters = [times(Nanosecond, None, vec![Some(value as i64)])];
        with(&db, &format!("SELECT id FROM t WHERE {condition} ORDER BY id"), &parameters)
    };
    assert_eq!(ids("d = $1", 1), [""; 0]);
    assert_eq!(ids("d <> $1", DAY - 1), ["0", "1", "2", "3"]);
    assert_eq!(ids("d < $1", -1), ["0"]);
    assert_eq!(ids("d <= $1", -DAY - 1), [""; 0]);
    // The day of the year 9999 is no time in nanoseconds, and later than all of them.
    assert_eq!(ids("d > $1", DAY - 1), ["2", "3"]);
    assert_eq!(ids("d IN ($1, DATE '1970-01-01')", DAY), ["1", "2"]);
}

#[test]
fn casts_of_columns_to_coarser_types_are_not_taken_for_the_columns() {
    let db = Db::new();
    db.script(
        "CREATE TABLE t (id INT, ts TIMESTAMP, price DECIMAL(6, 2), n BIGINT);
         INSERT INTO t VALUES (0, '1970-01-01 12:00:00', 1.50, 7), (1, '1969-12-31 23:59:58.5', -1.50, 300), (2, '1970-01-02', 1.49, -300)",
    );
    for (condition, rows) in [
        ("ts::date = DATE '1970-01-01'", vec!["0"]),
        ("ts::date < DATE '1970-01-01'", vec!["1"]),
        ("price::DECIMAL(6, 0) = 2", vec!["0"]),
        ("price::DECIMAL(6, 0) <> -2", vec!["0", "2"]),
        ("price::DECIMAL(6, 1) IN (1.5)", vec!["0", "2"]),
        ("TRY_CAST(n AS TINYINT) < 100", vec!["0"]),
        ("TRY_CAST(n AS TINYINT) IS DISTINCT FROM 7", vec!["1", "2"]),
        ("TRY_CAST(n AS TINYINT) NOT IN (8, 9)", vec!["0"]),
    ] {
        assert_eq!(db.rows(&format!("SELECT id FROM t WHERE {condition} ORDER BY id")), rows, "{condition}");
    }
}

#[test]
fn a_time_without_a_zone_meets_one_with_a_zone_as_the_time_of_that_zone() {
    let zoned = "arrow_cast(TIMESTAMPTZ '1970-01-01 00:00:00+02:00', 'Timestamp(Second, Some(\"+02:00\"))')";
    let db = db(Second, None);
    assert_eq!(db.rows(&format!("SELECT id FROM t WHERE ts = {zoned}")), ["2"]);
    assert_eq!(db.rows(&format!("SELECT id FROM t WHERE ts < {zoned} ORDER BY id")), ["0", "1"]);
    assert_eq!(db.rows("SELECT id FROM t WHERE ts = TIMESTAMPTZ '1970-01-01 02:00:00+02:00'"), ["2"]);
}

#[test]
fn a_check_holds_rows_to_the_value_that_was_written() {
    let db = Db::new();
    db.script("CREATE TABLE t (ts TIMESTAMP(0) CHECK (ts >= TIMESTAMP '1970-01-01 00:00:01.5'))");
    db.error("INSERT INTO t VALUES (TIMESTAMP '1970-01-01 00:00:01')");
    db.script("INSERT INTO t VALUES (TIMESTAMP '1970-01-01 00:00:02'), (NULL)");
    assert_eq!(db.value("SELECT count(*) FROM t"), "2");
}

#[test]
fn a_file_that_is_coarser_than_its_table_is_compared_exactly() {
    let db = db(Millisecond, None);
    let file = db.file("t.parquet");
    // One row: a value that is cut off would have the whole file skipped.
    db.run(&format!("COPY (SELECT * FROM t WHERE id = 2) TO '{file}' STORED AS PARQUET"));
    db.run(&format!("CREATE EXTERNAL TABLE e (id BIGINT, ts TIMESTAMP(6)) STORED AS PARQUET LOCATION '{file}'"));
    for (condition, rows) in [
        ("ts < TIMESTAMP '1970-01-01 00:00:00.0005'", vec!["2"]),
        ("ts <> TIMESTAMP '1969-12-31 23:59:59.9995'", vec!["2"]),
        ("ts = TIMESTAMP '1970-01-01 00:00:00.0005'", vec![]),
    ] {
        assert_eq!(db.rows(&format!("SELECT id FROM e WHERE {condition} ORDER BY id")), rows, "{condition}");
    }
}
