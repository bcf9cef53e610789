//! Decodes messages of a client to record batches, and checks them first.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, ready};

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use arrow_flight::FlightData;
use arrow_flight::decode::{DecodedFlightData, DecodedPayload, FlightDataDecoder};
use arrow_flight::error::FlightError;
use flight_wire::{check, decoded, guarded, too_many_bytes};
use futures::{Stream, StreamExt};
use tonic::Status;

use super::expanded_size::{expanded_bytes, may_share};
use crate::options::ServerOptions;

/// The limit for columns, including nested ones. Each is searched by name among all of them.
const FIELDS_MAX: usize = 20_000;
/// The largest batch that is passed on: a short message may have very many rows without bytes, and the table expands its columns.
const ROWS_AT_ONCE: usize = 131_072;

/// The stream of a client: its schema, then batches.
pub struct Batches {
    schema: SchemaRef,
    /// The limit for one message whose rows may share values. Otherwise its length is limit enough.
    unpacked_bytes_max: Option<u64>,
    decoder: Option<FlightDataDecoder>,
    /// The rest of the last message.
    rest: Option<RecordBatch>,
    /// The bytes of all messages so far.
    bytes: Arc<AtomicUsize>,
    /// The first error. It is returned again on every further poll, so that it never looks like the end.
    broken: Option<Status>,
}

/// `None` if a client sends only the command, and no Arrow data.
pub async fn incoming<S>(messages: S, options: &ServerOptions) -> Result<Option<Batches>, Status>
where
    S: Stream<Item = Result<FlightData, Status>> + Send + 'static,
{
    let unpacked_bytes_max = options.unpacked_bytes_max;
    let bytes = Arc::<AtomicUsize>::default();
    let counted = Arc::clone(&bytes);
    let checked = messages.filter_map(move |message| {
        let message_bytes = message.as_ref().map_or(0, |message| message.data_header.len() + message.data_body.len());
        counted.fetch_add(message_bytes, Ordering::Relaxed);
        futures::future::ready(match message {
            // The command alone, or metadata: there is nothing to decode.
            Ok(message) if message.data_header.is_empty() && message.data_body.is_empty() => None,
            Ok(message) => Some(check(&message, unpacked_bytes_max).map(|()| message).map_err(FlightError::from)),
            Err(status) => Some(Err(FlightError::from(status))),
        })
    });
    let mut decoder = Some(FlightDataDecoder::new(checked));
    match futures::future::poll_fn(|context| decoded(&mut decoder, context)).await.map(payload) {
        None => Ok(None),
        Some(Err(error)) => Err(error),
        Some(Ok(DecodedPayload::Schema(schema))) => {
            let fields = schema.flattened_fields().len();
            if fields > FIELDS_MAX {
                return Err(Status::resource_exhausted(format!("the rows have {fields} columns, and {FIELDS_MAX} are taken; send fewer")));
            }
            let unpacked_bytes_max = may_share(&schema).then_some(unpacked_bytes_max);
            Ok(Some(Batches { schema, unpacked_bytes_max, decoder, rest: None, bytes, broken: None }))
        }
        Some(Ok(_)) => Err(Status::invalid_argument("rows came before their schema; send the schema first")),
    }
}

impl Batches {
    pub fn schema(&self) -> SchemaRef {
        SchemaRef::clone(&self.schema)
    }

    /// The bytes that have arrived so far. A batch may keep a message alive that is longer than its rows.
    pub fn bytes(&self) -> usize {
        self.bytes.load(Ordering::Relaxed)
    }

    fn check_unpacked(&self, batch: &RecordBatch) -> Result<(), Status> {
        let Some(max) = self.unpacked_bytes_max else { return Ok(()) };
        match guarded(|| expanded_bytes(batch))? {
            bytes if bytes > max => Err(too_many_bytes(bytes, max)),
            _ => Ok(()),
        }
    }
}

impl Stream for Batches {
    type Item = Result<RecordBatch, Status>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            if let Some(broken) = &self.broken {
                return Poll::Ready(Some(Err(broken.clone())));
            }
            if let Some(batch) = self.rest.take() {
                let rows = batch.num_rows().min(ROWS_AT_ONCE);
                if rows < batch.num_rows() {
                    self.rest = Some(batch.slice(rows, batch.num_rows() - rows));
                }
                return Poll::Ready(Some(Ok(batch.slice(0, rows))));
            }
            match ready!(decoded(&mut self.decoder, context)).map(payload) {
                None => return Poll::Ready(None),
                Some(Err(error)) => self.broken = Some(error),
                Some(Ok(DecodedPayload::RecordBatch(batch))) => match self.check_unpacked(&batch) {
                    Ok(()) => self.rest = Some(batch),
                    Err(refused) => self.broken = Some(refused),
                },
                Some(Ok(DecodedPayload::None)) => {}
                Some(Ok(DecodedPayload::Schema(_))) => {
                    self.broken = Some(Status::invalid_argument("a second schema came among the rows; send one table at a time"));
                }
            }
        }
    }
}

fn payload(decoded: Result<DecodedFlightData, Status>) -> Result<DecodedPayload, Status> {
    decoded.map(|decoded| decoded.payload)
}

#[cfg(test)]
mod tests {
    use arrow::array::{ArrayRef, Int64Array, NullArray};
    use arrow_flight::encode::FlightDataEncoderBuilder;
    use flight_wire::foreign_status;
    use futures::TryStreamExt;
    use tonic::Code;

    use super::*;

    async fn messages(column: ArrayRef) -> Vec<Result<FlightData, Status>> {
        let rows = RecordBatch::try_from_iter_with_nullable([("a", column, true)]).unwrap();
        let encoder = FlightDataEncoderBuilder::new().with_max_flight_data_size(usize::MAX).build(futures::stream::iter([Ok(rows)]));
        encoder.map(|message| message.map_err(foreign_status)).collect().await
    }

    async fn received(messages: Vec<Result<FlightData, Status>>) -> Batches {
        incoming(futures::stream::iter(messages), &ServerOptions::default()).await.unwrap().unwrap()
    }

    #[tokio::test]
    async fn many_rows_without_bytes_are_passed_on_in_pieces() {
        let batches: Vec<RecordBatch> = received(messages(Arc::new(NullArray::new(1_000_000))).await).await.try_collect().await.unwrap();
        assert!(batches.iter().all(|batch| batch.num_rows() <= ROWS_AT_ONCE));
        assert_eq!(batches.iter().map(RecordBatch::num_rows).sum::<usize>(), 1_000_000);
    }

    #[tokio::test]
    async fn a_broken_stream_stays_broken() {
        let mut messages = messages(Arc::new(Int64Array::from_iter_values(0..10))).await;
        messages.push(Err(Status::aborted("gone")));
        let mut batches = received(messages).await;
        assert_eq!(batches.next().await.unwrap().unwrap().num_rows(), 10);
        for _ in 0..3 {
            assert_eq!(batches.next().await.unwrap().unwrap_err().code(), Code::Aborted);
        }
    }

    #[tokio::test]
    async fn whole_messages_count_and_not_only_their_used_parts() {
        let mut messages = messages(Arc::new(Int64Array::from_iter_values(0..10))).await;
        if let Ok(message) = &mut messages[1] {
            message.data_body = [&message.data_body[..], &[0; 100_000][..]].concat().into();
        }
        let mut batches = received(messages).await;
        batches.next().await.unwrap().unwrap();
        assert!(batches.bytes() > 100_000);
    }
}
