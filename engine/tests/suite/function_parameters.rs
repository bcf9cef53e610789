//! Parameters among the arguments of table functions.

use std::sync::Arc;

use arrow::array::{ArrayRef, Date32Array, Float64Array, Float64Builder, Int32Array, Int64Array, ListBuilder, RecordBatch, StringArray};
use arrow::array::{DurationMicrosecondArray, TimestampMicrosecondArray};
use arrow::datatypes::{DataType, TimeUnit};

use super::helpers::{Db, Ran, wait};

fn try_with(db: &Db, sql: &str, columns: &[ArrayRef]) -> Result<Vec<String>, String> {
    let named = columns.iter().enumerate().map(|(place, column)| (format!("${}", place + 1), Arc::clone(column)));
    let values = RecordBatch::try_from_iter(named).unwrap();
    let ran = wait(async {
        let output = db.session.execute_with(sql, &values, 0).await?;
        let kind = output.kind();
        let (batches, report) = output.collect().await?;
        Ok::<_, engine::EngineError>(Ran { batches, report, kind })
    });
    ran.map(|ran| ran.rows()).map_err(|error| error.to_string())
}

fn with(db: &Db, sql: &str, columns: &[ArrayRef]) -> Vec<String> {
    try_with(db, sql, columns).unwrap_or_else(|error| panic!("{sql}: {error}"))
}

fn refused(db: &Db, sql: &str, columns: &[ArrayRef], message: &str) {
    let error = try_with(db, sql, columns).unwrap_err();
    assert_eq!(error, message, "{sql}");
}

fn int(value: i64) -> ArrayRef {
    Arc::new(Int64Array::from(vec![value]))
}

fn float(value: f64) -> ArrayRef {
    Arc::new(Float64Array::from(vec![value]))
}

fn text(value: &str) -> ArrayRef {
    Arc::new(StringArray::from(vec![value]))
}

/// Points on four places, and a matrix of one block.
fn db() -> Db {
    let db = Db::new();
    db.script(
        "CREATE TABLE points AS SELECT CAST(value % 4 AS DOUBLE) AS x, CAST(value / 52 AS DOUBLE) AS \"it's y\" FROM generate_series(0, 103) AS g (value);
         CREATE TABLE m (i BIGINT, j BIGINT, block TENSOR(DOUBLE, 1, 2)); INSERT INTO m VALUES (0, 0, [1.5, -2])",
    );
    db
}

/// Types of the parameters and names of the columns.
fn described(db: &Db, sql: &str) -> (Vec<DataType>, Vec<String>) {
    let described = wait(db.session.describe(sql)).unwrap_or_else(|error| panic!("{sql}: {error}"));
    let types = described.parameters.fields().iter().map(|field| field.data_type().clone()).collect();
    (types, described.schema.fields().iter().map(|field| field.name().clone()).collect())
}

#[test]
fn a_parameter_of_a_table_function_is_what_a_constant_is() {
    let db = db();
    let kmeans = |k: &str, iterations: &str| {
        format!("SELECT cluster, centroid, inertias FROM kmeans('points', 'x', 'it''s y', {k}, {iterations}) ORDER BY 1")
    };
    for (k, iterations) in [(2, 10), (3, 1), (2, 1)] {
        let constant = db.rows(&kmeans(&k.to_string(), &iterations.to_string()));
        assert_eq!(constant.len(), k as usize);
        assert_eq!(with(&db, &kmeans("$1", "$2"), &[int(k), int(iterations)]), constant);
        assert_eq!(with(&db, &kmeans("?", "?"), &[int(k), Arc::new(Int32Array::from(vec![iterations as i32]))]), constant);
        assert_eq!(with(&db, &kmeans("k => $2", "iterations => $1"), &[int(iterations), int(k)]), constant);
    }
    assert_eq!(with(&db, &kmeans("$1", "$2"), &[int(3), float(0.25)]), db.rows(&kmeans("3", "0.25")));
    assert_eq!(
        with(&db, "SELECT block[1], block[2] FROM matrix_scale('m', $1)", &[float(-0.1)]),
        db.rows("SELECT 1.5e0 * -0.1e0, -2 * -0.1e0")
    );
    assert_eq!(with(&db, "SELECT count(*), sum(value), $2 FROM generate_series($1, $2, $3)", &[int(-3), int(9), int(3)]), ["5|15|9"]);
    assert_eq!(with(&db, "SELECT count(*) FROM range($1 + 1) AS g (v) WHERE v < $2", &[int(4), int(3)]), ["3"]);
    assert_eq!(with(&db, "SELECT count(*) FROM generate_series(1, $1)", &[Arc::new(Int64Array::from(vec![None]))]), ["0"]);
}

#[test]
fn names_lists_and_texts_with_quotes_are_values_too() {
    let db = db();
    let mut lists = ListBuilder::new(ListBuilder::new(Float64Builder::new()));
    for centroid in [[0.0, 0.0], [3.0, 1.0]] {
        lists.values().append_value(centroid.map(Some));
    }
    lists.append(true);
    let values = [text("points"), text("it's y"), int(2), int(20), Arc::new(lists.finish()) as ArrayRef];
    let found = with(&db, "SELECT cluster, centroid, size FROM kmeans($1, 'x', $2, $3, $4, $5) ORDER BY cluster", &values);
    assert_eq!(
        found,
        db.rows("SELECT cluster, centroid, size FROM kmeans('points', 'x', 'it''s y', 2, 20, [[0, 0], [3, 1]]) ORDER BY cluster")
    );
    assert_eq!(with(&db, "SELECT block[1] FROM matrix_add($1, $1)", &[text("m")]), ["3.0"]);
    let error = try_with(&db, "SELECT * FROM matrix_norm($1)", &[text("m') --")]).unwrap_err();
    assert!(error.contains("m') --") && error.contains("does not exist"), "{error}");
}

#[test]
fn a_series_of_days_and_times_takes_them_as_clients_hold_them() {
    let db = db();
    let day: ArrayRef = Arc::new(Date32Array::from(vec![0]));
    let later: ArrayRef = Arc::new(Date32Array::from(vec![3]));
    let step: ArrayRef = Arc::new(DurationMicrosecondArray::from(vec![86_400_000_000]));
    assert_eq!(with(&db, "SELECT count(*) FROM generate_series($1, $2, $3)", &[day, later, Arc::clone(&step)]), ["4"]);
    let time = |micros: i64| Arc::new(TimestampMicrosecondArray::from(vec![micros])) as ArrayRef;
    let found = with(&db, "SELECT max(value) FROM generate_series($1, $2, INTERVAL '1 day')", &[time(0), time(86_400_000_000)]);
    assert_eq!(found.len(), 1);
    assert!(found[0].starts_with("1970-01-02"), "{found:?}");
}

#[test]
fn what_is_described_needs_no_value() {
    let db = db();
    let columns = ["cluster", "centroid", "size", "inertia", "inertias"];
    let (bigint, double, words, any) = (DataType::Int64, DataType::Float64, DataType::Utf8, DataType::Null);
    for (sql, types, names) in [
        ("SELECT * FROM kmeans('points', 'x', $1, $2)", vec![bigint.clone(), bigint.clone()], &columns[..]),
        ("SELECT * FROM kmeans('points', 'x', $1, 'random')", vec![], &[]),
        ("SELECT * FROM kmeans($1, $2, 3, 10, $3, $4)", vec![words.clone(), words.clone(), any, bigint.clone()], &columns),
        ("SELECT size FROM kmeans('points', 'x', k => $1, tolerance => $2)", vec![bigint.clone(), double.clone()], &columns[2..3]),
        ("SELECT * FROM kmeans('points', $1, k => $2, iterations => 2)", vec![words, bigint.clone()], &columns),
        ("SELECT * FROM matrix_scale('m', $1)", vec![double], &["i", "j", "block"]),
        ("SELECT * FROM generate_series($2, $1) WHERE value > $3", vec![bigint.clone(); 3], &["value"]),
        ("SELECT * FROM generate_series(1, $1 - 1) AS g (n)", vec![bigint], &["n"]),
        ("SELECT * FROM range(1, CAST($1 AS SMALLINT))", vec![DataType::Int16], &["value"]),
    ] {
        if names.is_empty() {
            assert!(wait(db.session.describe(sql)).is_err(), "{sql}");
            continue;
        }
        assert_eq!(described(&db, sql), (types, names.iter().map(ToString::to_string).collect()), "{sql}");
    }
    let days = "SELECT * FROM generate_series(DATE '2026-01-01', $1, $2)";
    let (types, _) = described(&db, days);
    assert_eq!(types[0], DataType::Date32);
    let schema = wait(db.session.describe(days)).unwrap().schema;
    assert_eq!(*schema.field(0).data_type(), DataType::Timestamp(TimeUnit::Nanosecond, None));
    let error = wait(db.session.describe("SELECT * FROM matrix_scale($1, $2)")).unwrap_err();
    assert_eq!(error.to_string(), "the columns of matrix_scale are not known before $1 is, which names its table");
    assert!(error.hint().is_some_and(|hint| hint.contains("matrix_scale('…', …)")), "{error:?}");
    let error = wait(db.session.describe("SELECT * FROM kmeans('nowhere', 'x', $1, $2)")).unwrap_err();
    assert!(error.to_string().contains("nowhere"), "{error}");
}

#[test]
fn a_parameter_of_a_with_that_nothing_reads_is_one_of_the_statement() {
    let db = db();
    let sql = "WITH w AS (SELECT $2 AS c) SELECT value FROM range($1)";
    assert_eq!(described(&db, sql), (vec![DataType::Int64, DataType::Null], vec!["value".to_string()]));
    assert_eq!(with(&db, sql, &[int(1), text("any")]), ["0"]);
    refused(&db, sql, &[int(1)], "the statement has 2 parameters and was given 1 value");
}

#[test]
fn what_is_prepared_by_name_is_planned_for_each_execution() {
    let db = db();
    db.run("PREPARE few AS SELECT count(*), max(value) FROM generate_series(1, $1) WHERE value <> $2");
    assert_eq!(db.rows("EXECUTE few(3, 3)"), ["2|2"]);
    assert_eq!(db.rows("EXECUTE few(10 + 1, 1)"), ["10|11"]);
    let error = db.error("EXECUTE few(3)").to_string();
    assert_eq!(error, "the statement has 2 parameters and was given 1 value");
    let error = db.error("EXECUTE few").to_string();
    assert_eq!(error, "the statement has the parameter $1 and was given no value");
    db.run("PREPARE clusters(BIGINT, BIGINT) AS SELECT count(*) FROM kmeans('points', 'x', $1, $2)");
    assert_eq!(db.rows("EXECUTE clusters(2, 3)"), ["2"]);
    assert_eq!(db.rows("EXECUTE clusters(4, 3)"), ["4"]);
    let error = db.error("EXECUTE clusters(2.5, 3)").to_string();
    assert_eq!(error, "the value of $1 is 2.5, which is no BIGINT");
    db.run("PREPARE narrow(INT) AS SELECT max(value) FROM generate_series(1, $1)");
    assert_eq!(db.rows("EXECUTE narrow(2)"), ["2"]);
    assert_eq!(db.error("EXECUTE narrow(2.5)").to_string(), "the value of $1 is 2.5, which is no INTEGER");
    db.run("PREPARE beside(SMALLINT) AS SELECT max(value) FROM generate_series(1, $1 + 1)");
    assert_eq!(db.rows("EXECUTE beside(2)"), ["3"]);
    db.run("PREPARE scaled(INT) AS SELECT block[1] FROM matrix_scale('m', $1)");
    assert_eq!(db.rows("EXECUTE scaled(2)"), ["3.0"]);
    db.run("PREPARE days(DATE, DATE) AS SELECT count(*) FROM generate_series($1, $2, INTERVAL '1 day')");
    assert_eq!(db.rows("EXECUTE days(DATE '2026-01-01', DATE '2026-01-03')"), ["3"]);
    assert_eq!(db.rows("EXECUTE days('2026-01-01', '2026-01-03')"), ["3"]);
    let error = db.error("EXECUTE few(3, (SELECT 1))");
    assert_eq!(error.to_string(), "value 2 of EXECUTE is no constant");
    assert!(error.hint().is_some_and(|hint| hint.contains("are constants")), "{error:?}");
    db.run("PREPARE more(BIGINT, BIGINT) AS SELECT * FROM range($1)");
    assert_eq!(db.rows("EXECUTE more(1, 5)"), ["0"]);
    assert_eq!(db.error("EXECUTE more(1)").to_string(), "the statement has 2 parameters and was given 1 value");
    db.run("DEALLOCATE few");
    assert!(db.error("EXECUTE few(3, 3)").to_string().contains("few"));
}

#[test]
fn statements_that_change_rows_and_explain_take_them() {
    let db = db();
    db.run("CREATE TABLE t (v BIGINT, w BIGINT)");
    assert_eq!(with(&db, "INSERT INTO t SELECT value, $1 FROM generate_series(1, $2)", &[int(7), int(4)]), ["4"]);
    let ends: ArrayRef = Arc::new(Int64Array::from(vec![1, 2]));
    let rows = RecordBatch::try_from_iter([("$1", ends)]).unwrap();
    assert_eq!(wait(db.session.execute_rows("INSERT INTO t SELECT value, 0 FROM range($1)", &rows)).unwrap(), 3);
    assert_eq!(with(&db, "DELETE FROM t WHERE v IN (SELECT value FROM generate_series(2, $1))", &[int(3)]), ["2"]);
    assert_eq!(with(&db, "UPDATE t SET w = g.value FROM generate_series($1, $1) AS g WHERE v = g.value", &[int(4)]), ["1"]);
    assert_eq!(db.rows("SELECT v, w FROM t ORDER BY v, w"), ["0|0", "0|0", "1|0", "1|7", "4|4"]);
    let plan = with(&db, "EXPLAIN SELECT * FROM generate_series(1, $1)", &[int(17)]).join("\n");
    assert!(plan.contains("end=17"), "{plan}");
}

#[test]
fn values_too_few_too_many_and_wrong_are_told() {
    let db = db();
    let kmeans = "SELECT * FROM kmeans('points', 'x', $1, $2)";
    refused(&db, kmeans, &[int(2)], "the statement has the parameter $2 and was given 1 value");
    refused(&db, kmeans, &[int(2), int(2), int(2)], "the statement has 2 parameters and was given 3 values");
    let error = db.error(kmeans).to_string();
    assert_eq!(error, "the statement has the parameter $1 and was given no value");
    refused(
        &db,
        "SELECT * FROM kmeans('points', 'x', k => $1, iterations => 1)",
        &[float(2.5)],
        "the value of $1 is 2.5, which is no BIGINT",
    );
    refused(&db, "SELECT * FROM matrix_scale('m', $1)", &[text("twice")], "the value of $1 is twice, which is no DOUBLE");
    refused(&db, "SELECT * FROM generate_series(1, $1)", &[float(9.5)], "the value of $1 is 9.5, which is no BIGINT");
    for (sql, value) in
        [(kmeans, text("x")), ("SELECT * FROM kmeans('points', 'x', $1, $2, $1)", int(0)), ("SELECT * FROM matrix_norm($1)", int(1))]
    {
        let error = try_with(&db, sql, &[value, int(3)][..sql.matches('$').count().min(2)]).unwrap_err();
        assert!(!error.contains("internal"), "{sql}: {error}");
    }
    let error = db.error("CREATE VIEW v AS SELECT * FROM generate_series(1, $1)").to_string();
    assert!(error.contains("$1"), "{error}");
}
