//! Bytes that no client would send are refused, and the server goes on.

use arrow::array::{ArrayRef, StringArray, StringViewArray};
use arrow::datatypes::{DataType, Field, Schema};
use arrow_flight::encode::FlightDataEncoderBuilder;
use arrow_flight::sql::{
    ActionCancelQueryRequest, CommandGetTables, CommandStatementIngest, ProstMessageExt, TableDefinitionOptions, TableExistsOption,
    TableNotExistOption,
};
use arrow_flight::{
    Action, CancelFlightInfoRequest, FlightData, FlightDescriptor, FlightEndpoint, FlightInfo, RenewFlightEndpointRequest, Ticket,
};
use arrow_ipc::CompressionType;
use arrow_ipc::writer::IpcWriteOptions;
use bytes::Bytes;
use flight_server::ServerOptions;
use futures::TryStreamExt;
use prost::Message;
use std::sync::Arc;
use tonic::codegen::http::uri::PathAndQuery;
use tonic::{Code, Status};
use tonic_prost::ProstCodec;

use crate::foreign_forms::{big_endian, with_version};
use crate::helpers::{Served, batch, numbers, options, wait};

/// A deterministic random generator.
struct Dice(u64);

impl Dice {
    fn throw(&mut self, below: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) as usize % below
    }
}

fn messages(compression: Option<CompressionType>) -> Vec<FlightData> {
    let texts: ArrayRef = Arc::new(StringArray::from_iter_values((0..200).map(|n| format!("text {n}"))));
    let views: ArrayRef = Arc::new(StringViewArray::from_iter_values((0..200).map(|n| format!("a text that is longer than a view {n}"))));
    let rows = batch(&[("a", numbers(0..200)), ("b", texts), ("c", views)]);
    let options = TableDefinitionOptions { if_not_exist: TableNotExistOption::Create as i32, if_exists: TableExistsOption::Append as i32 };
    let command = CommandStatementIngest { table: "t".into(), table_definition_options: Some(options), ..Default::default() };
    let write = IpcWriteOptions::default().try_with_compression(compression).unwrap();
    let encoder = FlightDataEncoderBuilder::new()
        .with_options(write)
        .with_flight_descriptor(Some(FlightDescriptor::new_cmd(command.as_any().encode_to_vec())))
        .build(futures::stream::iter([Ok(rows.clone()), Ok(rows)]));
    wait(encoder.try_collect()).unwrap()
}

fn put(served: &Served, messages: Vec<FlightData>) -> Result<(), Status> {
    wait(async {
        let answers = served.flight().do_put(futures::stream::iter(messages)).await?.into_inner();
        answers.try_collect::<Vec<_>>().await.map(|_| ())
    })
}

fn spoilt(message: &mut FlightData, dice: &mut Dice) {
    let part = if dice.throw(3) == 0 { &mut message.data_body } else { &mut message.data_header };
    let mut bytes = part.to_vec();
    if bytes.is_empty() {
        return;
    }
    match dice.throw(3) {
        0 => bytes.truncate(dice.throw(bytes.len())),
        1 => {
            let at = dice.throw(bytes.len());
            bytes[at] ^= 1 << dice.throw(8);
        }
        _ => {
            let at = dice.throw(bytes.len().saturating_sub(8).max(1));
            let end = (at + 8).min(bytes.len());
            bytes[at..end].fill([0x00, 0x7f, 0xff][dice.throw(3)]);
        }
    }
    *part = bytes.into();
}

#[test]
fn spoilt_arrow_messages_are_refused_or_whole() {
    let served = Served::new();
    let mut dice = Dice(7);
    for compression in [None, Some(CompressionType::ZSTD)] {
        let good = messages(compression);
        let (mut refused, mut rows) = (0, 0);
        for _ in 0..400 {
            let mut spoiled = good.clone();
            let at = dice.throw(spoiled.len());
            spoilt(&mut spoiled[at], &mut dice);
            match put(&served, spoiled) {
                Ok(()) => rows += 1,
                Err(status) => {
                    assert!(!matches!(status.code(), Code::Internal | Code::Unknown | Code::Unavailable), "{status}");
                    refused += 1;
                }
            }
        }
        assert!(refused > 100, "{refused} refused, {rows} taken");
        put(&served, good).unwrap();
    }
    let count = served.count("t");
    assert_eq!(count % 200, 0, "part of a stream was kept");
}

#[test]
fn garbage_for_descriptors_tickets_and_actions_is_refused() {
    let served = Served::new();
    let mut dice = Dice(11);
    for length in [0, 1, 2, 3, 5, 8, 13, 40, 300] {
        for _ in 0..20 {
            let garbage: Vec<u8> = (0..length).map(|_| dice.throw(256) as u8).collect();
            let refused = wait(served.flight().get_flight_info(FlightDescriptor::new_cmd(garbage.clone()))).unwrap_err();
            assert!(matches!(refused.code(), Code::InvalidArgument | Code::Unimplemented), "{refused}");
            wait(served.flight().get_schema(FlightDescriptor::new_cmd(garbage.clone()))).unwrap_err();
            wait(served.flight().do_get(Ticket::new(garbage.clone()))).map(|_| ()).unwrap_err();
            for name in ["CreatePreparedStatement", "EndTransaction", "CancelFlightInfo", "BeginSavepoint", "compact"] {
                wait(served.flight().do_action(Action::new(name, garbage.clone()))).map(|_| ()).unwrap_err();
            }
        }
    }
    assert_eq!(served.rows("SELECT 1"), ["1"]);
}

/// The fields of Flight's messages with texts, bytes and messages.
#[derive(Clone, PartialEq, Message)]
struct Unlike {
    #[prost(uint64, tag = "1")]
    first: u64,
    #[prost(uint64, tag = "3")]
    third: u64,
}

#[test]
fn a_request_that_is_no_message_of_flight_is_refused_and_no_bug() {
    let served = Served::new();
    for call in ["GetFlightInfo", "PollFlightInfo", "GetSchema", "ListFlights", "DoGet", "DoPut", "DoExchange", "DoAction"] {
        let path: PathAndQuery = format!("/arrow.flight.protocol.FlightService/{call}").parse().unwrap();
        let mut client = tonic::client::Grpc::new(served.channel.clone());
        let refused = wait(async {
            client.ready().await.unwrap();
            let unlike = tonic::Request::new(Unlike { first: 77, third: 77 });
            client.unary(unlike, path, ProstCodec::<Unlike, Unlike>::default()).await.map(|_| ()).unwrap_err()
        });
        let expected = if call == "DoExchange" { [Code::InvalidArgument, Code::Unimplemented] } else { [Code::InvalidArgument; 2] };
        assert!(expected.contains(&refused.code()) && !refused.message().contains("Protobuf message"), "{call}: {refused}");
    }
}

#[test]
fn a_descriptor_says_one_thing() {
    let served = Served::new();
    served.update("CREATE TABLE t (a INT)");
    let command = arrow_flight::sql::CommandStatementQuery { query: "SELECT 1".into(), ..Default::default() }.as_any().encode_to_vec();
    let path = FlightDescriptor::new_path(vec!["t".into()]);
    let by_command = FlightDescriptor::new_cmd(command.clone());
    let wrong = [
        FlightDescriptor::default(),
        FlightDescriptor::new_path(Vec::new()),
        FlightDescriptor { r#type: 77, ..path.clone() },
        FlightDescriptor { r#type: 77, ..by_command.clone() },
        FlightDescriptor { r#type: 1, ..by_command.clone() },
        FlightDescriptor { r#type: 2, ..path.clone() },
        FlightDescriptor { cmd: command.into(), ..path.clone() },
    ];
    for descriptor in wrong {
        let refused = wait(served.flight().get_flight_info(descriptor.clone())).unwrap_err();
        assert!(refused.code() == Code::InvalidArgument && refused.message().starts_with("the descriptor "), "{refused}");
        assert_eq!(wait(served.flight().get_schema(descriptor.clone())).unwrap_err().code(), Code::InvalidArgument);
        let put = put(&served, vec![FlightData::new().with_descriptor(descriptor)]).unwrap_err();
        assert_eq!(put.code(), Code::InvalidArgument, "{put}");
    }
    // A descriptor without its type is accepted.
    for descriptor in [path, by_command] {
        wait(served.flight().get_flight_info(FlightDescriptor { r#type: 0, ..descriptor.clone() })).unwrap();
        wait(served.flight().get_flight_info(descriptor)).unwrap();
    }
}

#[test]
fn an_endpoint_without_a_ticket_of_ours_is_not_renewed() {
    let served = Served::new();
    let renew = |endpoint| served.act("RenewFlightEndpoint", RenewFlightEndpointRequest { endpoint }.encode_to_vec());
    let of = |ticket: &str| Some(FlightEndpoint::new().with_ticket(Ticket::new(ticket.to_string())));
    for endpoint in [None, Some(FlightEndpoint::new()), of(""), of("what is this"), of("{}")] {
        assert_eq!(renew(endpoint).unwrap_err().code(), Code::InvalidArgument);
    }
    assert_eq!(renew(of(r#"{"table": "t", "lease": "none"}"#)).unwrap_err().code(), Code::NotFound);
    // It is valid as long as the table exists.
    renew(of(r#"{"table": "t"}"#)).unwrap();
}

#[test]
fn requests_that_would_be_very_many_things_are_refused() {
    let served = Served::new();
    let tables = |table_types: Vec<String>| CommandGetTables { table_types, ..Default::default() }.as_any().encode_to_vec();
    let many = tables(vec![String::new(); 1 << 20]);
    let refused = wait(served.flight().get_flight_info(FlightDescriptor::new_cmd(many.clone()))).unwrap_err();
    assert_eq!(refused.code(), Code::InvalidArgument);
    assert_eq!(wait(served.flight().do_get(Ticket::new(many))).map(|_| ()).unwrap_err().code(), Code::InvalidArgument);
    wait(served.flight().do_get(Ticket::new(tables(vec![String::new(); 1_000])))).unwrap();
    let places = |count| FlightInfo { endpoint: vec![FlightEndpoint::new(); count], ..FlightInfo::new() };
    for (count, code) in [(100_000, Code::InvalidArgument), (1_000, Code::NotFound)] {
        let request = CancelFlightInfoRequest::new(places(count));
        assert_eq!(served.act("CancelFlightInfo", request.encode_to_vec()).unwrap_err().code(), code);
        let query = ActionCancelQueryRequest { info: places(count).encode_to_vec().into() };
        assert_eq!(served.act("CancelQuery", query.as_any().encode_to_vec()).unwrap_err().code(), code);
    }
    // In the map of the request, an option with an empty name and no value.
    let options = [0x0a, 0x00].repeat(1 << 20);
    assert_eq!(served.act("SetSessionOptions", options).unwrap_err().code(), Code::InvalidArgument);
    assert_eq!(served.rows("SELECT 1"), ["1"]);
}

#[test]
fn an_error_that_repeats_the_request_is_short() {
    let served = Served::new();
    let name = "n".repeat(500_000);
    let json = format!("{{\"table\": \"t\", \"{name}\": 1}}");
    let refused = wait(served.flight().do_get(Ticket::new(json))).map(|_| ()).unwrap_err();
    assert_eq!(refused.code(), Code::InvalidArgument);
    assert!((100..6_000).contains(&refused.message().len()), "{}", refused.message().len());
    let catalog = CommandStatementIngest { catalog: Some(name), table: "t".into(), ..Default::default() };
    let message = FlightData::new().with_descriptor(FlightDescriptor::new_cmd(catalog.as_any().encode_to_vec()));
    let refused = put(&served, vec![message]).unwrap_err();
    assert_eq!(refused.code(), Code::NotFound);
    assert!((100..6_000).contains(&refused.message().len()), "{}", refused.message().len());
}

#[test]
fn more_columns_than_any_table_has_are_refused() {
    let served = Served::new();
    let fields: Vec<Field> = (0..30_000).map(|column| Field::new(format!("c{column}"), DataType::Int8, true)).collect();
    let encoder = FlightDataEncoderBuilder::new()
        .with_flight_descriptor(Some(FlightDescriptor::new_cmd(r#"{"table": "t", "mode": "create"}"#)))
        .with_schema(Arc::new(Schema::new(fields)))
        .build(futures::stream::empty());
    let refused = put(&served, wait(encoder.try_collect()).unwrap()).unwrap_err();
    assert_eq!(refused.code(), Code::ResourceExhausted);
}

#[test]
fn bytes_without_a_header_are_refused() {
    let served = Served::new();
    let mut messages = messages(None);
    messages[1].data_header = Bytes::new();
    assert_eq!(put(&served, messages).unwrap_err().code(), Code::InvalidArgument);
    assert!(served.try_rows("SELECT * FROM t").is_err());
}

#[test]
fn rows_of_a_foreign_form_are_refused_and_not_stored_as_other_values() {
    let served = Served::new();
    let forms: [(fn(&[u8]) -> Vec<u8>, &str); 2] =
        [(big_endian, "its numbers are big-endian"), (|message| with_version(message, 5), "its metadata has version 6")];
    for (change, expected) in forms {
        let commands =
            [messages(None)[0].flight_descriptor.clone(), Some(FlightDescriptor::new_cmd(r#"{"table": "t", "mode": "create"}"#))];
        for command in commands {
            let mut messages = messages(None);
            messages[0].data_header = change(&messages[0].data_header).into();
            messages[0].flight_descriptor = command;
            let refused = put(&served, messages).unwrap_err();
            assert!(refused.code() == Code::InvalidArgument && refused.message().contains(expected), "{refused}");
        }
    }
    assert!(served.try_rows("SELECT * FROM t").is_err());
}

#[test]
fn a_put_without_a_command_is_refused() {
    let served = Served::new();
    assert_eq!(put(&served, Vec::new()).unwrap_err().code(), Code::InvalidArgument);
    assert_eq!(put(&served, vec![FlightData::default()]).unwrap_err().code(), Code::InvalidArgument);
    let mut rows_first = messages(None);
    rows_first[1].flight_descriptor = rows_first[0].flight_descriptor.take();
    rows_first.remove(0);
    assert_eq!(put(&served, rows_first).unwrap_err().code(), Code::InvalidArgument);
}

#[test]
fn a_message_over_the_limit_is_refused() {
    let served = Served::with(ServerOptions { message_bytes_max: 10_000, ..options() });
    let sql = format!("SELECT '{}'", "x".repeat(20_000));
    let refused = served.try_rows(&sql);
    assert_eq!(crate::helpers::code(refused), Code::InvalidArgument);
    assert_eq!(served.rows("SELECT 1"), ["1"]);
}

#[test]
fn a_request_that_brings_no_rows_is_shorter_than_a_message_that_does() {
    let served = Served::new();
    let path = FlightDescriptor::new_path(vec!["x".repeat(67 << 20)]);
    let bytes = vec![0; 67 << 20];
    for refused in [
        wait(served.flight().get_flight_info(path.clone())).unwrap_err(),
        wait(served.flight().do_get(Ticket::new(bytes))).map(|_| ()).unwrap_err(),
    ] {
        assert_eq!(refused.code(), Code::InvalidArgument);
        assert!(refused.message().contains("longer than the 69206016 bytes"), "{refused}");
    }
    // It is decoded, and names no table.
    assert_eq!(put(&served, vec![FlightData::new().with_descriptor(path)]).unwrap_err().code(), Code::InvalidArgument);
}

#[test]
fn decompression_is_bounded() {
    let served = Served::new();
    let refused = put(&served, messages(Some(CompressionType::LZ4_FRAME))).unwrap_err();
    assert!(refused.message().contains("ZSTD"), "{refused}");
    assert!(served.try_rows("SELECT * FROM t").is_err());
}

#[test]
fn a_buffer_that_claims_to_unpack_to_exabytes_is_refused() {
    let served = Served::new();
    let mut messages = messages(Some(CompressionType::ZSTD));
    let (claimed, body) = (1600i64.to_le_bytes(), messages[1].data_body.to_vec());
    let at = body.windows(8).position(|bytes| bytes == claimed).unwrap();
    for claim in [1i64 << 60, i64::MAX, -2] {
        let mut spoilt = body.clone();
        spoilt[at..at + 8].copy_from_slice(&claim.to_le_bytes());
        messages[1].data_body = spoilt.into();
        let refused = put(&served, messages.clone()).unwrap_err();
        assert!(matches!(refused.code(), Code::ResourceExhausted | Code::InvalidArgument), "{refused}");
    }
    assert!(served.try_rows("SELECT * FROM t").is_err());
}
