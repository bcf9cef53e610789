//! Tickets: a handle of something planned, never words of SQL. Each is good for one DoGet, and ends with its session.

use std::sync::Arc;

use arrow::datatypes::{Schema, SchemaRef};
use arrow_flight::CancelStatus;
use bytes::Bytes;
use engine::{QueryOutput, QueryReport};
use flight_wire::{ended_json, report_json, wire_schema};
use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;
use tonic::Status;

use super::{Done, Started};
use crate::auth::Owner;
use crate::budget::{Budget, Share};
use crate::error::status;
use crate::executors::Executors;
use crate::handles::{Handle, Handles, new_handle};
use crate::options::ServerOptions;
use crate::running::{End, Running};
use crate::sessions::{Caller, Connection};
use crate::stream::{FlightStream, Outgoing, Wishes, of_batches};
use crate::trace::OfCall;

pub struct Tickets {
    waiting: Handles<Waiting>,
    running: Arc<Running>,
    executors: Arc<Executors>,
    budget: Arc<Budget>,
    /// Cancelled when the server's patience with running calls is over.
    stop: CancellationToken,
}

/// The handle of everything that has run already: nothing of it is left to fetch, so nothing is kept for it,
/// and a client may change rows as often as it likes without reading what comes of it.
const DONE: &[u8] = b"done";

/// What a plan takes, about: so much, and so much for each byte of its words.
const PLAN_BYTES: usize = 32 << 10;
const PLAN_BYTES_PER_BYTE: usize = 4;

/// A result that nobody has fetched yet.
struct Waiting {
    output: Mutex<Option<QueryOutput>>,
    /// As it was asked for when it was planned: its schema was told then.
    wishes: Wishes,
    connection: Arc<Connection>,
    /// That it was asked for in, and ends with.
    session: Option<Handle>,
    /// That planned it.
    call: OfCall,
    _share: Share,
}

impl Drop for Waiting {
    /// Of what nobody has fetched.
    fn drop(&mut self) {
        let output = self.output.get_mut().take();
        self.call.within(|| drop(output));
    }
}

/// What is told of a result before it is fetched.
pub struct Told {
    pub handle: Handle,
    pub schema: SchemaRef,
    /// Rows that were changed, if that is known.
    pub rows: Option<i64>,
    pub report: Bytes,
}

impl Tickets {
    pub fn new(
        options: &ServerOptions,
        budget: &Arc<Budget>,
        running: &Arc<Running>,
        executors: &Arc<Executors>,
        stop: CancellationToken,
    ) -> Arc<Tickets> {
        let max = options.tickets_max;
        let waiting = Handles::new("results", max, options.limits.of_user(max), options.ticket_idle);
        Arc::new(Tickets { waiting, running: Arc::clone(running), executors: Arc::clone(executors), budget: Arc::clone(budget), stop })
    }

    /// `words_bytes` of the statement say what its plan may take.
    pub fn keep(&self, started: Started, caller: &Caller, connection: Arc<Connection>, words_bytes: usize) -> Result<Told, Status> {
        let output = match started {
            Started::Query(output) => output,
            Started::Done(Done { kind, rows, report, is_in_transaction }) => {
                let (handle, schema) = (Bytes::from_static(DONE), Arc::new(Schema::empty()));
                let report = ended_json(&report, kind, is_in_transaction);
                return Ok(Told { handle, schema, rows: Some(rows), report });
            }
        };
        let wishes = caller.wishes;
        let (schema, report) = (wire_schema(&output.schema(), wishes.types), report_json(&output.report(), output.kind()));
        let share = self.budget.take(words_bytes.saturating_mul(PLAN_BYTES_PER_BYTE).saturating_add(PLAN_BYTES))?;
        let session = caller.session.as_ref().map(|(handle, _)| handle.clone());
        let waiting = Waiting { output: Mutex::new(Some(output)), wishes, connection, session, call: OfCall::current(), _share: share };
        let handle = self.waiting.insert_over_oldest(&caller.owner, Arc::new(waiting), |waiting| waiting.session.as_ref())?;
        Ok(Told { handle, schema, rows: None, report })
    }

    /// The result, for the only time. The caller's wishes decide about compression; the types were decided before.
    pub fn fetch(&self, caller: &Caller, handle: &[u8]) -> Result<FlightStream, Status> {
        let (owner, wishes) = (&caller.owner, caller.wishes);
        if handle == DONE {
            return of_batches(&Arc::new(Schema::empty()), Vec::new(), wishes);
        }
        // First: a result that is taken can be fetched by nobody else.
        self.running.check_room(owner)?;
        let waiting = self.waiting.take(owner, handle)?;
        let output = waiting.output.lock().take();
        let mut output =
            output.ok_or_else(|| Status::not_found("the result of this ticket was fetched already; run the statement again"))?;
        // Some time may have passed since it was planned.
        output.check_reads().map_err(status)?;
        self.stream(caller, Bytes::copy_from_slice(handle), output, wishes.with_types_of(waiting.wishes), Arc::clone(&waiting.connection))
    }

    /// Whether one more result may be read: to be asked before one is made.
    pub fn check_room(&self, owner: &Owner) -> Result<(), Status> {
        self.running.check_room(owner)
    }

    /// A result without a ticket, which ends with the server as all do.
    pub fn read(&self, caller: &Caller, output: QueryOutput, kept: impl Send + 'static) -> Result<FlightStream, Status> {
        self.stream(caller, new_handle(), output, caller.wishes, kept)
    }

    fn stream(
        &self,
        caller: &Caller,
        handle: Handle,
        output: QueryOutput,
        wishes: Wishes,
        kept: impl Send + 'static,
    ) -> Result<FlightStream, Status> {
        let lane = self.running.lane(&caller.owner);
        let outgoing = Outgoing::new(output, wishes, self.stop.child_token(), Arc::clone(&lane));
        let end = End { cancel: outgoing.cancel(), lane, cut: caller.cut.clone() };
        self.running.get(&caller.owner, handle, end, outgoing.into_stream(kept, self.executors.lease())?)
    }

    /// Of a result that waits or is being read.
    pub fn cancel(&self, owner: &Owner, handle: &[u8]) -> Option<CancelStatus> {
        let is_there = self.waiting.remove(owner, handle) || self.running.cancel(owner, handle);
        is_there.then_some(CancelStatus::Cancelled)
    }

    /// What nobody has begun to fetch of the results that were asked for in it.
    pub fn end_of_session(&self, session: &Handle) {
        self.waiting.retain(|_, waiting| waiting.session.as_ref() != Some(session));
    }

    /// How far a result is; None before it is read, when nothing of it runs, and after its end.
    pub fn progress(&self, owner: &Owner, handle: &[u8]) -> Option<QueryReport> {
        self.running.report(owner, handle)
    }

    /// Begins its idle time anew.
    pub fn renew(&self, owner: &Owner, handle: &[u8]) -> Result<(), Status> {
        if handle == DONE { Ok(()) } else { self.waiting.get(owner, handle).map(|_| ()) }
    }

    pub fn retain(&self, keep: impl Fn(&Owner) -> bool) {
        self.waiting.retain(|owner, _| keep(owner));
    }

    pub fn sweep(&self) {
        self.waiting.sweep();
    }

    /// Waiting and running.
    pub fn counts(&self) -> (usize, usize) {
        (self.waiting.len(), self.running.count())
    }
}
