//! A result as messages, made while they are read: the engine works ahead by what lies between it and the
//! socket, and by less where many results do, see `unsent`. Dropping the stream cancels the query.

use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use bytes::Bytes;
use engine::{EngineError, QueryOutput, QueryReport};
use flight_wire::{MESSAGE_BYTES, batch_bytes, brief_report_json, lying_plain, pieces, pieces_of, report_json, to_wire, wire_schema};
use futures::{Stream, StreamExt};
use parking_lot::Mutex;
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};
use tonic::Status;

use super::ahead::{Made, ahead};
use super::message::{Encoder, Message};
use super::unsent::{Kind, Lane, Share};
use super::wishes::Wishes;
use crate::error::{arrow_status, status};
use crate::executors::Lease;

pub type FlightStream = Made<Message>;

/// As [`MESSAGE_BYTES`], while much is made and not read, by all clients together.
const TIGHT_MESSAGE_BYTES: usize = 256 << 10;
/// Of one row, which cannot be cut: what 32-bit offsets reach, with room to spare.
const PIECE_BYTES_MAX: usize = 1 << 30;

/// A query on its way to the client.
pub struct Outgoing {
    output: Running,
    wire: SchemaRef,
    wishes: Wishes,
    stop: CancellationToken,
    lane: Arc<Lane>,
}

/// Shared with whoever may cancel it: a client that does not read keeps its stream from being polled.
type Running = Arc<Mutex<Option<Making>>>;

/// A query and those of its rows of which no message was made yet.
struct Making {
    output: QueryOutput,
    left: VecDeque<RecordBatch>,
    /// Of what is left.
    share: Option<Share>,
}

impl Making {
    fn next_piece(&mut self, is_tight: bool) -> Option<RecordBatch> {
        let piece = self.left.pop_front()?;
        let mut cut = match is_tight {
            true => pieces(piece, TIGHT_MESSAGE_BYTES).into_iter(),
            false => vec![piece].into_iter(),
        };
        let first = cut.next();
        cut.rev().for_each(|piece| self.left.push_front(piece));
        if self.left.is_empty() {
            // What of it goes into the message is counted there.
            self.share = None;
        }
        first
    }

    fn take(&mut self, batch: RecordBatch, wire: &SchemaRef, lane: &Arc<Lane>) {
        let batch = lying_plain(batch, wire);
        let bytes = batch_bytes(&batch);
        self.share = Some(lane.hold(Kind::Batch, bytes));
        self.left.extend(pieces_of(batch, bytes, MESSAGE_BYTES));
    }
}

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

    /// How far the query is. None where it has ended, or is being asked for rows at just this moment: nobody waits here.
    pub fn report(&self) -> Option<QueryReport> {
        self.output.try_lock()?.as_ref().map(|making| making.output.report())
    }
}

impl Outgoing {
    /// Ends with an error when `stop` is cancelled.
    pub fn new(output: QueryOutput, wishes: Wishes, stop: CancellationToken, lane: Arc<Lane>) -> Outgoing {
        let wire = wire_schema(&output.schema(), wishes.types);
        let making = Making { output, left: VecDeque::new(), share: None };
        Outgoing { output: Arc::new(Mutex::new(Some(making))), wire, wishes, stop, lane }
    }

    pub fn cancel(&self) -> Cancel {
        Cancel { output: Arc::clone(&self.output), stop: self.stop.clone() }
    }

    /// The last message has no rows, and the report in its `app_metadata`. What is `kept` lives as long as the
    /// stream: the engine's session among other things.
    pub fn into_stream(self, kept: impl Send + 'static, executor: Lease) -> Result<FlightStream, Status> {
        let Outgoing { output, wire, wishes, stop, lane } = self;
        let encoder = encoder(&wire, wishes)?;
        let schema = encoder.schema();
        let rows = Rows {
            next: Next::Schema(schema),
            encoder,
            output,
            wire,
            lane,
            stopped: Box::pin(stop.cancelled_owned()),
            report: None,
            is_brief: wishes.types.brief,
            _kept: Box::new(kept),
        };
        Ok(ahead(Box::pin(rows), executor))
    }
}

/// Batches that are there already, as messages of just this schema: clients compare that of metadata field by
/// field. Without a report.
pub fn of_batches(schema: &SchemaRef, batches: Vec<RecordBatch>, wishes: Wishes) -> Result<FlightStream, Status> {
    let mut encoder = encoder(schema, wishes)?;
    let mut messages = vec![Ok(encoder.schema())];
    let pieces = batches.into_iter().flat_map(|batch| pieces(batch, MESSAGE_BYTES));
    messages.extend(pieces.map(|piece| encoder.batch(&piece).map_err(arrow_status)));
    Ok(Box::pin(futures::stream::iter(messages)))
}

fn encoder(wire: &SchemaRef, wishes: Wishes) -> Result<Encoder, Status> {
    Encoder::new(wire, wishes.write_options()?).map_err(arrow_status)
}

/// The batches of a query, cut and in the types of the wire, between the schema and the message with the report.
struct Rows {
    next: Next,
    encoder: Encoder,
    output: Running,
    wire: SchemaRef,
    lane: Arc<Lane>,
    stopped: Pin<Box<WaitForCancellationFutureOwned>>,
    report: Option<Bytes>,
    is_brief: bool,
    _kept: Box<dyn Send>,
}

enum Next {
    Schema(Message),
    Rows,
    Report,
    Nothing,
}

impl Rows {
    fn failed(&mut self, error: Status) -> Poll<Option<Result<Message, Status>>> {
        self.next = Next::Nothing;
        let output = self.output.lock().take();
        drop(output);
        Poll::Ready(Some(Err(error)))
    }

    fn message(&mut self, piece: &RecordBatch) -> Result<Message, Status> {
        // A piece of more rows has no more bytes than a message, see `pieces`: not all its texts are looked at again.
        let bytes = if piece.num_rows() > 1 { 0 } else { batch_bytes(piece) };
        if bytes > PIECE_BYTES_MAX {
            return Err(Status::resource_exhausted(format!(
                "a row of the result has {bytes} bytes, and one message holds at most {PIECE_BYTES_MAX}; select fewer columns or parts of the values"
            )));
        }
        let batch = to_wire(piece, &self.wire).map_err(arrow_status)?;
        Ok(self.encoder.batch(&batch).map_err(arrow_status)?.counted_in(&self.lane))
    }

    /// Without rows, with the report.
    fn last(&mut self) -> Result<Message, Status> {
        let report = self.report.take().unwrap_or_default();
        if self.is_brief {
            return Ok(Message::default().with_metadata(report));
        }
        Ok(self.encoder.empty().map_err(arrow_status)?.with_metadata(report))
    }

    /// Rows for one message, when there is room for it; None where the query was cancelled meanwhile.
    fn poll_piece(&mut self, context: &mut Context<'_>) -> Option<Poll<Option<Result<RecordBatch, EngineError>>>> {
        let mut making = self.output.lock();
        loop {
            let running = making.as_mut()?;
            let kind = if running.left.is_empty() { Kind::Batch } else { Kind::Message };
            // Again when its rows are there, whoever has waited for them: what a query still works on is no memory of ours.
            if self.lane.poll_room(kind, context).is_pending() {
                return Some(Poll::Pending);
            }
            if let Some(piece) = running.next_piece(self.lane.is_tight()) {
                return Some(Poll::Ready(Some(Ok(piece))));
            }
            match running.output.poll_next_unpin(context) {
                Poll::Ready(Some(Ok(batch))) => running.take(batch, &self.wire, &self.lane),
                Poll::Ready(None) => {
                    let report = running.output.report();
                    self.report =
                        Some(if self.is_brief { brief_report_json(&report) } else { report_json(&report, running.output.kind()) });
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
        self.failed(self.lane.why_ended().unwrap_or_else(cancelled))
    }
}

impl Stream for Rows {
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
