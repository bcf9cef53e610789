//! The clock that lets calls be stopped: wasmtime checks a counter in each loop, and a thread advances it while calls run.

use std::sync::{Arc, Weak};
use std::thread;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};
use wasmtime::{Engine, EngineWeak};

/// A call looks around so often.
pub const TICK: Duration = Duration::from_millis(10);

#[derive(Debug, Default)]
struct State {
    calls: Mutex<usize>,
    begun: Condvar,
}

/// Advances the counter of an engine while calls run. Dropping it ends the thread.
#[derive(Debug)]
pub struct EpochClock(Arc<State>);

/// A call that runs.
pub struct RunningCall<'a>(&'a State);

impl EpochClock {
    pub fn of(engine: &Engine) -> EpochClock {
        let state = Arc::<State>::default();
        let (weak, engine) = (Arc::downgrade(&state), engine.weak());
        // Without the thread calls could not be stopped, so then none begins: see `begin`.
        let started = thread::Builder::new().name("quiver-wasm-clock".into()).spawn(move || advance(&weak, &engine));
        drop(started);
        EpochClock(state)
    }

    pub fn begin(&self) -> RunningCall<'_> {
        *self.0.calls.lock() += 1;
        self.0.begun.notify_one();
        RunningCall(&self.0)
    }
}

impl Drop for RunningCall<'_> {
    fn drop(&mut self) {
        *self.0.calls.lock() -= 1;
    }
}

fn advance(state: &Weak<State>, engine: &EngineWeak) {
    while let (Some(state), Some(engine)) = (state.upgrade(), engine.upgrade()) {
        let mut calls = state.calls.lock();
        if *calls == 0 {
            // It wakes from time to time to see whether the engine is still there.
            state.begun.wait_for(&mut calls, Duration::from_secs(1));
        } else {
            drop(calls);
            thread::sleep(TICK);
            engine.increment_epoch();
        }
    }
}
