//! Prepared statements: parameters, batches of them, and true counts.

use arrow::array::{ArrayRef, Float64Array, StringArray};
use arrow::datatypes::DataType;
use std::sync::Arc;
use tonic::Code;

use crate::helpers::{Served, batch, code, fetch, numbers, shown, wait};

fn table() -> Served {
    let served = Served::new();
    served.update("CREATE TABLE t (a BIGINT NOT NULL, b VARCHAR)");
    served
}

fn texts(values: &[&str]) -> ArrayRef {
    Arc::new(StringArray::from(values.to_vec()))
}

#[test]
fn a_query_takes_a_row_of_parameters() {
    let served = table();
    served.update("INSERT INTO t VALUES (1, 'one'), (2, 'two'), (3, 'three')");
    let mut client = served.client();
    let mut prepared = wait(client.prepare("SELECT b FROM t WHERE a > $1 AND b <> $2 ORDER BY a".into(), None)).unwrap();
    assert_eq!(prepared.dataset_schema().unwrap().field(0).name(), "b");
    let mut run = |above: i64, not: &str| {
        prepared.set_parameters(batch(&[("$1", numbers([above])), ("$2", texts(&[not]))])).unwrap();
        let info = wait(prepared.execute()).unwrap();
        shown(&wait(fetch(&mut client, &info)).unwrap())
    };
    assert_eq!(run(0, "two"), ["one", "three"]);
    assert_eq!(run(1, ""), ["two", "three"]);
}

#[test]
fn the_types_of_parameters_are_told() {
    let served = table();
    let mut client = served.client();
    let prepared = wait(client.prepare("INSERT INTO t VALUES ($1, $2)".into(), None)).unwrap();
    let parameters = prepared.parameter_schema().unwrap();
    let told: Vec<_> = parameters.fields().iter().map(|field| (field.name().as_str(), field.data_type().clone())).collect();
    assert_eq!(told, [("$1", DataType::Int64), ("$2", DataType::Utf8)]);
    assert!(prepared.dataset_schema().unwrap().fields().is_empty());
}

#[test]
fn an_explained_query_takes_a_row_of_parameters() {
    let served = table();
    let mut client = served.client();
    for words in ["EXPLAIN", "EXPLAIN ANALYZE"] {
        let mut prepared = wait(client.prepare(format!("{words} SELECT b FROM t WHERE a > $1"), None)).unwrap();
        let told: Vec<_> = prepared.parameter_schema().unwrap().fields().iter().map(|field| field.data_type().clone()).collect();
        assert_eq!(told, [DataType::Int64], "{words}");
        assert_eq!(prepared.dataset_schema().unwrap().fields().len(), 2, "{words}");
        prepared.set_parameters(batch(&[("$1", numbers([41]))])).unwrap();
        let info = wait(prepared.execute()).unwrap();
        let plan = shown(&wait(fetch(&mut client, &info)).unwrap()).join("\n");
        assert!(plan.contains("> 41") && !plan.contains("$1"), "{words}: {plan}");
    }
}

#[test]
fn a_prepared_statement_did_not_run() {
    let served = table();
    wait(served.client().prepare("INSERT INTO t VALUES (1, 'x')".into(), None)).unwrap();
    assert_eq!(served.count("t"), 0);
}

#[test]
fn every_row_of_parameters_changes_its_rows() {
    let served = table();
    let mut client = served.client();
    let mut insert = wait(client.prepare("INSERT INTO t VALUES ($1, $2)".into(), None)).unwrap();
    insert.set_parameters(batch(&[("$1", numbers([1, 2, 3])), ("$2", texts(&["x", "y", "z"]))])).unwrap();
    assert_eq!(wait(insert.execute_update()).unwrap(), 3);
    let mut update = wait(client.prepare("UPDATE t SET b = $1 WHERE a >= $2".into(), None)).unwrap();
    update.set_parameters(batch(&[("$1", texts(&["p", "q"])), ("$2", numbers([1, 3]))])).unwrap();
    assert_eq!(wait(update.execute_update()).unwrap(), 4);
    assert_eq!(served.rows("SELECT a, b FROM t ORDER BY a"), ["1 p", "2 p", "3 q"]);
}

#[test]
fn a_row_of_parameters_that_fails_takes_all_with_it() {
    let served = table();
    let mut client = served.client();
    let mut insert = wait(client.prepare("INSERT INTO t VALUES ($1, 'x')".into(), None)).unwrap();
    let with_null: ArrayRef = Arc::new(arrow::array::Int64Array::from(vec![Some(1), Some(2), None]));
    insert.set_parameters(batch(&[("$1", with_null)])).unwrap();
    assert_eq!(code(wait(insert.execute_update())), Code::FailedPrecondition);
    assert_eq!(served.count("t"), 0);
}

#[test]
fn a_parameter_of_a_wrong_type_is_refused() {
    let served = table();
    let mut client = served.client();
    let mut insert = wait(client.prepare("INSERT INTO t VALUES ($1, 'x')".into(), None)).unwrap();
    insert.set_parameters(batch(&[("$1", texts(&["no number"]))])).unwrap();
    assert_eq!(code(wait(insert.execute_update())), Code::InvalidArgument);
    insert.set_parameters(batch(&[("$1", Arc::new(Float64Array::from(vec![7.0])) as ArrayRef)])).unwrap();
    let _ = wait(insert.execute_update());
    assert!(served.count("t") <= 1);
}

#[test]
fn a_query_of_several_rows_of_parameters_is_refused() {
    let served = table();
    let mut prepared = wait(served.client().prepare("SELECT $1 + 1".into(), None)).unwrap();
    prepared.set_parameters(batch(&[("$1", numbers([1, 2]))])).unwrap();
    assert_eq!(code(wait(prepared.execute())), Code::InvalidArgument);
}

#[test]
fn a_parameter_that_is_missing_is_an_error() {
    let served = table();
    let mut prepared = wait(served.client().prepare("INSERT INTO t VALUES ($1, 'x')".into(), None)).unwrap();
    assert_eq!(code(wait(prepared.execute_update())), Code::InvalidArgument);
    assert_eq!(served.count("t"), 0);
}

#[test]
fn a_closed_statement_is_unknown() {
    let served = table();
    let mut client = served.client();
    let prepared = wait(client.prepare("SELECT 1".into(), None)).unwrap();
    assert_eq!(served.stat("prepared_statements"), 1);
    wait(prepared.close()).unwrap();
    assert_eq!(served.stat("prepared_statements"), 0);
}

#[test]
fn a_table_function_takes_the_row_that_is_bound_at_each_execution() {
    let served = table();
    served.update("INSERT INTO t SELECT value, 'x' FROM generate_series(1, 40) AS g (value)");
    let mut client = served.client();
    let sql = "SELECT count(*) AS clusters, sum(size) AS rows FROM kmeans('t', 'a', $1, iterations => $2) WHERE size > $3";
    let mut prepared = wait(client.prepare(sql.into(), None)).unwrap();
    let told: Vec<_> = prepared.parameter_schema().unwrap().fields().iter().map(|field| field.data_type().clone()).collect();
    assert_eq!(told, [DataType::Int64, DataType::Int64, DataType::Int64]);
    let names: Vec<_> = prepared.dataset_schema().unwrap().fields().iter().map(|field| field.name().clone()).collect();
    assert_eq!(names, ["clusters", "rows"]);
    let mut run = |k: i64| {
        prepared.set_parameters(batch(&[("$1", numbers([k])), ("$2", numbers([5])), ("$3", numbers([0]))])).unwrap();
        let info = wait(prepared.execute()).unwrap();
        shown(&wait(fetch(&mut client, &info)).unwrap())
    };
    assert_eq!(run(3), ["3 40"]);
    assert_eq!(run(7), ["7 40"]);
    assert_eq!(run(3), ["3 40"]);
    let mut explained = wait(served.client().prepare("EXPLAIN SELECT * FROM generate_series(1, $1)".into(), None)).unwrap();
    explained.set_parameters(batch(&[("$1", numbers([41]))])).unwrap();
    let info = wait(explained.execute()).unwrap();
    let plan = shown(&wait(fetch(&mut served.client(), &info)).unwrap()).join("\n");
    assert!(plan.contains("end=41"), "{plan}");
}

#[test]
fn a_table_function_without_its_values_does_not_run() {
    let served = table();
    let mut client = served.client();
    let mut prepared = wait(client.prepare("SELECT * FROM generate_series(1, $1)".into(), None)).unwrap();
    assert_eq!(code(wait(prepared.execute())), Code::InvalidArgument);
    prepared.set_parameters(batch(&[("$1", Arc::new(Float64Array::from(vec![2.5])) as ArrayRef)])).unwrap();
    assert_eq!(code(wait(prepared.execute())), Code::InvalidArgument);
    let refused = wait(client.prepare("SELECT * FROM matrix_transpose($1)".into(), None));
    assert_eq!(code(refused), Code::InvalidArgument);
}
