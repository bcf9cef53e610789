//! The types of columns.

use arrow::array::AsArray;
use arrow::datatypes::Int32Type;
use arrow_flight::sql::{CommandGetXdbcTypeInfo, XdbcDataType};
use engine::RecordBatch;

use super::batch;
use crate::sql::metadata::tests::{Db, column};

fn type_rows(db: &Db, data_type: Option<i32>) -> RecordBatch {
    batch(&db.session, &CommandGetXdbcTypeInfo { data_type }).unwrap()
}

#[test]
fn types_are_ordered_by_data_type_and_name() {
    let batch = type_rows(&Db::new(), None);
    assert_eq!(batch.num_columns(), 19);
    let numbers = batch.column(1).as_primitive::<Int32Type>().values().to_vec();
    let keys: Vec<(i32, String)> = numbers.into_iter().zip(column(&batch, "type_name")).collect();
    assert!(keys.is_sorted());
    assert_eq!(keys.first().map(|key| key.1.as_str()), Some("NVARCHAR"));
}

#[test]
fn types_are_found_by_data_type() {
    let db = Db::new();
    let names = |data_type: XdbcDataType| column(&type_rows(&db, Some(data_type as i32)), "type_name");
    assert_eq!(names(XdbcDataType::XdbcBigint), ["BIGINT", "BIGINT UNSIGNED"]);
    assert_eq!(names(XdbcDataType::XdbcTimestamp), ["TIMESTAMP", "TIMESTAMP WITH TIME ZONE"]);
    assert_eq!(type_rows(&db, Some(1_000)).num_rows(), 0);
}

#[test]
fn every_type_can_be_declared_and_every_type_of_a_column_is_there() {
    let db = Db::new();
    let names = column(&type_rows(&db, None), "type_name");
    let whole = |name: &str| match name {
        "ARRAY" => "ARRAY<INTEGER>".to_string(),
        "TENSOR" => "TENSOR(DOUBLE, 2, 3)".to_string(),
        "STRUCT" => "STRUCT<a INTEGER>".to_string(),
        "MAP" => "MAP(VARCHAR, INTEGER)".to_string(),
        other => other.to_string(),
    };
    let columns: Vec<String> = names.iter().enumerate().map(|(at, name)| format!("c{at} {}", whole(name))).collect();
    db.run(&format!("CREATE TABLE t ({})", columns.join(", ")));
    // As the engine calls them, without digits.
    for declared in db.run("SELECT DISTINCT data_type FROM system.columns") {
        let is_there = names.iter().any(|name| declared == *name || declared.starts_with(&format!("{name}(")));
        let is_nested = declared.ends_with("[]") || declared.starts_with("STRUCT<");
        assert!(is_there || is_nested, "{declared}");
    }
}

#[test]
fn literals_are_read_with_their_prefixes() {
    let db = Db::new();
    let batch = type_rows(&db, None);
    let texts = |name: &str| column(&batch, name);
    for ((name, prefix), suffix) in texts("type_name").iter().zip(texts("literal_prefix")).zip(texts("literal_suffix")) {
        let inside = match name.as_str() {
            "DATE" => "2026-11-20",
            "TIME" => "01:02:03",
            name if name.starts_with("TIMESTAMP") => "2026-11-20 01:02:03",
            "INTERVAL" => "1 day",
            _ => "ab",
        };
        if prefix != "NULL" {
            db.run(&format!("SELECT {prefix}{inside}{suffix}"));
        }
    }
}
