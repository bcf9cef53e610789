//! The thread that enforces timeouts. It starts with the first timeout, and sleeps until the next one is due.

use std::sync::{Arc, Weak};
use std::time::Instant;

use parking_lot::{Condvar, Mutex};

use super::registry::Queries;

#[derive(Debug, Default)]
pub struct TimeoutThread {
    state: Mutex<TimeoutState>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct TimeoutState {
    /// When the thread looks next.
    next: Option<Instant>,
    is_started: bool,
    is_over: bool,
}

impl TimeoutThread {
    /// The thread wakes at `time` or earlier.
    pub fn set(self: &Arc<TimeoutThread>, queries: &Arc<Queries>, time: Instant) {
        let mut state = self.state.lock();
        if state.next.is_none_or(|next| time < next) {
            state.next = Some(time);
            self.changed.notify_all();
        }
        if !std::mem::replace(&mut state.is_started, true) {
            drop(state);
            self.start(Arc::downgrade(queries));
        }
    }

    pub fn end(&self) {
        self.state.lock().is_over = true;
        self.changed.notify_all();
    }

    fn start(self: &Arc<TimeoutThread>, queries: Weak<Queries>) {
        let alarm = Arc::clone(self);
        let started = std::thread::Builder::new().name("quiver-watch".into()).spawn(move || alarm.watch(&queries));
        if let Err(error) = started {
            self.state.lock().is_started = false;
            tracing::warn!(%error, "no thread could be started that ends statements when their time is over");
        }
    }

    fn watch(&self, queries: &Weak<Queries>) {
        while self.wait() {
            let Some(queries) = queries.upgrade() else { return };
            let next = queries.look(Instant::now());
            let mut state = self.state.lock();
            // An earlier time may have been set meanwhile.
            state.next = [state.next, next].into_iter().flatten().min();
        }
    }

    /// Waits until it is time to look; returns false when there is nothing more to do.
    fn wait(&self) -> bool {
        let mut state = self.state.lock();
        loop {
            if state.is_over {
                return false;
            }
            match state.next {
                None => self.changed.wait(&mut state),
                Some(next) if next <= Instant::now() => {
                    state.next = None;
                    return true;
                }
                Some(next) => {
                    let _ = self.changed.wait_until(&mut state, next);
                }
            }
        }
    }
}
