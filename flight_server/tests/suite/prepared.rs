//! Prepared statements: parameters, batches of parameters, and counts of changed rows.

use arrow::array::{ArrayRef, Float64Array, StringArray};
use arrow::datatypes::DataType;
use arrow_flight::encode::FlightDataEncoderBuilder;
use arrow_flight::sql::{
    ActionCreatePreparedStatementRequest, ActionCreatePreparedStatementResult, Any, CommandPreparedStatementQuery,
    DoPutPreparedStatementResult, EndTransaction, ProstMessageExt,
};
use arrow_flight::{FlightData, FlightDescriptor};
use futures::TryStreamExt;
use prost::Message;
use std::sync::Arc;
use tonic::Code;

use crate::helpers::{Served, batch, code, fetch, numbers, shown, status, wait};

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
    let parameter_fields: Vec<_> = parameters.fields().iter().map(|field| (field.name().as_str(), field.data_type().clone())).collect();
    assert_eq!(parameter_fields, [("$1", DataType::Int64), ("$2", DataType::Utf8)]);
    assert!(prepared.dataset_schema().unwrap().fields().is_empty());
}

#[test]
fn an_explained_query_takes_a_row_of_parameters() {
    let served = table();
    let mut client = served.client();
    for words in ["EXPLAIN", "EXPLAIN ANALYZE"] {
        let mut prepared = wait(client.prepare(format!("{words} SELECT b FROM t WHERE a > $1"), None)).unwrap();
        let parameter_types: Vec<_> = prepared.parameter_schema().unwrap().fields().iter().map(|field| field.data_type().clone()).collect();
        assert_eq!(parameter_types, [DataType::Int64], "{words}");
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
    assert_eq!(served.count("t"), 0);
}

#[test]
fn a_parameter_of_another_type_is_the_value_that_it_is_in_the_column() {
    let served = table();
    let mut insert = wait(served.client().prepare("INSERT INTO t VALUES ($1, 'x')".into(), None)).unwrap();
    insert.set_parameters(batch(&[("$1", Arc::new(Float64Array::from(vec![7.0])) as ArrayRef)])).unwrap();
    assert_eq!(wait(insert.execute_update()).unwrap(), 1);
    assert_eq!(served.rows("SELECT a, b FROM t"), ["7 x"]);
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
    let refused = status(wait(prepared.execute_update()));
    assert_eq!(refused.code(), Code::InvalidArgument);
    assert!(refused.message().starts_with("the parameter $1 has no value; give one value for each parameter"), "{}", refused.message());
    assert_eq!(served.count("t"), 0);
    for (sql, words) in [
        ("SELECT a FROM t WHERE a = ?", "the parameter $1 has no value; give one"),
        ("UPDATE t SET a = ?", "the parameter $1 has no value; give one"),
        ("SELECT a FROM t LIMIT ?", "LIMIT is to be a number that is known before the query runs; write the number, or give a value"),
        ("SELECT a FROM t OFFSET ?", "OFFSET is to be a number that is known before the query runs; write the number, or give a value"),
    ] {
        let refused = status(served.try_rows(sql));
        assert_eq!(refused.code(), Code::InvalidArgument, "{sql}");
        assert!(refused.message().starts_with(words), "{sql}: {}", refused.message());
    }
    let refused = status(wait(served.client().prepare("SET threads = ?".into(), None)));
    assert!(refused.message().starts_with("SET takes no parameters, and has $1"), "{}", refused.message());
}

#[test]
fn a_statement_that_has_outlived_its_transaction_says_so() {
    let served = table();
    let mut client = served.client();
    for sql in ["INSERT INTO t VALUES (1, 'x')", "SELECT a FROM t"] {
        let transaction = wait(client.begin_transaction()).unwrap();
        let mut prepared = wait(client.prepare(sql.into(), Some(transaction.clone()))).unwrap();
        wait(client.end_transaction(transaction, EndTransaction::Commit)).unwrap();
        wait(client.begin_transaction()).unwrap();
        for refused in [wait(prepared.execute_update()).map(|_| ()), wait(prepared.execute()).map(|_| ())] {
            let refused = status(refused);
            assert_eq!(refused.code(), Code::NotFound, "{sql}");
            assert!(refused.message().contains("prepare it again (with ADBC: a new cursor after each commit)"), "{}", refused.message());
        }
    }
    assert_eq!(served.count("t"), 0);
}

/// The message on the wire, which the client of `arrow-flight` does not expose.
fn created(served: &Served, sql: &str) -> ActionCreatePreparedStatementResult {
    let request = ActionCreatePreparedStatementRequest { query: sql.into(), transaction_id: None };
    let answer = served.act("CreatePreparedStatement", request.as_any().encode_to_vec()).unwrap();
    Any::decode(answer[0].clone()).unwrap().unpack().unwrap().unwrap()
}

#[test]
fn a_statement_without_a_result_has_no_schema_and_one_with_a_result_has_one() {
    let served = table();
    for sql in ["INSERT INTO t VALUES (1, 'x')", "CREATE TABLE u (a INT)", "SET threads = 1", "BEGIN"] {
        assert!(created(&served, sql).dataset_schema.is_empty(), "{sql}");
    }
    for sql in ["SELECT a FROM t", "SHOW threads", "EXPLAIN SELECT 1"] {
        assert!(!created(&served, sql).dataset_schema.is_empty(), "{sql}");
    }
}

#[test]
fn binding_parameters_returns_the_handle_to_use() {
    let served = table();
    served.update("INSERT INTO t VALUES (1, 'one'), (2, 'two')");
    let handle = created(&served, "SELECT b FROM t WHERE a = ?").prepared_statement_handle;
    let bind = CommandPreparedStatementQuery { prepared_statement_handle: handle.clone() };
    let descriptor = FlightDescriptor::new_cmd(bind.as_any().encode_to_vec());
    let answer = wait(async {
        let messages: Vec<FlightData> = FlightDataEncoderBuilder::new()
            .with_flight_descriptor(Some(descriptor))
            .build(futures::stream::iter([Ok(batch(&[("$1", numbers([2]))]))]))
            .try_collect()
            .await
            .unwrap();
        served.flight().do_put(futures::stream::iter(messages)).await.unwrap().into_inner().message().await.unwrap().unwrap()
    });
    let new_handle = DoPutPreparedStatementResult::decode(answer.app_metadata).unwrap().prepared_statement_handle;
    assert_eq!(new_handle, Some(handle));
    let query = CommandPreparedStatementQuery { prepared_statement_handle: new_handle.unwrap() };
    let descriptor = FlightDescriptor::new_cmd(query.as_any().encode_to_vec());
    let info = wait(served.flight().get_flight_info(descriptor)).unwrap().into_inner();
    assert_eq!(shown(&wait(fetch(&mut served.client(), &info)).unwrap()), ["two"]);
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
    let parameter_types: Vec<_> = prepared.parameter_schema().unwrap().fields().iter().map(|field| field.data_type().clone()).collect();
    assert_eq!(parameter_types, [DataType::Int64, DataType::Int64, DataType::Int64]);
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
