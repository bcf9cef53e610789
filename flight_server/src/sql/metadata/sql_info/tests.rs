//! What server and engine say of themselves, and whether it is true.

use std::collections::BTreeMap;

use arrow::array::{Array, AsArray, UnionArray};
use arrow::datatypes::UInt32Type;
use arrow_flight::sql::{CommandGetSqlInfo, SqlInfo, SqlSupportsConvert};
use engine::RecordBatch;

use super::conversions::conversions;
use super::functions::all;
use super::{ServerFacts, batch};
use crate::sql::metadata::tests::{Db, column};

/// Beyond the last id that the proto has.
const IDS_MAX: i32 = 10_000;

fn sql_info_rows(db: &Db, info: &[u32]) -> RecordBatch {
    batch(&db.session, &CommandGetSqlInfo { info: info.to_vec() }, &ServerFacts::default()).unwrap()
}

fn value(db: &Db, info: SqlInfo) -> String {
    column(&sql_info_rows(db, &[info as u32]), "value").remove(0)
}

fn names(db: &Db, info: SqlInfo) -> Vec<String> {
    let answer = sql_info_rows(db, &[info as u32]);
    let values = answer.column(1).as_any().downcast_ref::<UnionArray>().unwrap();
    let list = values.child(4).as_list::<i32>().value(0);
    list.as_string::<i32>().iter().map(|name| name.unwrap().to_string()).collect()
}

#[test]
fn every_id_of_the_proto_has_a_value_and_none_is_null() {
    let db = Db::new();
    let answer = sql_info_rows(&db, &[]);
    let ids: Vec<u32> = answer.column(0).as_primitive::<UInt32Type>().values().to_vec();
    let all: Vec<u32> = (0..IDS_MAX).filter(|id| SqlInfo::try_from(*id).is_ok()).map(|id| id as u32).collect();
    assert_eq!(ids, all);
    let values = answer.column(1).as_any().downcast_ref::<UnionArray>().unwrap();
    for child in 0..6 {
        assert_eq!(values.child(child).null_count(), 0);
    }
    assert!((0..values.len()).all(|row| !values.value(row).is_null(0)));
}

#[test]
fn ids_are_answered_as_they_are_asked_and_unknown_ones_left_out() {
    let db = Db::new();
    let answer = sql_info_rows(&db, &[SqlInfo::SqlIdentifierQuoteChar as u32, 0, 9_999, 0]);
    assert_eq!(column(&answer, "info_name"), ["0", "504"]);
    assert_eq!(sql_info_rows(&db, &[9_999]).num_rows(), 0);
}

#[test]
fn the_server_reports_its_own_facts() {
    let db = Db::new();
    let facts =
        ServerFacts { is_read_only: true, prepared_timeout_ms: 1, transaction_timeout_ms: 2, statement_bytes_max: 3, connections_max: 4 };
    let info = [3, 100, 101, SqlInfo::SqlMaxConnections as u32, SqlInfo::SqlMaxStatementLength as u32].to_vec();
    let answer = batch(&db.session, &CommandGetSqlInfo { info }, &facts).unwrap();
    assert_eq!(column(&answer, "info_name"), ["3", "100", "101", "549", "557"]);
    let supported = ["{bool_value=true}", "{int32_bitmask=1}", "{int32_bitmask=2}", "{bigint_value=4}", "{bigint_value=3}"];
    assert_eq!(column(&answer, "value"), supported);
}

#[test]
fn values_have_the_types_that_clients_read() {
    let db = Db::new();
    for (info, expected) in [
        (SqlInfo::FlightSqlServerTransaction, "{int32_bitmask=2}"),
        (SqlInfo::SqlIdentifierCase, "{bigint_value=3}"),
        (SqlInfo::SqlNullOrdering, "{bigint_value=0}"),
        (SqlInfo::SqlDefaultTransactionIsolation, "{bigint_value=3}"),
        (SqlInfo::SqlSupportedTransactionsIsolationLevels, "{int32_bitmask=14}"),
        (SqlInfo::SqlOuterJoinsSupportLevel, "{int32_bitmask=6}"),
        (SqlInfo::SqlSupportedGroupBy, "{int32_bitmask=3}"),
        (SqlInfo::SqlSupportedSubqueries, "{int32_bitmask=15}"),
        (SqlInfo::SqlSupportedUnions, "{int32_bitmask=3}"),
        (SqlInfo::SqlMaxTableNameLength, "{bigint_value=0}"),
        (SqlInfo::SqlSearchStringEscape, "{string_value=\\}"),
    ] {
        assert_eq!(value(&db, info), expected, "{info:?}");
    }
}

#[test]
fn listed_functions_exist() {
    let db = Db::new();
    let functions = db.session.function_names();
    for name in all() {
        assert!(functions.iter().any(|function| function == name), "{name}");
    }
    let numeric = names(&db, SqlInfo::SqlNumericFunctions);
    assert!(numeric.is_sorted() && numeric.contains(&"ABS".to_string()));
    assert!(names(&db, SqlInfo::SqlStringFunctions).contains(&"SUBSTRING".to_string()));
    assert!(names(&db, SqlInfo::SqlDatetimeFunctions).contains(&"EXTRACT".to_string()));
    assert!(names(&db, SqlInfo::SqlSystemFunctions).contains(&"IFNULL".to_string()));
    assert!(names(&db, SqlInfo::SqlKeywords).is_sorted());
    assert_eq!(db.run("SELECT ABS(-1), SUBSTRING('abc', 2), EXTRACT(YEAR FROM DATE '2026-11-20')"), ["1|bc|2026"]);
}

#[test]
fn listed_conversions_work() {
    use SqlSupportsConvert::*;
    let db = Db::new();
    let types = BTreeMap::from([
        (SqlConvertBigint as i32, ("BIGINT", "1")),
        (SqlConvertBinary as i32, ("BINARY", "ab")),
        (SqlConvertBit as i32, ("BOOLEAN", "true")),
        (SqlConvertChar as i32, ("CHAR", "")),
        (SqlConvertDate as i32, ("DATE", "2026-11-20")),
        (SqlConvertDecimal as i32, ("DECIMAL(9,2)", "1")),
        (SqlConvertFloat as i32, ("DOUBLE", "1")),
        (SqlConvertInteger as i32, ("INTEGER", "1")),
        (SqlConvertIntervalDayTime as i32, ("INTERVAL", "1 day")),
        (SqlConvertIntervalYearMonth as i32, ("INTERVAL", "1 month")),
        (SqlConvertLongvarbinary as i32, ("BLOB", "ab")),
        (SqlConvertLongvarchar as i32, ("TEXT", "")),
        (SqlConvertNumeric as i32, ("NUMERIC(9,2)", "1")),
        (SqlConvertReal as i32, ("REAL", "1")),
        (SqlConvertSmallint as i32, ("SMALLINT", "1")),
        (SqlConvertTime as i32, ("TIME", "01:02:03")),
        (SqlConvertTimestamp as i32, ("TIMESTAMP", "2026-11-20 01:02:03")),
        (SqlConvertTinyint as i32, ("TINYINT", "1")),
        (SqlConvertVarbinary as i32, ("VARBINARY", "ab")),
        (SqlConvertVarchar as i32, ("VARCHAR", "")),
    ]);
    let supported = conversions();
    assert_eq!(supported.keys().collect::<Vec<_>>(), types.keys().collect::<Vec<_>>());
    for (from, targets) in supported {
        for to in targets {
            let ((from, sample), (to, target_sample)) = (types[&from], types[&to]);
            // A text says what it is to become.
            let sample = if sample.is_empty() { target_sample } else { sample };
            db.run(&format!("SELECT CAST(CAST('{sample}' AS {from}) AS {to})"));
        }
    }
}

#[test]
fn the_listed_sql_features_are_true() {
    let db = Db::with("CREATE TABLE t (a INT NOT NULL, b VARCHAR); INSERT INTO t VALUES (1, 'x'), (2, NULL)");
    // Order of NULLs, concatenation, names.
    assert_eq!(db.run("SELECT b FROM t ORDER BY b"), ["x", "NULL"]);
    assert_eq!(db.run("SELECT b FROM t ORDER BY b DESC"), ["NULL", "x"]);
    assert_eq!(db.run("SELECT (NULL || 'a') IS NULL"), ["true"]);
    assert_eq!(db.run("SELECT A AS x#y$z@ FROM T AS T ORDER BY -a"), ["2", "1"]);
    assert!(db.try_run("SELECT \"A\" FROM t").is_err());
    assert_eq!(db.run("SELECT 'a_b' LIKE 'a\\_b' ESCAPE '\\', 'axb' LIKE 'a\\_b' ESCAPE '\\'"), ["true|false"]);
    // Grouping, order, subqueries, joins and set operations.
    assert_eq!(db.run("SELECT count(*) FROM t GROUP BY a ORDER BY a"), ["1", "1"]);
    assert_eq!(db.run("SELECT b FROM t ORDER BY a DESC"), ["NULL", "x"]);
    assert_eq!(db.run("SELECT a FROM t WHERE a = (SELECT max(a) FROM t) AND a IN (SELECT a FROM t)"), ["2"]);
    assert_eq!(db.run("SELECT a FROM t AS o WHERE EXISTS (SELECT 1 FROM t WHERE a > o.a) AND a < ANY (SELECT a FROM t)"), ["1"]);
    assert_eq!(db.run("SELECT x.a, y.a FROM t x FULL JOIN t y ON x.a = y.a + 1 ORDER BY 1, 2"), ["1|NULL", "2|1", "NULL|2"]);
    assert_eq!(db.run("SELECT 1 UNION SELECT 1 UNION ALL SELECT 1"), ["1", "1"]);
    // Refused, and so not told.
    assert!(db.try_run("SELECT a FROM t FOR UPDATE").is_err());
    assert!(db.try_run("CREATE DATABASE d").is_err());
    assert!(db.try_run("BEGIN ISOLATION LEVEL SERIALIZABLE").is_err());
}

#[test]
fn definitions_in_a_transaction_count_and_do_not_end_it() {
    let db = Db::with("BEGIN ISOLATION LEVEL REPEATABLE READ; CREATE TABLE t (a INT); SAVEPOINT s; INSERT INTO t VALUES (1)");
    assert!(db.session.is_in_transaction());
    db.run("ROLLBACK TO SAVEPOINT s");
    assert_eq!(db.run("SELECT count(*) FROM t"), ["0"]);
    db.run("ROLLBACK");
    assert!(db.try_run("SELECT * FROM t").is_err());
}
