//! Streaming calls: results that clients read, and rows that clients send. Their number is bounded, and none stays long
//! if its client does nothing.

use std::pin::Pin;
use std::sync::{Arc, Weak};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use arrow_flight::FlightData;
use engine::QueryReport;
use futures::{Stream, StreamExt};
use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;
use tonic::Status;

use crate::auth::Principal;
use crate::error::log_status;
use crate::handles::{Handle, Handles, new_handle};
use crate::options::{Limits, ServerOptions};
use crate::stream::{Cancel, FlightStream, Message, SendBudget, StreamCredit};
use crate::trace::CallTrace;

pub struct ActiveStreams {
    gets: Handles<ActiveDownload>,
    puts: Handles<()>,
    send_budget: Arc<SendBudget>,
    /// Aborted results whose messages still occupy the transport: it frees nothing that the client has not read.
    aborted_downloads: Mutex<Vec<AbortedDownload>>,
    idle: Duration,
    stall: Duration,
}

/// The handle by which a result is ended from outside.
pub struct DownloadHandle {
    pub cancel: Cancel,
    pub credit: Arc<StreamCredit>,
    /// Closes the client's connection.
    pub cut: Option<CancellationToken>,
}

struct AbortedDownload {
    credit: Arc<StreamCredit>,
    cut: Option<CancellationToken>,
    since: Instant,
}

struct ActiveDownload {
    end: DownloadHandle,
    /// Since when a message is ready that the transport has not asked for. `None` while the transport waits for us or for the client:
    /// in both cases the lane of the send budget keeps the time.
    ready_since: Mutex<Option<Instant>>,
    call: CallTrace,
}

impl ActiveDownload {
    fn end(&self) {
        self.call.within(|| self.end.cancel.cancel());
    }
}

impl ActiveStreams {
    /// `unread_bytes_max` bounds the bytes of results that are made and not read.
    pub fn new(options: &ServerOptions, unread_bytes_max: usize) -> Arc<ActiveStreams> {
        let Limits { streams_max: max, call_idle: idle, stall_timeout: stall, .. } = options.limits;
        let max_of_user = options.limits.of_user(max);
        // `ActiveStreams` itself decides what is idle, so the handles never expire.
        let gets = Handles::new("results being read", max, max_of_user, Duration::MAX);
        let puts = Handles::new("streams of rows being sent", max, max_of_user, Duration::MAX);
        let send_budget = SendBudget::new(unread_bytes_max, options.limits.of_user(unread_bytes_max));
        Arc::new(ActiveStreams { gets, puts, send_budget, aborted_downloads: Mutex::default(), idle, stall })
    }

    /// Whether one more would be admitted.
    pub fn check_room(&self, principal: &Principal) -> Result<(), Status> {
        self.gets.check_room(principal)
    }

    /// The lane for one more result of the user.
    pub fn credit(&self, principal: &Principal) -> Arc<StreamCredit> {
        self.send_budget.credit(principal)
    }

    /// The bytes that are made and not read, over all results.
    pub fn unread_bytes(&self) -> usize {
        self.send_budget.bytes()
    }

    /// `messages`, registered as a result that is being read. It can be cancelled by the handle.
    pub fn get(
        self: &Arc<ActiveStreams>,
        principal: &Principal,
        handle: Handle,
        end: DownloadHandle,
        messages: FlightStream,
    ) -> Result<FlightStream, Status> {
        let get = Arc::new(ActiveDownload { end, ready_since: Mutex::new(Some(Instant::now())), call: CallTrace::current() });
        self.gets.put(principal, handle.clone(), Arc::clone(&get))?;
        let permit = StreamPermit { active_streams: Arc::downgrade(self), principal: principal.clone(), handle, is_get: true };
        Ok(Box::pin(TrackedStream { messages, get, _permit: permit }))
    }

    /// A permit for one stream of rows from a client. Dropping it releases it.
    pub fn put(self: &Arc<ActiveStreams>, principal: &Principal) -> Result<StreamPermit, Status> {
        let handle = new_handle();
        self.puts.put(principal, handle.clone(), Arc::new(()))?;
        Ok(StreamPermit { active_streams: Arc::downgrade(self), principal: principal.clone(), handle, is_get: false })
    }

    /// False if no result of this handle is being read.
    pub fn cancel(&self, principal: &Principal, handle: &[u8]) -> bool {
        let get = self.gets.get(principal, handle);
        get.is_ok_and(|get| {
            get.end();
            true
        })
    }

    /// The progress of a result that is being read; `None` if there is none of this handle.
    pub fn report(&self, principal: &Principal, handle: &[u8]) -> Option<QueryReport> {
        self.gets.get(principal, handle).ok()?.end.cancel.report()
    }

    /// Ends results whose clients have stopped reading for too long.
    pub fn sweep(&self) {
        let has_stalled = |get: &ActiveDownload, so_long: Duration| get.end.credit.stalled().is_some_and(|stalled| stalled >= so_long);
        let is_left =
            |get: &ActiveDownload| has_stalled(get, self.idle) || get.ready_since.lock().is_some_and(|since| since.elapsed() >= self.idle);
        for get in self.gets.remove_if(|_, get| is_left(get)) {
            tracing::info!("a result is ended: its client has not read on for {} s", self.idle.as_secs());
            self.end_unread(&get);
        }
        // Other results wait for its memory.
        for get in self.gets.remove_if(|_, get| get.end.credit.is_full() && has_stalled(get, self.stall)) {
            let stall_s = self.stall.as_secs_f64();
            tracing::info!("a result is ended: its client has not read on for {stall_s} s, and no more may be made unread");
            get.end.credit.end(Status::deadline_exceeded(format!(
                "the result was ended: its client had not read on for {stall_s} s while as many bytes of results were unread as may be, \
                 of this user or of all; run the statement again, and read its result to the end"
            )));
            self.end_unread(&get);
        }
        self.cut_off();
        self.send_budget.wake_all();
    }

    fn end_unread(&self, get: &ActiveDownload) {
        get.end();
        let DownloadHandle { credit, cut, .. } = &get.end;
        self.aborted_downloads.lock().push(AbortedDownload { credit: Arc::clone(credit), cut: cut.clone(), since: Instant::now() });
    }

    /// Closes the connections of results that were ended as long ago as they had stalled before, and of which nothing was read since: only
    /// so the transport frees the messages. While there is room, the connection stays open: other calls may use it.
    fn cut_off(&self) {
        self.aborted_downloads.lock().retain(|download| {
            let Some(stalled) = download.credit.stalled() else { return false };
            let is_over = download.credit.is_full() && stalled >= self.stall && download.since.elapsed() >= self.stall;
            if let Some(cut) = download.cut.as_ref().filter(|cut| is_over && !cut.is_cancelled()) {
                tracing::info!("a connection is closed: of a result that was ended its client has read nothing since");
                cut.cancel();
            }
            true
        });
    }

    /// Ends the streams of owners for which `keep` is false.
    pub fn retain(&self, keep: impl Fn(&Principal) -> bool) {
        for get in self.gets.remove_if(|principal, _| !keep(principal)) {
            self.end_unread(&get);
        }
    }

    /// The number of results that are being read.
    pub fn count(&self) -> usize {
        self.gets.len()
    }
}

/// Releases its permit when it is dropped.
pub struct StreamPermit {
    active_streams: Weak<ActiveStreams>,
    principal: Principal,
    handle: Handle,
    is_get: bool,
}

impl Drop for StreamPermit {
    fn drop(&mut self) {
        let Some(active_streams) = self.active_streams.upgrade() else { return };
        match self.is_get {
            true => active_streams.gets.remove(&self.principal, &self.handle),
            false => active_streams.puts.remove(&self.principal, &self.handle),
        };
    }
}

/// The messages of a result. It records when the transport polls them.
struct TrackedStream {
    messages: FlightStream,
    get: Arc<ActiveDownload>,
    _permit: StreamPermit,
}

impl Stream for TrackedStream {
    type Item = Result<Message, Status>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        // An error while a result is made was not logged yet.
        let polled =
            self.messages.poll_next_unpin(context).map(|next| next.map(|message| message.map_err(|error| log_status("DoGet", error))));
        *self.get.ready_since.lock() = polled.is_ready().then(Instant::now);
        polled
    }
}

pub type Messages = Pin<Box<dyn Stream<Item = Result<FlightData, Status>> + Send>>;

/// The messages of a client. If none comes for too long, the call ends with an error.
pub fn patient(messages: impl Stream<Item = Result<FlightData, Status>> + Unpin + Send + 'static, idle: Duration) -> Messages {
    Box::pin(futures::stream::unfold(Some(messages), move |messages| async move {
        let mut messages = messages?;
        match tokio::time::timeout(idle, messages.next()).await {
            Ok(next) => next.map(|message| (message, Some(messages))),
            Err(_) => {
                let idle_s = idle.as_secs();
                Some((
                    Err(Status::deadline_exceeded(format!("no rows came for {idle_s} s, so nothing of them is kept; send them again"))),
                    None,
                ))
            }
        }
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_silent_client_gets_one_error() {
        let silent = futures::stream::pending();
        let mut messages = patient(silent, Duration::from_millis(10));
        assert_eq!(messages.next().await.unwrap().unwrap_err().code(), tonic::Code::DeadlineExceeded);
        assert!(messages.next().await.is_none());
    }
}
