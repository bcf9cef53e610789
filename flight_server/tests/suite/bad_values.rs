//! Invalid values, which Arrow libraries write without an error when they are built from bytes: none gets into a table or a
//! statement.

use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, Date32Array, Decimal128Array, Decimal256Array, DictionaryArray, Int8Array, Int32Array, LargeListArray,
    LargeListViewArray, ListArray, NullArray, PrimitiveArray, RunArray, StringArray, StructArray, Time64NanosecondArray,
    TimestampMicrosecondArray,
};
use arrow::buffer::{NullBuffer, OffsetBuffer};
use arrow::datatypes::{Decimal64Type, Field, Int32Type, i256};
use arrow_flight::encode::FlightDataEncoderBuilder;
use arrow_flight::sql::client::PreparedStatement;
use arrow_flight::{FlightData, FlightDescriptor};
use futures::TryStreamExt;
use tonic::transport::Channel;
use tonic::{Code, Status};

use crate::helpers::{Served, batch, numbers, status, wait};

/// Columns with an invalid value in the second row, each with a part of its error.
fn bad() -> Vec<(ArrayRef, &'static str)> {
    let decimal = |value: i128, precision| -> ArrayRef {
        Arc::new(Decimal128Array::from(vec![1, value]).with_precision_and_scale(precision, 0).unwrap())
    };
    let narrow = PrimitiveArray::<Decimal64Type>::from(vec![1, 1 << 62]).with_precision_and_scale(5, 0).unwrap();
    let wide = Decimal256Array::from(vec![1, 100_000].into_iter().map(i256::from_i128).collect::<Vec<_>>())
        .with_precision_and_scale(5, 0)
        .unwrap();
    let instant = |zone: Option<&str>| -> ArrayRef { Arc::new(TimestampMicrosecondArray::from(vec![0, i64::MAX]).with_timezone_opt(zone)) };
    vec![
        (decimal(1 << 64, 18), "18446744073709551616 does not fit DECIMAL(18,0)"),
        (decimal(1000, 3), "1000 does not fit DECIMAL(3,0)"),
        (decimal(-1000, 3), "-1000 does not fit DECIMAL(3,0)"),
        (Arc::new(narrow), "4611686018427387904 does not fit DECIMAL(5,0)"),
        (Arc::new(wide), "100000 does not fit DECIMAL(5,0)"),
        (Arc::new(Time64NanosecondArray::from(vec![0, -(1 << 62)])), "is no TIME"),
        (Arc::new(Time64NanosecondArray::from(vec![0, 86_400_000_000_000])), "is no TIME"),
        (Arc::new(Date32Array::from(vec![0, i32::MAX])), "days since 1970 are no DATE"),
        (instant(None), "microseconds since 1970 are no TIMESTAMP"),
        (instant(Some("UTC")), "microseconds since 1970 are no TIMESTAMP"),
        (in_list(decimal(1000, 3)), "1000 does not fit DECIMAL(3,0)"),
        (in_struct(decimal(1000, 3)), "in price: 1000 does not fit DECIMAL(3,0)"),
        (Arc::new(DictionaryArray::new(Int8Array::from(vec![0, 1]), decimal(1000, 3))), "1000 does not fit DECIMAL(3,0)"),
        (
            Arc::new(RunArray::<Int32Type>::try_new(&Int32Array::from(vec![1, 2]), &decimal(1000, 3)).unwrap()),
            "1000 does not fit DECIMAL(3,0)",
        ),
    ]
}

fn in_list(values: ArrayRef) -> ArrayRef {
    let item = Arc::new(Field::new("item", values.data_type().clone(), true));
    Arc::new(ListArray::new(item, OffsetBuffer::from_lengths([1, 1]), values, None))
}

fn in_struct(values: ArrayRef) -> ArrayRef {
    Arc::new(StructArray::new(vec![Field::new("price", values.data_type().clone(), true)].into(), vec![values], None))
}

fn messages(column: ArrayRef) -> Vec<FlightData> {
    let encoder = FlightDataEncoderBuilder::new()
        .with_dictionary_handling(arrow_flight::encode::DictionaryHandling::Resend)
        .with_max_flight_data_size(usize::MAX)
        .with_flight_descriptor(Some(FlightDescriptor::new_cmd(r#"{"table": "t", "mode": "create_append"}"#)));
    wait(encoder.build(futures::stream::iter([Ok(batch(&[("a", column)]))])).try_collect()).unwrap()
}

fn put(served: &Served, messages: Vec<FlightData>) -> Result<(), Status> {
    wait(async {
        let answers = served.flight().do_put(futures::stream::iter(messages)).await?.into_inner();
        answers.try_collect::<Vec<_>>().await.map(|_| ())
    })
}

fn prepared(served: &Served, sql: &str) -> PreparedStatement<Channel> {
    wait(served.client().prepare(sql.into(), None)).unwrap()
}

#[test]
fn a_value_that_is_not_of_its_type_is_refused_by_column_row_and_value() {
    let served = Served::new();
    for (column, why) in bad() {
        let kind = column.data_type().clone();
        let refused = put(&served, messages(column)).unwrap_err();
        assert_eq!(refused.code(), Code::InvalidArgument, "{kind}: {refused}");
        let mentions = |what: &str| refused.message().contains(what);
        assert!(mentions("row 2 ") && mentions("column \"a\"") && mentions(why), "{kind}: {refused}");
        assert!(served.try_rows("SELECT * FROM t").is_err(), "{kind} made a table");
    }
    assert_eq!(served.rows("SELECT 1"), ["1"]);
}

#[test]
fn a_parameter_that_is_not_of_its_type_is_refused() {
    let served = Served::new();
    served.update("CREATE TABLE t (a VARCHAR)");
    for (column, why) in bad().into_iter().filter(|(column, _)| !column.data_type().is_nested()) {
        let kind = column.data_type().clone();
        let mut query = prepared(&served, "SELECT $1");
        query.set_parameters(batch(&[("$1", column.slice(1, 1))])).unwrap();
        let refused = status(wait(query.execute()));
        assert!(refused.code() == Code::InvalidArgument && refused.message().contains(why), "{kind}: {refused}");
        let mut change = prepared(&served, "INSERT INTO t VALUES ($1)");
        change.set_parameters(batch(&[("$1", column)])).unwrap();
        let refused = status(wait(change.execute_update()));
        assert_eq!(refused.code(), Code::InvalidArgument, "{kind}: {refused}");
        assert!(refused.message().contains("row 2 of the values, $1") && refused.message().contains(why), "{kind}: {refused}");
    }
    assert_eq!(served.count("t"), 0);
}

/// A regression test: counting them one by one needed more memory than any machine has, so a message of a hundred bytes ended the server.
#[test]
fn values_without_bytes_are_not_more_than_rows_may_be() {
    let served = Served::new();
    let nothing: ArrayRef = Arc::new(NullArray::new(1 << 40));
    let item = Arc::new(Field::new("item", nothing.data_type().clone(), true));
    let list: ArrayRef =
        Arc::new(LargeListArray::new(Arc::clone(&item), OffsetBuffer::new(vec![0, 1 << 40].into()), Arc::clone(&nothing), None));
    let view: ArrayRef = Arc::new(LargeListViewArray::new(item, vec![0].into(), vec![1].into(), nothing, None));
    let shared: ArrayRef = Arc::new(DictionaryArray::new(Int8Array::from(vec![0]), Arc::clone(&list)));
    for column in [list, view, shared] {
        let kind = column.data_type().clone();
        let refused = put(&served, messages(column)).unwrap_err();
        assert!(refused.code() == Code::InvalidArgument && refused.message().contains("number of values"), "{kind}: {refused}");
    }
    assert_eq!(served.rows("SELECT 1"), ["1"]);
}

#[test]
fn values_under_a_null_are_not_validated() {
    let served = Served::new();
    let values = Decimal128Array::new(vec![7, 1 << 64].into(), Some(NullBuffer::from(vec![true, false])));
    let values: ArrayRef = Arc::new(values.with_precision_and_scale(18, 0).unwrap());
    put(&served, messages(Arc::clone(&values))).unwrap();
    assert_eq!(served.rows("SELECT a FROM t ORDER BY a NULLS LAST"), ["7", "NULL"]);
    let mut change = prepared(&served, "INSERT INTO t VALUES ($1)");
    change.set_parameters(batch(&[("$1", values)])).unwrap();
    assert_eq!(wait(change.execute_update()).unwrap(), 2);
    assert_eq!(served.count("t"), 4);
}

#[test]
fn a_time_zone_that_there_is_not_is_refused_with_its_column() {
    let served = Served::new();
    let zoned = |zone: &str| -> ArrayRef { Arc::new(TimestampMicrosecondArray::from(vec![0, 1]).with_timezone(zone)) };
    for column in [zoned("Nowhere/No"), in_list(zoned("Nowhere/No"))] {
        let refused = put(&served, messages(column)).unwrap_err();
        assert_eq!(refused.code(), Code::InvalidArgument, "{refused}");
        assert!(refused.message().contains("column \"a\"") && refused.message().contains("\"Nowhere/No\""), "{refused}");
    }
    let mut query = prepared(&served, "SELECT $1");
    query.set_parameters(batch(&[("$1", zoned("Nowhere/No").slice(0, 1))])).unwrap();
    assert_eq!(status(wait(query.execute())).code(), Code::InvalidArgument);
    put(&served, messages(zoned("Europe/Berlin"))).unwrap();
    assert_eq!(served.count("t"), 2);
}

#[test]
fn ends_of_runs_that_do_not_ascend_from_zero_are_refused() {
    let served = Served::new();
    let runs = RunArray::<Int32Type>::try_new(&Int32Array::from(vec![771, 1234]), &numbers([1, 2])).unwrap();
    let good = messages(Arc::new(runs));
    let body = good[1].data_body.to_vec();
    let ends: Vec<u8> = [771_i32, 1234].iter().flat_map(|end| end.to_le_bytes()).collect();
    let at = body.windows(8).position(|bytes| bytes == ends).unwrap();
    for ends in [[-5, i32::MAX], [0, 1234], [771, 771], [771, 5], [771, 1233]] {
        let mut spoilt = good.clone();
        let mut bytes = body.clone();
        bytes[at..at + 8].copy_from_slice(&ends.iter().flat_map(|end: &i32| end.to_le_bytes()).collect::<Vec<_>>());
        spoilt[1].data_body = bytes.into();
        assert_eq!(put(&served, spoilt).unwrap_err().code(), Code::InvalidArgument, "{ends:?}");
    }
    put(&served, good).unwrap();
    assert_eq!(served.rows("SELECT count(*), sum(a) FROM t"), ["1234 1697"]);
}

#[test]
fn a_short_message_does_not_become_more_rows_than_are_taken() {
    let served = Served::new();
    let long: ArrayRef = Arc::new(StringArray::from(vec!["x".repeat(1_000)]));
    let runs = RunArray::<Int32Type>::try_new(&Int32Array::from(vec![1 << 27]), &long).unwrap();
    let huge: ArrayRef = Arc::new(StringArray::from(vec!["x".repeat(1 << 20)]));
    let dictionary = DictionaryArray::new(Int8Array::from(vec![0; 2_000]), huge);
    for column in [Arc::new(runs) as ArrayRef, Arc::new(dictionary)] {
        let kind = column.data_type().clone();
        let refused = put(&served, messages(column)).unwrap_err();
        assert_eq!(refused.code(), Code::ResourceExhausted, "{kind}: {refused}");
        assert!(refused.message().contains("unpacks to"), "{kind}: {refused}");
    }
    assert!(served.try_rows("SELECT * FROM t").is_err());
    let texts: ArrayRef = Arc::new(StringArray::from(vec!["a", "b"]));
    let runs = RunArray::<Int32Type>::try_new(&Int32Array::from(vec![100_000, 200_000]), &texts).unwrap();
    put(&served, messages(Arc::new(runs))).unwrap();
    assert_eq!(served.rows("SELECT a, count(*) FROM t GROUP BY a ORDER BY a"), ["a 100000", "b 100000"]);
}
