//! A result as messages, made while they are read: the engine works ahead by what lies between it and the
//! socket, and no further. Dropping the stream cancels the query.

use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use arrow::error::ArrowError;
use arrow_flight::FlightData;
use arrow_flight::encode::{FlightDataEncoder, FlightDataEncoderBuilder};
use arrow_flight::error::FlightError;
use arrow_flight::utils::batches_to_flight_data;
use bytes::Bytes;
use engine::{EngineError, QueryOutput};
use futures::{Stream, StreamExt};
use parking_lot::Mutex;
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};
use tonic::Status;

use super::pieces::{batch_bytes, pieces};
use super::plain::{to_wire, wire_schema};
use super::report::report_json;
use super::wishes::Wishes;
use crate::error::{arrow_status, status};

pub type FlightStream = Pin<Box<dyn Stream<Item = Result<FlightData, Status>> + Send>>;

/// What a message is to have at most. gRPC clients commonly take 4 MiB, those of Flight 16 MiB or more.
const MESSAGE_BYTES: usize = 2 << 20;
/// Of one row, which cannot be cut: what 32-bit offsets reach, with room to spare.
const PIECE_BYTES_MAX: usize = 1 << 30;

/// A query on its way to the client.
pub struct Outgoing {
    output: Running,
    wire: SchemaRef,
    wishes: Wishes,
    stop: CancellationToken,
}

/// Shared with whoever may cancel it: a client that does not read keeps its stream from being polled.
type Running = Arc<Mutex<Option<QueryOutput>>>;

#[derive(Clone)]
pub struct Cancel {
    output: Running,
    stop: CancellationToken,
}

impl Cancel {
    /// The query has ended when this returns.
    pub fn cancel(&self) {
        self.stop.cancel();
        let output = self.output.lock().take();
        drop(output);
    }
}

impl Outgoing {
    /// Ends with an error when `stop` is cancelled.
    pub fn new(output: QueryOutput, wishes: Wishes, stop: CancellationToken) -> Outgoing {
        let wire = wire_schema(&output.schema(), wishes.types);
        Outgoing { output: Arc::new(Mutex::new(Some(output))), wire, wishes, stop }
    }

    pub fn cancel(&self) -> Cancel {
        Cancel { output: Arc::clone(&self.output), stop: self.stop.clone() }
    }

    /// The last message has no rows, and the report in its `app_metadata`. What is `kept` lives as long as the
    /// stream: the engine's session among other things.
    pub fn into_stream(self, kept: impl Send + 'static) -> Result<FlightStream, Status> {
        let Outgoing { output, wire, wishes, stop } = self;
        let report = Arc::new(Mutex::new(None));
        let rows = Rows {
            output,
            is_over: false,
            wire: Arc::clone(&wire),
            left: VecDeque::new(),
            stopped: Box::pin(stop.cancelled_owned()),
            report: Arc::clone(&report),
            _kept: Box::new(kept),
        };
        Ok(Box::pin(Sent { encoder: Some(encoder(rows, &wire, wishes)?), wire, report }))
    }
}

/// Batches that are there already, as messages of just this schema: clients compare that of metadata field by
/// field. Without a report.
pub fn of_batches(schema: &SchemaRef, batches: Vec<RecordBatch>, wishes: Wishes) -> Result<FlightStream, Status> {
    let pieces = batches.into_iter().flat_map(|batch| pieces(batch, MESSAGE_BYTES)).map(Ok);
    let pieces = futures::stream::iter(pieces.collect::<Vec<_>>());
    Ok(Box::pin(encoder(pieces, schema, wishes)?.map(|message| message.map_err(ours))))
}

/// A batch in pieces that each fit into a message, in the types of the wire.
pub fn for_wire(batch: RecordBatch, wire: &SchemaRef) -> Vec<Result<RecordBatch, ArrowError>> {
    pieces(batch, MESSAGE_BYTES).iter().map(|piece| to_wire(piece, wire)).collect()
}

/// The encoder divides nothing: it would count the whole buffers that a slice is of.
fn encoder<S>(batches: S, wire: &SchemaRef, wishes: Wishes) -> Result<FlightDataEncoder, Status>
where
    S: Stream<Item = Result<RecordBatch, FlightError>> + Send + 'static,
{
    let builder = FlightDataEncoderBuilder::new().with_schema(Arc::clone(wire)).with_max_flight_data_size(usize::MAX);
    Ok(builder.with_options(wishes.write_options()?).build(batches))
}

fn ours(error: FlightError) -> Status {
    match error {
        FlightError::Tonic(status) => *status,
        FlightError::Arrow(error) => arrow_status(error),
        other => Status::internal(format!("the result cannot be sent: {other}; please report it")),
    }
}

/// The batches of a query, cut and in the types of the wire.
struct Rows {
    output: Running,
    is_over: bool,
    wire: SchemaRef,
    left: VecDeque<RecordBatch>,
    stopped: Pin<Box<WaitForCancellationFutureOwned>>,
    report: Arc<Mutex<Option<Bytes>>>,
    _kept: Box<dyn Send>,
}

impl Rows {
    fn failed(&mut self, error: Status) -> Poll<Option<Result<RecordBatch, FlightError>>> {
        self.is_over = true;
        self.left.clear();
        let output = self.output.lock().take();
        drop(output);
        Poll::Ready(Some(Err(error.into())))
    }

    fn sized(&self, piece: &RecordBatch) -> Result<RecordBatch, Status> {
        let bytes = batch_bytes(piece);
        if bytes > PIECE_BYTES_MAX {
            return Err(Status::resource_exhausted(format!(
                "a row of the result has {bytes} bytes, and one message holds at most {PIECE_BYTES_MAX}; select fewer columns or parts of the values"
            )));
        }
        to_wire(piece, &self.wire).map_err(arrow_status)
    }

    /// None where the query was cancelled meanwhile.
    fn poll_output(&mut self, context: &mut Context<'_>) -> Option<Poll<Option<Result<RecordBatch, EngineError>>>> {
        let mut output = self.output.lock();
        let running = output.as_mut()?;
        let polled = running.poll_next_unpin(context);
        if let Poll::Ready(None) = polled {
            *self.report.lock() = Some(report_json(&running.report(), running.kind()));
            *output = None;
        }
        Some(polled)
    }
}

impl Stream for Rows {
    type Item = Result<RecordBatch, FlightError>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            if let Some(piece) = self.left.pop_front() {
                return match self.sized(&piece) {
                    Ok(batch) => Poll::Ready(Some(Ok(batch))),
                    Err(error) => self.failed(error),
                };
            }
            if self.is_over {
                return Poll::Ready(None);
            }
            if self.stopped.as_mut().poll(context).is_ready() {
                return self.failed(cancelled());
            }
            match self.poll_output(context) {
                None => return self.failed(cancelled()),
                Some(Poll::Pending) => return Poll::Pending,
                Some(Poll::Ready(Some(Ok(batch)))) => self.left.extend(pieces(batch, MESSAGE_BYTES)),
                Some(Poll::Ready(Some(Err(error)))) => return self.failed(status(error)),
                Some(Poll::Ready(None)) => self.is_over = true,
            }
        }
    }
}

fn cancelled() -> Status {
    Status::cancelled("the query was cancelled: by CancelFlightInfo, because its result was not read for long, or because the server ends")
}

/// The messages, and after them, unless there was an error, the one with the report.
struct Sent {
    encoder: Option<FlightDataEncoder>,
    wire: SchemaRef,
    report: Arc<Mutex<Option<Bytes>>>,
}

impl Sent {
    fn last(&self) -> Option<Result<FlightData, Status>> {
        let report = self.report.lock().take()?;
        let empty = vec![RecordBatch::new_empty(Arc::clone(&self.wire))];
        let messages = batches_to_flight_data(&self.wire, empty).map_err(arrow_status);
        messages.map(|messages| messages.into_iter().last().map(|last| last.with_app_metadata(report))).transpose()
    }
}

impl Stream for Sent {
    type Item = Result<FlightData, Status>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let Some(encoder) = &mut self.encoder else { return Poll::Ready(None) };
        match encoder.poll_next_unpin(context) {
            Poll::Pending => Poll::Pending,
            Poll::Ready(Some(Ok(message))) => Poll::Ready(Some(Ok(message))),
            Poll::Ready(Some(Err(error))) => {
                self.encoder = None;
                Poll::Ready(Some(Err(ours(error))))
            }
            Poll::Ready(None) => {
                self.encoder = None;
                Poll::Ready(self.last())
            }
        }
    }
}
