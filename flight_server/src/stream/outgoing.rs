//! A result as messages, encoded while they are read. The engine works ahead by what fits between it and the
//! socket, and by less if many results do, see `send_budget`. Dropping the stream cancels the query.

use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use bytes::Bytes;
use engine::{EngineError, QueryOutput, QueryReport};
use flight_wire::{MESSAGE_BYTES, batch_bytes, brief_report_json, pieces, pieces_of, report_json, to_wire, wire_schema, without_views};
use futures::{Stream, StreamExt};
use parking_lot::Mutex;
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};
use tonic::Status;

use super::client_options::ClientOptions;
use super::message::{Encoder, Message};
use super::prefetch::{ResultStream, prefetch};
use super::send_budget::{CreditKind, CreditShare, StreamCredit};
use crate::error::{arrow_status, status};
use crate::executors::ExecutorLease;

pub type FlightStream = ResultStream<Message>;

/// Replaces [`MESSAGE_BYTES`] while much data of all clients is unread.
const TIGHT_MESSAGE_BYTES: usize = 256 << 10;
/// The limit for one row, which cannot be split: 32-bit offsets reach that far, with some margin.
const PIECE_BYTES_MAX: usize = 1 << 30;

/// A query on its way to the client.
pub struct ResultEncoder {
    output: SharedEncoding,
    wire: SchemaRef,
    client_options: ClientOptions,
    stop: CancellationToken,
    credit: Arc<StreamCredit>,
}

/// Shared with cancellation: the stream of a client that does not read is never polled.
type SharedEncoding = Arc<Mutex<Option<EncodingState>>>;

/// A query and its rows that were not encoded yet.
struct EncodingState {
    output: QueryOutput,
    batches: VecDeque<RecordBatch>,
    /// The share of the rows that are left.
    share: Option<CreditShare>,
}

impl EncodingState {
    fn next_piece(&mut self, is_tight: bool) -> Option<RecordBatch> {
        let piece = self.batches.pop_front()?;
        let mut cut = match is_tight {
            true => pieces(piece, TIGHT_MESSAGE_BYTES).into_iter(),
            false => vec![piece].into_iter(),
        };
        let first = cut.next();
        cut.rev().for_each(|piece| self.batches.push_front(piece));
        if self.batches.is_empty() {
            // The rows in the message are counted there.
            self.share = None;
        }
        first
    }

    fn take(&mut self, batch: RecordBatch, wire: &SchemaRef, credit: &Arc<StreamCredit>) {
        let batch = without_views(batch, wire);
        let bytes = batch_bytes(&batch);
        self.share = Some(credit.hold(CreditKind::Batch, bytes));
        self.batches.extend(pieces_of(batch, bytes, MESSAGE_BYTES));
    }
}

#[derive(Clone)]
pub struct Cancel {
    output: SharedEncoding,
    stop: CancellationToken,
}

impl Cancel {
    /// Ends the query before it returns.
    pub fn cancel(&self) {
        self.stop.cancel();
        let output = self.output.lock().take();
        drop(output);
    }

    /// The progress of the query. `None` if it has ended, or is being polled right now: this does not wait.
    pub fn report(&self) -> Option<QueryReport> {
        self.output.try_lock()?.as_ref().map(|making| making.output.report())
    }
}

impl ResultEncoder {
    /// The stream ends with an error when `stop` is cancelled.
    pub fn new(output: QueryOutput, client_options: ClientOptions, stop: CancellationToken, credit: Arc<StreamCredit>) -> ResultEncoder {
        let wire = wire_schema(&output.schema(), client_options.types);
        let making = EncodingState { output, batches: VecDeque::new(), share: None };
        ResultEncoder { output: Arc::new(Mutex::new(Some(making))), wire, client_options, stop, credit }
    }

    pub fn cancel(&self) -> Cancel {
        Cancel { output: Arc::clone(&self.output), stop: self.stop.clone() }
    }

    /// The last message has no rows, and the report in its `app_metadata`. `guard` lives as long as the
    /// stream, for example the engine's session.
    pub fn into_stream(self, guard: impl Send + 'static, executor: ExecutorLease) -> Result<FlightStream, Status> {
        let ResultEncoder { output, wire, client_options, stop, credit } = self;
        let encoder = encoder(&wire, client_options)?;
        let schema = encoder.schema();
        let rows = MessageStream {
            next: Next::Schema(schema),
            encoder,
            output,
            wire,
            credit,
            stopped: Box::pin(stop.cancelled_owned()),
            report: None,
            is_brief: client_options.types.brief,
            _guard: Box::new(guard),
        };
        Ok(prefetch(Box::pin(rows), executor))
    }
}

/// Existing batches as messages with exactly this schema, because clients compare schemas of metadata field by
/// field. There is no report.
pub fn of_batches(schema: &SchemaRef, batches: Vec<RecordBatch>, client_options: ClientOptions) -> Result<FlightStream, Status> {
    let mut encoder = encoder(schema, client_options)?;
    let mut messages = vec![Ok(encoder.schema())];
    let pieces = batches.into_iter().flat_map(|batch| pieces(batch, MESSAGE_BYTES));
    messages.extend(pieces.map(|piece| encoder.batch(&piece).map_err(arrow_status)));
    Ok(Box::pin(futures::stream::iter(messages)))
}

fn encoder(wire: &SchemaRef, client_options: ClientOptions) -> Result<Encoder, Status> {
    Encoder::new(wire, client_options.write_options()?).map_err(arrow_status)
}

/// The batches of a query, split and in the types of the wire, between the schema and the message with the report.
struct MessageStream {
    next: Next,
    encoder: Encoder,
    output: SharedEncoding,
    wire: SchemaRef,
    credit: Arc<StreamCredit>,
    stopped: Pin<Box<WaitForCancellationFutureOwned>>,
    report: Option<Bytes>,
    is_brief: bool,
    _guard: Box<dyn Send>,
}

enum Next {
    Schema(Message),
    Rows,
    Report,
    Nothing,
}

impl MessageStream {
    fn failed(&mut self, error: Status) -> Poll<Option<Result<Message, Status>>> {
        self.next = Next::Nothing;
        let output = self.output.lock().take();
        drop(output);
        Poll::Ready(Some(Err(error)))
    }

    fn message(&mut self, piece: &RecordBatch) -> Result<Message, Status> {
        // A piece of several rows is never larger than a message, see `split`, so only single rows are measured again.
        let bytes = if piece.num_rows() > 1 { 0 } else { batch_bytes(piece) };
        if bytes > PIECE_BYTES_MAX {
            return Err(Status::resource_exhausted(format!(
                "a row of the result has {bytes} bytes, and one message holds at most {PIECE_BYTES_MAX}; select fewer columns or parts of the values"
            )));
        }
        let batch = to_wire(piece, &self.wire).map_err(arrow_status)?;
        Ok(self.encoder.batch(&batch).map_err(arrow_status)?.counted_in(&self.credit))
    }

    /// The last message: no rows, and the report.
    fn last(&mut self) -> Result<Message, Status> {
        let report = self.report.take().unwrap_or_default();
        if self.is_brief {
            return Ok(Message::default().with_metadata(report));
        }
        Ok(self.encoder.empty().map_err(arrow_status)?.with_metadata(report))
    }

    /// Rows for one message, once the budget has room for it; `None` if the query was cancelled meanwhile.
    fn poll_piece(&mut self, context: &mut Context<'_>) -> Option<Poll<Option<Result<RecordBatch, EngineError>>>> {
        let mut making = self.output.lock();
        loop {
            let state = making.as_mut()?;
            let kind = if state.batches.is_empty() { CreditKind::Batch } else { CreditKind::Message };
            // Wait again when the rows are there: while the query computed them, they did not count against this budget.
            if self.credit.poll_room(kind, context).is_pending() {
                return Some(Poll::Pending);
            }
            if let Some(piece) = state.next_piece(self.credit.is_tight()) {
                return Some(Poll::Ready(Some(Ok(piece))));
            }
            match state.output.poll_next_unpin(context) {
                Poll::Ready(Some(Ok(batch))) => state.take(batch, &self.wire, &self.credit),
                Poll::Ready(None) => {
                    let report = state.output.report();
                    self.report = Some(if self.is_brief { brief_report_json(&report) } else { report_json(&report, state.output.kind()) });
                    *making = None;
                    return Some(Poll::Ready(None));
                }
                other => return Some(other),
            }
        }
    }

    fn poll_rows(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Message, Status>>> {
        if self.stopped.as_mut().poll(context).is_ready() {
            return self.stopped();
        }
        match self.poll_piece(context) {
            None => self.stopped(),
            Some(Poll::Pending) => Poll::Pending,
            Some(Poll::Ready(Some(Ok(piece)))) => match self.message(&piece) {
                Ok(message) => Poll::Ready(Some(Ok(message))),
                Err(error) => self.failed(error),
            },
            Some(Poll::Ready(Some(Err(error)))) => self.failed(status(error)),
            Some(Poll::Ready(None)) => {
                self.next = Next::Report;
                Poll::Ready(None)
            }
        }
    }

    fn stopped(&mut self) -> Poll<Option<Result<Message, Status>>> {
        self.failed(self.credit.why_ended().unwrap_or_else(cancelled))
    }
}

impl Stream for MessageStream {
    type Item = Result<Message, Status>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if let Next::Rows = self.next {
            match self.poll_rows(context) {
                Poll::Ready(None) => {}
                polled => return polled,
            }
        }
        match std::mem::replace(&mut self.next, Next::Nothing) {
            Next::Schema(schema) => {
                self.next = Next::Rows;
                Poll::Ready(Some(Ok(schema)))
            }
            Next::Report => Poll::Ready(Some(self.last())),
            Next::Rows | Next::Nothing => Poll::Ready(None),
        }
    }
}

fn cancelled() -> Status {
    Status::cancelled("the query was cancelled: by CancelFlightInfo, because its result was not read for long, or because the server ends")
}
