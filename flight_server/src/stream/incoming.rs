//! Messages from a client as record batches, checked before they are believed.

use std::pin::Pin;
use std::task::{Context, Poll};

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use arrow_flight::FlightData;
use arrow_flight::decode::{DecodedFlightData, DecodedPayload, FlightDataDecoder};
use arrow_flight::error::FlightError;
use futures::{Stream, StreamExt};
use tonic::Status;

use super::check::check;
use crate::error::foreign_status;
use crate::guard::guarded;
use crate::options::ServerOptions;

/// What a client sends: its schema, then batches.
pub struct Batches {
    schema: SchemaRef,
    decoder: Option<FlightDataDecoder>,
}

/// None where a client sends no Arrow data at all, only the command.
pub async fn incoming<S>(messages: S, options: &ServerOptions) -> Result<Option<Batches>, Status>
where
    S: Stream<Item = Result<FlightData, Status>> + Send + 'static,
{
    let unpacked_bytes_max = options.unpacked_bytes_max;
    let checked = messages.filter_map(move |message| {
        futures::future::ready(match message {
            // The command alone, or metadata: nothing to decode.
            Ok(message) if message.data_header.is_empty() => None,
            Ok(message) => Some(check(&message, unpacked_bytes_max).map(|()| message).map_err(FlightError::from)),
            Err(status) => Some(Err(FlightError::from(status))),
        })
    });
    let mut decoder = Some(FlightDataDecoder::new(checked));
    match futures::future::poll_fn(|context| decoded(&mut decoder, context)).await.map(payload) {
        None => Ok(None),
        Some(Err(error)) => Err(error),
        Some(Ok(DecodedPayload::Schema(schema))) => Ok(Some(Batches { schema, decoder })),
        Some(Ok(_)) => Err(Status::invalid_argument("rows came before their schema; send the schema first")),
    }
}

impl Batches {
    pub fn schema(&self) -> SchemaRef {
        SchemaRef::clone(&self.schema)
    }
}

impl Stream for Batches {
    type Item = Result<RecordBatch, Status>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            return match decoded(&mut self.decoder, context).map(|next| next.map(payload)) {
                Poll::Pending => Poll::Pending,
                Poll::Ready(None) => Poll::Ready(None),
                Poll::Ready(Some(Err(error))) => Poll::Ready(Some(Err(error))),
                Poll::Ready(Some(Ok(DecodedPayload::RecordBatch(batch)))) => Poll::Ready(Some(Ok(batch))),
                Poll::Ready(Some(Ok(DecodedPayload::None))) => continue,
                Poll::Ready(Some(Ok(DecodedPayload::Schema(_)))) => {
                    self.decoder = None;
                    Poll::Ready(Some(Err(Status::invalid_argument("a second schema came among the rows; send one table at a time"))))
                }
            };
        }
    }
}

fn payload(decoded: Result<DecodedFlightData, Status>) -> Result<DecodedPayload, Status> {
    decoded.map(|decoded| decoded.payload)
}

/// After an error there is nothing more: the decoder may be half changed.
pub fn decoded(decoder: &mut Option<FlightDataDecoder>, context: &mut Context<'_>) -> Poll<Option<Result<DecodedFlightData, Status>>> {
    let Some(reader) = decoder else { return Poll::Ready(None) };
    let polled = guarded(|| reader.poll_next_unpin(context));
    let failed = match polled {
        Ok(Poll::Pending) => return Poll::Pending,
        Ok(Poll::Ready(None)) => None,
        Ok(Poll::Ready(Some(Ok(decoded)))) => return Poll::Ready(Some(Ok(decoded))),
        Ok(Poll::Ready(Some(Err(error)))) => Some(Err(foreign_status(error))),
        Err(status) => Some(Err(status)),
    };
    *decoder = None;
    Poll::Ready(failed)
}
