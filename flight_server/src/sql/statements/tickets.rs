//! Tickets: a handle of a planned query, never SQL text. Each is valid for one DoGet, and ends with its session.

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
use crate::active_streams::{ActiveStreams, DownloadHandle};
use crate::auth::Principal;
use crate::budget::{Budget, BudgetShare};
use crate::error::status;
use crate::executors::Executors;
use crate::handles::{Handle, Handles, new_handle};
use crate::options::ServerOptions;
use crate::sessions::{CallContext, Connection};
use crate::stream::{ClientOptions, FlightStream, ResultEncoder, of_batches};
use crate::trace::CallTrace;

pub struct Tickets {
    waiting: Handles<PendingResult>,
    active_streams: Arc<ActiveStreams>,
    executors: Arc<Executors>,
    budget: Arc<Budget>,
    /// Cancelled when the time for running calls is over during a shutdown.
    stop: CancellationToken,
}

/// The handle of every statement that has run already: there is nothing to fetch, so nothing is kept for it,
/// and a client may run any number of writes without fetching their empty results.
const DONE: &[u8] = b"done";

/// The approximate memory of a plan: a constant, and a factor of the length of its text.
const PLAN_BYTES: usize = 32 << 10;
const PLAN_BYTES_PER_BYTE: usize = 4;

/// A result that was not fetched yet.
struct PendingResult {
    output: Mutex<Option<QueryOutput>>,
    /// The options at planning time, because the client got the schema then.
    client_options: ClientOptions,
    connection: Arc<Connection>,
    /// The session of the statement, with which it ends.
    session: Option<Handle>,
    /// The connection that planned it.
    call: CallTrace,
    _share: BudgetShare,
}

impl Drop for PendingResult {
    /// Drops a result that was not fetched, within the span of its call.
    fn drop(&mut self) {
        let output = self.output.get_mut().take();
        self.call.within(|| drop(output));
    }
}

/// The description of a result before it is fetched.
pub struct TicketInfo {
    pub handle: Handle,
    pub schema: SchemaRef,
    /// The number of changed rows, if it is known.
    pub rows: Option<i64>,
    pub report: Bytes,
}

impl Tickets {
    pub fn new(
        options: &ServerOptions,
        budget: &Arc<Budget>,
        active_streams: &Arc<ActiveStreams>,
        executors: &Arc<Executors>,
        stop: CancellationToken,
    ) -> Arc<Tickets> {
        let max = options.tickets_max;
        let waiting = Handles::new("results", max, options.limits.of_user(max), options.ticket_idle);
        Arc::new(Tickets {
            waiting,
            active_streams: Arc::clone(active_streams),
            executors: Arc::clone(executors),
            budget: Arc::clone(budget),
            stop,
        })
    }

    /// `words_bytes`, the length of the statement, gives an estimate of the memory of its plan.
    pub fn keep(
        &self,
        started: Started,
        caller: &CallContext,
        connection: Arc<Connection>,
        words_bytes: usize,
    ) -> Result<TicketInfo, Status> {
        let output = match started {
            Started::Query(output) => output,
            Started::Done(Done { kind, rows, report, is_in_transaction }) => {
                let (handle, schema) = (Bytes::from_static(DONE), Arc::new(Schema::empty()));
                let report = ended_json(&report, kind, is_in_transaction);
                return Ok(TicketInfo { handle, schema, rows: Some(rows), report });
            }
        };
        let client_options = caller.client_options;
        let (schema, report) = (wire_schema(&output.schema(), client_options.types), report_json(&output.report(), output.kind()));
        let share = self.budget.take(words_bytes.saturating_mul(PLAN_BYTES_PER_BYTE).saturating_add(PLAN_BYTES))?;
        let session = caller.session.as_ref().map(|(handle, _)| handle.clone());
        let waiting = PendingResult {
            output: Mutex::new(Some(output)),
            client_options,
            connection,
            session,
            call: CallTrace::current(),
            _share: share,
        };
        let handle = self.waiting.insert_over_oldest(&caller.principal, Arc::new(waiting), |waiting| waiting.session.as_ref())?;
        Ok(TicketInfo { handle, schema, rows: None, report })
    }

    /// Fetches the result, which is possible once. The caller's options decide the compression; the types were decided before.
    pub fn fetch(&self, caller: &CallContext, handle: &[u8]) -> Result<FlightStream, Status> {
        let (principal, client_options) = (&caller.principal, caller.client_options);
        if handle == DONE {
            return of_batches(&Arc::new(Schema::empty()), Vec::new(), client_options);
        }
        // Checked first, because a result that is taken cannot be fetched again.
        self.active_streams.check_room(principal)?;
        let waiting = self.waiting.take(principal, handle)?;
        let output = waiting.output.lock().take();
        let mut output =
            output.ok_or_else(|| Status::not_found("the result of this ticket was fetched already; run the statement again"))?;
        // Check again, because it may have been planned long ago.
        output.check_reads().map_err(status)?;
        self.stream(
            caller,
            Bytes::copy_from_slice(handle),
            output,
            client_options.with_types_of(waiting.client_options),
            Arc::clone(&waiting.connection),
        )
    }

    /// An error if no further result may be read. Called before one is made.
    pub fn check_room(&self, principal: &Principal) -> Result<(), Status> {
        self.active_streams.check_room(principal)
    }

    /// A result without a ticket. It ends with the server, as all results do.
    pub fn read(&self, caller: &CallContext, output: QueryOutput, guard: impl Send + 'static) -> Result<FlightStream, Status> {
        self.stream(caller, new_handle(), output, caller.client_options, guard)
    }

    fn stream(
        &self,
        caller: &CallContext,
        handle: Handle,
        output: QueryOutput,
        client_options: ClientOptions,
        guard: impl Send + 'static,
    ) -> Result<FlightStream, Status> {
        let credit = self.active_streams.credit(&caller.principal);
        let outgoing = ResultEncoder::new(output, client_options, self.stop.child_token(), Arc::clone(&credit));
        let end = DownloadHandle { cancel: outgoing.cancel(), credit, cut: caller.cut.clone() };
        self.active_streams.get(&caller.principal, handle, end, outgoing.into_stream(guard, self.executors.lease())?)
    }

    /// Cancels a result that waits or is being read.
    pub fn cancel(&self, principal: &Principal, handle: &[u8]) -> Option<CancelStatus> {
        let is_there = self.waiting.remove(principal, handle) || self.active_streams.cancel(principal, handle);
        is_there.then_some(CancelStatus::Cancelled)
    }

    /// Drops the results of the session that were not fetched.
    pub fn end_of_session(&self, session: &Handle) {
        self.waiting.retain(|_, waiting| waiting.session.as_ref() != Some(session));
    }

    /// The progress of a result; `None` before it is read, because it does not run then, and after its end.
    pub fn progress(&self, principal: &Principal, handle: &[u8]) -> Option<QueryReport> {
        self.active_streams.report(principal, handle)
    }

    /// Restarts its idle timeout.
    pub fn renew(&self, principal: &Principal, handle: &[u8]) -> Result<(), Status> {
        if handle == DONE { Ok(()) } else { self.waiting.get(principal, handle).map(|_| ()) }
    }

    pub fn retain(&self, keep: impl Fn(&Principal) -> bool) {
        self.waiting.retain(|principal, _| keep(principal));
    }

    pub fn sweep(&self) {
        self.waiting.sweep();
    }

    /// The numbers of waiting and of running results.
    pub fn counts(&self) -> (usize, usize) {
        (self.waiting.len(), self.active_streams.count())
    }
}
