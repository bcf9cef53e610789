//! Statements with parameters, as clients prepare them.

use std::sync::Arc;

use arrow::array::{
    ArrayRef, Date32Array, Decimal128Array, Float64Array, Float64Builder, Int64Array, ListBuilder, RecordBatch, StringArray,
};
use arrow::datatypes::{DataType, Schema};
use engine::{Description, StatementKind};

use super::helpers::{Db, Ran, wait};

fn described(db: &Db, sql: &str) -> Description {
    wait(db.session.describe(sql)).unwrap_or_else(|error| panic!("{sql}: {error}"))
}

fn types(schema: &Schema) -> Vec<DataType> {
    schema.fields().iter().map(|field| field.data_type().clone()).collect()
}

fn values(columns: Vec<ArrayRef>) -> RecordBatch {
    RecordBatch::try_from_iter(columns.into_iter().enumerate().map(|(place, column)| (format!("${}", place + 1), column))).unwrap()
}

fn with(db: &Db, sql: &str, columns: Vec<ArrayRef>) -> Vec<String> {
    try_with(db, sql, columns).unwrap_or_else(|error| panic!("{sql}: {error}"))
}

fn try_with(db: &Db, sql: &str, columns: Vec<ArrayRef>) -> Result<Vec<String>, String> {
    let ran = wait(async {
        let output = db.session.execute_with(sql, &values(columns), 0).await?;
        let kind = output.kind();
        let (batches, report) = output.collect().await?;
        Ok::<_, engine::EngineError>(Ran { batches, report, kind })
    });
    ran.map(|ran| ran.rows()).map_err(|error| error.to_string())
}

fn int(value: i64) -> ArrayRef {
    Arc::new(Int64Array::from(vec![value]))
}

fn text(value: &str) -> ArrayRef {
    Arc::new(StringArray::from(vec![value]))
}

fn db() -> Db {
    let db = Db::new();
    db.script(
        "CREATE TABLE t (id INT, name VARCHAR, price DECIMAL(10,2), day DATE, x DOUBLE DEFAULT 1.5);
         INSERT INTO t VALUES (1, 'one', 1.25, '2026-01-02', 0.5), (2, 'two', 2.50, '2026-01-03', 1.5), (3, 'three', 3.75, '2026-01-04', 2.5)",
    );
    db
}

#[test]
fn parameters_have_the_types_of_what_they_stand_beside() {
    let db = db();
    let query = described(&db, "SELECT name, price FROM t WHERE id = $1 AND name LIKE $2 AND day BETWEEN $3 AND $4 AND price IN ($5)");
    assert_eq!(query.kind, StatementKind::Query);
    let names: Vec<_> = query.schema.fields().iter().map(|field| field.name().as_str()).collect();
    assert_eq!(names, ["name", "price"]);
    assert_eq!(
        types(&query.parameters),
        [DataType::Int32, DataType::Utf8View, DataType::Date32, DataType::Date32, DataType::Decimal128(10, 2)]
    );
    for sql in ["INSERT INTO t VALUES (?, ?, ?, ?, ?)", "UPDATE t SET id = ?, name = ?, price = ?, day = ?, x = ?"] {
        let write = described(&db, sql);
        assert_eq!(write.kind, StatementKind::Write, "{sql}");
        assert!(write.schema.fields().is_empty(), "{sql}");
        assert_eq!(
            types(&write.parameters),
            [DataType::Int32, DataType::Utf8View, DataType::Decimal128(10, 2), DataType::Date32, DataType::Float64],
            "{sql}"
        );
    }
    assert_eq!(types(&described(&db, "SELECT $1").parameters), [DataType::Null]);
    assert_eq!(types(&described(&db, "SELECT id FROM t LIMIT $1").parameters), [DataType::Int64]);
}

#[test]
fn lists_of_rows_stand_for_tensors() {
    let db = Db::new();
    db.script("CREATE TABLE m (t TENSOR(DOUBLE, 2, 3), n TENSOR(INT, 2, 3))");
    let rows = |values: [[f64; 3]; 2]| {
        let mut lists = ListBuilder::new(ListBuilder::new(Float64Builder::new()));
        for row in values {
            lists.values().append_value(row.map(Some));
        }
        lists.append(true);
        Arc::new(lists.finish()) as ArrayRef
    };
    let whole = rows([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]);
    with(&db, "INSERT INTO m VALUES ($1, $2)", vec![Arc::clone(&whole), whole]);
    assert_eq!(db.rows("SELECT t[4], n[6] FROM m"), ["4.0|6"]);
    let mut lists = ListBuilder::new(ListBuilder::new(Float64Builder::new()));
    lists.values().append_value([Some(1.0), Some(2.0)]);
    lists.append(true);
    let refused = try_with(&db, "INSERT INTO m (t) VALUES ($1)", vec![Arc::new(lists.finish())]).unwrap_err();
    assert!(refused.contains("TENSOR(DOUBLE, 2, 3)") && refused.contains("dimension 1"), "{refused}");
}

#[test]
fn a_statement_is_described_without_running() {
    let db = db();
    for (sql, kind) in [
        ("INSERT INTO t (id) VALUES (9)", StatementKind::Write),
        ("DELETE FROM t", StatementKind::Write),
        ("TRUNCATE TABLE t", StatementKind::Write),
        ("DROP TABLE t", StatementKind::Ddl),
        ("CREATE TABLE u AS SELECT * FROM t", StatementKind::Write),
        ("ALTER TABLE t DROP COLUMN x", StatementKind::Ddl),
        ("CREATE VIEW v AS SELECT 1 AS a", StatementKind::Ddl),
        ("CREATE SNAPSHOT s", StatementKind::Ddl),
        ("SET quiver.zone_pruning = false", StatementKind::Set),
        ("BEGIN", StatementKind::Transaction),
    ] {
        let described = described(&db, sql);
        assert_eq!(described.kind, kind, "{sql}");
        assert!(described.schema.fields().is_empty(), "{sql}");
    }
    assert_eq!(db.rows("SELECT count(*), count(x) FROM t"), ["3|3"]);
    assert_eq!(db.rows("SHOW TABLES").len(), 1);
    assert!(!db.session.is_in_transaction());
    assert_eq!(db.rows("SHOW quiver.zone_pruning"), ["quiver.zone_pruning|true"]);
}

#[test]
fn what_is_described_of_a_query_is_what_it_gives() {
    let db = db();
    db.run("PREPARE named AS SELECT name, price FROM t WHERE id = $1");
    for sql in [
        "SELECT * FROM t",
        "SELECT count(*) AS n, sum(price), avg(x) FROM t GROUP BY day",
        "SHOW TABLES",
        "SHOW SNAPSHOTS",
        "DESCRIBE t",
        "EXPLAIN SELECT 1",
        "SHOW quiver.zone_pruning",
        "EXECUTE named(2)",
        "OPTIMIZE TABLE t",
        "WITH a AS (SELECT 1 AS b) SELECT b FROM a",
        "VALUES (1, 'a')",
    ] {
        let described = described(&db, sql);
        assert_eq!(described.kind, StatementKind::Query, "{sql}");
        let output = wait(db.session.execute(sql)).unwrap();
        assert_eq!(types(&described.schema), types(&output.schema()), "{sql}");
    }
}

#[test]
fn values_take_the_place_of_parameters() {
    let db = db();
    assert_eq!(with(&db, "SELECT name FROM t WHERE id = $1", vec![int(2)]), ["two"]);
    assert_eq!(with(&db, "SELECT name FROM t WHERE id = ? OR name = ?", vec![int(2), text("one")]).len(), 2);
    assert_eq!(with(&db, "SELECT $2, $1", vec![int(1), text("b")]), ["b|1"]);
    assert_eq!(with(&db, "SELECT $1 + 1", vec![int(1)]), ["2"]);
    assert_eq!(with(&db, "SELECT id FROM t ORDER BY id LIMIT $1", vec![int(2)]), ["1", "2"]);
    assert_eq!(with(&db, "SELECT name FROM t WHERE price > $1", vec![Arc::new(Float64Array::from(vec![2.5]))]), ["three"]);
    assert_eq!(with(&db, "SELECT id FROM t WHERE day = $1", vec![text("2026-01-03")]), ["2"]);
    // Days since 1970.
    assert_eq!(with(&db, "SELECT id FROM t WHERE day = $1", vec![Arc::new(Date32Array::from(vec![20_457]))]), ["3"]);
    assert_eq!(with(&db, "SELECT count(*) FROM t WHERE id IN (SELECT $1::INT)", vec![int(2)]), ["1"]);
    let null: ArrayRef = Arc::new(Int64Array::from(vec![None::<i64>]));
    assert_eq!(with(&db, "SELECT count(*) FROM t WHERE id = $1", vec![null]), ["0"]);
}

#[test]
fn a_value_of_another_type_means_what_it_means_as_a_literal() {
    let db = db();
    let float = |value: f64| -> ArrayRef { Arc::new(Float64Array::from(vec![value])) };
    assert_eq!(with(&db, "SELECT count(*) FROM t WHERE id = $1", vec![float(2.5)]), ["0"]);
    assert_eq!(with(&db, "SELECT count(*) FROM t WHERE id = $1", vec![float(2.0)]), ["1"]);
    assert_eq!(with(&db, "SELECT count(*) FROM t WHERE price > $1", vec![float(2.499)]), ["2"]);
    assert_eq!(with(&db, "SELECT count(*) FROM t WHERE id < $1", vec![int(1 << 40)]), ["3"]);
    // The type of the second is not that of the first.
    assert_eq!(with(&db, "SELECT $1, name FROM t WHERE id = $2", vec![text("a"), int(2)]), ["a|two"]);
}

#[test]
fn a_text_is_a_value_and_never_sql() {
    let db = db();
    assert_eq!(with(&db, "SELECT count(*) FROM t WHERE name = $1", vec![text("x' OR '1' = '1")]), ["0"]);
    assert_eq!(with(&db, "INSERT INTO t (name) VALUES ($1)", vec![text("'); DROP TABLE t; --")]), ["1"]);
    assert_eq!(db.value("SELECT name FROM t WHERE id IS NULL"), "'); DROP TABLE t; --");
}

#[test]
fn rows_are_changed_with_parameters() {
    let db = db();
    assert_eq!(with(&db, "INSERT INTO t (id, name, price) VALUES ($1, $2, $3)", vec![int(4), text("four"), text("4.00")]), ["1"]);
    assert_eq!(db.value("SELECT x FROM t WHERE id = 4"), "1.5");
    assert_eq!(with(&db, "UPDATE t SET name = $2 WHERE id = $1", vec![int(4), text("vier")]), ["1"]);
    assert_eq!(with(&db, "DELETE FROM t WHERE id < $1", vec![int(3)]), ["2"]);
    assert_eq!(db.rows("SELECT id, name FROM t ORDER BY id"), ["3|three", "4|vier"]);
    db.run("BEGIN");
    assert_eq!(with(&db, "DELETE FROM t WHERE id = $1", vec![int(3)]), ["1"]);
    db.run("ROLLBACK");
    assert_eq!(db.value("SELECT count(*) FROM t"), "2");
}

#[test]
fn a_value_that_does_not_fit_is_named() {
    let db = db();
    let error = try_with(&db, "SELECT * FROM t WHERE id = $1", vec![text("many")]).unwrap_err();
    assert!(error.contains("$1") && error.contains("many") && error.contains("INT"), "{error}");
    let error = try_with(&db, "SELECT * FROM t WHERE id = $1 AND x = $2", vec![int(1)]).unwrap_err();
    assert!(error.contains('2') && error.contains('1') && error.contains("parameters"), "{error}");
    let error = try_with(&db, "INSERT INTO t (id) VALUES ($1)", vec![int(1 << 40)]).unwrap_err();
    assert!(error.contains("$1"), "{error}");
    assert_eq!(db.value("SELECT count(*) FROM t"), "3");
}

#[test]
fn parameters_in_other_places_are_refused() {
    let db = db();
    for sql in [
        "SELECT $a",
        "SELECT $0",
        "SELECT ?, $1",
        "SELECT ?1, ?",
        "SELECT $70000",
        "INSERT INTO t (id) VALUES ($4000000000)",
        "INSERT INTO t (id) VALUES ($18446744073709551615)",
        "INSERT INTO t (id) VALUES ($99999999999999999999999)",
    ] {
        assert!(wait(db.session.describe(sql)).is_err(), "{sql}");
    }
    let error = try_with(&db, "CREATE TABLE u AS SELECT $1", vec![int(1)]).unwrap_err();
    assert!(error.contains("parameters"), "{error}");
    let error = db.error("SELECT $1").to_string();
    assert!(error.contains("$1"), "{error}");
}

fn rows(db: &Db, sql: &str, columns: Vec<ArrayRef>) -> Result<u64, String> {
    wait(db.session.execute_rows(sql, &values(columns))).map_err(|error| error.to_string())
}

fn ints(values: &[i64]) -> ArrayRef {
    Arc::new(Int64Array::from(values.to_vec()))
}

fn texts(values: &[&str]) -> ArrayRef {
    Arc::new(StringArray::from(values.to_vec()))
}

#[test]
fn a_statement_runs_for_each_row_of_its_parameters() {
    let db = db();
    for sql in [
        "INSERT INTO t (id, name, day) VALUES (?, ?, ?)",
        "insert into T(ID, name, day) values ($1,$2,$3)",
        "INSERT INTO t (name, id, day) VALUES ($2, $1, $3)",
        "INSERT INTO t (id, name, day) SELECT $1, $2, $3",
    ] {
        let columns = vec![ints(&[10, 11, 12]), texts(&["ten", "eleven", "twelve"]), texts(&["2026-02-01", "2026-02-02", "2026-02-03"])];
        assert_eq!(rows(&db, sql, columns), Ok(3), "{sql}");
        assert_eq!(
            db.rows("SELECT id, name, day, price, x FROM t WHERE id >= 10 ORDER BY id"),
            ["10|ten|2026-02-01|NULL|1.5", "11|eleven|2026-02-02|NULL|1.5", "12|twelve|2026-02-03|NULL|1.5"],
            "{sql}"
        );
        assert_eq!(rows(&db, "DELETE FROM t WHERE id = $1", vec![ints(&[10, 11, 12, 13])]), Ok(3));
    }
    assert_eq!(rows(&db, "UPDATE t SET name = $2 WHERE id <= $1", vec![ints(&[1, 3]), texts(&["a", "b"])]), Ok(4));
    assert_eq!(db.rows("SELECT name, count(*) FROM t GROUP BY name"), ["b|3"]);
}

#[test]
fn of_rows_of_which_one_fails_none_is_there() {
    let db = db();
    db.run("ALTER TABLE t ADD CHECK (id < 100)");
    for sql in ["INSERT INTO t (id) VALUES ($1)", "INSERT INTO t (id) SELECT $1", "UPDATE t SET id = $1 WHERE name = 'one'"] {
        assert!(rows(&db, sql, vec![ints(&[50, 100])]).is_err(), "{sql}");
        assert_eq!(db.rows("SELECT count(*), max(id), min(id) FROM t"), ["3|3|1"], "{sql}");
        assert!(!db.session.is_in_transaction());
    }
    let error = rows(&db, "INSERT INTO t (id, day) VALUES ($1, $2)", vec![ints(&[1, 2]), texts(&["2026-01-01", "someday"])]).unwrap_err();
    assert!(error.contains("$2") && error.contains("DATE"), "{error}");
    let error = rows(&db, "INSERT INTO t (id, surplus) VALUES ($1, $2)", vec![ints(&[1]), ints(&[1])]).unwrap_err();
    assert!(error.contains("surplus"), "{error}");
    let error = rows(&db, "INSERT INTO t (id) VALUES ($1)", vec![ints(&[1]), ints(&[1])]).unwrap_err();
    assert!(error.contains("1 parameter and was given 2 values"), "{error}");
    db.run("BEGIN");
    assert_eq!(rows(&db, "INSERT INTO t (id) VALUES ($1)", vec![ints(&[7, 8])]), Ok(2));
    db.run("ROLLBACK");
    assert_eq!(db.value("SELECT count(*) FROM t"), "3");
}

#[test]
fn rows_of_parameters_go_where_the_session_says_and_only_to_the_columns_named() {
    let db = db();
    db.script(
        "CREATE TABLE mixed (id INT, a INT, \"A\" INT); CREATE SCHEMA other; CREATE TABLE other.t (id INT); CREATE TABLE other.u (id INT)",
    );
    assert_eq!(rows(&db, "INSERT INTO mixed (id, a) VALUES (?, ?)", vec![ints(&[1]), ints(&[7])]), Ok(1));
    assert_eq!(db.rows("SELECT * FROM mixed"), ["1|7|NULL"]);
    db.run("SET datafusion.catalog.default_schema = 'other'");
    assert_eq!(rows(&db, "INSERT INTO t VALUES (?)", vec![ints(&[1, 2])]), Ok(2));
    assert_eq!(db.rows("SELECT count(*) FROM other.t"), ["2"]);
}

#[test]
fn only_what_changes_rows_takes_rows_of_parameters() {
    let db = db();
    for sql in ["SELECT $1", "COMMIT", "BEGIN", "DROP TABLE t", "SET threads = 1"] {
        let error = rows(&db, sql, vec![ints(&[1, 2])]).unwrap_err();
        assert!(error.contains("changes no rows"), "{sql}: {error}");
    }
    assert!(try_with(&db, "SELECT $1", vec![ints(&[])]).is_err());
    assert_eq!(db.value("SELECT count(*) FROM t"), "3");
    assert!(!db.session.is_in_transaction());
}

#[test]
fn rows_of_parameters_that_nobody_waits_for_any_more_leave_no_transaction() {
    let db = db();
    let many: Vec<i64> = (0..2_000).collect();
    wait(async {
        let parameters = values(vec![ints(&many)]);
        let all = db.session.execute_rows("UPDATE t SET price = $1 WHERE id = 1", &parameters);
        assert!(tokio::time::timeout(std::time::Duration::from_millis(50), all).await.is_err(), "it takes longer");
    });
    assert!(!db.session.is_in_transaction());
    assert_eq!(db.rows("SELECT price FROM t WHERE id = 1"), ["1.25"]);
    db.run("BEGIN");
    wait(async {
        let parameters = values(vec![ints(&many)]);
        let all = db.session.execute_rows("UPDATE t SET price = $1 WHERE id = 1", &parameters);
        assert!(tokio::time::timeout(std::time::Duration::from_millis(50), all).await.is_err(), "it takes longer");
    });
    assert!(db.session.is_transaction_failed());
    db.run("ROLLBACK");
}

#[test]
fn limits_and_casts_say_what_type_a_parameter_has() {
    let db = Db::new();
    let sql = "SELECT value FROM generate_series(1, 9) AS g (value) ORDER BY 1 LIMIT $1 OFFSET $2";
    assert_eq!(types(&described(&db, sql).parameters), [DataType::Int64, DataType::Int64]);
    assert_eq!(with(&db, sql, vec![int(2), int(3)]), ["4", "5"]);
    let casts = "SELECT CAST($1 AS DATE), $2::BIGINT, TRY_CAST($3 AS DOUBLE)";
    assert_eq!(types(&described(&db, casts).parameters), [DataType::Date32, DataType::Int64, DataType::Float64]);
    assert_eq!(with(&db, "SELECT CAST($1 AS DATE)", vec![text("2026-11-20")]), ["2026-11-20"]);
    assert_eq!(with(&db, "SELECT $1::BIGINT + 1", vec![text("7")]), ["8"]);
    let inner = "SELECT count(*) FROM (SELECT 1 FROM generate_series(1, 9) AS g (value) LIMIT ?)";
    assert_eq!(types(&described(&db, inner).parameters), [DataType::Int64]);
}

#[test]
fn an_explained_statement_takes_its_parameters() {
    let db = db();
    let sql = "SELECT name FROM t WHERE id > ? AND price < ?";
    for words in ["EXPLAIN", "EXPLAIN VERBOSE", "EXPLAIN ANALYZE"] {
        let explain = format!("{words} {sql}");
        let described = described(&db, &explain);
        assert_eq!(described.kind, StatementKind::Query, "{words}");
        assert_eq!(types(&described.parameters), [DataType::Int32, DataType::Decimal128(10, 2)], "{words}");
        let plan = with(&db, &explain, vec![int(1), text("3.00")]).join("\n");
        assert!(plan.contains("id > 1") || plan.contains("id@0 > 1"), "{words}: {plan}");
        assert!(!plan.contains("$1"), "{words}: {plan}");
    }
    assert!(try_with(&db, &format!("EXPLAIN {sql}"), vec![int(1)]).unwrap_err().contains("2 parameters and was given 1"));
}

#[test]
fn an_explained_change_with_parameters_changes_nothing_unless_it_is_analyzed() {
    let db = db();
    for sql in ["DELETE FROM t WHERE id = ?", "UPDATE t SET x = 9 WHERE id = ?", "INSERT INTO t (id) VALUES (?)"] {
        let plan = with(&db, &format!("EXPLAIN {sql}"), vec![int(2)]).join("\n");
        assert!(!plan.contains("physical_plan_error"), "{sql}: {plan}");
    }
    assert_eq!(db.rows("SELECT id, x FROM t ORDER BY id"), ["1|0.5", "2|1.5", "3|2.5"]);
    with(&db, "EXPLAIN ANALYZE DELETE FROM t WHERE id = $1", vec![int(2)]);
    assert_eq!(db.rows("SELECT id FROM t ORDER BY id"), ["1", "3"]);
}

#[test]
fn rows_of_parameters_are_not_explained() {
    let db = db();
    let error = wait(db.session.execute_rows("EXPLAIN DELETE FROM t WHERE id = $1", &values(vec![int(1)]))).unwrap_err();
    assert!(error.to_string().contains("changes no rows"), "{error}");
}

#[test]
fn a_decimal_for_a_double_column_is_stored_as_the_nearest_double() {
    let db = db();
    // Arrow's cast makes 4729024.979043036 of it.
    let decimal: ArrayRef = Arc::new(Decimal128Array::from(vec![4_729_024_979_043_036_384_740]).with_precision_and_scale(22, 15).unwrap());
    let expected = "4729024.979043036384740".parse::<f64>().unwrap();
    for rows in [1, 9_000] {
        db.run("CREATE OR REPLACE TABLE d (x DOUBLE)");
        let sql = format!("INSERT INTO d VALUES {}", vec!["($1)"; rows].join(", "));
        with(&db, &sql, vec![Arc::clone(&decimal)]);
        assert_eq!(db.rows("SELECT x, count(*) FROM d GROUP BY x"), [format!("{expected}|{rows}")]);
        assert_eq!(with(&db, "SELECT count(*) FROM d WHERE x = $1", vec![Arc::clone(&decimal)]), [rows.to_string()]);
    }
}
