//! Calls that stream: results that are being read, and rows that are being sent. So many at once, and none for long
//! whose client does nothing.

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

use crate::auth::Owner;
use crate::error::told;
use crate::handles::{Handle, Handles, new_handle};
use crate::options::{Limits, ServerOptions};
use crate::stream::{Cancel, FlightStream, Lane, Message, Unsent};
use crate::trace::OfCall;

pub struct Running {
    gets: Handles<Get>,
    puts: Handles<()>,
    unsent: Arc<Unsent>,
    /// Ended, and what was made lies there still: the transport gives back nothing that its client has not read.
    left: Mutex<Vec<Left>>,
    idle: Duration,
    stall: Duration,
}

/// How a result is ended from outside.
pub struct End {
    pub cancel: Cancel,
    pub lane: Arc<Lane>,
    /// Closes the connection.
    pub cut: Option<CancellationToken>,
}

struct Left {
    lane: Arc<Lane>,
    cut: Option<CancellationToken>,
    since: Instant,
}

struct Get {
    end: End,
    /// Since when a message lies ready that the transport has not asked for. None while it waits for us, or for what it has to be read:
    /// then the lane knows.
    ready_since: Mutex<Option<Instant>>,
    call: OfCall,
}

impl Get {
    fn end(&self) {
        self.call.within(|| self.end.cancel.cancel());
    }
}

impl Running {
    /// `unread_bytes_max` of results that are made and not read.
    pub fn new(options: &ServerOptions, unread_bytes_max: usize) -> Arc<Running> {
        let Limits { streams_max: max, call_idle: idle, stall_timeout: stall, .. } = options.limits;
        let max_of_user = options.limits.of_user(max);
        // Whether one is idle is decided here, and not by its handle.
        let gets = Handles::new("results being read", max, max_of_user, Duration::MAX);
        let puts = Handles::new("streams of rows being sent", max, max_of_user, Duration::MAX);
        let unsent = Unsent::new(unread_bytes_max, options.limits.of_user(unread_bytes_max));
        Arc::new(Running { gets, puts, unsent, left: Mutex::default(), idle, stall })
    }

    /// Whether one more would be let in.
    pub fn check_room(&self, owner: &Owner) -> Result<(), Status> {
        self.gets.check_room(owner)
    }

    /// For what one more result of the user makes.
    pub fn lane(&self, owner: &Owner) -> Arc<Lane> {
        self.unsent.lane(owner)
    }

    /// What is made and not read, of all results.
    pub fn unread_bytes(&self) -> usize {
        self.unsent.bytes()
    }

    /// `messages` with a place among those that are read, which can be cancelled by the handle.
    pub fn get(self: &Arc<Running>, owner: &Owner, handle: Handle, end: End, messages: FlightStream) -> Result<FlightStream, Status> {
        let get = Arc::new(Get { end, ready_since: Mutex::new(Some(Instant::now())), call: OfCall::current() });
        self.gets.put(owner, handle.clone(), Arc::clone(&get))?;
        let place = Place { running: Arc::downgrade(self), owner: owner.clone(), handle, is_get: true };
        Ok(Box::pin(Watched { messages, get, _place: place }))
    }

    /// A place for rows that are sent, until it is dropped.
    pub fn put(self: &Arc<Running>, owner: &Owner) -> Result<Place, Status> {
        let handle = new_handle();
        self.puts.put(owner, handle.clone(), Arc::new(()))?;
        Ok(Place { running: Arc::downgrade(self), owner: owner.clone(), handle, is_get: false })
    }

    /// False where nothing of this handle is read.
    pub fn cancel(&self, owner: &Owner, handle: &[u8]) -> bool {
        let get = self.gets.get(owner, handle);
        get.is_ok_and(|get| {
            get.end();
            true
        })
    }

    /// How far a result is that is read; None where there is none of this handle.
    pub fn report(&self, owner: &Owner, handle: &[u8]) -> Option<QueryReport> {
        self.gets.get(owner, handle).ok()?.end.cancel.report()
    }

    /// Ends results that nobody has read on from for too long.
    pub fn sweep(&self) {
        let has_stalled = |get: &Get, so_long: Duration| get.end.lane.stalled().is_some_and(|stalled| stalled >= so_long);
        let is_left = |get: &Get| has_stalled(get, self.idle) || get.ready_since.lock().is_some_and(|since| since.elapsed() >= self.idle);
        for get in self.gets.remove_if(|_, get| is_left(get)) {
            tracing::info!("a result is ended: its client has not read on for {} s", self.idle.as_secs());
            self.end_unread(&get);
        }
        // Its memory is for others, who wait for it.
        for get in self.gets.remove_if(|_, get| get.end.lane.is_full() && has_stalled(get, self.stall)) {
            let stall_s = self.stall.as_secs_f64();
            tracing::info!("a result is ended: its client has not read on for {stall_s} s, and no more may be made unread");
            get.end.lane.end(Status::deadline_exceeded(format!(
                "the result was ended: its client had not read on for {stall_s} s while as many bytes of results were unread as may be, \
                 of this user or of all; run the statement again, and read its result to the end"
            )));
            self.end_unread(&get);
        }
        self.cut_off();
        self.unsent.wake_all();
    }

    fn end_unread(&self, get: &Get) {
        get.end();
        let End { lane, cut, .. } = &get.end;
        self.left.lock().push(Left { lane: Arc::clone(lane), cut: cut.clone(), since: Instant::now() });
    }

    /// Closes the connections of results that were ended as long ago as they had stalled before, and of which nothing was read since: only
    /// so does the transport let go of what was made. While there is room, it is let lie: other calls of the connection may be at work.
    fn cut_off(&self) {
        self.left.lock().retain(|left| {
            let Some(stalled) = left.lane.stalled() else { return false };
            let is_over = left.lane.is_full() && stalled >= self.stall && left.since.elapsed() >= self.stall;
            if let Some(cut) = left.cut.as_ref().filter(|cut| is_over && !cut.is_cancelled()) {
                tracing::info!("a connection is closed: of a result that was ended its client has read nothing since");
                cut.cancel();
            }
            true
        });
    }

    /// Ends those of owners that are not kept.
    pub fn retain(&self, keep: impl Fn(&Owner) -> bool) {
        for get in self.gets.remove_if(|owner, _| !keep(owner)) {
            self.end_unread(&get);
        }
    }

    /// Of results that are read.
    pub fn count(&self) -> usize {
        self.gets.len()
    }
}

/// Gives up its place when it is dropped.
pub struct Place {
    running: Weak<Running>,
    owner: Owner,
    handle: Handle,
    is_get: bool,
}

impl Drop for Place {
    fn drop(&mut self) {
        let Some(running) = self.running.upgrade() else { return };
        match self.is_get {
            true => running.gets.remove(&self.owner, &self.handle),
            false => running.puts.remove(&self.owner, &self.handle),
        };
    }
}

/// The messages of a result, and whether they are asked for.
struct Watched {
    messages: FlightStream,
    get: Arc<Get>,
    _place: Place,
}

impl Stream for Watched {
    type Item = Result<Message, Status>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        // What goes wrong while a result is made is known to nobody yet.
        let polled = self.messages.poll_next_unpin(context).map(|next| next.map(|message| message.map_err(|error| told("DoGet", error))));
        *self.get.ready_since.lock() = polled.is_ready().then(Instant::now);
        polled
    }
}

pub type Messages = Pin<Box<dyn Stream<Item = Result<FlightData, Status>> + Send>>;

/// The messages of a client; one that sends nothing for too long is told so, and its call ends.
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
    async fn a_client_that_sends_nothing_is_told_once() {
        let silent = futures::stream::pending();
        let mut messages = patient(silent, Duration::from_millis(10));
        assert_eq!(messages.next().await.unwrap().unwrap_err().code(), tonic::Code::DeadlineExceeded);
        assert!(messages.next().await.is_none());
    }
}
