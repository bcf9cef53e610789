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
use tonic::Status;

use crate::auth::Owner;
use crate::error::told;
use crate::handles::{Handle, Handles, new_handle};
use crate::monitor::OfCall;
use crate::options::ServerOptions;
use crate::stream::{Cancel, FlightStream, Message};

pub struct Running {
    gets: Handles<Get>,
    puts: Handles<()>,
    idle: Duration,
}

struct Get {
    cancel: Cancel,
    /// Since when a message lies ready that the client has not asked for. None while it waits for us.
    ready_since: Mutex<Option<Instant>>,
    call: OfCall,
}

impl Get {
    fn end(&self) {
        self.call.within(|| self.cancel.cancel());
    }
}

impl Running {
    pub fn new(options: &ServerOptions) -> Arc<Running> {
        let (max, idle) = (options.limits.streams_max, options.limits.call_idle);
        let max_of_user = options.limits.of_user(max);
        // Whether one is idle is decided here, and not by its handle.
        let gets = Handles::new("result that is read", max, max_of_user, Duration::MAX);
        let puts = Handles::new("stream of rows that is sent", max, max_of_user, Duration::MAX);
        Arc::new(Running { gets, puts, idle })
    }

    /// Whether one more would be let in.
    pub fn check_room(&self, owner: &Owner) -> Result<(), Status> {
        self.gets.check_room(owner)
    }

    /// `messages` with a place among those that are read, which can be cancelled by the handle.
    pub fn get(self: &Arc<Running>, owner: &Owner, handle: Handle, cancel: Cancel, messages: FlightStream) -> Result<FlightStream, Status> {
        let get = Arc::new(Get { cancel, ready_since: Mutex::new(Some(Instant::now())), call: OfCall::current() });
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
        self.gets.get(owner, handle).ok()?.cancel.report()
    }

    /// Ends results that nobody has read on from for too long.
    pub fn sweep(&self) {
        let is_left = |get: &Get| get.ready_since.lock().is_some_and(|since| since.elapsed() >= self.idle);
        for get in self.gets.remove_if(|_, get| is_left(get)) {
            tracing::info!("a result is ended: its client has not read on for {} s", self.idle.as_secs());
            get.end();
        }
    }

    /// Ends those of owners that are not kept.
    pub fn retain(&self, keep: impl Fn(&Owner) -> bool) {
        for get in self.gets.remove_if(|owner, _| !keep(owner)) {
            get.end();
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
                Some((Err(Status::deadline_exceeded(format!("no rows came for {idle_s} s, so nothing of them is kept; send them again"))), None))
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
