//! Clients see tensors as tensors everywhere, and a row with a tensor larger than usual messages can be sent and received.

use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, FixedSizeListArray, Float64Array, RecordBatch};
use arrow::datatypes::{DataType, Field, Float64Type, Int64Type, Schema};
use arrow::ipc::convert::try_schema_from_ipc_buffer;
use arrow_flight::decode::FlightRecordBatchStream;
use arrow_flight::error::FlightError;
use arrow_flight::flight_service_client::FlightServiceClient;
use arrow_flight::sql::{CommandGetTables, CommandStatementIngest, TableDefinitionOptions, TableExistsOption, TableNotExistOption};
use arrow_flight::{FlightDescriptor, Ticket};
use engine::{Engine, EngineOptions, column_type_name, tensor_field};
use flight_client::{Address, ConnectOptions, Credentials, Login, RemoteSession, Tls, remote_tables};
use futures::TryStreamExt;

use crate::helpers::{Served, fetch, numbers, shown, ticket, wait};

const BLOCK: &str = "TENSOR(DOUBLE, 2, 2)";

fn served() -> Served {
    let served = Served::new();
    served.update("CREATE TABLE a (i BIGINT, block TENSOR(DOUBLE, 2, 2))");
    served.update("INSERT INTO a VALUES (0, [1, 2, 3, 4]), (1, [5, 6, 7, 8]), (2, NULL)");
    served
}

fn types(schema: &Schema) -> Vec<String> {
    schema.fields().iter().map(|field| column_type_name(field)).collect()
}

/// One row with a square block of doubles, each of which is its index.
fn wide(side: usize) -> RecordBatch {
    let field = tensor_field("block", DataType::Float64, &[side, side], true).unwrap();
    let DataType::FixedSizeList(item, size) = field.data_type() else { unreachable!("a tensor is a list") };
    let values = Float64Array::from_iter_values((0..side * side).map(|value| value as f64));
    let blocks = FixedSizeListArray::new(Arc::clone(item), *size, Arc::new(values), None);
    let schema = Schema::new(vec![Field::new("i", DataType::Int64, true), field]);
    RecordBatch::try_new(Arc::new(schema), vec![numbers([7]), Arc::new(blocks)]).unwrap()
}

fn sum(blocks: &ArrayRef) -> f64 {
    blocks.as_fixed_size_list().values().as_primitive::<Float64Type>().values().iter().sum()
}

#[test]
fn results_schemas_and_parameters_have_the_shape() {
    let served = served();
    let mut client = served.client();
    let info = wait(client.execute("SELECT * FROM a ORDER BY i".into(), None)).unwrap();
    assert_eq!(types(&info.clone().try_decode_schema().unwrap()), ["BIGINT", BLOCK]);
    let batches = wait(fetch(&mut client, &info)).unwrap();
    assert_eq!(types(&batches[0].schema()), ["BIGINT", BLOCK]);
    assert_eq!(batches[0].schema().field(1).metadata()["ARROW:FLIGHT:SQL:TYPE_NAME"], BLOCK);
    assert_eq!(shown(&batches), ["0 [1.0, 2.0, 3.0, 4.0]", "1 [5.0, 6.0, 7.0, 8.0]", "2 NULL"]);

    let prepared = wait(client.prepare("SELECT block FROM a WHERE i = $1".into(), None)).unwrap();
    assert_eq!(types(prepared.dataset_schema().unwrap()), [BLOCK]);
    let prepared = wait(client.prepare("INSERT INTO a VALUES ($1, $2)".into(), None)).unwrap();
    assert_eq!(types(prepared.parameter_schema().unwrap()), ["BIGINT", BLOCK]);

    let command = CommandGetTables { include_schema: true, table_name_filter_pattern: Some("a".into()), ..Default::default() };
    let info = wait(client.get_tables(command)).unwrap();
    let tables = wait(fetch(&mut client, &info)).unwrap();
    let schema = try_schema_from_ipc_buffer(tables[0].column_by_name("table_schema").unwrap().as_binary::<i32>().value(0)).unwrap();
    assert_eq!(types(&schema), ["BIGINT", BLOCK]);

    let info = wait(served.flight().get_flight_info(FlightDescriptor::new_path(vec!["main".into(), "a".into()]))).unwrap().into_inner();
    assert_eq!(types(&info.clone().try_decode_schema().unwrap()), ["BIGINT", BLOCK]);
    let batches = wait(fetch(&mut client, &info)).unwrap();
    assert_eq!(types(&batches[0].schema()), ["BIGINT", BLOCK]);
}

#[test]
fn a_prepared_insert_takes_blocks() {
    let served = served();
    let mut client = served.client();
    let mut prepared = wait(client.prepare("INSERT INTO a VALUES ($1, $2)".into(), None)).unwrap();
    prepared.set_parameters(wide(2)).unwrap();
    assert_eq!(wait(prepared.execute_update()).unwrap(), 1);
    assert_eq!(served.rows("SELECT block FROM a WHERE i = 7"), ["[0.0, 1.0, 2.0, 3.0]"]);
}

fn ingest(served: &Served, table: &str, rows: RecordBatch) -> Result<i64, FlightError> {
    let options = TableDefinitionOptions { if_not_exist: TableNotExistOption::Create as i32, if_exists: TableExistsOption::Append as i32 };
    let command = CommandStatementIngest { table_definition_options: Some(options), table: table.into(), ..Default::default() };
    wait(served.client().execute_ingest(command, futures::stream::iter([Ok(rows)])))
}

#[test]
fn rows_that_are_sent_make_and_fill_columns_of_tensors() {
    let served = served();
    assert_eq!(ingest(&served, "a", wide(2)).unwrap(), 1);
    assert_eq!(ingest(&served, "made", wide(3)).unwrap(), 1);
    assert_eq!(
        served.rows("SELECT data_type FROM system.columns WHERE table_name = 'made' ORDER BY position"),
        ["BIGINT", "TENSOR(DOUBLE, 3, 3)"]
    );
    let error = ingest(&served, "a", wide(3)).unwrap_err().to_string();
    assert!(error.contains("TENSOR(DOUBLE, 3, 3)") || error.contains("DOUBLE[9]"), "{error}");
}

#[test]
fn a_table_of_another_node_has_tensors() {
    let served = served();
    let options =
        EngineOptions { threads: Some(2), remote_tables: Some(remote_tables(Credentials::default())), ..EngineOptions::default() };
    let engine = Engine::open_temporary(options).unwrap();
    let session = engine.session().unwrap();
    let run = |sql: &str| {
        wait(async {
            let output = session.execute(sql).await.unwrap_or_else(|error| panic!("{sql}: {error}"));
            (types(&output.schema()), output.collect().await.unwrap_or_else(|error| panic!("{sql}: {error}")).0)
        })
    };
    run(&format!("CREATE EXTERNAL TABLE a STORED AS QUIVER LOCATION 'quiver://{}/main.a'", served.address));
    for level in ["off", "filter", "full"] {
        run(&format!("SET pushdown = {level}"));
        for sql in [
            "SELECT block FROM a ORDER BY i LIMIT 2",
            "SELECT block FROM a WHERE i < 2 ORDER BY i",
            "SELECT max(block) FROM a GROUP BY block HAVING max(i) < 2 ORDER BY 1",
        ] {
            let (type_names, batches) = run(sql);
            assert_eq!(shown(&batches), ["[1.0, 2.0, 3.0, 4.0]", "[5.0, 6.0, 7.0, 8.0]"], "{level}: {sql}");
            assert!(sql.contains("max") || type_names == [BLOCK], "{level}: {sql}: {type_names:?}");
            assert_eq!(types(&batches[0].schema()), type_names, "{level}: {sql}");
        }
        assert_eq!(run("SELECT CAST([1, 2, 3, 4] AS TENSOR(DOUBLE, 2, 2)) AS c, block FROM a WHERE i = 0").0, [BLOCK, BLOCK], "{level}");
    }
    run("CREATE TABLE here AS SELECT * FROM a");
    assert_eq!(run("SELECT * FROM here").0, ["BIGINT", BLOCK]);
}

/// 3,700² doubles are 104 MiB: a single row is one message.
#[test]
fn a_row_of_a_hundred_mebibytes_goes_and_comes() {
    const SIDE: usize = 3_700;
    let expected = (0..SIDE * SIDE).map(|value| value as f64).sum::<f64>();
    let served = Served::new();
    assert_eq!(ingest(&served, "w", wide(SIDE)).unwrap(), 1);

    let flight = FlightServiceClient::new(served.channel.clone());
    let mut unlimited = flight.max_decoding_message_size(usize::MAX);
    let by_path = Ticket::new(r#"{"schema": "main", "table": "w"}"#);
    let batches: Vec<RecordBatch> = wait(async {
        let messages = unlimited.do_get(by_path.clone()).await.unwrap().into_inner();
        FlightRecordBatchStream::new_from_flight_data(messages.map_err(FlightError::from)).try_collect().await.unwrap()
    });
    let row = batches.iter().find(|batch| batch.num_rows() == 1).unwrap();
    assert_eq!(row.column(0).as_primitive::<Int64Type>().value(0), 7);
    assert_eq!(sum(row.column(1)), expected);

    let address: Address = format!("grpc://{}", served.address).parse().unwrap();
    let session = wait(RemoteSession::connect(ConnectOptions { address, tls: Tls::default(), login: Login::Nobody })).unwrap();
    let batches: Vec<RecordBatch> =
        wait(async { session.execute("SELECT block FROM w WHERE i = 7").await.unwrap().collect().await.unwrap() });
    assert_eq!(sum(batches[0].column(0)), expected);

    // A client with a lower limit gets an error from gRPC that names the limit.
    let refused = wait(async {
        let info = served.client().execute("SELECT block FROM w".into(), None).await.unwrap();
        let mut limited = FlightServiceClient::new(served.channel.clone()).max_decoding_message_size(16 << 20);
        let messages = limited.do_get(ticket(&info)).await.unwrap().into_inner();
        messages.try_collect::<Vec<_>>().await.unwrap_err()
    });
    assert_eq!(refused.code(), tonic::Code::OutOfRange, "{refused}");
    assert!(refused.message().contains("16777216"), "{refused}");
}
