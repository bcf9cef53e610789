//! The shared state of the engine and its maintenance thread.

use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

use crate::compaction::stop_signal::StopSignal;

#[derive(Debug, Default)]
pub struct Control {
    state: Mutex<ControlState>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct ControlState {
    /// A commit happened since the thread last looked.
    has_news: bool,
    stopping: bool,
    /// The thread holds the store.
    is_working: bool,
    /// The stop signal of the running job.
    job: Option<Arc<StopSignal>>,
}

impl Control {
    pub fn wake(&self) {
        let mut state = self.state.lock();
        if !std::mem::replace(&mut state.has_news, true) {
            self.changed.notify_all();
        }
    }

    /// Asks the thread to end, and waits until it has released the store, but no longer than `patience`.
    pub fn stop(&self, patience: Duration) {
        let mut state = self.state.lock();
        state.stopping = true;
        if let Some(job) = &state.job {
            job.set();
        }
        self.changed.notify_all();
        let until = Instant::now() + patience;
        while state.is_working && !self.changed.wait_until(&mut state, until).timed_out() {}
    }

    pub fn is_stopping(&self) -> bool {
        self.state.lock().stopping
    }

    /// Waits for a commit, at most this long; returns false when the thread must end.
    pub fn wait(&self, at_most: Option<Duration>) -> bool {
        let until = at_most.map(|at_most| Instant::now() + at_most);
        let mut state = self.state.lock();
        while !state.has_news && !state.stopping {
            match until {
                None => self.changed.wait(&mut state),
                Some(until) if self.changed.wait_until(&mut state, until).timed_out() => break,
                Some(_) => {}
            }
        }
        !state.stopping
    }

    /// Waits the whole time; returns false when the thread must end.
    pub fn pause(&self, pause: Duration) -> bool {
        let until = Instant::now() + pause;
        let mut state = self.state.lock();
        while !state.stopping && !self.changed.wait_until(&mut state, until).timed_out() {}
        !state.stopping
    }

    /// The thread holds the store until the guard is dropped; `None` when the thread must end.
    pub fn begin(self: &Arc<Self>) -> Option<WorkGuard> {
        let mut state = self.state.lock();
        if state.stopping {
            return None;
        }
        state.is_working = true;
        state.has_news = false;
        Some(WorkGuard(Arc::clone(self)))
    }

    /// Sets the running job; it is stopped if the thread must end.
    pub fn set_job(&self, job: Option<&Arc<StopSignal>>) {
        let mut state = self.state.lock();
        state.job = job.cloned();
        if let Some(job) = state.job.as_ref().filter(|_| state.stopping) {
            job.set();
        }
    }
}

pub struct WorkGuard(Arc<Control>);

impl Drop for WorkGuard {
    fn drop(&mut self) {
        self.0.state.lock().is_working = false;
        self.0.changed.notify_all();
    }
}
