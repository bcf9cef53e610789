//! One flush for all who wait: the first to come flushes for everybody who has appended by then, the
//! others wait for it, and whoever came too late elects the next.

use parking_lot::{Condvar, Mutex};

use crate::error::Result;

#[derive(Debug, Default)]
pub(super) struct GroupCommit {
    state: Mutex<FlushState>,
    turn: Condvar,
}

#[derive(Debug, Default)]
struct FlushState {
    /// Everything before this offset is durable.
    durable: u64,
    someone_flushes: bool,
}

/// Releases the role of the flusher on every way out.
struct FlushTurn<'a>(&'a GroupCommit);

impl Drop for FlushTurn<'_> {
    fn drop(&mut self) {
        self.0.state.lock().someone_flushes = false;
        self.0.turn.notify_all();
    }
}

impl GroupCommit {
    /// Of a log that is durable up to here.
    pub fn new(durable: u64) -> GroupCommit {
        GroupCommit { state: Mutex::new(FlushState { durable, someone_flushes: false }), turn: Condvar::new() }
    }

    pub fn durable(&self) -> u64 {
        self.state.lock().durable
    }

    /// What was written before this offset is durable.
    pub fn advance(&self, durable: u64) {
        let mut state = self.state.lock();
        state.durable = state.durable.max(durable);
    }

    /// Returns when everything before `up_to` is durable. `flush` makes durable what was appended and
    /// says up to where, at least up to `up_to`; who waited for one that failed tries, and fails,
    /// for itself.
    pub fn wait_for(&self, up_to: u64, flush: impl FnOnce() -> Result<u64>) -> Result<()> {
        let mut state = self.state.lock();
        loop {
            if state.durable >= up_to {
                return Ok(());
            }
            if !state.someone_flushes {
                break;
            }
            self.turn.wait(&mut state);
        }
        state.someone_flushes = true;
        drop(state);
        let _turn = FlushTurn(self);
        let durable = flush()?;
        self.advance(durable);
        Ok(())
    }
}
