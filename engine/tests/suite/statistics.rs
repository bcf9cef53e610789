//! What statistics can answer is answered from them, and what they cannot is not.

use std::sync::Arc;

use arrow::array::{ArrayRef, Float64Array, Int64Array, StringViewArray};
use pmem_store::ZONE_ROWS;

use super::helpers::{Db, Ran, nullable, numbers};

/// The answer without a byte of the table.
fn untouched(db: &Db, sql: &str) -> Vec<String> {
    let Ran { report, .. } = db.run(sql);
    assert_eq!(report.bytes_touched, 0, "{sql}: {report:?}");
    db.rows(sql)
}

fn one_column(values: ArrayRef) -> Db {
    let db = Db::new();
    db.load("t", &[], &nullable([("v", values)]));
    db
}

#[test]
fn counts_and_bounds_of_a_table_are_answered_from_statistics() {
    let db = Db::new();
    db.load("t", &[], &numbers(0, 50_000));
    assert_eq!(untouched(&db, "SELECT count(*) FROM t"), ["50000"]);
    assert_eq!(untouched(&db, "SELECT count(*), min(id), max(id), count(k) FROM t"), ["50000|0|49999|50000"]);
    assert_eq!(untouched(&db, "SELECT min(s) FROM t"), ["this is the text of row number 00000000"]);
    db.load("t", &[], &numbers(-5, 0));
    assert_eq!(untouched(&db, "SELECT count(*), min(id), max(id) FROM t"), ["50005|-5|49999"]);
    let db = db.reopened();
    assert_eq!(untouched(&db, "SELECT count(*), min(id), max(id) FROM t"), ["50005|-5|49999"]);
}

#[test]
fn whether_a_bound_may_be_null_does_not_depend_on_where_the_rows_lie() {
    let db = Db::new();
    db.run("CREATE TABLE t (id BIGINT)");
    let sql = "SELECT min(id), max(id) + 1, count(*), count(id) FROM t";
    let nullable = || db.run(sql).batches[0].schema().fields().iter().map(|field| field.is_nullable()).collect::<Vec<_>>();
    let mut nullability = vec![nullable()];
    for statement in ["INSERT INTO t VALUES (3), (1)", "CHECKPOINT", "OPTIMIZE TABLE t", "DELETE FROM t WHERE id = 1", "TRUNCATE t"] {
        db.run(statement);
        nullability.push(nullable());
    }
    assert_eq!(nullability, vec![vec![true, true, false, false]; 6]);
    db.run("INSERT INTO t VALUES (3)");
    db.run("OPTIMIZE TABLE t");
    db.run("CREATE TABLE u AS SELECT min(id) AS least FROM t");
    db.run("INSERT INTO u VALUES (NULL)");
    assert_eq!(db.rows("SELECT count(*) FROM u"), ["2"]);
}

#[test]
fn bounds_of_every_kind_of_column_are_of_its_declared_type() {
    let db = Db::new();
    db.run(
        "CREATE TABLE t AS SELECT cast(value AS decimal(12,2)) / 4 AS money, cast(value AS decimal(38,4)) AS wide, \
         date '2024-01-01' + cast(value AS int) AS day, to_timestamp_micros(value) AS at, value % 2 = 0 AS b, \
         cast(value AS real) AS f FROM generate_series(1, 20000) AS g(value)",
    );
    for (column, bounds) in [
        ("wide", "1.0000|20000.0000"),
        ("day", "2024-01-02|2078-10-04"),
        ("at", "1970-01-01T00:00:00.000001Z|1970-01-01T00:00:00.020Z"),
        ("b", "false|true"),
        ("f", "1.0|20000.0"),
    ] {
        assert_eq!(untouched(&db, &format!("SELECT min({column}), max({column}) FROM t")), [bounds], "{column}");
    }
    for column in ["money", "wide", "day", "at", "b", "f"] {
        // A filter that keeps every row, but that statistics cannot see through.
        let read = db.run(&format!("SELECT min({column}) AS a, max({column}) AS b FROM t WHERE random() >= 0"));
        let quick = db.run(&format!("SELECT min({column}) AS a, max({column}) AS b FROM t"));
        let types = |ran: &Ran| ran.batches[0].columns().iter().map(|column| column.data_type().clone()).collect::<Vec<_>>();
        assert_eq!((quick.rows(), types(&quick)), (read.rows(), types(&read)), "{column}");
    }
}

#[test]
fn a_filter_is_not_answered_from_statistics() {
    let db = Db::new();
    db.load("t", &[], &numbers(0, 50_000));
    assert_eq!(db.value("SELECT count(*) FROM t WHERE k = 3"), "5000");
    assert_eq!(db.rows("SELECT min(id), max(id) FROM t WHERE k = 3"), ["3|49993"]);
    assert_eq!(db.rows("SELECT min(id), max(id), count(*) FROM t WHERE id > 100000"), ["NULL|NULL|0"]);
    assert_eq!(db.rows("SELECT count(*), max(id) FROM (SELECT id FROM t LIMIT 10)"), ["10|9"]);
    assert_eq!(db.rows("SELECT count(DISTINCT k), count(*) FILTER (WHERE k < 2) FROM t"), ["10|10000"]);
    assert_eq!(db.rows("SELECT min(id) FROM t GROUP BY k HAVING min(id) > 8"), ["9"]);
    assert_eq!(db.rows("SELECT count(*) FROM t a JOIN t b ON a.id = b.id AND a.k = 3"), ["5000"]);
}

#[test]
fn nulls_are_counted_exactly() {
    let values = (0..3 * ZONE_ROWS).map(|row| (row % 10 == 0).then_some(row as i64));
    let db = one_column(Arc::new(Int64Array::from_iter(values)));
    let present = (3 * ZONE_ROWS).div_ceil(10);
    let rows = 3 * ZONE_ROWS;
    let last = 10 * (present - 1);
    assert_eq!(untouched(&db, "SELECT count(*), count(v), min(v), max(v) FROM t"), [format!("{rows}|{present}|0|{last}")]);
    let nulls = db.value("SELECT count(*) FROM t WHERE v IS NULL");
    assert_eq!(nulls, (rows - present).to_string());
}

#[test]
fn a_column_of_nulls_alone_has_no_bounds() {
    let db = one_column(Arc::new(Int64Array::from_iter((0..20_000).map(|_| None::<i64>))));
    assert_eq!(db.rows("SELECT count(*), count(v), min(v), max(v) FROM t"), ["20000|0|NULL|NULL"]);
    db.run("INSERT INTO t VALUES (7)");
    assert_eq!(db.rows("SELECT count(*), count(v), min(v), max(v) FROM t"), ["20001|1|7|7"]);
}

#[test]
fn bounds_of_a_column_with_nan_are_what_reading_it_gives() {
    let values = (0..3 * ZONE_ROWS).map(|row| if row == 5 { f64::NAN } else { row as f64 });
    let db = one_column(Arc::new(Float64Array::from_iter_values(values)));
    let answer = db.rows("SELECT min(v), max(v) FROM t");
    assert_eq!(answer, db.rows("SELECT min(v), max(v) FROM t WHERE random() >= 0"));
    assert_eq!(answer, ["0.0|NaN"]);
}

#[test]
fn a_zero_bound_is_the_zero_that_is_there() {
    for (zero, shown) in [(0.0, "0.0|0.0"), (-0.0, "-0.0|-0.0")] {
        let db = one_column(Arc::new(Float64Array::from_iter_values((0..20_000).map(|_| zero))));
        assert_eq!(db.rows("SELECT min(v), max(v) FROM t"), [shown]);
    }
}

#[test]
fn bounds_of_long_strings_are_whole_strings() {
    let shared = "y".repeat(100);
    let values = (0..20_000).map(|row| format!("{shared}{row:05}"));
    let db = one_column(Arc::new(StringViewArray::from_iter_values(values)));
    assert_eq!(db.rows("SELECT min(v), max(v) FROM t"), [format!("{shared}00000|{shared}19999")]);
    assert!(db.run("SELECT max(v) FROM t").report.bytes_touched > 0);
}

#[test]
fn a_sum_or_an_expression_reads_the_table() {
    let db = Db::new();
    db.load("t", &[], &numbers(0, 50_000));
    assert_eq!(db.rows("SELECT sum(id), min(id + 1), max(-id) FROM t"), ["1249975000|1|0"]);
    assert!(db.run("SELECT sum(id) FROM t").report.bytes_touched > 0);
    assert_eq!(db.value("SELECT count(*) + 1 FROM t"), "50001");
    assert_eq!(db.value("SELECT count(1) FROM t"), "50000");
    assert_eq!(db.value("SELECT count(NULL) FROM t"), "0");
}

#[test]
fn the_small_side_of_a_join_is_built_whichever_is_named_first() {
    let db = Db::new();
    db.load("big", &[], &numbers(0, 100_000));
    db.load("small", &[], &numbers(0, 100));
    for sql in ["SELECT big.s FROM big JOIN small ON big.id = small.id", "SELECT big.s FROM small JOIN big ON big.id = small.id"] {
        let plan = db.run(&format!("EXPLAIN {sql}")).text();
        let join = plan.find("HashJoinExec").unwrap_or_else(|| panic!("{plan}"));
        let (small, big) = (plan[join..].find("main.small").unwrap(), plan[join..].find("main.big").unwrap());
        assert!(small < big, "the first input of a hash join is built: {plan}");
        assert_eq!(db.run(sql).row_count(), 100);
    }
}

#[test]
fn statistics_follow_every_change_of_a_table() {
    let db = Db::new();
    db.run("CREATE TABLE t (v bigint)");
    assert_eq!(db.rows("SELECT count(*), max(v) FROM t"), ["0|NULL"]);
    db.run("INSERT INTO t VALUES (1), (2)");
    assert_eq!(db.rows("SELECT count(*), max(v) FROM t"), ["2|2"]);
    db.run("INSERT OVERWRITE t VALUES (9)");
    assert_eq!(db.rows("SELECT count(*), max(v) FROM t"), ["1|9"]);
    db.run("CREATE OR REPLACE TABLE t AS SELECT 5 AS v, 'x' AS w");
    assert_eq!(db.rows("SELECT count(*), max(v), min(w) FROM t"), ["1|5|x"]);
    db.run("DROP TABLE t");
    db.run("CREATE TABLE t (v bigint)");
    assert_eq!(db.rows("SELECT count(*), max(v) FROM t"), ["0|NULL"]);
}

#[test]
fn after_a_commit_only_segments_that_are_new_are_opened() {
    let db = Db::new();
    db.load("t", &[], &numbers(0, 20_000));
    db.load("t", &[], &numbers(20_000, 40_000));
    assert_eq!(untouched(&db, "SELECT count(*), min(id), max(id) FROM t"), ["40000|0|39999"]);
    // They are read when the segment is opened.
    for segment in db.table("t").segments() {
        for beside in ["sums.arrow", "zones.arrow", "columns.arrow"] {
            std::fs::remove_file(segment.path().with_extension(beside)).unwrap();
        }
    }
    db.load("t", &[], &numbers(-10, 0));
    assert_eq!(untouched(&db, "SELECT count(*), min(id), max(id) FROM t"), ["40010|-10|39999"]);
    db.run("DELETE FROM t WHERE id = 39999");
    assert_eq!(db.rows("SELECT count(*), min(id), max(id) FROM t"), ["40009|-10|39998"]);
    assert_eq!(db.value("SELECT count(*) FROM t WHERE id > 30000"), "9998");
}
