//! Bytes that no client would send are refused, and the server goes on.

use arrow::array::{ArrayRef, StringArray, StringViewArray};
use arrow_flight::encode::FlightDataEncoderBuilder;
use arrow_flight::sql::{CommandStatementIngest, ProstMessageExt, TableDefinitionOptions, TableExistsOption, TableNotExistOption};
use arrow_flight::{Action, FlightData, FlightDescriptor, Ticket};
use arrow_ipc::CompressionType;
use arrow_ipc::writer::IpcWriteOptions;
use flight_server::ServerOptions;
use futures::TryStreamExt;
use prost::Message;
use std::sync::Arc;
use tonic::{Code, Status};

use crate::helpers::{Served, batch, numbers, options, wait};

/// The same numbers every time.
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
    assert_eq!(crate::helpers::code(refused), Code::OutOfRange);
    assert_eq!(served.rows("SELECT 1"), ["1"]);
}

#[test]
fn what_would_unpack_without_a_bound_is_refused() {
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
