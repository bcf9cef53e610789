//! Whether a statement may go on. Whoever ends it says so here first; whoever commits asks here first.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use parking_lot::Mutex;

use common::error::EngineError;

/// Why a statement was ended by somebody else than its reader.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    Killed,
    /// Of `quiver.statement_timeout_ms`.
    TimedOut {
        limit_ms: u64,
    },
    /// It waited for its turn for too long.
    NotInTurn {
        limit_ms: u64,
    },
}

impl Stop {
    pub fn error(self) -> EngineError {
        match self {
            Stop::Killed => EngineError::Killed,
            Stop::TimedOut { limit_ms } => EngineError::TimedOut { limit_ms },
            Stop::NotInTurn { limit_ms } => EngineError::QueueTimedOut { limit_ms },
        }
    }
}

/// What became of an attempt to end a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stopped {
    Now,
    Before,
    /// Its commit has begun, or is done.
    TooLate,
}

#[derive(Debug, Default)]
pub struct Gate(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    stop: Option<Stop>,
    is_sealed: bool,
    /// Of a stop that came while it was sealed, in case the commit comes to nothing.
    late: Option<Stop>,
    /// Of whoever waits for the statement; there is one at a time.
    waker: Option<Waker>,
}

impl Gate {
    pub fn stop(&self, why: Stop) -> Stopped {
        let waker = {
            let mut state = self.0.lock();
            if state.stop.is_some() {
                return Stopped::Before;
            }
            if state.is_sealed {
                state.late.get_or_insert(why);
                return Stopped::TooLate;
            }
            state.stop = Some(why);
            state.waker.take()
        };
        if let Some(waker) = waker {
            waker.wake();
        }
        Stopped::Now
    }

    /// From here on nothing ends the statement; an error if something has.
    pub fn seal(&self) -> Result<(), EngineError> {
        let mut state = self.0.lock();
        match state.stop {
            Some(stop) => Err(stop.error()),
            None => {
                state.is_sealed = true;
                Ok(())
            }
        }
    }

    /// The commit came to nothing, and the statement may be tried again.
    pub fn unseal(&self) {
        let mut state = self.0.lock();
        state.is_sealed = false;
        state.stop = state.stop.or(state.late);
    }

    pub fn is_sealed(&self) -> bool {
        self.0.lock().is_sealed
    }

    pub fn stopped(&self) -> Option<Stop> {
        self.0.lock().stop
    }

    /// Ready when the statement has been stopped.
    pub fn poll_stop(&self, context: &mut Context<'_>) -> Poll<Stop> {
        let mut state = self.0.lock();
        if let Some(stop) = state.stop {
            return Poll::Ready(stop);
        }
        if !state.waker.as_ref().is_some_and(|waker| waker.will_wake(context.waker())) {
            state.waker = Some(context.waker().clone());
        }
        Poll::Pending
    }

    /// What `work` gives, or why it was stopped and dropped.
    pub async fn until_stopped<T>(&self, work: impl Future<Output = Result<T, EngineError>>) -> Result<T, EngineError> {
        let mut work = pin!(work);
        poll_fn(|context| match self.poll_stop(context) {
            Poll::Ready(stop) => Poll::Ready(Err(stop.error())),
            Poll::Pending => work.as_mut().poll(context),
        })
        .await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_stopped_cannot_be_committed() {
        let gate = Gate::default();
        assert_eq!(gate.stop(Stop::Killed), Stopped::Now);
        assert_eq!(gate.stop(Stop::TimedOut { limit_ms: 1 }), Stopped::Before);
        assert!(matches!(gate.seal(), Err(EngineError::Killed)));
    }

    #[test]
    fn what_is_being_committed_cannot_be_stopped() {
        let gate = Gate::default();
        gate.seal().unwrap();
        assert_eq!(gate.stop(Stop::Killed), Stopped::TooLate);
        assert_eq!(gate.stopped(), None);
    }

    #[test]
    fn a_stop_that_came_too_late_holds_when_the_commit_comes_to_nothing() {
        let gate = Gate::default();
        gate.seal().unwrap();
        gate.stop(Stop::TimedOut { limit_ms: 7 });
        gate.unseal();
        assert!(matches!(gate.seal(), Err(EngineError::TimedOut { limit_ms: 7 })));
    }
}
