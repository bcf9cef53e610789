//! Batches that a program sends into a table.

use std::sync::Arc;

use arrow::array::{ArrayRef, Decimal128Array, DictionaryArray, Int32Array, Int64Array, RecordBatch, StringArray};
use arrow::datatypes::Int8Type;
use engine::EngineError;
use engine::import::{IfExists, IfMissing, IngestTarget};
use futures::stream;

use super::helpers::{Db, wait};

fn batch(ids: &[i64], names: &[&str]) -> RecordBatch {
    let columns: [(&str, ArrayRef); 2] =
        [("id", Arc::new(Int64Array::from(ids.to_vec()))), ("name", Arc::new(StringArray::from(names.to_vec())))];
    RecordBatch::try_from_iter(columns).unwrap()
}

fn target(table: &str, if_missing: IfMissing, if_exists: IfExists) -> IngestTarget {
    IngestTarget { schema: None, table: table.to_string(), if_missing, if_exists }
}

fn send(db: &Db, target: IngestTarget, batches: Vec<Result<RecordBatch, EngineError>>) -> Result<u64, EngineError> {
    let schema = batches.iter().flatten().next().map(RecordBatch::schema).unwrap();
    wait(db.session.ingest(target, schema, stream::iter(batches)))
}

fn append(table: &str) -> IngestTarget {
    target(table, IfMissing::Fail, IfExists::Append)
}

#[test]
fn a_missing_table_is_made_where_that_is_wanted() {
    let db = Db::new();
    let create = target("t", IfMissing::Create, IfExists::Append);
    assert_eq!(send(&db, create.clone(), vec![Ok(batch(&[1, 2], &["a", "b"])), Ok(batch(&[3], &["c"]))]).unwrap(), 3);
    assert_eq!(send(&db, create, vec![Ok(batch(&[4], &["d"]))]).unwrap(), 1);
    assert_eq!(db.rows("SELECT id, name FROM t ORDER BY id"), ["1|a", "2|b", "3|c", "4|d"]);
    let error = send(&db, append("missing"), vec![Ok(batch(&[1], &["a"]))]).unwrap_err();
    assert!(error.to_string().contains("missing"), "{error}");
}

#[test]
fn an_existing_table_is_replaced_or_kept_as_wanted() {
    let db = Db::new();
    db.run("CREATE TABLE t (other INT)");
    let error = send(&db, target("t", IfMissing::Create, IfExists::Fail), vec![Ok(batch(&[1], &["a"]))]).unwrap_err();
    assert!(error.to_string().contains("exists"), "{error}");
    assert_eq!(send(&db, target("t", IfMissing::Fail, IfExists::Replace), vec![Ok(batch(&[1], &["a"]))]).unwrap(), 1);
    assert_eq!(db.rows("SELECT * FROM t"), ["1|a"]);
}

#[test]
fn columns_are_found_by_name_and_missing_ones_have_their_defaults() {
    let db = Db::new();
    db.run("CREATE TABLE t (kind VARCHAR DEFAULT 'new', NAME VARCHAR, id INT NOT NULL)");
    assert_eq!(send(&db, append("t"), vec![Ok(batch(&[7], &["a"]))]).unwrap(), 1);
    assert_eq!(db.rows("SELECT id, name, kind FROM t"), ["7|a|new"]);
    let other = RecordBatch::try_from_iter([
        ("id", Arc::new(Int64Array::from(vec![1])) as ArrayRef),
        ("surplus", Arc::new(Int64Array::from(vec![1]))),
    ]);
    let error = send(&db, append("t"), vec![Ok(other.unwrap())]).unwrap_err();
    assert!(error.to_string().contains("surplus"), "{error}");
}

#[test]
fn nothing_is_kept_of_rows_whose_stream_fails() {
    let db = Db::new();
    db.run("CREATE TABLE t (id INT PRIMARY KEY, name VARCHAR)");
    let broken = EngineError::Sql { message: "the wire broke".into(), position: None, hint: None };
    let error = send(&db, append("t"), vec![Ok(batch(&[1], &["a"])), Err(broken)]).unwrap_err();
    assert!(error.to_string().contains("the wire broke"), "{error}");
    let error = send(&db, append("t"), vec![Ok(batch(&[1], &["a"])), Ok(batch(&[1 << 40], &["b"]))]).unwrap_err();
    assert!(error.to_string().contains("row 2") && error.to_string().contains("\"id\""), "{error}");
    let error = send(&db, append("t"), vec![Ok(batch(&[1, 1], &["a", "b"]))]).unwrap_err();
    assert!(error.to_string().contains("PRIMARY KEY") || error.to_string().contains("primary key"), "{error}");
    assert_eq!(db.value("SELECT count(*) FROM t"), "0");
}

#[test]
fn rows_sent_in_a_transaction_go_with_it() {
    let db = Db::new();
    db.script("CREATE TABLE t (id INT, name VARCHAR); BEGIN");
    assert_eq!(send(&db, append("t"), vec![Ok(batch(&[1], &["a"]))]).unwrap(), 1);
    assert_eq!(db.value("SELECT count(*) FROM t"), "1");
    db.run("ROLLBACK");
    assert_eq!(db.value("SELECT count(*) FROM t"), "0");
}

#[test]
fn a_batch_of_other_types_than_announced_is_refused() {
    let db = Db::new();
    db.run("CREATE TABLE t (id INT, name VARCHAR)");
    let other: [(&str, ArrayRef); 2] = [("id", Arc::new(Int32Array::from(vec![1]))), ("name", Arc::new(StringArray::from(vec!["a"])))];
    let other = RecordBatch::try_from_iter(other).unwrap();
    let error = send(&db, append("t"), vec![Ok(batch(&[1], &["a"])), Ok(other)]).unwrap_err();
    assert!(error.to_string().contains("other columns"), "{error}");
    assert_eq!(db.value("SELECT count(*) FROM t"), "0");
}

#[test]
fn dictionaries_become_what_they_stand_for() {
    let db = Db::new();
    let names: DictionaryArray<Int8Type> = vec!["a", "b", "a"].into_iter().collect();
    let batch = RecordBatch::try_from_iter([("name", Arc::new(names) as ArrayRef)]).unwrap();
    assert_eq!(send(&db, target("t", IfMissing::Create, IfExists::Fail), vec![Ok(batch)]).unwrap(), 3);
    assert_eq!(db.rows("SELECT name, count(*) FROM t GROUP BY name ORDER BY name"), ["a|2", "b|1"]);
    assert_eq!(db.rows("SELECT data_type FROM information_schema.columns WHERE table_name = 't'"), ["VARCHAR"]);
}

#[test]
fn a_value_that_is_not_of_its_type_leaves_nothing_behind() {
    let db = Db::new();
    let decimals = |values: Vec<i128>| {
        let values = Decimal128Array::from(values).with_precision_and_scale(18, 0).unwrap();
        RecordBatch::try_from_iter_with_nullable([("d", Arc::new(values) as ArrayRef, true)]).unwrap()
    };
    let create = target("t", IfMissing::Create, IfExists::Append);
    let error = send(&db, create.clone(), vec![Ok(decimals(vec![1, 2])), Ok(decimals(vec![3, 1 << 64]))]).unwrap_err();
    assert_eq!(error.to_string(), "row 4 of what was sent, column \"d\": 18446744073709551616 does not fit DECIMAL(18,0)");
    assert!(db.try_run("SELECT * FROM t").is_err());
    send(&db, create, vec![Ok(decimals(vec![999_999_999_999_999_999]))]).unwrap();
    assert_eq!(db.rows("SELECT d FROM t"), ["999999999999999999"]);
}

#[test]
fn a_parameter_that_is_not_of_its_type_is_refused_alone_and_among_many() {
    let db = Db::new();
    db.run("CREATE TABLE t (d DECIMAL(3,0))");
    let values = |values: Vec<i128>| {
        let values = Decimal128Array::from(values).with_precision_and_scale(3, 0).unwrap();
        RecordBatch::try_from_iter_with_nullable([("$1", Arc::new(values) as ArrayRef, true)]).unwrap()
    };
    let bad = values(vec![1, 1000]);
    for sql in ["SELECT $1", "INSERT INTO t VALUES ($1)"] {
        let error = wait(db.session.execute_with(sql, &bad, 1)).err().unwrap();
        assert_eq!(error.to_string(), "row 2 of the values, $1: 1000 does not fit DECIMAL(3,0)");
    }
    for sql in ["INSERT INTO t VALUES ($1)", "INSERT INTO t SELECT $1", "UPDATE t SET d = $1"] {
        let error = wait(db.session.execute_rows(sql, &bad)).unwrap_err();
        assert_eq!(error.to_string(), "row 2 of the values, $1: 1000 does not fit DECIMAL(3,0)");
    }
    assert_eq!(wait(db.session.execute_rows("INSERT INTO t VALUES ($1)", &values(vec![999, -999]))).unwrap(), 2);
    assert_eq!(db.rows("SELECT d FROM t ORDER BY d"), ["-999", "999"]);
}
